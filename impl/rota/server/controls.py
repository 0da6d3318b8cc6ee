"""A server in the hand of a test: what happens to its groups, its connections, its answers, its clock.

Nothing of it can be reached over the wire. `Controls` is on the server's event loop; `ControlledBroker` is
what tests hold, and asks it from any thread.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, cast

from rota.coordinator import Append, TimerId
from rota.coordinator.group import Member
from rota.coordinator.timers import expires
from rota.server.broker import HOST, Hooks, Server
from rota.server.clock import PutForward
from rota.server.connection import Connection
from rota.server.context import RequestContext
from rota.server.errors import Refusal
from rota.server.group_log import Answered, GroupLog, MemoryLog
from rota.server.intake import FRAME_LIMITS
from rota.server.refused import refused
from rota.server.settings import NODE_ID
from rota.server.snapshots import GroupSnapshot, Stored
from rota.wire.error_codes import ERROR_CODES

OTHER_NODE = NODE_ID + 1
"""The node to which the coordinator moves first."""

COARSE_SECONDS = 0.005
"""So much later than asked for timers may be, which count whole milliseconds."""

_OF_A_COORDINATOR = frozenset(
    {
        "DeleteGroups",
        "DescribeGroups",
        "Heartbeat",
        "JoinGroup",
        "LeaveGroup",
        "OffsetCommit",
        "OffsetDelete",
        "OffsetFetch",
        "SyncGroup",
    }
)
"""APIs that only the coordinator answers; a ListGroups names what the broker itself coordinates."""


class ControlError(LookupError):
    """What a test has asked for is not there; the text says what is."""


@dataclass(frozen=True)
class Planned:
    """An error that the next request of an API is to get. `answered` is set when it has got it."""

    api: str
    error_code: int
    client_id: str | None
    answered: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float = 30.0) -> None:
        """Returns when a request has got the error. Errors: TimeoutError."""
        if not self.answered.wait(seconds):
            raise TimeoutError(f"nobody has sent {self.api} in {seconds:g} s")


@dataclass(frozen=True)
class OpenConnection:
    """A connection to the server: its client's address, and names that came on it.

    names: of clients, members, and group instances.
    """

    client: str
    names: frozenset[str]


class _KeptLog(MemoryLog):
    """A log in memory that can be read."""

    def __init__(self, loop: asyncio.AbstractEventLoop, answered: Answered, stored: Stored) -> None:
        super().__init__(loop, answered)
        self._stored = stored

    def append(self, append: Append) -> None:
        self._stored.take(append)
        super().append(append)


class Controls:
    """The hand itself. All of it runs on the event loop; `server` is put in when it is made."""

    server: Server

    def __init__(self, loop: PutForward) -> None:
        self._loop = loop
        self._stored = Stored()
        self._planned: list[Planned] = []
        self._names: weakref.WeakKeyDictionary[Connection, set[str]] = weakref.WeakKeyDictionary()
        self.hooks = Hooks(self._takes, self._log, loop.wall_clock_ms)

    def _log(self, loop: asyncio.AbstractEventLoop, answered: Answered) -> GroupLog:
        return _KeptLog(loop, answered, self._stored)

    def _takes(self, body: Mapping[str, Any], context: RequestContext) -> bool:
        """Whether a request is answered here: where a test wants it, or where its coordinator is not."""
        self._note(body, context)
        for planned in self._planned:
            if planned.api == context.api_name and planned.client_id in (None, context.client_id):
                self._planned.remove(planned)
                context.reply(refused(context.api_name, context.version, body, planned.error_code))
                planned.answered.set()
                return True
        assert self.server.cluster is not None
        if context.connection.port == self.server.cluster.ports[self.server.cluster.coordinator]:
            return False
        if context.api_name == "ListGroups":
            context.reply({"groups": []})
            return True
        if context.api_name in _OF_A_COORDINATOR:
            code = ERROR_CODES["NOT_COORDINATOR"]
            context.reply(refused(context.api_name, context.version, body, code))
            return True
        return False

    def _note(self, body: Mapping[str, Any], context: RequestContext) -> None:
        names = self._names.setdefault(cast(Connection, context.connection), set())
        said = (context.client_id, body.get("member_id"), body.get("group_instance_id"))
        names.update(name for name in said if name)

    def groups(self) -> dict[str, GroupSnapshot]:
        """Every group, by id."""
        assert self.server.groups is not None
        return {name: self._stored.seen(group) for name, group in self.server.groups.core.groups.items()}

    def connections(self) -> list[OpenConnection]:
        """Those on which something was asked."""
        return [
            OpenConnection(f"{each.client_host[1:]}:{each.client_port}", frozenset(self._names[each]))
            for each in self.server.connections
            if each in self._names
        ]

    def create_topic(self, name: str, partitions: int) -> None:
        """A new topic. Errors: ControlError."""
        try:
            self.server.topics.create(name, partitions)
        except Refusal as refusal:
            raise ControlError(str(refusal)) from None

    def expire(self, name: str, group_id: str | None) -> None:
        """A member's session is over. Errors: ControlError."""
        group, member = self._member(name, group_id)
        assert self.server.groups is not None
        if not expires(self.server.groups.core.groups[group], member):
            raise ControlError(
                f"member {member.member_id} waits for an answer of its group, which keeps it alive; "
                f"wait until the group is Stable"
            )
        self.server.groups.fire(TimerId(member.timer or "session", group, member.member_id))

    def _member(self, name: str, group_id: str | None) -> tuple[str, Member]:
        assert self.server.groups is not None
        groups = self.server.groups.core.groups
        there = [(each, member) for each in groups.values() for member in each.members.values()]
        found = [
            (each.group_id, member)
            for each, member in there
            if name in (member.member_id, member.group_instance_id, member.client_id)
            and group_id in (None, each.group_id)
        ]
        if len(found) == 1:
            return found[0]
        named = ", ".join(f"{member.member_id} of {each.group_id}" for each, member in there) or "none"
        how_many = f"{len(found)} members are" if found else "no member is"
        raise ControlError(f"{how_many} called {name!r}; members are: {named}")

    def drop(self, name: str) -> int:
        """Connections on which a name came are closed; how many. Errors: ControlError."""
        found = [
            each
            for each in self.server.connections
            if name in self._names.get(each, ()) or name == f"{each.client_host[1:]}:{each.client_port}"
        ]
        if not found:
            named = (
                "; ".join(", ".join(sorted(each.names)) for each in self.connections()) or "there are none"
            )
            raise ControlError(f"no connection of {name!r} is open; those there are: {named or 'none'}")
        for each in found:
            each.abort()
        return len(found)

    def answer_once(self, api: str, error: str | int, client_id: str | None) -> Planned:
        """The next request of an API gets this error. Errors: ControlError."""
        planned = Planned(_known_api(api), _code(error), client_id)
        self._planned.append(planned)
        return planned

    async def move_coordinator(self) -> str:
        """The coordinator is another node from now on, with what its log has; its address."""
        assert self.server.groups is not None
        assert self.server.cluster is not None
        cluster = self.server.cluster
        if OTHER_NODE not in cluster.ports:
            cluster.ports[OTHER_NODE] = await self.server.listen_too()
        cluster.coordinator = NODE_ID if cluster.coordinator == OTHER_NODE else OTHER_NODE
        self.server.groups.move(self._stored.all())
        return f"{HOST}:{cluster.ports[cluster.coordinator]}"

    async def advance(self, seconds: float) -> None:
        """The server's clock is put forward; what is due by then happens."""
        await self._loop.put_forward(seconds + COARSE_SECONDS)


def _known_api(name: str) -> str:
    if name not in FRAME_LIMITS:
        raise ControlError(f"no API of this server is called {name!r}; {_nearly(name, list(FRAME_LIMITS))}")
    return name


def _code(error: str | int) -> int:
    if isinstance(error, int):
        return error
    if error not in ERROR_CODES:
        raise ControlError(f"no error is called {error!r}; {_nearly(error, list(ERROR_CODES))}")
    return ERROR_CODES[error]


def _nearly(name: str, there: list[str]) -> str:
    near = get_close_matches(name, there, n=1)
    return f"did you mean {near[0]}?" if near else "write it as in Kafka's protocol guide"
