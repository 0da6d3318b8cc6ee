"""What a walk has left behind: can two polite members still have the group that others have walked on?

And can two others have another group meanwhile? They join, sync and heartbeat as clients do, again and again
where they are told so. Whoever walked is silent, so it is gone when its session or rebalance timeout is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from rota.conformance.dialogues.subscription import subscription
from rota.generate.cast import TOPICS, Terms
from rota.generate.consumer.aftermath import have
from rota.generate.plan import CONSUMER, Ask, Plan, shares_of
from rota.generate.player import Stage
from rota.spec import (
    ErrorCode,
    HeartbeatRequest,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.messages import ReplyMessage, Request

BEYOND = 10.0
"""Seconds that polite members are given beside the longest timeout of those before them."""

AT_MOST = 30.0
"""Seconds that they are given in any case."""

TIMEOUT_MS = 3000
"""The timeouts of polite members; the session's is the target's least, if that is more."""

PAUSE = 0.4
"""Seconds between heartbeats, and before a refused request is tried again."""

FIRST_LINE = 1_000
"""Numbers of their connections and requests, which no plan has."""

_OUT = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)


@dataclass
class _Polite:
    """A polite member. settled: the generation of which it has its share and for which it is alive, or -1."""

    name: str
    line: int
    stage: Stage
    terms: Terms
    type: str
    number: int
    member_id: str = ""
    settled: int = -1

    async def ask(self, name: str, request: Request, least: int = 0) -> ReplyMessage | None:
        """The answer to a request; None where none will come."""
        version = self.terms.spoken(name, least)[-1]
        while True:
            self.number += 1
            before = self.stage.restarts
            asked = await self.stage.ask(self.name, self.line, version, request, self.number)
            if asked is not None:
                await asked.answered
            if self.stage.restarts == before:
                return None if asked is None else self.stage.answers.get(self.number)

    async def live(self) -> None:
        """Until it is cancelled."""
        session = max(TIMEOUT_MS, self.terms.config.group_min_session_timeout_ms)
        offered = (ProtocolMetadata("range", subscription(self.name, TOPICS[0])),)
        while True:
            request = JoinGroupRequest(
                self.stage.group_id, session, TIMEOUT_MS, self.member_id, self.type, offered
            )
            joined = await self.ask("JoinGroup", request)
            if not isinstance(joined, JoinGroupReply):
                return
            if joined.error_code is ErrorCode.NONE:
                self.member_id = joined.member_id
                await self._stay(joined)
            elif joined.error_code is ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = joined.member_id
            else:
                await self._refused(joined.error_code)

    async def leave(self) -> None:
        """Leave on another connection, since on the first one something may wait, and await no answer."""
        if self.member_id:
            left = LeaveGroupRequest(self.stage.group_id, (LeavingMember(self.member_id),))
            version = self.terms.spoken("LeaveGroup")[-1]
            await self.stage.ask(self.name, self.line + 2, version, left, self.number + 1)

    async def _refused(self, error: ErrorCode) -> None:
        self.settled = -1
        if error in _OUT:
            self.member_id = ""
        soon = error in _OUT or error is ErrorCode.REBALANCE_IN_PROGRESS
        await asyncio.sleep(PAUSE / 8 if soon else PAUSE)

    async def _stay(self, joined: JoinGroupReply) -> None:
        """Sync and heartbeat, until it is told to join again."""
        given = tuple(MemberAssignment(one["member_id"], one["assignment"]) for one in shares_of(joined))
        generation, group_id = joined.generation_id, self.stage.group_id
        named = self.type, joined.protocol_name
        request: Request = SyncGroupRequest(group_id, generation, self.member_id, given, *named)
        name = "SyncGroup"
        while True:
            reply = await self.ask(name, request)
            error = getattr(reply, "error_code", None)
            if error is None:
                return
            if error is not ErrorCode.NONE:
                await self._refused(error)
                return
            if name == "Heartbeat":
                self.settled = generation
            name, request = "Heartbeat", HeartbeatRequest(group_id, generation, self.member_id)
            await asyncio.sleep(PAUSE)


@dataclass(frozen=True)
class Harm:
    """What polite members could not do: in words, and in whose group it was (`THEIRS` or `ANOTHER`)."""

    told: str
    where: str


THEIRS, ANOTHER = "the group", "another group"


async def aftermath(stage: Stage, plan: Plan, terms: Terms, other: Stage | None = None) -> Harm | None:
    """Let two polite members have the group, and two another one beside it; what they cannot, if anything.

    other: of a group in which nobody has been, None to do without. All of them leave in the end.
    """
    seconds = min(AT_MOST, plan.longest + BEYOND)
    if plan.protocol == CONSUMER:
        having = [have(one, terms, each) for one, each in ((stage, seconds), (other, BEYOND)) if one]
    else:
        having = [_have(stage, terms, _kind(plan), seconds)]
        having += [_have(other, terms, "consumer", BEYOND)] if other is not None else []
    has, *others_have = await asyncio.gather(*having)
    if not all(others_have):
        return Harm(
            f"two polite members of another group are not Stable together after {BEYOND:g} s", ANOTHER
        )
    told = f"two polite members are not Stable together {seconds:g} s after everybody else fell silent"
    return None if has else Harm(told, THEIRS)


def _kind(plan: Plan) -> str:
    """The protocol type of the classic group in a plan."""
    joins = (step.request for step in plan.steps if isinstance(step, Ask))
    return next((one.protocol_type for one in joins if isinstance(one, JoinGroupRequest)), "") or "consumer"


async def _have(stage: Stage, terms: Terms, kind: str, seconds: float) -> bool:
    """Whether two polite members can have a group within so many seconds."""
    pair = [_Polite(f"polite{n}", FIRST_LINE + n, stage, terms, kind, FIRST_LINE * (n + 1)) for n in range(2)]
    lives = [asyncio.ensure_future(one.live()) for one in pair]
    try:
        stable = await _stable(pair, lives, seconds, stage)
    finally:
        for life in lives:
            life.cancel()
    for one in pair:
        await one.leave()
    return stable


async def _stable(
    pair: list[_Polite], lives: Sequence[asyncio.Future[None]], seconds: float, stage: Stage
) -> bool:
    """Whether both are in one generation within so many seconds, beside what the kit is late itself; not if
    neither gets any answer.
    """
    loop = asyncio.get_running_loop()
    began, lost = loop.time(), stage.lost
    while not pair[0].settled == pair[1].settled != -1:
        given = seconds + stage.lost - lost + stage.late(began)
        if loop.time() > began + given or all(life.done() for life in lives):
            return False
        await asyncio.sleep(PAUSE / 4)
        await stage.up()
    return True
