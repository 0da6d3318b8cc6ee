"""What Spark's workers run: a partition's round, in compiled code or in plain Python.

`plain_round` and what it imports need the standard library only, since a worker's environment may have no
more.
"""
