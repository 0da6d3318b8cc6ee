"""The coordinator core's messages in the spec's words, and what both sides did in one comparable form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, Protocol

from rota import coordinator as core
from rota.spec import Arm, Cancel, Group, GroupRecord, Member, MemberRecord, Timer
from rota.spec.classic.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.messages import Request

CoreRequest = core.JoinGroup | core.SyncGroup | core.Heartbeat | core.LeaveGroup
Fields = Mapping[str, Any]
Observation = Mapping[str, Fields]
"""What one step did: topic ("answer to r3", "timer sync", "record", "group") → field → value."""

CANCELLED = "cancelled"
RECORDED = {
    "assignments": "assignment",
    "subscriptions": "subscription",
    "instance ids": "group_instance_id",
    "session timeouts": "session_timeout_ms",
    "rebalance timeouts": "rebalance_timeout_ms",
}
"""What a record says of each member, beside its id: how it is called here → the field."""


def to_spec(request: CoreRequest, version: int) -> Request:
    """A request of the core as the spec words it; version: below 3 a LeaveGroup names one member."""
    if isinstance(request, core.JoinGroup):
        return JoinGroupRequest(
            group_id=request.group_id,
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            member_id=request.member_id,
            protocol_type=request.protocol_type,
            protocols=tuple(ProtocolMetadata(p.name, p.metadata) for p in request.protocols),
            group_instance_id=request.group_instance_id,
        )
    if isinstance(request, core.SyncGroup):
        return SyncGroupRequest(
            group_id=request.group_id,
            generation_id=request.generation_id,
            member_id=request.member_id,
            assignments=tuple(MemberAssignment(a.member_id, a.assignment) for a in request.assignments),
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            group_instance_id=request.group_instance_id,
        )
    if isinstance(request, core.Heartbeat):
        return HeartbeatRequest(
            request.group_id, request.generation_id, request.member_id, request.group_instance_id
        )
    leavers = tuple(LeavingMember(m.member_id, m.group_instance_id) for m in request.members)
    return LeaveGroupRequest(
        request.group_id, leavers if version >= 3 else (LeavingMember(request.member_id),)
    )


def spec_timer(timer_id: core.TimerId) -> Timer:
    """The spec's name of a timer; the group's id is not part of it."""
    return Timer(timer_id.kind, timer_id.member_id)


def _timer_of(timer_id: core.TimerId, group_id: str) -> Timer:
    """The spec's name of a timer; that of another group gets a name that the spec does not have."""
    if timer_id.group_id == group_id:
        return spec_timer(timer_id)
    return Timer(f"{timer_id.kind} of group {timer_id.group_id!r}", timer_id.member_id)


def answer(reply: Any) -> Fields:
    """A reply of either side: its kind, and its fields by name."""
    return {"kind": type(reply).__name__.removesuffix("Reply"), **plain_fields(reply)}


def core_record(append: core.Append, group_id: str) -> Fields:
    """What the spec says too of a record of the core; that of another group has a field more."""
    record = append.record
    if not isinstance(record, core.GroupRecord):
        return {"kind": type(record).__name__}
    foreign = {} if append.group_id == group_id else {"group_id": append.group_id}
    return {**group_record(record), **foreign}


def group_record(record: core.GroupRecord | GroupRecord) -> Fields:
    """A group's record of either side. No protocol type is the same as an empty one, which the log has."""
    return {
        "generation_id": record.generation_id,
        "protocol_type": record.protocol_type or None,
        "protocol_name": record.protocol_name,
        "leader": record.leader,
        **{title: _of_each(record.members, name) for title, name in RECORDED.items()},
    }


def _of_each(members: Iterable[core.MemberRecord | MemberRecord], name: str) -> tuple[tuple[str, Any], ...]:
    return tuple((member.member_id, getattr(member, name)) for member in members)


def core_group(group: core.Group | None) -> Fields:
    """The state of the core's group; nothing where there is none."""
    if group is None:
        return {}
    pending, pending_sync = group.pending_members, group.pending_sync_members
    return _group(group, str(group.state), group.members, pending, pending_sync)


def spec_group(group: Group | None) -> Fields:
    """The state of the spec's group; nothing where there is none."""
    if group is None:
        return {}
    return _group(group, group.state.value, group.members, group.pending, group.pending_sync)


def _group(
    group: core.Group | Group,
    state: str,
    members: Mapping[str, core.Member] | Mapping[str, Member],
    pending: Iterable[str],
    pending_sync: Iterable[str],
) -> Fields:
    return {
        "state": state,
        "generation_id": group.generation_id,
        "protocol_type": group.protocol_type,
        "protocol_name": group.protocol_name,
        "leader": group.leader,
        "members": tuple(sorted(members)),
        "pending members": tuple(sorted(pending)),
        "pending sync members": tuple(sorted(pending_sync)),
        "instance ids": tuple(
            sorted(
                (key, one.group_instance_id)
                for key, one in members.items()
                if one.group_instance_id is not None
            )
        ),
        "assignments": tuple(sorted((key, one.assignment) for key, one in members.items() if one.assignment)),
        "subscriptions": None if group.subscriptions is None else tuple(sorted({*group.subscriptions})),
    }


def core_timer_effects(effects: core.Effects, group_id: str) -> dict[Timer, int | str]:
    """The last effect on each timer: a delay in milliseconds, or cancelled. group_id: whose they are."""
    return {
        _timer_of(effect.timer_id, group_id): effect.delay_ms if isinstance(effect, core.Arm) else CANCELLED
        for effect in effects.timers
    }


class Timed(Protocol):
    """A step with what it does to timers."""

    @property
    def timers(self) -> tuple[Arm | Cancel, ...]:
        """In order."""


def spec_timer_effects(step: Timed) -> dict[Timer, int | str]:
    """The last effect on each timer of a step: a delay in milliseconds, or cancelled."""
    return {effect.timer: effect.delay_ms if isinstance(effect, Arm) else CANCELLED for effect in step.timers}


def observed(
    answers: Iterable[tuple[str, Any]],
    timer_effects: Mapping[Timer, int | str],
    armed: Iterable[Timer],
    records: Iterable[Fields],
    group: Fields,
) -> Observation:
    """One step in comparable form. The order of answers to different requests does not count.

    That a timer is cancelled which is not armed does not count: `armed` are those before the step.
    """
    topics: dict[str, Fields] = {}
    for address, reply in answers:
        _put(topics, f"answer to {address}", answer(reply))
    for record in records:
        _put(topics, "record", record)
    before = frozenset(armed)
    for timer, effect in timer_effects.items():
        if effect != CANCELLED or timer in before:
            topics[f"timer {timer.name} {timer.member_id}".rstrip()] = {"delay_ms": effect}
    if group:
        topics["group"] = group
    return topics


def _put(topics: dict[str, Fields], topic: str, what: Fields) -> None:
    while topic in topics:
        topic += ", again"
    topics[topic] = what


def plain_fields(value: Any) -> dict[str, Any]:
    """The fields of a message of either side in the form in which both are equal."""
    return {name: _plain(getattr(value, name)) for name in _names(type(value))}


def _plain(value: Any) -> Any:
    """Enums as numbers, members as tuples of (field, value): the form in which both sides are equal."""
    if hasattr(value, "__dataclass_fields__"):
        return tuple(sorted(plain_fields(value).items()))
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return value.value if isinstance(value, Enum) else value


_NAMES: dict[type, tuple[str, ...]] = {}


def _names(kind: Any) -> tuple[str, ...]:
    if kind not in _NAMES:
        _NAMES[kind] = tuple(item.name for item in fields(kind))
    return _NAMES[kind]
