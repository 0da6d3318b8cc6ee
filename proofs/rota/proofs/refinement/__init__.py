"""The formulas of the core beside the rules of the spec, step by step, over small groups.

A group of the spec has an abstract state in the core's signature. From each abstract state the formulas are
run with what a request says, and every outcome must be one of the spec's, every outcome of the spec one of
theirs.
"""
