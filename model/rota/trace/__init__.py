"""A run as a thing: made from transitions, shown to a person, written as JSON lines, replayed.

A trace carries texts and component hashes and nothing of the protocol's types, so a file can be shown
without the system that it came from, and be verified with it. Same inputs give the same bytes.
"""

from rota.trace.jsonl import TraceFileError, dumps, read
from rota.trace.model import DEADLOCK, SCHEMA, Component, Hop, Origin, Sight, Step, Trace
from rota.trace.record import origin_of, record
from rota.trace.render import Difference, differences, render
from rota.trace.replay import ReplayError, UntrustedFactory, rebuild, replay
from rota.trace.text import text

__all__ = [
    "DEADLOCK",
    "SCHEMA",
    "Component",
    "Difference",
    "Hop",
    "Origin",
    "ReplayError",
    "Sight",
    "Step",
    "Trace",
    "TraceFileError",
    "UntrustedFactory",
    "differences",
    "dumps",
    "origin_of",
    "read",
    "rebuild",
    "record",
    "render",
    "replay",
    "text",
]
