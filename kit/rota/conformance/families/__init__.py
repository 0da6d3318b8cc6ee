"""Families of cases: one rule in every situation of the group in which it applies, asked by everyone."""
