"""What comes in: how long a frame of each API may be, and what all long frames may take together.

A frame is refused by its length as soon as its header is there. One that is longer than SHORT takes its
length out of what all may take (Kafka's queued.max.request.bytes) before the rest of it is read, and gives it
back when its request has been decoded and handled; until there is room its connection is not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from rota.wire import api

SHORT = 64 * 1024
"""Frames up to this many bytes are read in any case."""

HALF_SENT_SECONDS = 5.0
"""How long a long frame may take to arrive while others wait for room."""


@dataclass(frozen=True, slots=True)
class FrameLimit:
    """How many bytes the frames of an API may have, and their arrays elements (tagged fields included)."""

    bytes: int
    elements: int


_KIB, _MIB = 1 << 10, 1 << 20

FRAME_LIMITS: Mapping[str, FrameLimit] = {
    "AddOffsetsToTxn": FrameLimit(256 * _KIB, 1_000),
    "AddPartitionsToTxn": FrameLimit(4 * _MIB, 25_000),
    "AlterConfigs": FrameLimit(4 * _MIB, 25_000),
    "AlterReplicaLogDirs": FrameLimit(4 * _MIB, 25_000),
    "AlterPartitionReassignments": FrameLimit(4 * _MIB, 25_000),
    "ApiVersions": FrameLimit(256 * _KIB, 1_000),
    "ConsumerGroupDescribe": FrameLimit(4 * _MIB, 10_000),
    "ConsumerGroupHeartbeat": FrameLimit(4 * _MIB, 25_000),
    "CreatePartitions": FrameLimit(4 * _MIB, 25_000),
    "CreateTopics": FrameLimit(4 * _MIB, 25_000),
    "DeleteGroups": FrameLimit(4 * _MIB, 25_000),
    "DeleteRecords": FrameLimit(4 * _MIB, 25_000),
    "DeleteTopics": FrameLimit(4 * _MIB, 25_000),
    "DescribeConfigs": FrameLimit(4 * _MIB, 10_000),
    "DescribeGroups": FrameLimit(4 * _MIB, 10_000),
    "DescribeProducers": FrameLimit(4 * _MIB, 10_000),
    "DescribeQuorum": FrameLimit(256 * _KIB, 1_000),
    "DescribeTransactions": FrameLimit(4 * _MIB, 10_000),
    "EndTxn": FrameLimit(256 * _KIB, 1_000),
    "DescribeLogDirs": FrameLimit(4 * _MIB, 25_000),
    "DescribeTopicPartitions": FrameLimit(4 * _MIB, 25_000),
    "ElectLeaders": FrameLimit(4 * _MIB, 25_000),
    "Fetch": FrameLimit(4 * _MIB, 25_000),
    "FindCoordinator": FrameLimit(4 * _MIB, 10_000),
    "Heartbeat": FrameLimit(256 * _KIB, 1_000),
    "IncrementalAlterConfigs": FrameLimit(4 * _MIB, 25_000),
    "InitProducerId": FrameLimit(256 * _KIB, 1_000),
    "JoinGroup": FrameLimit(4 * _MIB, 1_000),
    "LeaveGroup": FrameLimit(4 * _MIB, 12_000),
    "ListGroups": FrameLimit(256 * _KIB, 1_000),
    "ListOffsets": FrameLimit(4 * _MIB, 25_000),
    "ListTransactions": FrameLimit(256 * _KIB, 1_000),
    "Metadata": FrameLimit(4 * _MIB, 25_000),
    "OffsetCommit": FrameLimit(16 * _MIB, 25_000),
    "OffsetDelete": FrameLimit(4 * _MIB, 25_000),
    "OffsetFetch": FrameLimit(4 * _MIB, 25_000),
    "OffsetForLeaderEpoch": FrameLimit(4 * _MIB, 25_000),
    "Produce": FrameLimit(2**31 - 1, 25_000),
    "SyncGroup": FrameLimit(16 * _MIB, 25_000),
    "TxnOffsetCommit": FrameLimit(16 * _MIB, 25_000),
    "UpdateFeatures": FrameLimit(256 * _KIB, 1_000),
}
"""By API; socket.request.max.bytes bounds all of them. What a server with as many partitions as it may have
and groups of 10,000 members is asked fits in."""

_OTHERS = FrameLimit(256 * _KIB, 1_000)
_BY_KEY = {api(name).key: limit for name, limit in FRAME_LIMITS.items()}


def frame_limit(api_key: int) -> FrameLimit:
    """The limit of an API, be it known or not."""
    return _BY_KEY.get(api_key, _OTHERS)


class Sender(Protocol):
    """A connection, as far as its long frames are concerned; hashed by identity."""

    def admitted(self) -> None:
        """There is room for its frame now."""

    def close(self, reason: str = "") -> None:
        """Closes the connection, which gives its room back."""


@dataclass(slots=True)
class _Held:
    size: int
    since: float
    whole: bool = False


class Intake:
    """The room for long frames: `capacity` bytes (negative: no bound), or one frame if it is longer.

    Who waits with the shortest frame comes first. While anybody waits, connections whose frames are not whole
    after HALF_SENT_SECONDS are closed.
    """

    def __init__(
        self,
        capacity: int,
        call_later: Callable[[float, Callable[[], None]], asyncio.TimerHandle],
        clock: Callable[[], float],
    ) -> None:
        self.held = 0
        self._capacity = capacity
        self._call_later = call_later
        self._clock = clock
        self._holders: dict[Sender, _Held] = {}
        self._waiting: dict[Sender, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def ask(self, sender: Sender, size: int) -> bool:
        """Whether the frame may be read; if not now, `admitted` is called when it may. Once a frame."""
        if self._has_room(size):
            self._admit(sender, size)
            return True
        self._waiting[sender] = size
        self._watch()
        return False

    def whole(self, sender: Sender) -> None:
        """The frame has arrived."""
        self._holders[sender].whole = True

    def give_back(self, sender: Sender) -> None:
        """The frame is done with, or its connection is gone; also for one that has none."""
        self._waiting.pop(sender, None)
        held = self._holders.pop(sender, None)
        if held is not None:
            self.held -= held.size
            self._admit_next()

    def _has_room(self, size: int) -> bool:
        return self._capacity < 0 or not self.held or self.held + size <= self._capacity

    def _admit(self, sender: Sender, size: int) -> None:
        self.held += size
        self._holders[sender] = _Held(size, self._clock())

    def _admit_next(self) -> None:
        while self._waiting:
            sender = min(self._waiting, key=self._waiting.__getitem__)
            size = self._waiting[sender]
            if not self._has_room(size):
                break
            del self._waiting[sender]
            self._admit(sender, size)
            sender.admitted()
        self._watch()

    def _watch(self) -> None:
        """Sees to it that somebody looks when the oldest frame has had its time."""
        begun = [held.since for held in self._holders.values() if not held.whole]
        if self._timer is None and self._waiting and begun:
            left = min(begun) + HALF_SENT_SECONDS - self._clock()
            self._timer = self._call_later(max(left, 0.01), self._late)

    def _late(self) -> None:
        self._timer = None
        latest = self._clock() - HALF_SENT_SECONDS
        late = [each for each, held in self._holders.items() if held.since <= latest and not held.whole]
        for sender in late:
            if not self._waiting:
                return
            text = f"a frame of {self._holders[sender].size} bytes, for which others wait, has not arrived"
            sender.close(f"{text} within {HALF_SENT_SECONDS:g} s")
            self.give_back(sender)
        self._watch()
