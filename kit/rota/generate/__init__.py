"""Walks: requests that nobody thought of, drawn from a seed, played with a coordinator, judged by the spec.

`planner` draws plans, `player` plays one and keeps the history of its group, `walks` plays many side by side.
"""
