"""What no rule can read any more is cleared: dead data would multiply the states and say nothing.

`settled` is applied after every step of the coordinator. Each clause gives the reason why no rule reads
what it clears; a test explores the system without it and compares: the image of all states under `settled`
must be exactly the states of the settled system. The clauses hold as long as no DescribeGroups, no
fail-over and no client that sends made-up fields is in scope.

Ids are minted from live data only (`rota.environment.minting`), else dead data would leak into names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rota.spec.state import Group
from rota.spec.step import GroupRecord, Timer, TimerKind
from rota.spec.vocabulary import GroupState


def settled(group: Group) -> Group:
    """The group without dead fields."""
    if group.state is not GroupState.STABLE:
        # Only `sync.stable` reads assignments, and the step to Stable writes them all.
        group = group.with_each((i, replace(m, assignment=b"")) for i, m in group.members.items())
    if group.state is GroupState.PREPARING_REBALANCE:
        # The next generation overwrites the protocol. `sync.inconsistent-protocol` reads it before it
        # looks at the state, but a client that syncs with this generation names exactly this protocol,
        # and none matches any.
        group = replace(group, protocol_name=None)
    return group


def settled_timers(group: Group | None, armed: Iterable[Timer]) -> frozenset[Timer]:
    """The armed timers that can do something.

    The session of a member with a parked request is ignored when it runs out
    (`timers.session-ignored`), and whatever answers the request arms it anew.
    """
    parked = (
        set()
        if group is None
        else {
            i for i, m in group.members.items() if m.awaiting_join is not None or m.awaiting_sync is not None
        }
    )
    return frozenset(t for t in armed if t.kind is not TimerKind.SESSION or t.member_id not in parked)


def settled_appends(group: Group | None, appends: tuple[GroupRecord, ...]) -> tuple[GroupRecord, ...]:
    """The appends whose answer can do something.

    `persistence.late-answer` ignores an answer outside CompletingRebalance or of another generation, and
    a generation is never completed twice. Records of Empty groups are answered to nobody.
    """
    if group is None or group.state is not GroupState.COMPLETING_REBALANCE:
        return ()
    return tuple(record for record in appends if record.generation_id == group.generation_id)
