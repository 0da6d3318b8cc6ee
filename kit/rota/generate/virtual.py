"""Walks against rota's own server in virtual time: no socket, no clock, the same every time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from rota.coordinator import Choices, CoordinatorConfig, GroupCoordinator
from rota.generate.cast import TOPICS, Terms, versions_in_common
from rota.generate.lateness import Lateness
from rota.generate.lines import in_memory
from rota.generate.player import Coordinator
from rota.generate.settings import broker_config
from rota.server.broker import Hooks, Server
from rota.server.groups import PREFIX_MAX, FirstByName
from rota.server.settings import NODE_ID, USUAL, Settings
from rota.spec import PROFILES, Node
from rota.virtual import VirtualLoop
from rota.wire import advertised, api

R = TypeVar("R")

LATE = 0.02
"""Seconds by which timers of the server may be late in virtual time, with what bytes take."""


class _SameIds(FirstByName):
    """Hands out ids that look random and are the same on every server."""

    def __init__(self, wall_clock: Callable[[], int]) -> None:
        super().__init__(wall_clock)
        self._random = Random(0)

    def new_member_id(self, prefix: str) -> str:
        return f"{prefix[:PREFIX_MAX]}-{UUID(int=self._random.getrandbits(128), version=4)}"


def in_virtual_time(
    settings: Mapping[str, int], walk: Callable[[Coordinator], Coroutine[Any, Any, R]], profile: str = USUAL
) -> R:
    """What comes of walking on a fresh server of rota's, which takes no time but the processor's.

    Errors: RuntimeError for a walk that nothing would ever go on with.
    """
    loop = VirtualLoop()

    def wall_clock() -> int:
        return int(loop.time() * 1000)

    def coordinator(config: CoordinatorConfig, choices: Choices) -> GroupCoordinator:
        return GroupCoordinator(config, _SameIds(wall_clock))

    asked = Settings.of({"connections.max.idle.ms": -1, **settings}, profile)
    server = Server(asked, coordinator, hooks=Hooks(wall_clock=wall_clock))
    host, _, port = loop.complete(server.start()).rpartition(":")
    for name in TOPICS:
        server.topics.create(name, 1)
    versions = versions_in_common({api(name).key: span for name, span in advertised().items()})
    terms = Terms(broker_config(settings), versions)
    node = Node(NODE_ID, host, int(port))
    found = Coordinator(in_memory(loop), terms, PROFILES[profile], Lateness(LATE), node)
    task = loop.run(lambda: loop.create_task(walk(found)))
    while not task.done():
        if not loop.onwards():
            raise RuntimeError(f"the walk waits for nothing; callbacks have raised {loop.failures}")
    return task.result()
