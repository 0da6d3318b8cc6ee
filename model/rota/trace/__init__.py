"""Traces of runs: recorded from transitions, shown as text, written as JSON lines, replayed.

A trace consists of texts and component hashes, no value of the protocol's types. So a file can be shown
without the system that it came from, and verified by replay with it. Same inputs give the same bytes.
"""

from rota.trace.expressions import ExpressionError
from rota.trace.jsonl import TraceFileError, dumps, read
from rota.trace.model import DEADLOCK, SCHEMA, Component, LocalStep, Origin, Sight, Step, Trace
from rota.trace.reach import REACH, reaching
from rota.trace.record import origin_of, record, record_mistake
from rota.trace.render import Difference, differences, render
from rota.trace.replay import ReplayError, Run, UntrustedFactory, rebuild, replay
from rota.trace.text import text

__all__ = [
    "DEADLOCK",
    "REACH",
    "SCHEMA",
    "Component",
    "Difference",
    "ExpressionError",
    "LocalStep",
    "Origin",
    "ReplayError",
    "Run",
    "Sight",
    "Step",
    "Trace",
    "TraceFileError",
    "UntrustedFactory",
    "differences",
    "dumps",
    "origin_of",
    "reaching",
    "read",
    "rebuild",
    "record",
    "record_mistake",
    "render",
    "replay",
    "text",
]
