"""The offsets topic of a server on its disk. Every call may wait: none belongs on the event loop.

A group's records are in one partition, as in Kafka. Records that are appended together are written together,
in as few batches as they fit in; those of one append are always in one batch.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from rota.coordinator import Append, ErrorCode, TransactionMarker
from rota.log import DamagedLog, Disk, Files, Fsync, LogError, LogOptions, PartitionFiles, Recovered
from rota.log.data_folder import DataFolder, DataFolderError, locked, open_folder, partition_of
from rota.log.group_replay import Replay, StoredGroup
from rota.server.disk_threads import DiskThreads
from rota.server.stored_records import Entries, batch_of, entries_of
from rota.server.timers import wall_clock_ms
from rota.wire import WireError

log = logging.getLogger(__name__)

BATCH_OVERHEAD, RECORD_OVERHEAD = 61, 32
"""Most bytes that a batch, and each of its records, have beside keys and values."""


PARTITIONS_AT_ONCE = 16
"""Partitions that are synced, or recovered, at a time."""

_END = object()


class StorageError(Exception):
    """The data folder cannot be used; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class DataDir:
    """Where a server keeps its groups, and what an acknowledgement is worth: see `rota.log.Fsync`."""

    path: str
    fsync: Fsync = Fsync.ALWAYS
    fsync_interval_ms: int = 1_000


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch to be appended, and which of the appends it holds."""

    data: bytes
    appends: tuple[int, ...]


class Storage:
    """All partitions. `open` it; then `groups` once, to load them; then `write`; `close` it at the end.

    Calls may come from several threads: of those that are about one partition one goes on at a time.
    """

    def __init__(self, folder: DataFolder, options: LogOptions, lock: ExitStack) -> None:
        self._folder = folder
        self._options = options
        self._lock = lock
        self._partitions: dict[int, PartitionFiles] = {}
        self._threads = DiskThreads(PARTITIONS_AT_ONCE, "rota-partitions")
        self._locks = [threading.Lock() for _ in range(folder.partitions)]
        self._closed = False

    @staticmethod
    def open(data_dir: DataDir, partitions: int, options: LogOptions, files: Files | None = None) -> Storage:
        """Takes the folder, and recovers its partitions. Errors: StorageError."""
        with ExitStack() as lock:
            try:
                lock.enter_context(locked(data_dir.path))
                folder = open_folder(files or Disk(), data_dir.path, partitions)
                storage = Storage(folder, options, lock.pop_all())
            except DataFolderError as error:
                raise StorageError(str(error)) from None
        try:
            for _ in storage._threads.map(storage._partition, folder.present()):
                pass
            storage._partitions = dict(sorted(storage._partitions.items()))
        except BaseException as error:
            storage.close()
            if isinstance(error, DataFolderError | DamagedLog | LogError | OSError):
                raise StorageError(f"cannot read {data_dir.path}: {error}") from None
            raise
        return storage

    def groups(self) -> Iterator[StoredGroup]:
        """Every group that the log has. Errors: StorageError."""
        for partition, files in self._partitions.items():
            replay = Replay()
            try:
                for batch in files.batches():
                    replay.take(batch)
            except (LogError, DamagedLog, WireError) as error:
                folder = self._folder.folder(partition)
                text = (
                    f"cannot read {folder}: {error}; restore it, or take it away to go on without its groups"
                )
                raise StorageError(text) from None
            yield from replay.groups()
            self._report(partition, replay)

    def partition_of(self, append: Append) -> int | None:
        """Where a record goes; None for one that goes to all partitions."""
        if isinstance(append.record, TransactionMarker):
            return None
        return partition_of(append.group_id, self._folder.partitions)

    def write(self, appends: Sequence[Append]) -> list[int]:
        """Appends records; the error code of each append, once it may be acknowledged."""
        codes = [int(ErrorCode.NONE)] * len(appends)
        now_ms = wall_clock_ms()
        written: dict[int, list[_Batch]] = {}
        for partition, found in self._by_partition(appends, codes).items():
            batches = list(self._batches(found, codes, now_ms))
            error_code = self._append(partition, batches)
            if error_code == ErrorCode.NONE:
                written[partition] = batches
            else:
                _fail(codes, batches, error_code)
        for partition, error_code in self._synced(list(written)):
            if error_code != ErrorCode.NONE:
                _fail(codes, written[partition], error_code)
        return codes

    def sync_if_due(self) -> None:
        """Syncs what the policy wants synced by now; what fails is told by the next append too.

        A partition that is being written is left out: it is synced by who writes it.
        """
        idle = [partition for partition in tuple(self._partitions) if not self._locks[partition].locked()]
        for _ in self._synced(idle):
            pass

    def _append(self, partition: int, batches: Sequence[_Batch]) -> int:
        try:
            with self._locks[partition]:
                if self._closed:
                    return ErrorCode.KAFKA_STORAGE_ERROR
                self._partition(partition).append_all([batch.data for batch in batches])
        except (LogError, OSError, DamagedLog) as error:
            log.error("partition %d of the log: %s", partition, error)
            return error.error_code if isinstance(error, LogError) else ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE

    def _synced(self, partitions: Sequence[int]) -> Iterable[tuple[int, int]]:
        """Each partition, and the error code of its sync if one is due.

        Syncs of several go on at a time: a file system makes one of them.
        """
        if len(partitions) < 2 or self._options.fsync is Fsync.NEVER:
            return [(partition, self._sync(partition)) for partition in partitions]
        return zip(partitions, self._threads.map(self._sync, partitions), strict=True)

    def _sync(self, partition: int) -> int:
        try:
            with self._locks[partition]:
                if self._closed:
                    return ErrorCode.KAFKA_STORAGE_ERROR
                self._partitions[partition].sync_if_due(_monotonic_ms())
        except LogError as error:
            log.error("partition %d of the log: %s", partition, error)
            return error.error_code
        return ErrorCode.NONE

    def compacting(self) -> Iterator[None]:
        """Compacts the partitions that need it, in pieces; between two of them there may be other calls."""
        for partition, files in tuple(self._partitions.items()):
            try:
                yield from self._compacting(partition, files)
            except (LogError, DamagedLog) as error:
                log.error("compacting partition %d of the log: %s", partition, error)

    def _compacting(self, partition: int, files: PartitionFiles) -> Iterator[None]:
        with self._locks[partition]:
            if files.dirty_ratio() < self._options.min_cleanable_ratio:
                return
        work = files.compacting(wall_clock_ms())
        while True:
            with self._locks[partition]:
                if self._closed or next(work, _END) is _END:
                    return
            yield

    def close(self) -> None:
        """Syncs everything and gives the folder back; nothing is written any more."""
        self._closed = True
        for _ in self._threads.map(self._close, tuple(self._partitions)):
            pass
        self._threads.shutdown()
        self._lock.close()

    def _close(self, partition: int) -> None:
        try:
            with self._locks[partition]:
                self._partitions[partition].close()
        except LogError as error:
            log.error("closing partition %d of the log: %s", partition, error)

    def _partition(self, partition: int) -> PartitionFiles:
        """A partition, opened if it is not. Errors: DamagedLog; LogError; OSError."""
        if partition not in self._partitions:
            folder = self._folder.prepare(partition)
            self._partitions[partition], recovered = PartitionFiles.open(
                self._folder.files, folder, self._options
            )
            _report_recovery(folder, recovered)
        return self._partitions[partition]

    def _by_partition(
        self, appends: Sequence[Append], codes: list[int]
    ) -> dict[int, list[tuple[int, Entries]]]:
        """The records of each partition, with the index of the append that they are of.

        The end of a transaction is written to every partition: each has what it has of it.
        """
        found: dict[int, list[tuple[int, Entries]]] = defaultdict(list)
        for index, append in enumerate(appends):
            try:
                entries = entries_of(append)
            except WireError as error:
                log.error("a record of group %r cannot be written: %s", append.group_id, error)
                codes[index] = ErrorCode.UNKNOWN_SERVER_ERROR
                continue
            partitions: Iterable[int] = (partition_of(append.group_id, self._folder.partitions),)
            for partition in tuple(self._partitions) if entries.is_control else partitions:
                found[partition].append((index, entries))
        return found

    def _batches(
        self, found: Sequence[tuple[int, Entries]], codes: list[int], now_ms: int
    ) -> Iterator[_Batch]:
        """Batches of these records, in order; what is too large for one is refused."""
        together: list[tuple[int, Entries]] = []
        size = BATCH_OVERHEAD
        for index, entries in found:
            own = sum(len(key) + len(value or b"") + RECORD_OVERHEAD for key, value in entries.entries)
            plain = entries.producer_id == -1
            if together and (not plain or size + own > self._options.max_batch_bytes):
                yield _batch(together, now_ms)
                together, size = [], BATCH_OVERHEAD
            if plain and size + own <= self._options.max_batch_bytes:
                together.append((index, entries))
                size += own
                continue
            alone = _batch([(index, entries)], now_ms)
            if len(alone.data) > self._options.max_batch_bytes:
                codes[index] = ErrorCode.MESSAGE_TOO_LARGE
            else:
                yield alone
        if together:
            yield _batch(together, now_ms)

    def _report(self, partition: int, replay: Replay) -> None:
        folder = self._folder.folder(partition)
        for reason in replay.unreadable:
            log.warning("%s: left out: %s", folder, reason)
        if replay.unknown:
            kinds = ", ".join(f"{count} of version {version}" for version, count in replay.unknown.items())
            log.warning("%s: left out, but kept: records with keys that are not read: %s", folder, kinds)


def _batch(found: Sequence[tuple[int, Entries]], now_ms: int) -> _Batch:
    together = tuple(entry for _, each in found for entry in each.entries)
    data = batch_of(replace(found[0][1], entries=together), now_ms)
    return _Batch(data, tuple(index for index, _ in found))


def _fail(codes: list[int], batches: Iterable[_Batch], error_code: int) -> None:
    for batch in batches:
        for index in batch.appends:
            codes[index] = int(error_code)


def _report_recovery(folder: str, recovered: Recovered) -> None:
    if recovered.cut is not None:
        log.warning("%s: cut off the end, which was torn: %s", folder, recovered.cut)
    for line in recovered.finished:
        log.warning("%s: %s", folder, line)


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000
