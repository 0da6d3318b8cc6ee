"""Judges what clients saw of a group, in whatever order the coordinator took their requests.

`history` has what was seen; the judge looks for an order of the requests, the log's answers and the timers
that the spec allows.
"""
