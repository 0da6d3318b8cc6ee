"""Requests and answers to what they tell of a rebalance, in the kinds that clients' logs have.

Frames tell more than logs: who is in a generation, by the list that its leader is given, and when each member
was heard last. So a member that is missing there was silent for its session timeout, or went on heartbeating
and did not join, or how it went is not visible.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from rota.conformance.connections.error_codes import error_name
from rota.history import Event, Kind
from rota.history.pairs import connection_of
from rota.record.dialogue import BROKER, ended_by
from rota.wire import WireError
from rota.wire.consumer import decode_assignment
from rota.wire.error_codes import ERROR_CODES

FORGOTTEN = 3600.0
"""Seconds of silence after which a group, or a request without an answer, is forgotten."""

LOOK = 600.0

UNKNOWN_MEMBER_ID = ERROR_CODES["UNKNOWN_MEMBER_ID"]

SLACK = 0.95
"""So much of a session timeout a member was silent at least when it had run out: clocks and frames in
flight."""

Told = Iterator[Event]


@dataclass
class _Group:
    """What frames told of a group. roster: member → instance id, since when; heard: member → when it sent
    something last; cut: member → when the broker ended the connection on which that was; before: member →
    both, as they were before what has no answer yet or was refused since nobody knows it; synced: member →
    generation in which it asked for its assignment; rebalance_ms: the longest timeout; began: the first sign
    of the rebalance that goes on; connections: that are open, on which it was asked; gone: when the last of
    them ended."""

    roster: dict[str, str] = field(default_factory=dict)
    heard: dict[str, float] = field(default_factory=dict)
    cut: dict[str, float] = field(default_factory=dict)
    before: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    sessions: dict[str, int] = field(default_factory=dict)
    since: float | None = None
    generation: int = -1
    synced: dict[str, int] = field(default_factory=dict)
    rebalance_ms: int = 0
    joined: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    began: float | None = None
    seen: float = 0.0
    connections: set[str] = field(default_factory=set)
    gone: float | None = None

    def hears(self, member: str, at: float) -> None:
        """A member has sent something."""
        self.before.setdefault(member, (self.heard.get(member), self.cut.pop(member, None)))
        self.heard[member] = at

    def answers(self, member: str, is_known: bool) -> None:
        """It was answered; who is not known any more was gone before it sent that."""
        heard, cut = self.before.get(member, (None, None))
        if is_known:
            self.before.pop(member, None)
        elif heard is not None:
            self.heard[member] = heard
            if cut is not None:
                self.cut[member] = cut

    def keeps(self, roster: Mapping[str, str]) -> None:
        """Of others nothing is remembered any more."""
        for known in (self.heard, self.cut, self.before, self.sessions, self.synced):
            for gone in known.keys() - roster.keys():
                del known[gone]


class Frames:
    """The translation. Kept is what has no answer yet, and the groups that were heard of within the hour."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, int], Event] = {}
        self._groups: dict[str, _Group] = {}
        self._speaks: dict[str, tuple[str, str]] = {}  # connection → group and member, of the last to speak
        self._asks: dict[str, set[str]] = {}  # connection → groups that were asked on it
        self._looked: float | None = None
        self._requests: Mapping[str, Callable[[Event, _Group], Told]] = {
            "JoinGroup": self._joins,
            "SyncGroup": self._syncs,
            "LeaveGroup": self._leaves,
        }
        self._responses: Mapping[str, Callable[[Event, Event, _Group], Told]] = {
            "JoinGroup": self._joined,
            "SyncGroup": self._synced,
            "Heartbeat": self._beaten,
            "OffsetCommit": self._committed,
        }

    @property
    def kept(self) -> int:
        """How much is kept."""
        return len(self._waiting) + len(self._groups) + len(self._speaks) + len(self._asks)

    def gone(self, name: str) -> float | None:
        """Since when no client of a group is connected; None while one is, or if that was not seen."""
        group = self._groups.get(name)
        return None if group is None else group.gone

    def told(self, event: Event) -> Told:
        """What a frame tells."""
        at, api = event.at, str(event.data.get("api", ""))
        if at is not None and (self._looked is None or at - self._looked > LOOK):
            self._forget(at)
        if not isinstance(event.data.get("connection"), int):
            return
        name = connection_of(event)
        if event.kind is Kind.CLOSED:
            self._waiting = {key: one for key, one in self._waiting.items() if key[0] != name}
            self._ended(name, event)
            return
        key = (name, int(event.data.get("correlation", -1)))
        if event.kind is Kind.REQUEST:
            if api in self._responses:
                self._waiting[key] = replace(event, data=_kept(api, event.data))
            yield from self._asked(event, api, name)
        elif event.kind is Kind.RESPONSE:
            request = self._waiting.pop(key, None)
            if request is not None and api in self._responses and request.group:
                group = self._group(request.group, at)
                group.answers(request.member, UNKNOWN_MEMBER_ID not in _codes(_fields(event)))
                yield from self._responses[api](event, request, group)

    def _asked(self, event: Event, api: str, connection: str) -> Told:
        if not event.group:
            return
        group = self._group(event.group, event.at)
        group.connections.add(connection)
        self._asks.setdefault(connection, set()).add(event.group)
        group.gone = None
        if event.member and event.at is not None:
            group.hears(event.member, event.at)
            self._speaks[connection] = event.group, event.member
        if api in self._requests:
            yield from self._requests[api](event, group)

    def _ended(self, connection: str, event: Event) -> None:
        """A connection has ended, and maybe it was the broker that did it to the member who spoke on it."""
        for group in [self._groups[one] for one in self._asks.pop(connection, ()) if one in self._groups]:
            group.connections.discard(connection)
            group.gone = None if group.connections else event.at
        name, member = self._speaks.pop(connection, ("", ""))
        if name in self._groups and event.at is not None and ended_by(event.reason) == BROKER:
            self._groups[name].cut[member] = event.at

    def _group(self, name: str, at: float | None) -> _Group:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group()
        group.seen = at if at is not None else group.seen
        return group

    def _joins(self, event: Event, group: _Group) -> Told:
        fields = _fields(event)
        group.began = event.at if group.began is None else group.began
        timeouts = {
            "session_ms": fields.get("session_timeout_ms"),
            "rebalance_ms": fields.get("rebalance_timeout_ms"),
        }
        if event.member:
            group.sessions[event.member] = int(timeouts["session_ms"] or 0)
            group.rebalance_ms = max(group.rebalance_ms, int(timeouts["rebalance_ms"] or 0))
            group.joined.add(event.member)
            yield _as(event, event, Kind.JOINING, reason=str(fields.get("reason") or ""), data=timeouts)

    def _syncs(self, event: Event, group: _Group) -> Told:
        group.synced[event.member] = -1 if event.generation is None else event.generation
        yield from ()

    def _leaves(self, event: Event, group: _Group) -> Told:
        fields = _fields(event)
        members = fields.get("members") or [{"member_id": fields.get("member_id", "")}]
        for one in members:
            if member := str(one.get("member_id") or ""):
                group.left.add(member)
                instance, reason = str(one.get("group_instance_id") or ""), str(one.get("reason") or "")
                yield _as(event, event, Kind.LEAVING, member=member, instance=instance, reason=reason)

    def _joined(self, event: Event, request: Event, group: _Group) -> Told:
        fields = _fields(event)
        error = _error(fields)
        member = str(fields.get("member_id") or request.member)
        if error == "MEMBER_ID_REQUIRED":
            yield _as(event, request, Kind.ID_GIVEN, member=member)
            return
        if error:
            yield _as(event, request, Kind.REFUSED, reason=error, data={"api": "JoinGroup"})
            return
        asked = _fields(request)
        group.sessions[member] = int(asked.get("session_timeout_ms") or 0)
        if event.at is not None:
            group.heard[member] = event.at
        data: dict[str, Any] = {
            "leader": fields.get("leader") == member,
            "protocol": fields.get("protocol_name") or "",
        }
        if fields.get("members"):
            roster = {
                str(one["member_id"]): str(one.get("group_instance_id") or "") for one in fields["members"]
            }
            yield from self._missing(event, request, group, roster)
            data["roster"] = roster
            if roster.keys() != group.roster.keys() or group.began is not None:
                group.since = event.at
            group.roster, group.began = roster, None
            group.generation = int(fields.get("generation_id") or -1)
            group.joined.clear()
            group.left.clear()
            group.keeps(roster)
        generation = fields.get("generation_id")
        yield replace(_as(event, request, Kind.WAS_JOINED, member=member, data=data), generation=generation)

    def _missing(self, event: Event, request: Event, group: _Group, roster: Mapping[str, str]) -> Told:
        """How those went that were in the generation before and are not in this one, as far as that shows."""
        for member in sorted(group.roster.keys() - roster.keys() - group.left):
            heard, session = group.heard.get(member), group.sessions.get(member)
            instance = group.roster[member]
            if heard is None or group.began is None or (instance and instance in roster.values()):
                continue
            silent = group.began - heard
            if session and silent >= session / 1000 * SLACK:
                words = f"silent for {silent:.1f} s, and its session timeout is {session / 1000:g} s"
                cut = {"cut": True} if member in group.cut else {}
                made = _as(
                    event, request, Kind.FAILED, member=member, instance=instance, reason=words, data=cut
                )
                yield replace(made, at=group.began)
            elif group.synced.get(member) != group.generation and group.rebalance_ms and _lasted(group):
                words = f"it did not send SyncGroup within {group.rebalance_ms / 1000:g} s"
                yield _as(event, request, Kind.NOT_SYNCED, member=member, instance=instance, reason=words)
            elif silent < 0 and member not in group.joined:
                words = "it was heard of while the others joined, and did not join"
                yield _as(event, request, Kind.NOT_REJOINED, member=member, instance=instance, reason=words)

    def _synced(self, event: Event, request: Event, group: _Group) -> Told:
        fields = _fields(event)
        error = _error(fields)
        if error == "REBALANCE_IN_PROGRESS":
            yield self._rebalances(event, request, group)
        elif error:
            yield _as(event, request, Kind.REFUSED, reason=error, data={"api": "SyncGroup"})
        else:
            data = {"partitions": _partitions(fields.get("assignment"))}
            yield replace(_as(event, request, Kind.SYNCED, data=data), generation=request.generation)

    def _beaten(self, event: Event, request: Event, group: _Group) -> Told:
        error = _error(_fields(event))
        if error == "REBALANCE_IN_PROGRESS":
            yield self._rebalances(event, request, group)
        elif error:
            yield _as(event, request, Kind.REFUSED, reason=error, data={"api": "Heartbeat"})

    def _committed(self, event: Event, request: Event, group: _Group) -> Told:
        for code in sorted(_codes(_fields(event))):
            yield _as(event, request, Kind.COMMIT_REFUSED, reason=error_name(code))

    def _rebalances(self, event: Event, request: Event, group: _Group) -> Event:
        group.began = event.at if group.began is None else group.began
        return _as(event, request, Kind.REBALANCE_TOLD)

    def _forget(self, now: float) -> None:
        self._looked = now
        self._groups = {name: one for name, one in self._groups.items() if now - one.seen < FORGOTTEN}
        self._waiting = {
            key: one for key, one in self._waiting.items() if one.at is None or now - one.at < FORGOTTEN
        }
        self._speaks = {key: one for key, one in self._speaks.items() if one[0] in self._groups}
        self._asks = {key: some for key, one in self._asks.items() if (some := one & self._groups.keys())}


