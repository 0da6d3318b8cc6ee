"""Settings that nobody gave: what rests on one of them is no violation, since the broker may have another."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rota.conformance.dialogues.broker_settings import (
    INITIAL_DELAY,
    MAX_METADATA,
    MAX_SESSION,
    MAX_SIZE,
    MIN_SESSION,
)
from rota.conformance.targets.target import DEFAULTS
from rota.linearise.states import State

MAX_REAUTH = "connections.max.reauth.ms"
"""Where it is not 0 a broker ends the connections of clients that do not authenticate again (KIP-368)."""

JUDGED_BY = {
    **{name: value for name, value in DEFAULTS.items() if not name.startswith("group.consumer.")},
    MAX_REAUTH: 0,
}
"""Settings by which answers are judged, and Kafka's defaults. None is of the consumer protocol's groups."""

OF_RULES = {
    "join.invalid-session-timeout": (MIN_SESSION, MAX_SESSION),
    "join.group-max-size-reached": (MAX_SIZE,),
    "offsets.metadata-too-large": (MAX_METADATA,),
}
"""Slug of a rule → the settings by which it decides."""


def untold(names: str) -> str:
    """Why what rests on settings is undecided that nobody gave."""
    return f"it rests on {names}, which nobody gave: say with --set what the broker runs with"


def assumed_behind(rule: str, states: Iterable[State], assumed: Collection[str]) -> str:
    """What is assumed, by names, and a violation rests on. Empty: nothing.

    rule: that is broken; states: in which the coordinator may have been; assumed: settings nobody gave.
    """
    names = [*OF_RULES.get(rule, ())]
    if any(state.group is not None and state.group.initial_join is not None for state in states):
        names.append(INITIAL_DELAY)
    return " or ".join(name for name in names if name in assumed)
