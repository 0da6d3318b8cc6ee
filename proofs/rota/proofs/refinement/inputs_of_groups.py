"""Everything that a small group may be asked: requests of anybody, timers, answers of the log.

Clients of the model never ask most of it. What differs only in what the abstraction leaves out is asked once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from rota.proofs.refinement.inputs import Answer, Input
from rota.spec import (
    Call,
    Group,
    GroupRecord,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    MemberRecord,
    ProtocolMetadata,
    RecordKind,
    Spec,
    SyncGroupRequest,
    Timer,
    TimerKind,
)
from rota.spec.classic.records import Replacement
from rota.spec.classic.state import Member
from rota.spec.effects import timer
from rota.spec.vocabulary import AppendError

STRANGER, FRESH, NEW, FORMER = "stranger-1", "fresh-1", "new-instance", "former-1"
"""Ids and an instance id that no group of the model has."""

HANDSHAKE, STATIC, OLDEST = 9, 5, 3
"""JoinGroup versions: with SkipAssignment, with instance ids only, without the member-id handshake."""

OTHERS = 4
"""The version of other requests: a SyncGroup need not name a protocol yet."""

ERROR = AppendError.NOT_ENOUGH_REPLICAS


Question = tuple[Spec, Input]


def questions(spec: Spec, group: Group) -> Iterator[Question]:
    """All of it; JoinGroups also where the group has reached its size limit."""
    calls = (*joins(group), *syncs(group), *heartbeats(group), *leaves(group))
    every: tuple[Input, ...] = (*calls, *due(group), *answers(group))
    yield from ((spec, given) for given in every)
    parked = len(group.awaiting_join) if group.state is GroupState.PREPARING_REBALANCE else len(group.members)
    if parked:
        full = replace(spec, config=replace(spec.config, group_max_size=parked))
        lists = _lists(group)[-1:]
        yield from ((full, one) for who, at in identities(group) for one in _joins(who, at, lists))


def identities(group: Group) -> list[tuple[str, str | None]]:
    """Member ids, also none and a stranger's, with instance ids, also none and a new one."""
    ids = ["", *sorted({*group.members, *group.pending}), STRANGER]
    return list(product(ids, [None, *_instances(group), NEW]))


def _instances(group: Group) -> list[str]:
    return sorted({m.group_instance_id for m in group.members.values() if m.group_instance_id is not None})


def joins(group: Group) -> Iterator[Call]:
    """JoinGroups: the member's own list and others, under the group's type and another."""
    lists = _lists(group)
    for who, at in identities(group):
        known = (who != STRANGER and at != NEW) or who == ""
        yield from _joins(who, at, lists if known else lists[-2:])
    for who, member in group.members.items():
        own = group.protocol_type or "", member.protocols
        yield from _joins(who, member.group_instance_id, [own])


Lists = list[tuple[str, tuple[ProtocolMetadata, ...]]]
"""Protocol types with protocols."""


def _joins(who: str, at: str | None, lists: Lists) -> Iterator[Call]:
    versions = (HANDSHAKE,) if who else (HANDSHAKE, STATIC) if at else (HANDSHAKE, OLDEST)
    for kind, protocols in lists:
        request = JoinGroupRequest("g", 45_000, 3_000, who, kind, protocols, at)
        yield from (Call(request, "", version, FRESH) for version in versions)


def _lists(group: Group) -> Lists:
    names = sorted({name for m in group.members.values() for name in m.names} | {"other"})[:3]
    each = [*((name,) for name in names), tuple(reversed(names)), tuple(names)]
    lists = [tuple(ProtocolMetadata(name, b"odd") for name in few) for few in each]
    kind = group.protocol_type or "consumer"
    return [("connect", lists[0]), ("", lists[0]), (kind, ()), *((kind, few) for few in lists)]


