"""What a broker does with its logs by itself: old records go, compacted topics are compacted.

Source: upstream's LogManager#cleanupLogs and LogCleaner, whose periods the settings have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from rota.server.answers import Later
from rota.server.broker_configs import CLEANER_BACKOFF
from rota.server.compaction import compact
from rota.server.settings import Settings
from rota.server.topics import Topics
from rota.server.turns import Turns


class Upkeep:
    """Looks after the logs of all topics on the running event loop, until it is stopped."""

    def __init__(
        self, topics: Topics, settings: Settings, loop: asyncio.AbstractEventLoop, turns: Turns
    ) -> None:
        self._topics = topics
        self._loop = loop
        self._work = Later(turns)
        self._periods: tuple[tuple[Callable[[], int], Callable[[], Iterator[None]]], ...] = (
            (lambda: settings.log_retention_check_interval_ms, self.delete_old),
            (self._backoff_ms, self.compact),
        )
        self._timers = [
            loop.call_later(period() / 1000, self._due, number)
            for number, (period, _) in enumerate(self._periods)
        ]

    def _backoff_ms(self) -> int:
        """How long to wait from now on; never no time at all."""
        return max(int(next(self._topics.configs.of_broker(CLEANER_BACKOFF)).value), 1)

    def stop(self) -> None:
        """Nothing more is done."""
        for timer in self._timers:
            timer.cancel()

    def _due(self, number: int) -> None:
        self._work.add(self._again(number))

    def _again(self, number: int) -> Iterator[None]:
        """Once through all logs; the next time begins to count when it is over."""
        period, steps = self._periods[number]
        yield from steps()
        self._timers[number] = self._loop.call_later(period() / 1000, self._due, number)

    def delete_old(self) -> Iterator[None]:
        """Records that are older than their topic keeps them go."""
        for topic in self._topics.all():
            for log in topic.partitions:
                log.delete_old()
            yield

    def compact(self) -> Iterator[None]:
        """Compacts what is due of the topics that are to be compacted."""
        for topic in self._topics.all():
            yield
            for log in topic.partitions:
                if log.config.is_compacted and log.held:
                    yield from compact(log)
