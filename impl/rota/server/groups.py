"""The coordinator core with a clock and a log: carries out what its steps ask for.

Timers are those of the event loop. The log keeps nothing: every append succeeds in the next turn of the loop,
so that a reply that depends on one never comes before the step has been carried out whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Protocol, cast
from uuid import uuid4

from rota.coordinator import (
    Arm,
    CoordinatorConfig,
    Effects,
    GroupCoordinator,
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupProtocol,
    JoinGroupReply,
    JoinGroupReplyMember,
    LeaveGroup,
    LeaveGroupReply,
    LeaveGroupReplyMember,
    MemberIdentity,
    Reply,
    SyncGroup,
    SyncGroupAssignment,
    SyncGroupReply,
    TimerId,
)


class Caller(Protocol):
    """Where a request came from and where its reply goes, at once, later or never. Hashed by identity."""

    version: int
    client_id: str | None
    client_host: str

    def __hash__(self) -> int: ...

    def reply(self, body: Mapping[str, Any]) -> None:
        """Takes the answer; must not raise and must not call back into the service."""


class FirstByName:
    """Decisions that Kafka leaves open: a tied vote and a leader's succession go to the first in order.

    Member ids are made as a broker makes them: client id, hyphen, random UUID.
    """

    def new_member_id(self, client_id: str) -> str:
        return f"{client_id}-{uuid4()}"

    def protocol(self, tied: tuple[str, ...]) -> str:
        return min(tied)

    def leader(self, candidates: tuple[str, ...]) -> str:
        return min(candidates)


class GroupService:
    """One coordinator on the running event loop."""

    def __init__(self, config: CoordinatorConfig, loop: asyncio.AbstractEventLoop) -> None:
        self.core = GroupCoordinator(config, FirstByName())
        self._loop = loop
        self._timers: dict[TimerId, asyncio.TimerHandle] = {}
        self._stopped = False
        self.handlers: Mapping[str, Callable[[Mapping[str, Any], Caller], None]] = {
            "JoinGroup": self._join_group,
            "SyncGroup": self._sync_group,
            "Heartbeat": self._heartbeat,
            "LeaveGroup": self._leave_group,
        }

    def stop(self) -> None:
        """Cancels every timer; from now on nothing that is still under way is carried out."""
        self._stopped = True
        for handle in self._timers.values():
            handle.cancel()
        self._timers.clear()

    def _join_group(self, body: Mapping[str, Any], caller: Caller) -> None:
        protocols = tuple(JoinGroupProtocol(entry["name"], entry["metadata"]) for entry in body["protocols"])
        request = JoinGroup(**_known(JoinGroup, body) | {"protocols": protocols})
        self._do(self.core.join_group(request, caller.version, caller.client_id, caller.client_host, caller))

    def _sync_group(self, body: Mapping[str, Any], caller: Caller) -> None:
        sent = tuple(
            SyncGroupAssignment(item["member_id"], item["assignment"]) for item in body["assignments"]
        )
        request = SyncGroup(**_known(SyncGroup, body) | {"assignments": sent})
        self._do(self.core.sync_group(request, caller.version, caller))

    def _heartbeat(self, body: Mapping[str, Any], caller: Caller) -> None:
        self._do(self.core.heartbeat(Heartbeat(**_known(Heartbeat, body)), caller.version, caller))

    def _leave_group(self, body: Mapping[str, Any], caller: Caller) -> None:
        members = tuple(MemberIdentity(**_known(MemberIdentity, item)) for item in body.get("members", ()))
        request = LeaveGroup(**_known(LeaveGroup, body) | {"members": members})
        self._do(self.core.leave_group(request, caller.version, caller))

    def _do(self, effects: Effects) -> None:
        if self._stopped:
            return
        for wish in effects.timers:
            previous = self._timers.pop(wish.timer_id, None)
            if previous is not None:
                previous.cancel()
            if isinstance(wish, Arm):
                delay = max(wish.delay_ms, 0) / 1000
                self._timers[wish.timer_id] = self._loop.call_later(delay, self._fire, wish.timer_id)
        for append in effects.appends:
            self._loop.call_soon(self._appended, append.append_id)
        for token, reply in effects.replies:
            cast(Caller, token).reply(_body(reply))

    def _fire(self, timer_id: TimerId) -> None:
        del self._timers[timer_id]
        self._do(self.core.fire(timer_id))

    def _appended(self, append_id: int) -> None:
        self._do(self.core.appended(append_id))


def _known(kind: type, body: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a body that a request of the coordinator has too; tagged fields are left out."""
    return {name: body[name] for name in _NAMES[kind] if name in body}


def _body(reply: Reply) -> dict[str, Any]:
    """A reply as a response's body, members included."""
    body = {name: getattr(reply, name) for name in _NAMES[type(reply)]}
    if "members" in body:
        body["members"] = [
            {name: getattr(item, name) for name in _NAMES[type(item)]} for item in body["members"]
        ]
    return body


_NAMES: Mapping[type, tuple[str, ...]] = {
    kind: tuple(item.name for item in fields(kind))
    for kind in (
        *(JoinGroup, SyncGroup, Heartbeat, LeaveGroup, MemberIdentity),
        *(JoinGroupReply, SyncGroupReply, HeartbeatReply, LeaveGroupReply),
        *(JoinGroupReplyMember, LeaveGroupReplyMember),
    )
}
"""The field names of each value that is made from a body or made into one."""
