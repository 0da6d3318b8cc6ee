"""Walks against rota's own server in virtual time: no socket, no clock, the same every time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from rota.coordinator import Append, Choices, CoordinatorConfig, GroupCoordinator
from rota.generate.cast import TOPICS, Terms, versions_in_common
from rota.generate.consumer.cast import SHARED
from rota.generate.lateness import Lateness
from rota.generate.lines import in_memory
from rota.generate.player import Coordinator
from rota.generate.restarts import Chosen, Restarts
from rota.generate.settings import OTHERS, broker_config, consumer_terms, looks_every_ms
from rota.kernel import FrozenMap
from rota.linearise.times import Span
from rota.log.group_replay import Replay
from rota.server.broker import CoordinatorFactory, Hooks, Server
from rota.server.group_log import Answered, MemoryLog
from rota.server.groups import PREFIX_MAX, FirstByName
from rota.server.listeners import LOOPBACK, Listener, Listening
from rota.server.settings import NODE_ID, USUAL, Settings
from rota.server.stored_records import batch_of, entries_of
from rota.spec import PROFILES, BrokerConfig, Node
from rota.spec.consumer.messages import Topic, Topics
from rota.virtual import TimeStandsStill, VirtualLoop
from rota.wire import advertised, api

R = TypeVar("R")

DOWN = 0.2
"""Seconds that a restart takes."""

PORT = 9092
"""What is told as the server's port; nobody listens there."""

LATE = 0.02
"""Seconds by which timers of the server may be late in virtual time, with what bytes take."""


LONGEST = 3600.0
"""Seconds of virtual time in which any walk is over, long before: plans are silent for some 14 s."""


MOST_RECORDS = 1_000
"""Records of a batch, at most."""


class NotEnded(Exception):
    """A walk does not end; the message says why. at: the loop's time by then."""

    def __init__(self, why: str, at: float) -> None:
        super().__init__(why)
        self.at = at


class _SameIds(FirstByName):
    """Hands out ids that look random and are the same on every server."""

    def __init__(self, wall_clock: Callable[[], int], random: Random) -> None:
        super().__init__(wall_clock)
        self._random = random

    def new_member_id(self, prefix: str) -> str:
        return f"{prefix[:PREFIX_MAX]}-{UUID(int=self._random.getrandbits(128), version=4)}"


def in_virtual_time(
    settings: Mapping[str, int],
    walk: Callable[[Coordinator], Coroutine[Any, Any, R]],
    profile: str = USUAL,
    *,
    alone: bool = False,
) -> R:
    """What comes of walking on a fresh server of rota's, which takes no time but the processor's.

    alone: whether one walk is on it, whose plan may have restarts of its own.

    Errors: NotEnded for a walk that does not end, since time stands still or goes on too long; RuntimeError
    for one that nothing would ever go on with.
    """
    loop, random = VirtualLoop(), Random(0)

    def wall_clock() -> int:
        return int(loop.time() * 1000)

    def coordinator(config: CoordinatorConfig, choices: Choices) -> GroupCoordinator:
        return GroupCoordinator(config, _SameIds(wall_clock, random))

    broker = _Broker(loop, _settings(settings, profile), coordinator, wall_clock)
    began = loop.time()
    loop.complete(broker.start())
    versions = versions_in_common({api(name).key: span for name, span in advertised().items()})
    consumer = replace(consumer_terms(settings, broker.topics(), PROFILES[profile]), sees_within=0.2)
    terms = Terms(broker_config(settings), versions, alone, looks_every_ms(settings), OTHERS, consumer)
    node = Node(NODE_ID, LOOPBACK, PORT)
    found = Coordinator(in_memory(loop), terms, PROFILES[profile], Lateness(LATE), node)
    found.restarts = Restarts(broker.end, partial(broker.again, settings, profile), Span(began, loop.time()))
    broker.restarts = found.restarts
    began = loop.time()
    try:
        task = loop.run(lambda: loop.create_task(walk(found)))
        while not task.done():
            if loop.time() - began > LONGEST:
                raise NotEnded(f"the walk is not over after {LONGEST:g} s", loop.time())
            if not loop.onwards():
                raise RuntimeError(f"the walk waits for nothing; callbacks have raised {loop.failures}")
    except TimeStandsStill as error:
        raise NotEnded(str(error), loop.time()) from error
    return task.result()


class _Log(MemoryLog):
    """A log that is kept in memory as it would be on a disk."""

    def __init__(self, loop: asyncio.AbstractEventLoop, answered: Answered, batches: list[bytes]) -> None:
        super().__init__(loop, answered)
        self._batches = batches

    def append(self, append: Append) -> None:
        first = len(self._batches) * MOST_RECORDS  # later batches have greater offsets, all else is the same
        self._batches.append(batch_of(entries_of(append), 0, first))
        super().append(append)


class _Broker:
    """A server that is started again as often as is wanted, with what its log has."""

    def __init__(
        self,
        loop: VirtualLoop,
        settings: Settings,
        coordinator: CoordinatorFactory,
        wall_clock: Callable[[], int],
    ) -> None:
        self._settings, self._coordinator = settings, coordinator
        self._batches: list[bytes] = []
        self._hooks = Hooks(log=partial(_Log, batches=self._batches), wall_clock=wall_clock)
        self._server = self._made()
        self._ids = count(1)
        self.restarts: Restarts | None = None

    def _made(self) -> Server:
        told = Listening((Listener(told=(LOOPBACK, PORT)),))  # the same each time, wherever it listens
        return Server(self._settings, self._coordinator, hooks=self._hooks, listening=told)

    async def start(self) -> None:
        """Read the log, and listen."""
        await self._server.start()
        self._server.topics.new_id = lambda name: UUID(int=next(self._ids), version=4)
        for name, size in {**dict.fromkeys(TOPICS, 1), **SHARED}.items():
            self._server.topics.create(name, size)
        replay = Replay()
        for batch in self._batches:
            replay.take(batch)
        assert self._server.groups is not None
        await self._server.groups.load(replay.groups())

    def topics(self) -> Topics:
        """The topics that there are."""
        there = self._server.topics.all()
        return FrozenMap((one.name, Topic(str(one.topic_id), len(one.partitions))) for one in there)

    async def end(self, how: str) -> None:
        """Whatever the signal: nobody is connected any more, and the log has all."""
        assert self._server.groups is not None
        self._server.groups.resign()
        await asyncio.sleep(DOWN / 2)

    async def again(
        self, first: Mapping[str, int], profile: str, group_ids: Sequence[str], chosen: Chosen
    ) -> BrokerConfig:
        """Another server. first: the settings of the first one."""
        await asyncio.sleep(DOWN / 2)
        settings = {**first, **dict(chosen)}
        self._settings = _settings(settings, profile)
        self._server = self._made()
        await self.start()
        if self.restarts is not None:
            self.restarts.topics = self.topics()
        return broker_config(settings)


def _settings(settings: Mapping[str, int], profile: str) -> Settings:
    """Of a server that ends no connection for its silence."""
    return Settings.of({"connections.max.idle.ms": -1, **settings}, profile)
