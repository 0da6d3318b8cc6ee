"""What a walk of the consumer protocol has left behind: can two polite members still have the group?

They join and heartbeat as clients do, say what they own when that has changed, and join again where they are
told so. Whoever walked is silent, so it is gone when its session is over.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from rota.generate.cast import Terms
from rota.generate.consumer.cast import SHARED
from rota.generate.player import Stage
from rota.spec.consumer.messages import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    ConsumerGroupHeartbeatReply,
    ConsumerGroupHeartbeatRequest,
)
from rota.spec.consumer.state import Partition
from rota.spec.consumer.vocabulary import ErrorCode

PAUSE = 0.4
"""Seconds between two heartbeats."""

TIMEOUT_MS = 3000
"""The rebalance timeout of polite members."""

FIRST_LINE = 1_000
"""Numbers of their connections and requests, which no plan has."""

NAME = "rota-walk-2"
"""What they subscribe to: a partition for each."""


@dataclass
class _Polite:
    """A polite member. owns: what it was assigned and uses; number: of its requests."""

    name: str
    line: int
    stage: Stage
    version: int
    number: int
    epoch: int = JOIN_EPOCH
    owns: frozenset[Partition] = frozenset()
    said: frozenset[Partition] | None = field(default=None)

    async def beat(self) -> bool:
        """One heartbeat; whether it was answered."""
        joins, news = self.epoch == JOIN_EPOCH, self.said != self.owns
        request = ConsumerGroupHeartbeatRequest(
            self.stage.group_id,
            self.name,
            self.epoch,
            rebalance_timeout_ms=TIMEOUT_MS if joins else -1,
            subscribed_topic_names=frozenset({NAME}) if joins else None,
            topic_partitions=self.owns if joins or news else None,
        )
        self.number += 1
        before = self.stage.restarts
        asked = await self.stage.ask(self.name, self.line, self.version, request, self.number)  # type: ignore[arg-type]
        if asked is None:
            return False
        await asked.answered
        found = self.stage.answers.get(self.number)
        if isinstance(found, ConsumerGroupHeartbeatReply):
            self._hear(found)
        return found is not None or self.stage.restarts != before

    def _hear(self, reply: ConsumerGroupHeartbeatReply) -> None:
        if reply.error_code is not ErrorCode.NONE:
            self.epoch, self.owns, self.said = JOIN_EPOCH, frozenset(), None
            return
        self.epoch, self.said = reply.member_epoch, self.owns
        if reply.assignment is not None:
            self.owns = reply.assignment

    async def live(self) -> None:
        """Until it is cancelled, or not answered."""
        while await self.beat():
            await asyncio.sleep(PAUSE)

    async def leave(self) -> None:
        """Leave on another connection, and await no answer."""
        request = ConsumerGroupHeartbeatRequest(self.stage.group_id, self.name, LEAVE_EPOCH)
        await self.stage.ask(self.name, self.line + 2, self.version, request, self.number + 1)  # type: ignore[arg-type]


async def have(stage: Stage, terms: Terms, seconds: float) -> bool:
    """Whether two polite members can have the group within so many seconds: a partition for each."""
    version = terms.spoken("ConsumerGroupHeartbeat")[-1]
    pair = [_Polite(f"polite{n}", FIRST_LINE + n, stage, version, FIRST_LINE * (n + 1)) for n in range(2)]
    lives = [asyncio.ensure_future(one.live()) for one in pair]
    loop = asyncio.get_running_loop()
    began, lost = loop.time(), stage.lost
    try:
        while not _settled(pair):
            given = seconds + stage.lost - lost + stage.late(began)
            if loop.time() > began + given or all(life.done() for life in lives):
                return False
            await asyncio.sleep(PAUSE / 4)
            await stage.up()
    finally:
        for life in lives:
            life.cancel()
    for one in pair:
        await one.leave()
    return True


def _settled(pair: list[_Polite]) -> bool:
    """Whether both are at one epoch, and every partition is one's own."""
    first, second = pair
    apart = not first.owns & second.owns and len(first.owns | second.owns) == SHARED[NAME]
    return apart and first.epoch == second.epoch and all(one.owns for one in pair)
