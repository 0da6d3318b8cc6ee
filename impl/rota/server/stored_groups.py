"""A data folder at the start of a server: taken, recovered, read."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from rota.log import Fsync, LogOptions
from rota.log.group_replay import StoredGroup
from rota.server.group_log import Answered, DiskLog
from rota.server.settings import Settings
from rota.server.storage import DataDir, Storage

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredGroups:
    """What a data folder has, and what makes the log that goes on writing it."""

    groups: list[StoredGroup]
    log: Callable[[asyncio.AbstractEventLoop, Answered], DiskLog]

    def taken(self) -> Iterator[StoredGroup]:
        """Each group, in order, which is then forgotten here: nobody holds them all twice."""
        self.groups.reverse()
        while self.groups:
            yield self.groups.pop()


async def read(settings: Settings, data_dir: DataDir) -> StoredGroups:
    """Opens the folder and reads it, in a thread. Errors: StorageError."""
    return await asyncio.to_thread(_read, settings, data_dir)


def _read(settings: Settings, data_dir: DataDir) -> StoredGroups:
    begin = time.monotonic()
    options = LogOptions(
        segment_bytes=settings.offsets_topic_segment_bytes,
        max_batch_bytes=settings.message_max_bytes,
        fsync=data_dir.fsync,
        fsync_interval_ms=data_dir.fsync_interval_ms,
    )
    storage = Storage.open(data_dir, settings.offsets_topic_num_partitions, options)
    try:
        with without_collections():
            groups = list(storage.groups())
    except BaseException:
        storage.close()
        raise
    log.info("%s: %d groups, read in %.2f s", data_dir.path, len(groups), time.monotonic() - begin)
    by_the_clock = data_dir.fsync_interval_ms / 1000 if data_dir.fsync is Fsync.INTERVAL else None
    return StoredGroups(groups, partial(DiskLog, storage=storage, sync_seconds=by_the_clock))


@contextmanager
def without_collections() -> Iterator[None]:
    """No garbage is looked for meanwhile: a million objects that stay would be visited again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