def syncs(group: Group) -> Iterator[Call]:
    """SyncGroups of this generation and others, which name the protocol, another or none."""
    everybody = tuple(MemberAssignment(i, f"to {i}".encode()) for i in (*group.members, STRANGER))
    for (who, at), of in product(identities(group), _generations(group)):
        bare = SyncGroupRequest("g", of, who, group_instance_id=at)
        yield _call(bare)
        if who in group.members and of == group.generation_id:
            yield _call(replace(bare, protocol_name=group.protocol_name, protocol_type=group.protocol_type))
            yield _call(replace(bare, protocol_name="another"))
            yield _call(replace(bare, protocol_type="another"))
            yield from (_call(replace(bare, assignments=everybody[at:])) for at in range(len(everybody)))


def _call(request: SyncGroupRequest | HeartbeatRequest | LeaveGroupRequest) -> Call:
    return Call(request, "", OTHERS, FRESH)


def _generations(group: Group) -> tuple[int, ...]:
    now = group.generation_id
    return (now - 1, now, now + 1)


def heartbeats(group: Group) -> Iterator[Call]:
    """Heartbeats of this generation and others."""
    for (who, at), of in product(identities(group), _generations(group)):
        yield _call(HeartbeatRequest("g", of, who, at))


def leaves(group: Group) -> Iterator[Call]:
    """LeaveGroups of nobody, of one, and of two of those that are there."""
    each = [LeavingMember(who, at) for who, at in identities(group)]
    own = [LeavingMember(i, m.group_instance_id) for i, m in group.members.items()]
    known = [*own, *(LeavingMember(i) for i in sorted(group.pending))]
    yield _call(LeaveGroupRequest("g", ()))
    yield from (_call(LeaveGroupRequest("g", (one,))) for one in each)
    yield from (_call(LeaveGroupRequest("g", pair)) for pair in product(known, known))


def due(group: Group) -> Iterator[Timer]:
    """The timers that may be armed in such a group."""
    if group.state is GroupState.PREPARING_REBALANCE:
        yield timer(TimerKind.INITIAL_JOIN if group.initial_join else TimerKind.JOIN)
    if group.pending_sync:
        yield timer(TimerKind.SYNC)
    for i, m in group.members.items():
        yield timer(TimerKind.NEW_MEMBER if m.is_new else TimerKind.SESSION, i)
    yield from (timer(TimerKind.PENDING, i) for i in sorted(group.pending))


def answers(group: Group) -> Iterator[Answer]:
    """The log's answers to records of assignments and replacements, of now and of an earlier generation."""
    for record, error in product((*_assignments(group), *_replacements(group)), (None, ERROR)):
        yield Answer(record, error)


def _record(group: Group, kind: RecordKind, of: int, lines: tuple[MemberRecord, ...]) -> GroupRecord:
    return GroupRecord(of, group.protocol_type, group.protocol_name, group.leader, lines, kind)


def _lines(group: Group) -> tuple[MemberRecord, ...]:
    return tuple(
        MemberRecord(i, f"to {i}".encode(), b"", m.group_instance_id) for i, m in group.members.items()
    )


def _assignments(group: Group) -> Iterator[GroupRecord]:
    lines = _lines(group)
    for of, some in product(_generations(group)[:2], (lines, lines[1:])):
        yield _record(group, RecordKind.ASSIGNMENT, of, some)


def _replacements(group: Group) -> Iterator[GroupRecord]:
    """Of static members that are there or gone, by requests of both versions, with each list kept."""
    gone = (STRANGER, Member(3_000, 45_000, (ProtocolMetadata("other"),), group_instance_id=NEW))
    there = [(i, m) for i, m in group.members.items() if m.group_instance_id is not None]
    lists = {m.protocols for _, m in [*there, gone]}
    for (new, member), of, skips, kept in product(
        [*there, gone], _generations(group)[:2], (True, False), sorted(lists, key=str)
    ):
        line = MemberRecord(new, b"", b"", member.group_instance_id)
        for leader in sorted({FORMER, group.leader or FORMER} - {new}):
            change = Replacement(new, FORMER, leader, skips, 3_000, 45_000, kept)
            others = tuple(one for one in _lines(group) if one.member_id != new)
            record = _record(group, RecordKind.REPLACEMENT, of, (*others, line))
            yield replace(record, replacement=change)
