"""Where the coordinator's appends go, as the event loop sees it: nowhere, or to a disk.

What comes in one turn of the loop is written together, and what comes while that is under way together after
it (group commit). The disk is waited for in a thread, one for all partitions, so that a slow one delays
nobody but those who wait for it.
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

COMPACTION_SECONDS = 15.0
"""How often it is looked whether something is to be compacted, as Kafka's cleaner does."""

_END = object()

T = TypeVar("T")

Answered = Callable[[int, int], None]
"""Takes the id of an append and its error code, 0 for none."""


class GroupLog(Protocol):
    """A log. Each append is answered once, in a later iteration of the event loop, in order."""

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
    """Writes to a storage, in a thread of its own; compacts it and syncs it by the clock."""

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
        self._thread = DiskThreads(1, "rota-log")
        self._waiting: list[Append] = []
        self._writing: asyncio.Future[list[int]] | None = None
        self._answers: deque[tuple[int, int]] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._compacting: Iterator[None] | None = None
        self._compaction = loop.call_later(COMPACTION_SECONDS, self._compact)
        self._sync_seconds = sync_seconds
        self._sync = loop.call_later(sync_seconds, self._sync_by_the_clock) if sync_seconds else None
        self._closed = False

    def append(self, append: Append) -> None:
        if not self._waiting and self._writing is None:
            self._loop.call_soon(self._write)
        self._waiting.append(append)
        self._idle.clear()

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
            if self._writing is not None:
                self._writing.cancel()

    def _close_storage(self, closed: asyncio.Event) -> None:
        try:
            self._storage.close()
        finally:
            with suppress(RuntimeError):  # nobody waits any more, and the loop is closed
                self._loop.call_soon_threadsafe(closed.set)
        self._thread.shutdown()

    def _write(self) -> None:
        """All that waits goes to the disk, unless something is on its way there."""
        if self._writing is not None or not self._waiting:
            return
        appends, self._waiting = self._waiting, []
        self._writing = self._in_thread(self._storage.write, appends)
        self._writing.add_done_callback(partial(self._written, appends))

    def _written(self, appends: list[Append], written: asyncio.Future[list[int]]) -> None:
        self._writing = None
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
        self._write()
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
            elif not self._waiting and self._writing is None:
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
