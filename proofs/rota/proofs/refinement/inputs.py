"""What the coordinator takes, read for the formulas: which rules may begin the step, with which arguments.

Arguments that the formulas leave open (whether there is room, whether a list has changed, whether a newcomer
must shake hands, whether a named protocol fits) are read off the request here, so that a rule which decides
them wrongly is not allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rota.proofs.core import heartbeat, join, leave, persistence, static, sync, timers
from rota.proofs.core.logic import Kind
from rota.proofs.core.moves import Move
from rota.proofs.refinement.abstraction import KINDS, NOW, Cast, Written, relative, written
from rota.proofs.refinement.forward import Started
from rota.spec import (
    Call,
    Group,
    GroupRecord,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    Spec,
    SyncGroupRequest,
    Timer,
    TimerKind,
)
from rota.spec.classic.join import HANDSHAKE_SINCE
from rota.spec.classic.static import SKIPS_SINCE
from rota.spec.classic.vocabulary import kind_of
from rota.spec.vocabulary import AppendError

JOINS = (
    join.inconsistent_protocol,
    join.fenced_instance_id,
    join.unknown_member,
    join.member_id_required,
    join.new_member,
    join.new_static_member,
    join.pending_member,
    join.while_preparing,
    join.leader_rejoins,
    join.changed_protocols,
    join.unchanged,
    join.pending_with_instance,
    static.replaced,
)
SYNCS = (
    sync.fenced_instance_id,
    sync.unknown_member,
    sync.illegal_generation,
    sync.inconsistent_protocol,
    sync.rebalance_in_progress,
    sync.stable,
    sync.follower_waits,
    sync.leader_assigns,
)
HEARTBEATS = (
    heartbeat.fenced_instance_id,
    heartbeat.unknown_member,
    heartbeat.illegal_generation,
    heartbeat.rebalance_in_progress,
    heartbeat.alive,
)
LEAVES = (
    leave.by_instance_id,
    leave.pending_member,
    leave.fenced_instance_id,
    leave.unknown_member,
    leave.member,
)
TIMERS: Mapping[TimerKind, tuple[Move, ...]] = {
    TimerKind.INITIAL_JOIN: (timers.initial_delay_extended, timers.initial_delay_over),
    TimerKind.JOIN: (timers.join_timeout,),
    TimerKind.SYNC: (timers.sync_timeout_begins,),
    TimerKind.SESSION: (timers.session_ignored, timers.session_expired),
    TimerKind.NEW_MEMBER: (timers.new_member_expired,),
    TimerKind.PENDING: (timers.pending_expired,),
}
ANSWERS: Mapping[tuple[Kind, bool], tuple[Move, ...]] = {
    (Kind.ASSIGNMENT, True): (persistence.late_answer, persistence.assignment_stored),
    (Kind.ASSIGNMENT, False): (persistence.late_answer, persistence.assignment_failed),
    (Kind.REPLACEMENT, True): (static.replacement_stored_late, static.replacement_stored),
    (Kind.REPLACEMENT, False): (static.replacement_failed_late, static.replacement_failed),
}
"""By the record's kind and whether it is stored."""


@dataclass(frozen=True)
class Answer:
    """The log's answer to an append. error: None where it is stored."""

    record: GroupRecord
    error: AppendError | None


Input = Call | Timer | Answer


@dataclass(frozen=True)
class Reading:
    """An input as the formulas take it. appended: what is in flight before the step."""

    cast: Cast
    starts: tuple[Started, ...]
    batch: tuple[tuple[Started, ...], ...] = ()
    appended: tuple[Written, ...] = ()


