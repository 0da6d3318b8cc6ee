"""Who is told to be in a group, and the states that it may be in then.

A description of a Stable group and a stored record both tell the members, their instance ids, their metadata
for the protocol and their assignments; the record tells the generation, the leader and the timeouts, too. A
heartbeat that is answered without an error tells the rest: that its generation is the group's, and that no
join phase goes on. What nobody told is kept open: a session whose timeout is not known, or whose member may
have to sync yet, may run out at any time, or never. What members have listed beside the protocol nobody told
either, so from the next JoinGroup on nothing can be judged.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rota.history import Event
from rota.kernel import FrozenMap
from rota.linearise.states import ANY_DELAY, AT_ANY_TIME, State
from rota.linearise.times import Span
from rota.spec import ErrorCode, Group, GroupState, ProtocolMetadata, Timer
from rota.spec.admin_messages import DescribeGroupsReply
from rota.spec.classic.state import Member
from rota.spec.classic.vocabulary import TimerKind

MOST_UNKNOWN = 5
"""Members whose sessions may run out at any time, at most: each doubles the states."""


@dataclass(frozen=True)
class Listed:
    """A member as it was told of. session_ms, rebalance_ms: None where they were not told."""

    metadata: bytes
    assignment: bytes
    instance: str | None = None
    session_ms: int | None = None
    rebalance_ms: int | None = None


@dataclass(frozen=True)
class Roster:
    """The members of a generation. generation: None where it was not told; stored: whether by a record."""

    protocol_type: str
    protocol: str
    members: Mapping[str, Listed]
    generation: int | None = None
    leader: str = ""
    stored: bool = False


@dataclass(frozen=True)
class Beat:
    """A heartbeat that was answered without an error: of which member and generation, sent and told when."""

    member_id: str
    generation: int
    sent: float
    at: float


def described(reply: object) -> Roster | None:
    """What a description tells, if it is of a Stable group."""
    if not isinstance(reply, DescribeGroupsReply) or reply.error_code is not ErrorCode.NONE:
        return None
    if reply.group_state != GroupState.STABLE.value or not reply.members:
        return None
    members = {
        one.member_id: Listed(one.member_metadata, one.member_assignment, one.group_instance_id)
        for one in reply.members
    }
    return Roster(reply.protocol_type, reply.protocol_data, members)


def stored(event: Event) -> Roster | None:
    """What a stored record tells, if it has members and all of theirs."""
    told: Mapping[str, Any] = event.data
    try:
        members = {one["member"]: _listed(one) for one in told.get("members", ())}
        kind, protocol = told["protocol_type"] or "", told["protocol"]
    except (KeyError, TypeError, ValueError):
        return None
    if not members or event.generation is None or not protocol:
        return None
    return Roster(kind, protocol, members, event.generation, event.member, stored=True)


def _listed(one: Mapping[str, Any]) -> Listed:
    session, rebalance = (one[name] for name in ("session_ms", "rebalance_ms"))
    return Listed(
        b64decode(one["subscription"]),
        b64decode(one["assignment"]),
        one["instance"] or None,
        session if isinstance(session, int) else None,
        rebalance if isinstance(rebalance, int) else None,
    )


def state_at(roster: Roster, beat: Beat, synced: Collection[str]) -> State | None:
    """The state in which a heartbeat finds a group; None where too much of it is not known.

    synced: members that have been seen to sync in this generation, and so will not be missed there.
    """
    if beat.member_id not in roster.members or roster.generation not in (None, beat.generation):
        return None
    members = {
        member_id: _member(roster, listed, member_id in synced)
        for member_id, listed in roster.members.items()
    }
    if sum(one.session_timeout_ms == ANY_DELAY for one in members.values()) > MOST_UNKNOWN:
        return None
    group = Group(
        GroupState.STABLE,
        beat.generation,
        roster.protocol_type,
        roster.protocol,
        roster.leader,
        FrozenMap(members.items()),
    )
    armed = {
        Timer(TimerKind.SESSION.value, member_id): _due(member, beat, member_id == beat.member_id)
        for member_id, member in members.items()
    }
    return State(group, armed=FrozenMap(armed.items()), ids=frozenset(members), low=beat.at)


def _member(roster: Roster, listed: Listed, has_synced: bool) -> Member:
    known = has_synced and listed.session_ms is not None and listed.rebalance_ms is not None
    session, rebalance = (listed.session_ms, listed.rebalance_ms) if known else (ANY_DELAY, 0)
    return Member(
        rebalance or 0,
        ANY_DELAY if session is None else session,
        (ProtocolMetadata(roster.protocol, listed.metadata),),
        listed.assignment,
        group_instance_id=listed.instance,
    )


def _due(member: Member, beat: Beat, has_beaten: bool) -> Span:
    if member.session_timeout_ms == ANY_DELAY:
        return AT_ANY_TIME
    seconds = member.session_timeout_ms / 1000
    return Span(beat.sent + seconds if has_beaten else beat.at, beat.at + seconds)
