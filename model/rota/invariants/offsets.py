"""Offsets: who may commit, and that what was acknowledged is told."""

from __future__ import annotations

from rota.environment.broker.offsets import OffsetsKept
from rota.environment.clients.state import Client, Phase
from rota.invariants.views import GROUP, is_not
from rota.kernel import Kind, Property, View
from rota.spec import Group


def _trespassed(value: OffsetsKept) -> bool:
    return value.trespassed


def _broken(value: OffsetsKept) -> bool:
    return value.broken


def _committed(value: OffsetsKept) -> bool:
    return any(offset > 0 for offset in value.promised.values())


def _is(flag: bool) -> bool:
    return flag


def _processing(client: Client) -> str | None:
    return client.member_id if client.phase is Phase.PROCESSING else None


def _is_busy(group: Group | None, processing: str | None) -> bool:
    return processing is not None


def _still_a_member(group: Group | None, processing: str) -> bool:
    return group is not None and processing in group.members


OFFSETS = (
    Property(
        "offsets.commit-by-current-member",
        Kind.SAFETY,
        "A commit is accepted from a member of the current generation that may have its part of it, or from "
        "anybody in an Empty group; one in a transaction also from a member that has no part yet, or from a "
        "producer that names nobody.",
        (View("offsets", _trespassed),),
        is_not,
        source="KIP-447; upstream ClassicGroup#validateOffsetCommit",
        rules=(
            "offsets.unknown-member",
            "offsets.illegal-generation",
            "offsets.rebalance-in-progress",
            "transactions.commit-unknown-member",
            "transactions.commit-illegal-generation",
        ),
    ),
    Property(
        "offsets.acknowledged-is-told",
        Kind.SAFETY,
        "A fetch is told the offset that was acknowledged last, also after fail-overs, unless it has been "
        "deleted, or was old in a group that did not need it.",
        (View("offsets", _broken),),
        is_not,
        source="KIP-211; upstream OffsetMetadataManager#fetchOffsets, #replay, ClassicGroup"
        "#offsetExpirationCondition",
        rules=(
            "offsets.stored",
            "offsets.fetch",
            "offsets.commit",
            "expiry.nothing-expires",
            "expiry.subscribed-group",
            "expiry.group-unused",
        ),
    ),
)
"""What is claimed where clients commit."""

CAN_COMMIT = Property(
    "can_commit",
    Kind.WITNESS,
    "A client's progress is stored.",
    (View("offsets", _committed),),
    _is,
)

KNOWN_WEAKNESSES = (
    Property(
        "weakness.busy-client-taken-for-dead",
        Kind.SAFETY,
        "A client that is alive and processes what it got is not taken out of its group.",
        (GROUP, View("client", _processing)),
        _still_a_member,
        given=_is_busy,
        source="KIP-62: before 0.10.1 heartbeats came from poll(), so whoever processed for longer than its "
        "session was taken for dead",
        rules=("timers.session-expired",),
    ),
)
"""What clients before 0.10.1 cannot avoid, whatever the broker."""
