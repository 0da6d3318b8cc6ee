"""What compiled code shares between engines: states packed into words, successors, the set of visited states.

Needs numba. An engine gives arrays in (`arguments`), compiled code notes what it does not find in them, and
Python learns that between two calls (`lookups`, `expansion`).
"""