def reading(spec: Spec, group: Group | None, given: Input) -> Reading | None:
    """The input for the formulas; None where none of them is about it."""
    group = group or Group()
    if isinstance(given, Timer):
        who = [given.member_id]
        starts = tuple(Started(move, _for(move, who=who)) for move in TIMERS[kind_of(given)])
        return Reading(_cast(group), starts)
    if isinstance(given, Answer):
        return _answer(group, given)
    request = given.request
    if isinstance(request, JoinGroupRequest):
        return _join(spec, group, given, request)
    if isinstance(request, SyncGroupRequest):
        return _sync(spec, group, request)
    if isinstance(request, HeartbeatRequest):
        of = [relative(request.generation_id, group.generation_id)]
        known: dict[str, Sequence[Any]] = {
            "who": [request.member_id],
            "at": [request.group_instance_id],
            "of": of,
        }
        cast = _cast(group, {request.member_id: request.group_instance_id})
        return Reading(cast, tuple(Started(move, _for(move, **known)) for move in HEARTBEATS))
    return _leave(group, request) if isinstance(request, LeaveGroupRequest) else None


def _for(move: Move, **known: Sequence[Any]) -> dict[str, Sequence[Any]]:
    return {name: values for name, values in known.items() if name in move.args}


def _cast(
    group: Group,
    ids: Mapping[str, str | None] | None = None,
    *,
    protocols: Iterable[str] = (),
    assignments: Iterable[bytes] = (),
    records: Iterable[Written] = (),
) -> Cast:
    """Whoever is in the group, and what else the input names. ids: with instances."""
    ids = ids or {}
    others = {*group.pending, *group.pending_sync, group.leader or "", "", *ids}
    own = {i: m.group_instance_id for i, m in group.members.items()}
    members = {**dict.fromkeys(others), **ids, **own, "": None}
    members |= dict.fromkeys(group.pending)
    names = {name for m in group.members.values() for name in m.names}
    return Cast(
        frozenset(members.items()),
        frozenset({*members.values(), *ids.values(), None}),
        frozenset({*names, *protocols, group.protocol_name, None}),
        frozenset({*assignments, *(m.assignment for m in group.members.values()), b""}),
        frozenset(records),
    )


def has_room(spec: Spec, group: Group, member_id: str) -> bool:
    """Whether the size limit lets a JoinGroup pass (KIP-389)."""
    limit, members = spec.config.group_max_size, group.members
    if not spec.profile.size_limit or group.state is GroupState.EMPTY:
        return True
    if group.state is GroupState.PREPARING_REBALANCE:
        parked = [i for i, m in members.items() if m.awaiting_join is not None]
        return member_id in parked or len(parked) < limit
    return member_id in members or len(members) < limit


def offered(group: Group, request: JoinGroupRequest) -> frozenset[str]:
    """The protocols of a JoinGroup. Under another type than the group's a list offers nothing."""
    empty = group.state is GroupState.EMPTY
    fits = bool(request.protocol_type) if empty else request.protocol_type == group.protocol_type
    return frozenset(protocol.name for protocol in request.protocols if fits)


def _join(spec: Spec, group: Group, call: Call, request: JoinGroupRequest) -> Reading:
    who, at = request.member_id, request.group_instance_id
    names = offered(group, request)
    ids = {call.fresh_id: None, who: at} if who else {call.fresh_id: at}
    if not has_room(spec, group, who):
        start = Started(join.group_max_size_reached, {"who": [who]})
        return Reading(_cast(group, ids, protocols=names), (start,))
    records = tuple(_replacements(group, call))
    own = group.members.get(who)
    known: dict[str, Sequence[Any]] = {
        "who": [who],
        "at": [at],
        "offered": [names.__contains__],
        "room": [True],
        "shakes": [spec.profile.member_id_handshake and call.version >= HANDSHAKE_SINCE],
        "changed": [own is not None and own.protocols != request.protocols],
        "fresh": [call.fresh_id],
        "holder": [i for i, m in group.members.items() if m.group_instance_id is not None],
        "record": records,
    }
    cast = _cast(group, ids, protocols=names, records=records)
    return Reading(cast, tuple(Started(move, _for(move, **known)) for move in JOINS))


