"""Restarts of the target while it is walked on: one for all walks that are under way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from rota.generate.plan import Restart
from rota.linearise import Restarted
from rota.linearise.times import Span
from rota.spec import BrokerConfig
from rota.spec.consumer.messages import Topics

Chosen = tuple[tuple[str, int], ...]
"""Settings, each with its value."""

LOOKS = 0.05
"""Seconds after which whoever wants a restart looks whether all do who will."""


class Walking(Protocol):
    """Who asks about a group while the target may be restarted."""

    group_id: str

    def go_down(self) -> None:
        """The target will be ended now: break all connections."""

    def come_back(self, event: Restarted, how: Restart) -> None:
        """It is there again."""


Again = Callable[[Sequence[str], Chosen], Awaitable[BrokerConfig | None]]
"""Starts the target with what it has stored, and with settings that are others than at first, and returns
when these groups are read: what it is set to then, None where it could not be set.
"""


class Restarts:
    """Parameters: end, ends the target by a signal; again; started, when the target was, where that is known.
    Attributes: done, how many there were; started, when the target was last; config, what it is set to since,
    None: as at first; topics, that it has since, None: as at first.
    """

    def __init__(
        self, end: Callable[[str], Awaitable[None]], again: Again, started: Span | None = None
    ) -> None:
        self._end, self._again, self.started = end, again, started
        self.config: BrokerConfig | None = None
        self.topics: Topics | None = None
        self._walking: dict[Walking, bool] = {}
        self._waiting: set[Walking] = set()
        self._up = asyncio.Event()
        self._up.set()
        self.done = 0

    def enter(self, walking: Walking) -> None:
        """Somebody begins to ask."""
        self._walking[walking] = False

    def will_want(self, walking: Walking, wants: bool) -> None:
        """Whether it will want a restart itself: others who do wait for it."""
        self._walking[walking] = wants

    def leave(self, walking: Walking) -> None:
        """Nobody waits for it any more."""
        self._walking.pop(walking, None)

    async def up(self) -> None:
        """Wait until the target is there: before whoever waits goes on, the next restart may have begun."""
        while not self.is_up:
            await self._up.wait()

    @property
    def is_up(self) -> bool:
        """Whether the target is there, as far as is known."""
        return self._up.is_set()

    async def wanted(self, walking: Walking, how: Restart) -> None:
        """Have a restart, together with all who will want one."""
        before = self.done
        self._waiting.add(walking)
        try:
            while self.done == before and any(
                wants and one not in self._waiting for one, wants in self._walking.items()
            ):
                await asyncio.sleep(LOOKS)
            if self.done == before and self.is_up:
                await self.now(how)
            await self.up()
        finally:
            self._waiting.discard(walking)

    async def now(self, how: Restart) -> None:
        """Restart the target under all who ask; one restart is over before the next begins."""
        await self.up()
        loop = asyncio.get_running_loop()
        self._up.clear()
        try:
            for walking in self._walking:
                walking.go_down()
            since = loop.time()
            await self._end(how.how)
            down = loop.time()
            self.config = await self._again([walking.group_id for walking in self._walking], how.settings)
            event = Restarted(loop.time(), since, down, self.config, self.topics)
            how = how if self.config is not None else Restart(how.how)
            self.started = event.started
            self.done += 1
            for walking in self._walking:
                walking.come_back(event, how)
        finally:
            self._up.set()
