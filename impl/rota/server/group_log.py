"""Where the coordinator's appends go, as the event loop sees it: nowhere, or to a disk.

What comes in one turn of the loop is written together, and what comes while that is under way together after
it (group commit), each partition for itself: one that takes long delays nobody but those who wait for it. The
disk is waited for in threads.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar

from rota.coordinator import Append, ErrorCode
from rota.server.disk_threads import DiskThreads
from rota.server.storage import Storage

log = logging.getLogger(__name__)

ANSWERS_AT_ONCE = 32
"""Answers to the coordinator in one turn of the event loop."""

WRITTEN_AT_ONCE = 16
"""Partitions that are written at a time; more of them that hang hold up all."""

COMPACTION_SECONDS = 15.0
"""How often it is looked whether something is to be compacted, as Kafka's cleaner does."""

_END = object()

T = TypeVar("T")

Answered = Callable[[int, int], None]
"""Takes the id of an append and its error code, 0 for none."""


class GroupLog(Protocol):
    """A log. Each append is answered once, in a later iteration of the event loop.

    Those of one partition are answered in order.
    """

    def append(self, append: Append) -> None:
        """Writes a record."""

    async def drain(self) -> None:
        """Returns when every append so far has been answered."""

    async def close(self, seconds: float) -> None:
        """Syncs, and gives back what it holds, for so long at most. Nothing is answered any more."""


class MemoryLog:
    """Keeps nothing: every append succeeds in the next iteration of the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, answered: Answered) -> None:
        self._loop = loop
        self._answered = answered

    def append(self, append: Append) -> None:
        self._loop.call_soon(self._answered, append.append_id, ErrorCode.NONE)

    async def drain(self) -> None:
        # What is answered in the next iteration may lead to another append.
        for _ in range(2):
            await asyncio.sleep(0)

    async def close(self, seconds: float) -> None:
        pass


class DiskLog:
    """Writes to a storage, in threads of its own; compacts it and syncs it by the clock.

    `_waiting` has what is to be written next, by partition, and `_behind` what is behind a record that goes
    to all partitions, that one first: it is written when nothing else is.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        answered: Answered,
        storage: Storage,
        sync_seconds: float | None = None,
    ) -> None:
        self._loop = loop
        self._answered = answered
        self._storage = storage
        self._thread = DiskThreads(WRITTEN_AT_ONCE + 1, "rota-log")
        self._waiting: dict[int | None, list[Append]] = {}
        self._behind: deque[Append] = deque()
        self._writing: dict[int | None, asyncio.Future[list[int]]] = {}
        self._will_write = False
        self._answers: deque[tuple[int, int]] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._compacting: Iterator[None] | None = None
        self._compaction = loop.call_later(COMPACTION_SECONDS, self._compact)
        self._sync_seconds = sync_seconds
        self._sync = loop.call_later(sync_seconds, self._sync_by_the_clock) if sync_seconds else None
        self._closed = False

    def append(self, append: Append) -> None:
        self._idle.clear()
        partition = self._storage.partition_of(append)
        if partition is None or self._behind or None in self._writing:
            self._behind.append(append)
        else:
            self._waiting.setdefault(partition, []).append(append)
        if not self._will_write:
            self._will_write = True
            self._loop.call_soon(self._write)

    async def drain(self) -> None:
        await self._idle.wait()

    async def close(self, seconds: float) -> None:
        """A disk that takes longer is left to itself, as if the process had been killed."""
        self._closed = True
        self._compaction.cancel()
        if self._sync is not None:
            self._sync.cancel()
        self._answers.clear()
        closed = asyncio.Event()
        self._thread.submit(self._close_storage, closed)
        try:
            await asyncio.wait_for(closed.wait(), seconds)
        except TimeoutError:
            log.warning(
                "the disk has not taken everything within %g s: the next start reads what it has, "
                "as after a kill; nothing is lost that --fsync promises to keep",
                seconds,
            )
            for writing in self._writing.values():
                writing.cancel()

    def _close_storage(self, closed: asyncio.Event) -> None:
        try:
            self._storage.close()
        finally:
            with suppress(RuntimeError):  # nobody waits any more, and the loop is closed
                self._loop.call_soon_threadsafe(closed.set)
        self._thread.shutdown()

    def _write(self) -> None:
        """What waits goes to the disk, but for partitions of which something is on its way there."""
        self._will_write = False
        if self._closed:
            return
        for partition in [each for each in self._waiting if each not in self._writing]:
            self._begin(partition, self._waiting.pop(partition))
        if self._behind and not self._writing and not self._waiting:
            self._begin(None, [self._behind.popleft()])

    def _begin(self, partition: int | None, appends: list[Append]) -> None:
        writing = self._writing[partition] = self._in_thread(self._storage.write, appends)
        writing.add_done_callback(partial(self._written, partition, appends))

    def _go_on(self, partition: int | None) -> None:
        """Something of this partition, or of all if it is None, has been written: next what was behind it."""
        if partition is None:
            behind, self._behind = self._behind, deque()
            for append in behind:
                self.append(append)
        self._write()

    def _written(
        self, partition: int | None, appends: list[Append], written: asyncio.Future[list[int]]
    ) -> None:
        del self._writing[partition]
        if self._closed:
            return
        error = written.exception()
        if error is None:
            codes = written.result()
        else:
            log.error("the log failed", exc_info=error)
            codes = [ErrorCode.KAFKA_STORAGE_ERROR] * len(appends)
        pending = bool(self._answers)
        ids = (append.append_id for append in appends)
        self._answers.extend(zip(ids, codes, strict=True))
        self._go_on(partition)
        if not pending:
            self._answer()

    def _answer(self) -> None:
        """Some answers now, the rest in the next turn: others want to be served too."""
        try:
            for _ in range(min(ANSWERS_AT_ONCE, len(self._answers))):
                self._answered(*self._answers.popleft())
        finally:
            if self._answers:
                self._loop.call_soon(self._answer)
            elif not self._waiting and not self._writing and not self._behind:
                self._idle.set()

    def _in_thread(self, function: Callable[..., T], *arguments: object) -> asyncio.Future[T]:
        return asyncio.wrap_future(self._thread.submit(function, *arguments), loop=self._loop)

    def _sync_by_the_clock(self) -> None:
        assert self._sync_seconds is not None
        self._sync = self._loop.call_later(self._sync_seconds, self._sync_by_the_clock)
        self._thread.submit(self._storage.sync_if_due)

    def _compact(self) -> None:
        """The next piece of a compaction, behind what waits to be written; or a look whether there is one."""
        if self._compacting is None:
            self._compacting = self._storage.compacting()
        piece = self._in_thread(_went_on, self._compacting)
        piece.add_done_callback(self._compacted)

    def _compacted(self, piece: asyncio.Future[bool]) -> None:
        if self._closed:
            return
        error = piece.exception()
        if error is not None:
            log.error("compaction failed", exc_info=error)
        if error is None and piece.result():
            self._compaction = self._loop.call_later(0, self._compact)
        else:
            self._compacting = None
            self._compaction = self._loop.call_later(COMPACTION_SECONDS, self._compact)


def _went_on(work: Iterator[None]) -> bool:
    """Does the next piece of the work; whether there was one."""
    return next(work, _END) is not _END