def _replacements(group: Group, call: Call) -> Iterator[Written]:
    """Records that a replacement might write: the right one, and some that are wrong in one thing."""
    request = call.request
    assert isinstance(request, JoinGroupRequest)
    former = group.holder(request.group_instance_id)
    if former is None or request.member_id:
        return
    protocols = frozenset(group.members[former].names)
    covers = frozenset({*group.members, call.fresh_id} - {former})
    right = Written(
        Kind.REPLACEMENT,
        NOW,
        covers,
        newcomer=call.fresh_id,
        former=former,
        led_then=group.leader or "",
        skips=call.version >= SKIPS_SINCE,
        former_supports=protocols,
    )
    yield right
    yield replace(right, kind=Kind.ASSIGNMENT)
    yield replace(right, written_in=NOW - 1)
    yield replace(right, covers=covers - {call.fresh_id})
    yield replace(right, newcomer=former)
    yield replace(right, former=call.fresh_id)
    yield replace(right, led_then=call.fresh_id)
    yield replace(right, former_supports=frozenset())


def _sync(spec: Spec, group: Group, request: SyncGroupRequest) -> Reading:
    who, at = request.member_id, request.group_instance_id
    given = {line.member_id: line.assignment for line in request.assignments}
    records = tuple(_assignments(group, given))
    known: dict[str, Sequence[Any]] = {
        "who": [who],
        "at": [at],
        "of": [relative(request.generation_id, group.generation_id)],
        "fits": [_fits(spec, group, request)],
        "given": [lambda m: given.get(m, b"")],
        "record": records,
    }
    cast = _cast(group, {**dict.fromkeys(given), who: at}, assignments=given.values(), records=records)
    return Reading(cast, tuple(Started(move, _for(move, **known)) for move in SYNCS))


def _fits(spec: Spec, group: Group, request: SyncGroupRequest) -> bool:
    """Whether what a SyncGroup names is the group's. Of a group without a name a profile says what fits."""
    pairs = (
        (request.protocol_type, group.protocol_type),
        (request.protocol_name, group.protocol_name),
    )
    return all(
        named in (None, own) or (own is None and spec.profile.unnamed_protocol_fits) for named, own in pairs
    )


def _assignments(group: Group, given: Mapping[str, bytes]) -> Iterator[Written]:
    """Records that a leader's SyncGroup might write: the right one, and some that are wrong in one thing."""
    lines = {i: given.get(i, b"") for i in group.members}
    right = Written(Kind.ASSIGNMENT, NOW, frozenset(lines), frozenset(lines.items()))
    yield right
    yield replace(right, kind=Kind.REPLACEMENT)
    yield replace(right, written_in=NOW - 1)
    yield replace(right, covers=frozenset(), gives=frozenset())
    yield replace(right, gives=frozenset((i, what + b"!") for i, what in lines.items()))


def _leave(group: Group, request: LeaveGroupRequest) -> Reading:
    ids = {one.member_id: one.group_instance_id for one in request.members}
    batch = tuple(tuple(_identity(group, one)) for one in request.members)
    return Reading(_cast(group, ids), (Started(leave.batch_begins),), batch)


def _identity(group: Group, one: LeavingMember) -> Iterator[Started]:
    who, at = one.member_id, one.group_instance_id
    holders = [i for i, m in group.members.items() if not who and at and m.group_instance_id == at]
    for move in LEAVES:
        yield Started(move, _for(move, who=[who], at=[at], holder=holders))


def _answer(group: Group, given: Answer) -> Reading | None:
    if given.record.kind not in KINDS:
        return None
    record = written(given.record, group.generation_id)
    ids: dict[str, str | None] = dict.fromkeys(record.covers)
    ids |= {line.member_id: line.group_instance_id for line in given.record.members}
    if record.kind is Kind.REPLACEMENT:
        ids |= {record.former: ids[record.newcomer], record.led_then: ids.get(record.led_then)}
    cast = _cast(
        group,
        ids,
        protocols=record.former_supports,
        assignments=(what for _, what in record.gives),
        records=[record],
    )
    known: dict[str, Sequence[Any]] = {"record": [record]}
    moves = ANSWERS[record.kind, given.error is None]
    starts = tuple(Started(move, _for(move, **known)) for move in moves)
    return Reading(cast, starts, appended=(record,))
