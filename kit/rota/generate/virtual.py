"""Walks against rota's own server in virtual time: no socket, no clock, the same every time."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from rota.conformance.dialogues.broker_settings import MAX_SIZE
from rota.coordinator import Append, Choices, CoordinatorConfig, GroupCoordinator
from rota.generate.cast import TOPICS, Terms, versions_in_common
from rota.generate.lateness import Lateness
from rota.generate.lines import LATENCY, in_memory
from rota.generate.player import Coordinator
from rota.generate.settings import broker_config
from rota.server.broker import HOST, Hooks, Server
from rota.server.group_log import Answered, MemoryLog
from rota.server.groups import PREFIX_MAX, FirstByName
from rota.server.settings import NODE_ID, USUAL, Settings
from rota.server.snapshots import Stored
from rota.spec import PROFILES, BrokerConfig, Node
from rota.virtual import VirtualLoop
from rota.wire import advertised, api

R = TypeVar("R")

LATE = 0.02
"""Seconds by which timers of the server may be late in virtual time, with what bytes take."""


PORT = 9092
"""What is told as the server's port; nobody listens there."""


class _SameIds(FirstByName):
    """Hands out ids that look random and are the same on every server."""

    def __init__(self, wall_clock: Callable[[], int]) -> None:
        super().__init__(wall_clock)
        self._random = Random(0)

    def new_member_id(self, prefix: str) -> str:
        return f"{prefix[:PREFIX_MAX]}-{UUID(int=self._random.getrandbits(128), version=4)}"


class _KeptLog(MemoryLog):
    """A log in memory that the next broker can read."""

    def __init__(self, loop: AbstractEventLoop, answered: Answered, stored: Stored) -> None:
        super().__init__(loop, answered)
        self._stored = stored

    def append(self, append: Append) -> None:
        self._stored.take(append)
        super().append(append)


class _Broker:
    """rota's server, as it is now, after it was killed as often as it was."""

    def __init__(self, loop: VirtualLoop, settings: Mapping[str, int], profile: str) -> None:
        self._loop, self._settings, self._profile = loop, dict(settings), profile
        self._ids = _SameIds(self._wall_clock)
        self._stored = Stored()
        self._server: Server | None = None

    def _wall_clock(self) -> int:
        return int(self._loop.time() * 1000)

    def _coordinator(self, config: CoordinatorConfig, choices: Choices) -> GroupCoordinator:
        return GroupCoordinator(config, self._ids)

    async def start(self) -> None:
        """It begins, and reads what is stored."""
        stored = self._stored = Stored(
            dict(self._stored.groups), {name: dict(kept) for name, kept in self._stored.offsets.items()}
        )
        hooks = Hooks(
            log=lambda loop, answered: _KeptLog(loop, answered, stored), wall_clock=self._wall_clock
        )
        asked = Settings.of({"connections.max.idle.ms": -1, **self._settings}, self._profile)
        server = self._server = Server(asked, self._coordinator, hooks=hooks)
        await server.start()
        assert server.cluster is not None
        server.cluster.ports[NODE_ID] = PORT
        for name in TOPICS:
            server.topics.create(name, 1)
        assert server.groups is not None
        server.groups.move(stored.all())

    async def restart(self, most: int | None) -> BrokerConfig:
        """It is killed, and another one reads its log."""
        await asyncio.sleep(2 * LATENCY)
        assert self._server is not None
        assert self._server.groups is not None
        self._server.groups.resign()
        if most is not None:
            self._settings[MAX_SIZE] = most
        await self.start()
        await asyncio.sleep(LATENCY)
        return broker_config(self._settings)


def in_virtual_time(
    settings: Mapping[str, int],
    walk: Callable[[Coordinator], Coroutine[Any, Any, R]],
    profile: str = USUAL,
    *,
    alone: bool = False,
) -> R:
    """What comes of walking on a fresh server of rota's, which takes no time but the processor's.

    alone: whether there is one walk on it at a time, which may kill it.

    Errors: RuntimeError for a walk that nothing would ever go on with.
    """
    loop = VirtualLoop()
    broker = _Broker(loop, settings, profile)
    loop.complete(broker.start())
    versions = versions_in_common({api(name).key: span for name, span in advertised().items()})
    terms = Terms(broker_config(settings), versions, restarts=alone)
    node = Node(NODE_ID, HOST, PORT)
    found = Coordinator(in_memory(loop), terms, PROFILES[profile], Lateness(LATE), node)
    found.restart = broker.restart if alone else None
    task = loop.run(lambda: loop.create_task(walk(found)))
    while not task.done():
        if not loop.onwards():
            raise RuntimeError(f"the walk waits for nothing; callbacks have raised {loop.failures}")
    return task.result()
