"""A server in the hand of a test: what happens to its groups, its connections, its answers, its clock.

`Controls` is on the server's event loop, and everything that can be done is done there. `ControlledBroker`,
what tests of Python hold, asks it from any thread; `rota.control` is its door for other languages.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, cast
from uuid import UUID

from rota.coordinator import Append, TimerId, TimerKind
from rota.coordinator.timers import expires
from rota.server.answers import Later
from rota.server.beginning import AT_RANDOM, Beginning
from rota.server.broker import Hooks, Server
from rota.server.clock import PutForward
from rota.server.cluster import Cluster
from rota.server.connection import Connection
from rota.server.context import RequestContext
from rota.server.errors import Refusal
from rota.server.faults import CutOff, Fault, FaultKind, Faults, Planned
from rota.server.group_log import Answered, GroupLog, MemoryLog
from rota.server.groups import GroupService
from rota.server.intake import FRAME_LIMITS
from rota.server.listeners import USUALLY, Listening
from rota.server.placement import Placement
from rota.server.refused import refused
from rota.server.settings import NODE_ID, Settings
from rota.server.snapshots import GroupSnapshot, Stored
from rota.wire.error_codes import ERROR_CODES

log = logging.getLogger(__name__)

Body = Mapping[str, Any]

OTHER_NODE = NODE_ID + 1
"""The node to which the coordinator moves first."""

COARSE_SECONDS = 0.005
"""So much later than asked for timers may be, which count whole milliseconds."""


class ControlError(LookupError):
    """What a test has asked for is not there; the text says what is."""


class ControlPortError(OSError):
    """The port at which others ask cannot be had."""


class UnknownName(ControlError):
    """An API or an error that Kafka does not have."""


@dataclass(frozen=True)
class OpenConnection:
    """A connection to the server: its client's address, and names that came on it.

    names: of clients, members, and group instances.
    """

    client: str
    names: frozenset[str]


class _KeptLog(MemoryLog):
    """A log in memory that can be read, and refuses what it is told to refuse."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, answered: Answered, stored: Stored, faults: Faults
    ) -> None:
        super().__init__(loop, answered)
        self._stored = stored
        self._faults = faults

    def append(self, append: Append) -> None:
        error_code = self._faults.of_append()
        if not error_code:
            self._stored.take(append)
        self._loop.call_soon(self._answered, append.append_id, error_code)


