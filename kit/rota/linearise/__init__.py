"""Judges what clients saw of a group, in whatever order the coordinator took their requests.

`history` has what was seen; the judge looks for an order of the requests, the log's answers and the timers
that the spec allows.
"""

from rota.linearise.history import (
    Answered,
    Broken,
    Event,
    History,
    HistoryError,
    Over,
    Quiet,
    Restarted,
    Sent,
)
from rota.linearise.judge import Judge, judge
from rota.linearise.judgement import Judgement, Limits, Moment, Nearest, OutOfTime, Verdict

__all__ = [
    "Answered",
    "Broken",
    "Event",
    "History",
    "HistoryError",
    "Judge",
    "Judgement",
    "Limits",
    "Moment",
    "Nearest",
    "OutOfTime",
    "Over",
    "Quiet",
    "Restarted",
    "Sent",
    "Verdict",
    "judge",
]
