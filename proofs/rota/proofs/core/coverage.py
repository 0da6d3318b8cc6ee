"""Which formula stands for which rule of the spec, and which rules are outside, with the reason."""

from __future__ import annotations

from rota.proofs.core import heartbeat, join, leave, persistence, rebalance, static, sync, timers
from rota.proofs.core.moves import Move

PARTS = ("join", "sync", "heartbeat", "leave", "static", "persistence", "timers")
"""The parts of the protocol whose rules must be covered or outside."""

MOVES: tuple[Move, ...] = tuple(
    value
    for module in (join, rebalance, sync, heartbeat, leave, static, persistence, timers)
    for value in vars(module).values()
    if isinstance(value, Move)
)
"""All rules as formulas."""

COVERED = frozenset(move.slug for move in MOVES)
"""The rules that have one."""

WORDS = {
    "join.barrier": "barrier",
    "static.validate": "fenced, unknown, valid",
}
"""Rules that decide rather than act, and what says so in `rota.proofs.core.words` for other formulas."""

_REFUSED = "refused before the group is looked at: nothing changes"
_NO_GROUP = "a group that does not exist is taken for one just made, Empty and without generation"

OUTSIDE = {
    "join.invalid-group-id": _REFUSED,
    "join.invalid-session-timeout": _REFUSED,
    "join.unknown-group": _NO_GROUP + ": what an unknown member is told there changes nothing either",
    "sync.protocol-required": _REFUSED,
    "sync.invalid-group-id": _REFUSED,
    "heartbeat.invalid-group-id": _REFUSED,
    "leave.invalid-group-id": _REFUSED,
    "leave.unknown-group": _NO_GROUP + ": nothing changes",
    "persistence.creation-failed": "ends the group: what is proved is about one life of a group, from its "
    "creation to its end",
    "persistence.creation-stored": "nothing changes and nobody is told anything",
    "persistence.emptied-failed": "answers a LeaveGroup, of which nothing is said here; nothing changes",
    "persistence.emptied-stored": "answers a LeaveGroup, of which nothing is said here; nothing changes",
}
"""Rules without a formula, and why they need none."""


def moves_of(slug: str) -> tuple[Move, ...]:
    """The parts of one rule. Errors: KeyError for one that has none."""
    found = tuple(move for move in MOVES if move.slug == slug)
    if not found:
        raise KeyError(slug)
    return found