def _lasted(group: _Group) -> bool:
    """Whether a generation had the time in which all its members must ask for their assignments."""
    if group.since is None or group.began is None:
        return False
    return group.began - group.since >= group.rebalance_ms / 1000 * SLACK


def _as(event: Event, request: Event, kind: Kind, **further: Any) -> Event:
    """What a frame tells, of who sent the request."""
    told = {
        "member": request.member,
        "instance": request.instance,
        "client": _called(request),
        "group": request.group,
    }
    return Event(event.at, event.source, event.origin, kind, **{**told, **further})


def _called(request: Event) -> str:
    """The client: its id, and its connection until it has a member id, for many share a client id."""
    return f"{request.client or 'a client'} on connection {request.data.get('connection')}"


def _fields(event: Event) -> Mapping[str, Any]:
    fields = event.data.get("fields")
    return fields if isinstance(fields, dict) else {}


def _error(fields: Mapping[str, Any]) -> str:
    code = fields.get("error_code")
    return error_name(code) if isinstance(code, int) and code else ""


def _codes(fields: Mapping[str, Any]) -> set[int]:
    """All errors of an answer, of commits those of partitions."""
    codes = [fields.get("error_code")]
    for topic in fields.get("topics") or ():
        codes += [one.get("error_code") for one in topic.get("partitions") or ()]
    return {one for one in codes if isinstance(one, int) and one}


def _kept(api: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a request: timeouts and reason of a JoinGroup, and neither metadata nor frames."""
    found = {"connection": data.get("connection")}
    fields = data.get("fields")
    if api == "JoinGroup" and isinstance(fields, dict):
        kept = ("session_timeout_ms", "rebalance_timeout_ms", "reason")
        found["fields"] = {name: fields[name] for name in kept if name in fields}
    return found


def _partitions(assignment: Any) -> list[str]:
    """The partitions in an assignment of consumers; none where it is something else."""
    text = assignment.get("base64") if isinstance(assignment, dict) else None
    if not isinstance(text, str):
        return []
    try:
        body = decode_assignment(base64.b64decode(text)).body
    except (WireError, ValueError):
        return []
    topics = body["assigned_partitions"]
    return [f"{one['topic']}-{number}" for one in topics for number in one["partitions"]]
