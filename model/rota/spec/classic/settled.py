"""What no rule can read any more is cleared: dead data would multiply the states and say nothing.

`settled` is applied after every step of the coordinator. Each clause gives the reason why no rule reads what
it clears; a test explores the system without it and compares: the image of all states under `settled` must be
exactly the states of the settled system. `Live` says what is in scope beside the membership, so that further
rules read further fields. The clauses hold as long as no client sends made-up fields.

Ids are minted from live data only (`rota.environment.broker.member_ids`), else dead data would leak into
names.
"""

from __future__ import annotations

from collections.abc import Iterable

from rota.kernel import replace
from rota.spec.classic.records import GroupRecord
from rota.spec.classic.state import Group, Member
from rota.spec.classic.vocabulary import GroupState, RecordKind, TimerKind
from rota.spec.effects import Timer, timer
from rota.spec.kind import MEMBERSHIP, Live


def settled(group: Group, live: Live = MEMBERSHIP) -> Group:
    """The group without dead fields."""
    if not live.offsets:
        # Rules of the membership only write it.
        group = replace(group, subscriptions=None)
    if group.state is not GroupState.STABLE and not live.describe:
        # Only `sync.stable` and records of a Stable group read assignments, and the step to Stable writes
        # them all.
        for member_id, member in group.members.items():
            group = group.with_member(member_id, replace(member, assignment=b""))
    read = live.names or live.statics or live.describe
    if group.state is GroupState.PREPARING_REBALANCE and not read:
        # The next generation overwrites the protocol. `sync.inconsistent-protocol` reads it before it
        # looks at the state, but a client that syncs with this generation names exactly this protocol,
        # and a group without one accepts any. A static member that waits for the log is told the protocol.
        group = replace(group, protocol_name=None)
    return group


def waits_for_log(member: Member) -> bool:
    """Whether a member's parked JoinGroup may wait for the log, as only those of static members do.

    What answers it then starts no session anew (see `static.replacement-stored`), so the one that runs while
    it is parked counts. It is longer than the broker ever waits for the log: six seconds against five, by
    default (group.min.session.timeout.ms, offsets.commit.timeout.ms).
    """
    return member.group_instance_id is not None and member.awaiting_join is not None


def settled_timers(group: Group | None, armed: Iterable[Timer]) -> frozenset[Timer]:
    """The armed timers that can do something.

    The session of a member with a parked request is ignored when it runs out (`timers.session-ignored`), and
    whatever answers the request arms it anew, unless the request waits for the log.
    """
    if group is None:
        return frozenset(armed)
    ignored = {
        timer(TimerKind.SESSION, i)
        for i, m in group.members.items()
        if (m.awaiting_join is not None or m.awaiting_sync is not None) and not waits_for_log(m)
    }
    return frozenset(armed) - ignored


def settled_appends(
    group: Group | None, appends: tuple[GroupRecord, ...], live: Live = MEMBERSHIP
) -> tuple[GroupRecord, ...]:
    """The appends whose answer can do something, or that another broker may load.

    `persistence.late-answer` ignores an answer to an assignment outside CompletingRebalance or of another
    generation, and a generation is never completed twice. The failure of a creation undoes nothing after
    the first generation, that of a replacement may undo it at any time. That a group is Empty is answered
    to nobody but a LeaveGroup.
    """
    if live.failover:
        return appends
    return tuple(record for record in appends if _answer_matters(group, record))


def _answer_matters(group: Group | None, record: GroupRecord) -> bool:
    same = group is not None and record.generation_id == group.generation_id
    if record.kind is RecordKind.ASSIGNMENT:
        return same and group is not None and group.state is GroupState.COMPLETING_REBALANCE
    if record.kind is RecordKind.CREATION:
        return same
    return record.kind is RecordKind.REPLACEMENT or record.answer is not None
