"""One partition's folder of segments: append, sync, read, compact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress

from rota.log.cleaner import Compacted, Group, groups, latest_offsets, put_in_place, rewrite
from rota.log.errors import LogError, LogErrorCode, told_as_storage_error
from rota.log.files import Files
from rota.log.folder import Folder, segment_name
from rota.log.frames import frames, head, spans
from rota.log.options import Fsync, LogOptions
from rota.log.recovery import Active, Recovered, Recovery, noted
from rota.log.sidecars import ListUncertain, Sealed, Segments, write_all, write_segments
from rota.wire.records import checksum, rebased

_MOST_OFFSETS = 2**31 - 1
"""Offsets of a segment; Kafka counts them from its base in 32 bits."""


class PartitionFiles:
    """A log in a folder. It is used by one thread at a time; all of its calls may wait for the disk.

    An append is acknowledged to nobody before `sync_if_due` has returned: that is the fsync policy. After a
    `sync` that failed the log is failed for good, since nobody can know what the disk has: what would
    change it raises LogError until the folder is opened again.
    """

    def __init__(self, folder: Folder, options: LogOptions, recovery: Recovery) -> None:
        self._folder = folder
        self._options = options
        self._segments = recovery.segments
        self._active = recovery.active
        self._note = recovery.synced
        self._synced_to = self._active.size
        self._synced_at_ms: int | None = None
        self._torn = False
        self._failed = ""

    @staticmethod
    def open(files: Files, folder: str, options: LogOptions) -> tuple[PartitionFiles, Recovered]:
        """The log in `folder`, which is made if it is not there (the one around it must be).

        Errors: DamagedLog; LogError with KAFKA_STORAGE_ERROR for what the file system refuses.
        """
        recovery = Recovery(Folder(files, folder))
        with told_as_storage_error(f"opening {folder}"):
            recovered = recovery.run()
            log = PartitionFiles(recovery.folder, options, recovery)
            try:
                log._note_synced()
            except OSError:
                log._give_back()
                raise
        return log, recovered

    @property
    def next_offset(self) -> int:
        """The offset that the next append gets."""
        return self._active.next_offset

    @property
    def segment_bases(self) -> tuple[int, ...]:
        """The base offsets of the segments, the active one last."""
        return (*(sealed.base for sealed in self._segments.sealed), self._active.base)

    @property
    def in_doubt(self) -> bool:
        """Whether what KAFKA_STORAGE_ERROR refused may nevertheless be there when it is opened again."""
        return self._torn or bool(self._failed)

    def append(self, batch: bytes) -> int:
        """`append_all` of one batch: its base offset."""
        return self.append_all((batch,))[0]

    def append_all(self, batches: Sequence[bytes]) -> list[int]:
        """Gives each record batch (magic 2) the next offsets and writes all in one call; their base offsets.

        All or none: on an error nothing of them is in the log. They go into one segment, which may grow
        beyond segment_bytes by what comes in one call. Errors: LogError with MESSAGE_TOO_LARGE (more than
        max_batch_bytes), RECORD_LIST_TOO_LARGE (more than a segment), CORRUPT_MESSAGE, or
        KAFKA_STORAGE_ERROR (disk full, read only, broken); after the last the log goes on when the disk
        does.
        """
        self._usable()
        placed: list[bytes] = []
        offsets: list[int] = []
        following = self.next_offset
        for batch in batches:
            span = self._checked(batch)
            placed.append(rebased(batch, following, self._options.leader_epoch))
            offsets.append(following)
            following += span
        if placed:
            self._cut_torn()
            data = b"".join(placed)
            if self._is_full(len(data), following):
                self.roll()
            self._write(data, following)
        return offsets

    def _checked(self, batch: bytes) -> int:
        """How many offsets a batch takes. Errors: LogError."""
        size = len(batch)
        if size > self._options.max_batch_bytes:
            text = f"a batch of {size} bytes; at most {self._options.max_batch_bytes} are taken"
            raise LogError(LogErrorCode.MESSAGE_TOO_LARGE, text)
        if size > self._options.segment_bytes:
            text = f"a batch of {size} bytes; a segment has {self._options.segment_bytes}"
            raise LogError(LogErrorCode.RECORD_LIST_TOO_LARGE, text)
        try:
            found = head(batch)
        except ValueError as error:
            raise LogError(LogErrorCode.CORRUPT_MESSAGE, str(error)) from None
        return found.next_offset - found.base_offset

    def _is_full(self, more: int, following: int) -> bool:
        if not self._active.size:
            return False
        too_large = self._active.size + more > self._options.segment_bytes
        return too_large or following - self._active.base > _MOST_OFFSETS

    def _write(self, data: bytes, following: int) -> None:
        active = self._active
        try:
            write_all(active.file, data)
        except OSError as error:
            self._torn = True
            with suppress(LogError):
                self._cut_torn()
            text = f"appending to {self._folder.path}: {error.strerror or error}"
            raise LogError(LogErrorCode.KAFKA_STORAGE_ERROR, text) from error
        active.size += len(data)
        active.crc = checksum(data, active.crc)
        active.next_offset = following

    def _cut_torn(self) -> None:
        """Takes away what a failed write may have left; until that is done nothing is appended behind it.

        It is synced too: else what was refused could be there after a power failure.
        """
        if not self._torn:
            return
        with told_as_storage_error(f"cutting off what a failed append left in {self._folder.path}"):
            self._active.file.truncate(self._active.size)
        self._force()
        self._torn = False

    def sync_if_due(self, now_ms: int) -> bool:
        """Syncs if the policy wants it now; says so. After that the appends so far may be acknowledged.

        Call it after each `append_all`, and with INTERVAL every so often without. `now_ms` is any clock that
        does not go back. Errors: as of `sync`.
        """
        policy = self._options.fsync
        if policy is Fsync.NEVER:
            return False
        if policy is Fsync.INTERVAL:
            if (
                self._synced_at_ms is not None
                and now_ms - self._synced_at_ms < self._options.fsync_interval_ms
            ):
                return False
            self._synced_at_ms = now_ms
        self.sync()
        return True

    def sync(self) -> None:
        """Returns when all that was appended is on the disk. Errors: LogError with KAFKA_STORAGE_ERROR."""
        self._usable()
        if self._synced_to != self._active.size:
            self._force()
            self._synced_to = self._active.size
            # One that lags is only judged less strictly after a crash, so it may fail.
            with suppress(OSError):
                self._note.write_at(0, noted(self._active).encoded())

    def _force(self) -> None:
        try:
            self._active.file.sync()
        except OSError as error:
            raise self._broken(f"a sync failed: {error.strerror or error}") from error

    def _note_synced(self) -> None:
        """Notes for good up to where all is synced."""
        self._note.write_at(0, noted(self._active).encoded())
        self._note.sync()

    def _usable(self) -> None:
        if self._failed:
            raise LogError(LogErrorCode.KAFKA_STORAGE_ERROR, self._failed)

    def _broken(self, why: str) -> LogError:
        """From now on nobody knows what the disk has."""
        self._failed = f"{self._folder.path}: {why}; only opening it again tells what is on the disk"
        return LogError(LogErrorCode.KAFKA_STORAGE_ERROR, self._failed)

    def roll(self) -> None:
        """Begins a new segment if the active one holds anything, so that all before can be compacted.

        Errors: LogError with KAFKA_STORAGE_ERROR, the log being as before.
        """
        self._usable()
        self._cut_torn()
        active = self._active
        if not active.size:
            return
        self.sync()
        base = active.next_offset
        sealed = (*self._segments.sealed, Sealed(active.base, active.size, active.crc))
        with told_as_storage_error(f"beginning a segment in {self._folder.path}"):
            file = self._folder.open(segment_name(base), create=True)
            try:
                self._folder.sync()
                self._list(Segments(base, sealed, self._segments.clean_to))
            except BaseException:
                file.close()
                raise
        self._active = Active(base, file, 0, 0, base)
        self._synced_to = 0
        active.file.close()

    def _list(self, segments: Segments) -> None:
        """Makes these the segments. Errors: OSError; LogError when it cannot be known whether they are."""
        try:
            write_segments(self._folder, segments)
        except ListUncertain as error:
            raise self._broken(f"a sync of the folder failed: {error.strerror}") from error
        self._segments = segments

    def batches(self, from_offset: int = 0) -> Iterator[bytes]:
        """The batches, whole, from the one on that has `from_offset` or a later one. Errors: LogError."""
        ends = (*self.segment_bases[1:], self.next_offset)
        for base, end in zip(self.segment_bases, ends, strict=True):
            if end > from_offset:
                yield from self._batches_of(base, from_offset)

    def _batches_of(self, base: int, from_offset: int) -> Iterator[bytes]:
        reading = told_as_storage_error(f"reading {self._folder.path}")
        with reading, closing(self._folder.open(segment_name(base))) as file:
            size = self._active.size if base == self._active.base else file.size()
            for _, batch in frames(file, 0, size):
                if spans(batch) > from_offset:
                    yield batch

    def dirty_ratio(self) -> float:
        """How much of what can be compacted no compaction has seen yet, by bytes."""
        total = sum(sealed.size for sealed in self._segments.sealed)
        dirty = sum(one.size for one in self._segments.sealed if one.base >= self._segments.clean_to)
        return dirty / total if total else 0.0

    def compact(self, now_ms: int) -> Compacted:
        """`compacting`, all of it at once."""
        before = self._segments.sealed
        for _ in self.compacting(now_ms):
            pass
        after = self._segments.sealed
        sizes = (sum(sealed.size for sealed in some) for some in (before, after))
        return Compacted(len(before), len(after), *sizes)

    def compacting(self, now_ms: int) -> Iterator[None]:
        """Keeps the last value of each key, in all segments but the active one, as Kafka's cleaner does.

        It is done in pieces: between two of them the log may be appended to. Offsets stay. A tombstone
        stays for delete_retention_ms from the first compaction that met it; `now_ms` is the wall clock.
        Errors: LogError with KAFKA_STORAGE_ERROR, the log being as before or compacted in part; DamagedLog
        for a batch that is not as it was written.
        """
        self._usable()
        sealed = self._segments.sealed
        clean_to = self._active.base
        dirty = [one for one in sealed if one.base >= self._segments.clean_to]
        with told_as_storage_error(f"compacting {self._folder.path}"):
            keys = yield from latest_offsets(self._folder, dirty)
            for group in groups(sealed, self._options.segment_bytes):
                changed = yield from rewrite(self._folder, group, keys, now_ms, self._options)
                if changed is not None:
                    self._swap(group, changed)
                yield
            if sealed and clean_to != self._segments.clean_to:
                self._usable()
                self._list(Segments(self._segments.active, self._segments.sealed, clean_to))

    def _swap(self, group: Group, compacted: Sealed) -> None:
        """A compacted segment takes the place of those that it was made of, once the list says so."""
        self._usable()
        sealed = tuple(
            compacted if one.base == compacted.base else one
            for one in self._segments.sealed
            if one.base == compacted.base or one not in group
        )
        decided = Segments(self._segments.active, sealed, self._segments.clean_to)
        try:
            put_in_place(self._folder, group, lambda: self._list(decided))
        except OSError as error:
            if self._segments is decided:
                raise self._broken(f"a compaction was not finished: {error.strerror or error}") from error
            raise

    def close(self) -> None:
        """Syncs and gives all files back. Errors: as of `sync`; the files are given back nevertheless."""
        try:
            with told_as_storage_error(f"closing {self._folder.path}"):
                self._usable()
                self._cut_torn()
                self.sync()
                self._note_synced()
        finally:
            self._give_back()

    def _give_back(self) -> None:
        self._active.file.close()
        self._note.close()
