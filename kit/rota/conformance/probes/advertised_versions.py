"""Which versions a target advertises."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue
from rota.conformance.dialogues.negotiation import advertised
from rota.conformance.dialogues.registry import probe
from rota.conformance.dialogues.script import span
from rota.wire import api

MEMBERSHIP = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
BESIDE = (
    *("ApiVersions", "FindCoordinator", "OffsetCommit", "OffsetFetch", "OffsetDelete"),
    *("DescribeGroups", "ListGroups", "DeleteGroups"),
)
"""The other requests of a group's life."""


@probe(
    "wire.versions.membership",
    "The advertised versions of the requests of a group's members.",
    "KIP-35; the message schemas",
)
def membership(d: Dialogue) -> None:
    _tell(d, MEMBERSHIP)


@probe(
    "wire.versions.beside",
    "The advertised versions of the other requests about groups.",
    "KIP-35; the message schemas",
)
def beside(d: Dialogue) -> None:
    _tell(d, BESIDE)


def _tell(d: Dialogue, names: tuple[str, ...]) -> None:
    ranges = advertised(d.connect("a"), PROMPTLY)
    for name in names:
        found = ranges.get(api(name).key)
        d.remark(f"{name} {'v' + span(*found) if found else 'is not advertised'}")
