"""How the coordinator's core grows: with members and groups, in memory, in a day of virtual time.

Rates are of the processor's time, without sockets; see `bench.coordinator` for what is counted. They are a
section of `bench.server`.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from time import process_time

from bench.coordinator import Core, alone, heartbeats, rebalance

from rota import coordinator as core

HEARTBEATS = 100_000
"""In a round, so that each member of the largest group has one."""

HOUR_MS = 3_600_000
BEAT_MS = 3_000


def heartbeat_work(members: int) -> Callable[[], int]:
    """Heartbeats to a group of so many."""
    return heartbeats(Core(), members, HEARTBEATS)


def pair_work(members: int) -> Callable[[], int]:
    """Joins and syncs of a group of so many."""
    return rebalance(Core(), members)


def group_work(groups: int) -> Callable[[], int]:
    """Joins and syncs in each of so many groups of one."""
    return alone(Core(), groups)


@contextmanager
def rate_rounds(
    work: Callable[[int], Callable[[], int]], size: int
) -> Iterator[Callable[[], Sequence[float]]]:
    """What the work does in a second of the processor's."""
    run = work(size)

    def once() -> Sequence[float]:
        began = process_time()
        return (run() / (process_time() - began),)

    yield once


@contextmanager
def wanted_rounds(*values: float) -> Iterator[Callable[[], Sequence[float]]]:
    """What is wanted, as if somebody had it."""
    yield lambda: values


@contextmanager
def memory_rounds(size: int) -> Iterator[Callable[[], Sequence[float]]]:
    """Bytes for each member of a group of so many, and for each of so many groups of one."""

    def one_group(side: Core) -> None:
        side.stable("g", size)

    def many_groups(side: Core) -> None:
        for number in range(size):
            side.stable(f"g{number}", 1)

    yield lambda: tuple(held_by(make) / size for make in (one_group, many_groups))


def held_by(make: Callable[[Core], object]) -> int:
    """Bytes that a core holds more when this is done to it."""
    gc.collect()
    tracemalloc.start()
    try:
        side = Core()
        before = traced()
        make(side)
        return traced() - before
    finally:
        tracemalloc.stop()


def traced() -> int:
    """Bytes that are held now."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@contextmanager
def day_rounds(members: int, hours: int) -> Iterator[Callable[[], Sequence[float]]]:
    """Bytes by which a core has grown from the end of the first hour to that of the last."""
    yield lambda: (float(grown(members, hours)),)


def grown(members: int, hours: int) -> int:
    """Bytes more after so many hours of virtual time than after one."""
    tracemalloc.start()
    try:
        day = Day(members)
        day.hour()
        first = traced()
        for _ in range(hours - 1):
            day.hour()
        return traced() - first
    finally:
        tracemalloc.stop()


class Day:
    """A group whose members heartbeat every three seconds; each hour one goes and another comes.

    Each minute an offset is committed, each hour a group is made that nobody is left in, and cleaned away.
    """

    def __init__(self, members: int) -> None:
        self.side = Core()
        self.ids = self.side.stable("day", members)
        self.numbers = count()
        self.hours = 0

    @property
    def group(self) -> core.Group:
        """The group."""
        return self.side.coordinator.groups["day"]

    def hour(self) -> None:
        """An hour of virtual time."""
        self.hours += 1
        while self.side.now_ms < self.hours * HOUR_MS:
            self.side.pass_time(BEAT_MS)
            for member_id in self.ids:
                self.side.heartbeat("day", member_id, self.group.generation_id)
            if self.side.now_ms % 60_000 == 0:
                self.commit()
        self.exchange()
        (alone,) = self.side.stable(f"hour-{self.hours}", 1)
        self.leave(f"hour-{self.hours}", alone)
        self.side.do(self.side.coordinator.clean(self.side.now_ms, lambda metadata: frozenset()))

    def commit(self) -> None:
        """One offset of one partition, by the first member."""
        partition = core.OffsetCommitPartition(0, next(self.numbers))
        topics = (core.OffsetCommitTopic("t", (partition,)),)
        request = core.OffsetCommit("day", topics, self.group.generation_id, self.ids[0])
        self.side.tokens += 1
        coordinator, now_ms = self.side.coordinator, self.side.now_ms
        self.side.do(coordinator.offset_commit(request, 8, self.side.tokens, now_ms))

    def exchange(self) -> None:
        """The last member leaves, another comes, all join and sync."""
        self.leave("day", self.ids.pop())
        self.side.join("day", "")
        for member_id in self.ids:
            self.side.join("day", member_id)
        self.ids = list(self.group.members)
        for member_id in self.ids:
            self.side.sync("day", member_id, self.group.generation_id, self.ids)
        assert self.group.state == core.GroupState.STABLE, self.group.state

    def leave(self, group_id: str, member_id: str) -> None:
        """One LeaveGroup."""
        self.side.tokens += 1
        request = core.LeaveGroup(group_id, (core.MemberIdentity(member_id),))
        self.side.do(self.side.coordinator.leave_group(request, 5, self.side.tokens))
