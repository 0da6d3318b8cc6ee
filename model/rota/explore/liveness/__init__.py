"""Judging endless runs: a plain search for lassos on small graphs, and the same in compiled code at size."""
