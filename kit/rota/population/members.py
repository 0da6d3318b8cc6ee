"""Members of a group with clocks: they join, sync, beat, commit and go, as a consumer does."""

from __future__ import annotations

import asyncio
from itertools import count
from random import Random

from rota.generate.cast import TOPICS
from rota.generate.player import Stage
from rota.population.shapes import CRASHES, Life, Shape
from rota.spec import (
    ErrorCode,
    HeartbeatRequest,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupReply,
    SyncGroupRequest,
)
from rota.spec.messages import ReplyMessage, Request
from rota.spec.offset_messages import OffsetCommitPartition, OffsetCommitRequest, OffsetCommitTopic

JOIN, SYNC, BEAT, LEAVE, COMMIT = 9, 5, 4, 5, 8
"""Versions of requests."""

REBALANCE = 60_000
"""The rebalance timeout, in ms: `max.poll.interval.ms` is five minutes, and nobody takes that long here."""

PATIENCE = 60.0
"""Seconds for which an answer is waited for."""

BACK_OFF = 0.1
"""Seconds before a client asks again that was refused."""

_LISTED = (ProtocolMetadata("range", b"\x00\x01"), ProtocolMetadata("roundrobin", b"\x00\x01"))

_ANEW = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)


class Member:
    """A client. Parameters: stage; numbers, of requests; line: of its connection; shape; life; seed."""

    def __init__(
        self, stage: Stage, numbers: count[int], line: int, shape: Shape, life: Life, seed: str
    ) -> None:
        self._stage, self._numbers, self._line = stage, numbers, line
        self._shape, self._life, self._drawn = shape, life, Random(seed)
        self._client = f"consumer-{line}"
        self._id, self._generation, self._offset = "", -1, 0
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()

    async def live(self) -> None:
        """From its beginning to its end."""
        await asyncio.sleep(self._life.begins)
        while not self._is_over:
            if await self._joined():
                await self._beats()
        if self._life.ends is not None and self._life.how != CRASHES and self._id:
            leaving = (LeavingMember(self._id),)
            await self._ask(LeaveGroupRequest(self._stage.group_id, leaving), LEAVE)
        if self._life.ends is not None:
            self._stage.cut(self._line)

    @property
    def _ends(self) -> float:
        ends = self._life.ends
        return self._began + (self._shape.seen if ends is None else min(ends, self._shape.seen))

    @property
    def _is_over(self) -> bool:
        return self._loop.time() >= self._ends

    async def _ask(self, request: Request, version: int, within: float = PATIENCE) -> ReplyMessage | None:
        """The answer; None where none comes in time."""
        number = next(self._numbers)
        asked = await self._stage.ask(self._client, self._line, version, request, number)
        if asked is not None:
            await self._stage.answered(asked, within)
        return self._stage.answers.get(number)

    async def _joined(self) -> bool:
        """Whether it is a member of a generation, with its assignment."""
        about = (self._shape.session, REBALANCE, self._id, "consumer", _LISTED)
        told = await self._ask(JoinGroupRequest(self._stage.group_id, *about), JOIN)
        if not isinstance(told, JoinGroupReply):
            return await self._refused(None)
        if told.error_code is ErrorCode.MEMBER_ID_REQUIRED:
            self._id = told.member_id
            return False
        if told.error_code is not ErrorCode.NONE:
            return await self._refused(told.error_code)
        self._id, self._generation = told.member_id, told.generation_id
        shares = [one.member_id for one in told.members] if told.leader == told.member_id else []
        given = tuple(MemberAssignment(one, b"\x00\x01%d" % place) for place, one in enumerate(shares))
        synced = await self._ask(
            SyncGroupRequest(
                self._stage.group_id, self._generation, self._id, given, "consumer", told.protocol_name
            ),
            SYNC,
        )
        if isinstance(synced, SyncGroupReply) and synced.error_code is ErrorCode.NONE:
            return True
        return await self._refused(synced.error_code if isinstance(synced, SyncGroupReply) else None)

    async def _refused(self, error: ErrorCode | None) -> bool:
        if error in _ANEW:
            self._id = ""
        await asyncio.sleep(BACK_OFF)
        return False

    async def _beats(self) -> None:
        """Heartbeats and commits, until it has to join again or is over."""
        commits = self._loop.time() + self._shape.commit
        while True:
            await asyncio.sleep(self._shape.beat * self._drawn.uniform(0.9, 1.0))
            if self._is_over:
                return
            about = (self._stage.group_id, self._generation, self._id)
            told = await self._ask(HeartbeatRequest(*about), BEAT)
            error = getattr(told, "error_code", None)
            if error is not ErrorCode.NONE:
                await self._refused(error)
                return
            if self._shape.commit and self._loop.time() >= commits:
                commits = self._loop.time() + self._shape.commit
                if not await self._commits():
                    return

    async def _commits(self) -> bool:
        """Whether it may go on after a commit."""
        self._offset += 100
        committed = OffsetCommitPartition(0, self._offset)
        topics = (OffsetCommitTopic(TOPICS[0], (committed,)),)
        request = OffsetCommitRequest(self._stage.group_id, topics, self._generation, self._id)
        told = await self._ask(request, COMMIT)
        error = getattr(told, "error_code", None)
        if error in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            return True
        await self._refused(error)
        return False
