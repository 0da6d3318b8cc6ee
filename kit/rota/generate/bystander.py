"""One in a group of its own who heartbeats by the clock while walks are played: nothing may stop that."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rota.conformance.dialogues.subscription import subscription
from rota.generate.cast import TOPICS
from rota.generate.plan import Plan
from rota.generate.player import Coordinator, Played, Stage
from rota.generate.verdicts import OTHERS, Verdict, Walked
from rota.generate.walks import Walks
from rota.spec import (
    ErrorCode,
    HeartbeatRequest,
    JoinGroupReply,
    JoinGroupRequest,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.messages import ReplyMessage, Request

EVERY = 0.5
"""Seconds between two heartbeats."""

WITHIN = 2.0
"""Seconds in which one is answered, beside what the kit is late itself: far above any target's own time."""

LONGEST = 30.0
"""Seconds for which an answer that is late is waited for, to tell how late it was."""

SESSION_MS = 30_000
"""The session of the bystander, if the target has such long ones."""


HARMED = (OTHERS, "a bystander")
"""The cause of walks by which it is harmed."""


@dataclass
class Bystander:
    """One member of a group of its own. harmed: called when something goes wrong, which ends it.

    heartbeats: how many were answered in time; slowest: seconds that one took; harm: what went wrong, in
    words; alive: from the first heartbeat on, or when it could not join.
    """

    coordinator: Coordinator
    harmed: Callable[[], object] = lambda: None
    heartbeats: int = 0
    slowest: float = 0.0
    harm: str = ""
    alive: asyncio.Event = field(default_factory=asyncio.Event)
    _asked: int = 0

    def and_before(self, other: Bystander | None) -> Bystander:
        """This one and the one before it, as one: what both have seen."""
        if other is None:
            return self
        slowest = max(self.slowest, other.slowest)
        beats = self.heartbeats + other.heartbeats
        return Bystander(self.coordinator, heartbeats=beats, slowest=slowest, harm=other.harm or self.harm)

    async def live(self) -> None:
        """Join, and heartbeat until it is cancelled or harmed."""
        stage = Stage(self.coordinator, f"bystander-{os.urandom(3).hex()}")
        try:
            await self._live(stage)
        finally:
            self.alive.set()
            stage.close()

    async def _live(self, stage: Stage) -> None:
        joined = await self._joined(stage)
        if joined is None:
            return
        own = (MemberAssignment(joined.member_id, b"all"),)
        group, generation, name = stage.group_id, joined.generation_id, joined.protocol_name
        sync = SyncGroupRequest(group, generation, joined.member_id, own, "consumer", name)
        if await self._told(stage, sync) is None:
            return
        loop = asyncio.get_running_loop()
        due = loop.time()
        while not self.harm:
            await self._beat(stage, HeartbeatRequest(group, generation, joined.member_id))
            self.alive.set()
            due = max(due + EVERY, loop.time())
            await asyncio.sleep(due - loop.time())

    async def _joined(self, stage: Stage) -> JoinGroupReply | None:
        """The answer by which it is a member; the first one may only tell an id."""
        config = self.coordinator.terms.config
        session = max(SESSION_MS, config.group_min_session_timeout_ms)
        session = min(session, config.group_max_session_timeout_ms)
        offered, member_id = (ProtocolMetadata("range", subscription("bystander", TOPICS[0])),), ""
        for _ in range(2):
            request = JoinGroupRequest(stage.group_id, session, session, member_id, "consumer", offered)
            told = await self._told(stage, request)
            if not isinstance(told, JoinGroupReply):
                return None
            if told.generation_id >= 0:
                return told
            member_id = told.member_id
        return None

    async def _beat(self, stage: Stage, request: Request) -> None:
        loop = asyncio.get_running_loop()
        began, before = loop.time(), stage.lost
        told = await self._told(stage, request)
        took = loop.time() - began - (stage.lost - before)
        self.slowest = max(self.slowest, took)
        late = self.coordinator.lateness.since(began)
        error = getattr(told, "error_code", None)
        if told is None:
            self._harmed(f"a bystander's heartbeat is not answered in {max(took, 0.0):.1f} s")
        elif took > WITHIN + late:
            self._harmed(f"a bystander's heartbeat is answered after {took:.1f} s")
        elif error is not None and error is not ErrorCode.NONE:
            self._harmed(f"a bystander who heartbeats every {EVERY:g} s is told {error.name}")
        else:
            self.heartbeats += 1

    def _harmed(self, told: str) -> None:
        self.harm = told
        self.harmed()

    async def _told(self, stage: Stage, request: Request) -> ReplyMessage | None:
        name = type(request).__name__.removesuffix("Request")
        self._asked += 1
        version = self.coordinator.terms.spoken(name)[-1]
        while True:
            before = stage.restarts
            asked = await stage.ask("bystander", 0, version, request, self._asked)
            if asked is not None:
                await stage.answered(asked, LONGEST)
            if stage.restarts == before:
                return None if asked is None else stage.answers.get(self._asked)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "heartbeats": self.heartbeats,
            "slowest": round(self.slowest, 3),
            "harm": self.harm or None,
        }


@dataclass(frozen=True)
class Beside:
    """Plays plans with a bystander beside them: a walk fails where that one is harmed."""

    coordinator: Coordinator

    targets = 1  # a bystander would see what plans elsewhere do to the same target

    async def fails(self, groups: Sequence[Sequence[Plan]]) -> list[bool]:
        """Of each group whether a bystander is harmed by its plans, which are played side by side."""
        return [(await self._played(plans)).verdict is Verdict.FAIL for plans in groups]

    async def each(self, plans: Sequence[Plan]) -> list[Walked]:
        """Each plan, one after the other."""
        return [await self._played([plan]) for plan in plans]

    async def _played(self, plans: Sequence[Plan]) -> Walked:
        bystander = Bystander(self.coordinator)
        living = asyncio.ensure_future(bystander.live())
        await bystander.alive.wait()
        try:
            played = await Walks(self.coordinator, f"beside-{os.urandom(3).hex()}").unjudged(plans)
            until = bystander.heartbeats + 2  # one may have been answered just now
            while not living.done() and bystander.heartbeats < until:
                await asyncio.sleep(EVERY)
        finally:
            living.cancel()
        return _verdict(played[0], bystander)


def _verdict(played: Played, bystander: Bystander) -> Walked:
    if not bystander.harm:
        return Walked(played, Verdict.PASS)
    return Walked(played, Verdict.FAIL, OTHERS, bystander.harm, cause=HARMED)
