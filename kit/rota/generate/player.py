"""Plays a plan with a coordinator and keeps what is seen: the history of one group, and the frames."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rota.conformance.connections.null_tolerant import read_answer
from rota.generate.cast import Terms
from rota.generate.consumer.topics import TopicIds
from rota.generate.lateness import Lateness
from rota.generate.life import Life
from rota.generate.lines import Line, Open
from rota.generate.plan import CONSUMER, Plan, Restart, Step
from rota.generate.producers import Producers
from rota.generate.replies import NotInTheSpec, reply_of
from rota.generate.requests import api_of, body_of
from rota.generate.restarts import Restarts
from rota.kernel import replace as replaced
from rota.linearise.history import Answered, Broken, EndTransaction, Event, History, Quiet, Restarted, Sent
from rota.linearise.times import FOREVER
from rota.spec import Call, Node, Profile
from rota.spec.messages import ReplyMessage, Request
from rota.spec.offset_messages import TxnOffsetCommitRequest
from rota.wire import WireError, encode_request, frame

_LINES = 1_000_000
"""More connections than there are between two restarts."""


@dataclass(frozen=True)
class Message:
    """A message on the wire, or the end of a connection, for people. sent: it is a request; api is empty for
    an end; body: what is in it.
    """

    at: float
    client: str
    sent: bool
    api: str
    version: int
    body: Mapping[str, Any]
    data: bytes = b""


@dataclass(frozen=True)
class Played:
    """A plan after it was played: odd is what no answer may be like, a sentence each, with the API it was in
    answer to; asked, the numbers in the plan of the requests that were sent, in their order; unsure, why
    nobody can say what it is worth, if so; produced, what producers asked the transactions' coordinator and
    were answered, by transactional id as their client, each with how many of the messages came before.
    """

    plan: Plan
    history: History
    messages: tuple[Message, ...]
    odd: tuple[tuple[str, str], ...] = ()
    asked: tuple[int, ...] = ()
    unsure: str = ""
    produced: tuple[tuple[int, Message], ...] = ()

    @property
    def requests(self) -> int:
        """How many requests were sent."""
        return sum(isinstance(event, Sent) for event in self.history.events)


@dataclass
class Coordinator:
    """Who is asked: how connections are opened, its terms and profile, what it is called (`node`), and how
    late the loop is that plays; looks, whether it may look for what has expired meanwhile; life, of the
    target; restarts, None where it cannot be restarted; unreadable, of an API the first version from which on
    it cannot read what it advertises, as was seen before the first walk.
    """

    open: Open
    terms: Terms
    profile: Profile
    lateness: Lateness
    node: Node | None = None
    looks: bool = False
    life: Life = field(default_factory=Life)
    restarts: Restarts | None = None
    unreadable: Mapping[str, int] = field(default_factory=dict)


@dataclass
class _Asked:
    """A request that was sent. plan: its number in the plan."""

    number: int
    plan: int
    api: str
    version: int
    client: str
    request: Request
    answered: asyncio.Future[None]


@dataclass
class _Connection:
    """One connection of a plan."""

    stage: Stage
    number: int
    line: Line | None = None
    asked: dict[int, _Asked] = field(default_factory=dict)
    answered: dict[int, _Asked] = field(default_factory=dict)

    def heard(self, data: bytes) -> None:
        """A whole frame has come."""
        self.stage.heard(self, data)

    def ended(self) -> None:
        """The target has ended the connection."""
        self.stage.ended(self)


class Stage:
    """A group, those who ask about it, and what they have seen so far.

    Parameters: coordinator; group_id. Attributes: events; messages; produced; odd; answers, by the number
    that a request has in the plan; steps, that were begun; last, when something was sent last; restarts, how
    many there were, the last of which may not be over; lost, seconds that they have taken; hit, one that no
    step was for and that nothing was asked about yet.
    """

    def __init__(self, coordinator: Coordinator, group_id: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._coordinator, self.group_id = coordinator, group_id
        self._connections: dict[int, _Connection] = {}
        self.events: list[Event] = []
        self.messages: list[Message] = []
        self.produced: list[tuple[int, Message]] = []
        self.odd: list[tuple[str, str]] = []
        self.answers: dict[int, ReplyMessage] = {}
        self.steps: list[Step] = []
        self.restarts, self.lost = 0, 0.0
        self.hit: Restart | None = None
        restarts = coordinator.restarts
        self._started = None if restarts is None else restarts.started
        self._config = (None if restarts is None else restarts.config) or coordinator.terms.config
        self._wants = False
        self._asked: list[int] = []
        self.producers = Producers(group_id, coordinator.open, coordinator.terms, self, self._produces)
        self._topics = TopicIds()
        self._consumer = coordinator.terms.consumer
        if self._consumer is not None and restarts is not None and restarts.topics is not None:
            self._consumer = replace(self._consumer, topics=restarts.topics)
        self._began = self.last = self._loop.time()
        if coordinator.restarts is not None:
            coordinator.restarts.enter(self)

    async def ask(self, client: str, line: int, version: int, request: Request, plan: int) -> _Asked | None:
        """Send a request; None where the connection cannot be opened any more."""
        connection = await self._connected(line)
        if connection is None or connection.line is None:
            return None
        name, number = api_of(request), len(self._asked)
        body = {key: value for key, value in body_of(request, version).items() if key != "about"}
        if isinstance(request, TxnOffsetCommitRequest):
            body |= self.producers.committing(request.producer_id)
        data = frame(encode_request(name, version, body, number, client))
        asked = _Asked(number, plan, name, version, client, request, self._loop.create_future())
        connection.asked[number] = asked
        self._asked.append(plan)
        call = Call(request, str(number), version, leader=self._coordinator.node)
        self.last = now = self._loop.time()
        self.events.append(Sent(now, number, connection.number, client, call))
        self.messages.append(Message(now, client, True, name, version, body, data))
        connection.line.send(data)
        return asked

    async def begin(self, transaction: int) -> None:
        """Begin a transaction; where that is refused there is none."""
        producer = self.producers.another(transaction)
        self._says("InitProducerId", {"transactional_id": producer.transactional_id})
        await producer.begin()

    async def end(self, transaction: int, committed: bool) -> None:
        """End a transaction, and wait until another one could begin."""
        producer, place = self.producers.of(transaction), len(self.events)
        if producer is None:
            return
        number, used = len(self._asked), producer.used
        call = Call(EndTransaction(self.group_id, transaction, committed), str(number), 0)
        sent = Sent(self._loop.time(), number, -1 - number, "producer", call, until=FOREVER)
        self._asked.append(-1)
        self.events += [sent] if used else []
        self._says("EndTxn", {"transactional_id": producer.transactional_id, "committed": committed})
        ended = await producer.end(committed)
        if used and ended is not None:
            over = replaced(sent, until=self._loop.time())
            self.events[place : place + 1] = [over] if ended else []

    def _produces(self, name: str, sent: bool, api: str, version: int, data: bytes) -> None:
        self.produced.append(
            (len(self.messages), Message(self._loop.time(), name, sent, api, version, {}, data))
        )

    def _says(self, api: str, body: Mapping[str, Any]) -> None:
        """What a producer asks of the transactions' coordinator, for people."""
        self.messages.append(Message(self._loop.time(), "producer", True, api, 0, body))

    async def _connected(self, line: int) -> _Connection | None:
        """The connection of this number, after a restart another one."""
        while True:
            await self.up()
            before, number = self.restarts, line + _LINES * self.restarts
            found = self._connections.get(number)
            if found is None:
                found = self._connections[number] = _Connection(self, number)
                await self._open(found)
            if self.restarts == before:
                return found
            if found.line is not None:
                found.line.cut()

    async def _open(self, connection: _Connection) -> None:
        before = self.restarts
        try:
            connection.line = await self._coordinator.open(connection)
        except OSError as error:
            if self.restarts == before:
                self._coordinator.life.suspected = True
                self.odd.append(("wire", f"a connection is not accepted: {error.strerror or error}"))

    async def restart(self, how: Restart) -> None:
        """Have the target restarted; nothing happens where it cannot be."""
        restarts = self._coordinator.restarts
        if restarts is not None:
            self._wants = True
            await restarts.wanted(self, how)

    async def up(self) -> None:
        """Wait until the target is there, where it is being restarted."""
        if self._coordinator.restarts is not None:
            await self._coordinator.restarts.up()

    def will_want(self, wants: bool) -> None:
        """Whether it will want a restart: others who do wait for it."""
        if self._coordinator.restarts is not None:
            self._coordinator.restarts.will_want(self, wants)

    def go_down(self) -> None:
        """As of `Walking`."""
        for connection in [one for one in self._connections.values() if one.line is not None]:
            self._cut(connection)
        self.producers.interrupt()
        self.restarts += 1

    def come_back(self, event: Restarted, how: Restart) -> None:
        """As of `Walking`."""
        self.events.append(event)
        body = {"how": how.how, "settings": dict(how.settings)}
        self.messages.append(Message(event.at, "", True, "", 0, body))
        self.lost += event.at - event.since
        self.hit, self._wants = None if self._wants else how, False

    def heard(self, connection: _Connection, data: bytes) -> None:
        """An answer has come."""
        now = self._loop.time()
        number = int.from_bytes(data[4:8], "big", signed=True)
        asked = connection.asked.pop(number, None)
        if asked is None:
            self.odd.append(("wire", "an answer to nothing that was asked on its connection"))
            asked = connection.answered.get(number)
        if asked is None:
            return
        connection.answered[number] = asked
        try:
            _, body, nulls = read_answer(asked.api, asked.version, data[4:])
            self.messages.append(Message(now, asked.client, False, asked.api, asked.version, body, data))
            if nulls:
                self.odd.append((asked.api, f"null where v{asked.version} allows none: {', '.join(nulls)}"))
            reply = reply_of(asked.request, asked.version, body)
            self._topics.hear(asked.number, asked.request, body)
        except (WireError, NotInTheSpec) as error:
            self.odd.append((asked.api, str(error)))
        else:
            self.events.append(Answered(now, asked.number, reply))
            self.answers[asked.plan] = reply
        if not asked.answered.done():
            asked.answered.set_result(None)

    def ended(self, connection: _Connection) -> None:
        """The target has ended a connection, which it has no reason to: by what it was asked first there."""
        self._coordinator.life.suspected = True
        asked = next(iter(connection.asked.values()), None)
        self.odd.append(("wire" if asked is None else asked.api, "the target ended a connection"))
        self._broken(connection)

    def _broken(self, connection: _Connection) -> None:
        now = self._loop.time()
        self.events.append(Broken(now, connection.number))
        self.messages.append(Message(now, "", False, "", connection.number, {}))
        for asked in connection.asked.values():
            if not asked.answered.done():
                asked.answered.set_result(None)
        connection.asked.clear()
        connection.line = None

    def late(self, since: float) -> float:
        """How late the kit itself was at most since some moment."""
        return self._coordinator.lateness.since(since)

    def cut(self, line: int) -> None:
        """End a connection."""
        connection = self._connections.get(line + _LINES * self.restarts)
        if connection is not None:
            self._cut(connection)

    def _cut(self, connection: _Connection) -> None:
        if connection.line is not None:
            connection.line.cut()
            self._broken(connection)

    async def silence(self, seconds: float) -> None:
        """Let time pass, and read what has come."""
        await asyncio.sleep(seconds)
        await self.up()
        now = self._loop.time()
        for _ in range(3):
            await asyncio.sleep(0)
        self.events.append(Quiet(now))

    async def answered(self, asked: _Asked, within: float) -> bool:
        """Whether a request is answered within so many seconds."""
        await asyncio.wait((asked.answered,), timeout=within)
        return asked.answered.done()

    def close(self) -> None:
        """End all connections; nothing is noted of it, nor of any restart from now on."""
        if self._coordinator.restarts is not None:
            self._coordinator.restarts.leave(self)
        for connection in self._connections.values():
            if connection.line is not None:
                connection.line.cut()
        self.producers.close()

    def played(self, plan: Plan) -> Played:
        """What was seen until now, of this plan as far as it was begun."""
        coordinator = self._coordinator
        late = coordinator.lateness.since(self._began)
        consumer = self._consumer if plan.protocol == CONSUMER else None
        events, unsure = self._topics.known_in(self.events)
        history = History(
            self.group_id,
            events,
            coordinator.profile,
            self._config,
            late,
            looks=coordinator.looks,
            looks_every=coordinator.terms.looks_every,
            started=self._started,
            consumer=consumer,
        )
        steps = (*self.steps, *([self.hit] if self.hit else []))
        seen = tuple(self.messages), tuple(self.odd), tuple(self._asked)
        return Played(plan.of(steps), history, *seen, unsure, tuple(self.produced))