class Controls:
    """The hand itself, and the server in it. All of it runs on the event loop.

    server: as it is now; `reset` puts another one in its place. stored: what its log has. faults: what is
    planned.
    """

    def __init__(
        self,
        loop: PutForward,
        settings: Settings,
        where: Listening = USUALLY,
        beginning: Beginning = AT_RANDOM,
    ) -> None:
        self._loop = loop
        self._settings = settings
        self._where = where
        self._beginning = beginning
        self._names: weakref.WeakKeyDictionary[Connection, set[str]] = weakref.WeakKeyDictionary()
        self._delays: set[asyncio.TimerHandle] = set()
        self._one_at_a_time = asyncio.Lock()
        self.faults = Faults()
        self.stored = Stored()
        self.hooks = Hooks(self._takes, self._log, loop.wall_clock_ms)
        self.server = self._made()

    def _made(self) -> Server:
        return Server(self._settings, hooks=self.hooks, listening=self._where, beginning=self._beginning)

    async def start(self) -> str:
        """The server listens. As of `Server.start`."""
        return await self.server.start()

    async def stop(self) -> None:
        """As of `Server.stop`; nothing that was delayed happens any more."""
        for delay in self._delays:
            delay.cancel()
        self._delays.clear()
        await self.server.stop()

    @property
    def groups_served(self) -> GroupService:
        """The coordinator with its clock."""
        assert self.server.groups is not None
        return self.server.groups

    @property
    def cluster(self) -> Cluster:
        """Where it is."""
        assert self.server.cluster is not None
        return self.server.cluster

    @property
    def bootstrap(self) -> str:
        """Where clients find it."""
        return self.server.bootstrap

    @property
    def now_ms(self) -> int:
        """The server's wall clock."""
        return self._loop.wall_clock_ms()

    def _log(self, loop: asyncio.AbstractEventLoop, answered: Answered) -> GroupLog:
        return _KeptLog(loop, answered, self.stored, self.faults)

    def _takes(self, body: Body, context: RequestContext) -> bool:
        """Whether a request is answered here: where a test wants it, or where its coordinator is not."""
        self._note(body, context)
        fault = self.faults.of(context.api_name, context.client_id)
        if fault is None:
            return False
        if fault.kind is FaultKind.ERROR:
            context.reply(refused(context.api_name, context.version, body, fault.error_code))
        elif fault.kind is FaultKind.DROP:
            context.dropped()
        elif fault.kind is FaultKind.DELAY:
            self._delay(fault.delay_ms / 1000, body, context)
        else:
            context.answer_by(CutOff(cast(Connection, context.connection)))
            return False
        return True

    def _delay(self, seconds: float, body: Body, context: RequestContext) -> None:
        def later() -> None:
            self._delays.discard(handle)
            Later(self.server.turns).add(self._steps(body, context))

        handle = self._loop.call_later(seconds, later)
        self._delays.add(handle)

    def _steps(self, body: Body, context: RequestContext) -> Iterator[None]:
        """A request that comes late is carried out as any other."""
        try:
            yield from self.server.carry_out(body, context) or ()
        except Exception:
            log.exception("closing a connection: %s failed", context.api_name)
            context.close_connection("")

    def _note(self, body: Mapping[str, Any], context: RequestContext) -> None:
        names = self._names.setdefault(cast(Connection, context.connection), set())
        said = (context.client_id, body.get("member_id"), body.get("group_instance_id"))
        names.update(name for name in said if name)

    def groups(self) -> dict[str, GroupSnapshot]:
        """Every group, by id, those of the classic protocol first."""
        core = self.groups_served.core
        classic = {name: self.stored.seen(group) for name, group in core.groups.items()}
        consumer = {
            name: self.stored.seen_of_consumers(group, self.topic_name)
            for name, group in core.consumer_groups.items()
        }
        return {**classic, **consumer}

    def topic_name(self, topic_id: UUID) -> str:
        """A topic's name; its id if it is gone."""
        try:
            return self.server.topics.identified(topic_id).name
        except Refusal:
            return str(topic_id)

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

    def expire(self, name: str, group_id: str | None) -> str:
        """A member's session is over; its id. Errors: ControlError."""
        group, member_id = self._member(name, group_id)
        core = self.groups_served.core
        kind: TimerKind = "consumer_session"
        if group in core.groups:
            member = core.groups[group].members[member_id]
            if not expires(core.groups[group], member):
                raise ControlError(
                    f"member {member_id} waits for an answer of its group, which keeps it alive; "
                    f"wait until the group is Stable"
                )
            kind = member.timer or "session"
        self.groups_served.fire(TimerId(kind, group, member_id))
        return member_id

    def _member(self, name: str, group_id: str | None) -> tuple[str, str]:
        there = [(group.group_id, member) for group in self.groups().values() for member in group.members]
        found = [
            (group, member.member_id)
            for group, member in there
            if name in member.names and group_id in (None, group)
        ]
        if len(found) == 1:
            return found[0]
        named = ", ".join(f"{member.member_id} of {group}" for group, member in there) or "none"
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

    def plan(self, api: str, fault: Fault, client_id: str | None = None, times: int = 1) -> Planned:
        """The next requests of an API meet a fault. Errors: UnknownName."""
        planned = Planned(_known_api(api), fault, client_id, times)
        self.faults.planned.append(planned)
        return planned

    def fail_appends(self, error: str | int, times: int = 1) -> None:
        """The log answers its next appends with an error. Errors: UnknownName."""
        self.faults.fail_appends(error_code(error), times)

    async def move_coordinator(self, node_id: int | None = None, group_id: str | None = None) -> str:
        """A node coordinates from now on, with what its log has; its address.

        All groups, or those that are in one partition of the log with this one. node_id: by default the next
        one; where there is one broker another one opens. Errors: ControlError for a node that there is not.
        """
        async with self._one_at_a_time:
            endpoints = self.server.endpoints
            if endpoints.node_ids == (NODE_ID,):
                await self.server.add_broker(OTHER_NODE)
            nodes = endpoints.node_ids
            now = self.placement.of_group(group_id or "")
            wanted = nodes[(nodes.index(now) + 1) % len(nodes)] if node_id is None else node_id
            if wanted not in nodes:
                raise ControlError(f"there is no broker {wanted}; there are {', '.join(map(str, nodes))}")
            self.placement.move(wanted, group_id)
            self.groups_served.unload()
            self._take_over()
            return endpoints.at(wanted)

    async def unload_coordinator(self) -> None:
        """No node coordinates from now on. Errors: ControlError where none does."""
        async with self._one_at_a_time:
            if not self.is_loaded:
                raise ControlError("the coordinator is unloaded already; load it, or move it")
            self.placement.is_loaded = False
            self.groups_served.unload()

    async def load_coordinator(self) -> str:
        """The nodes that coordinated last have what their log has; as `coordinator`. Errors: ControlError."""
        async with self._one_at_a_time:
            if self.is_loaded:
                raise ControlError("the coordinator is loaded; unload it first, or move it")
            self._take_over()
            return self.coordinator

    def _take_over(self) -> None:
        self.groups_served.take_over(self.stored.all())
        self.placement.is_loaded = True

    @property
    def placement(self) -> Placement:
        """Who coordinates what."""
        return self.server.placement

    @property
    def is_loaded(self) -> bool:
        """Whether any node coordinates."""
        return self.placement.is_loaded

    @property
    def coordinator(self) -> str:
        """The addresses of the nodes that coordinate, or did last, with a comma between."""
        nodes = self.placement.coordinators(self._settings.offsets_topic_num_partitions)
        return ",".join(self.server.endpoints.at(node_id) for node_id in nodes)

    async def advance(self, seconds: float) -> None:
        """The server's clock is put forward; what is due by then happens."""
        async with self._one_at_a_time:
            await self._loop.put_forward(seconds + COARSE_SECONDS)

    async def reset(self) -> None:
        """The server is as if it had just started, at the same port. The clock stays where it is.

        Connections are closed; groups, offsets, topics, transactions and what was planned are gone.
        """
        async with self._one_at_a_time:
            ports = self.server.endpoints.ports
            self.faults.forget()
            await self.stop()
            self.stored = Stored()
            self.server = self._made()
            await self.server.start(ports)


def _known_api(name: str) -> str:
    if name not in FRAME_LIMITS:
        raise UnknownName(f"no API of this server is called {name!r}; {_nearly(name, list(FRAME_LIMITS))}")
    return name


def error_code(error: str | int) -> int:
    """The code of an error, by Kafka's name for it or by its number. Errors: UnknownName."""
    if isinstance(error, int):
        return error
    if error not in ERROR_CODES:
        raise UnknownName(f"no error is called {error!r}; {_nearly(error, list(ERROR_CODES))}")
    return ERROR_CODES[error]


def _nearly(name: str, there: list[str]) -> str:
    near = get_close_matches(name, there, n=1)
    return f"did you mean {near[0]}?" if near else "write it as in Kafka's protocol guide"
