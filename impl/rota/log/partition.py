"""One partition's folder of segments: append, sync, read, compact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rota.log.files import Files
from rota.log.options import LogOptions
from rota.log.recovery import Recovered


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did: segments and bytes of them before and after; 0 of both if there was nothing."""

    segments_before: int = 0
    segments_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0


class PartitionFiles:
    """A log in a folder. It is used by one thread at a time; all of its calls may wait for the disk.

    An append is acknowledged to nobody before `sync_if_due` has returned: that is the fsync policy. After a
    `sync` that failed the log is failed for good, since nobody can know what the disk has: every call raises
    LogError until the folder is opened again.
    """

    @staticmethod
    def open(files: Files, folder: str, options: LogOptions) -> tuple[PartitionFiles, Recovered]:
        """The log in `folder`, which is made if it is not there (the one around it must be).

        Errors: DamagedLog; LogError with KAFKA_STORAGE_ERROR for what the file system refuses.
        """
        raise NotImplementedError

    def append(self, batch: bytes) -> int:
        """`append_all` of one batch: its base offset."""
        raise NotImplementedError

    def append_all(self, batches: Sequence[bytes]) -> list[int]:
        """Gives each record batch (magic 2) the next offsets and writes all in one call; their base offsets.

        All or none: on an error nothing of them is in the log. Errors: LogError with MESSAGE_TOO_LARGE (more
        than max_batch_bytes), RECORD_LIST_TOO_LARGE (more than a segment), CORRUPT_MESSAGE, or
        KAFKA_STORAGE_ERROR (disk full, read only, broken); after the last the log goes on when the disk does.
        """
        raise NotImplementedError

    def sync_if_due(self, now_ms: int) -> bool:
        """Syncs if the policy wants it now; says so. After that the appends so far may be acknowledged.

        Call it after each `append_all`, and with INTERVAL every so often without. `now_ms` is any clock that
        does not go back. Errors: as of `sync`.
        """
        raise NotImplementedError

    def sync(self) -> None:
        """Returns when all that was appended is on the disk. Errors: LogError with KAFKA_STORAGE_ERROR."""
        raise NotImplementedError

    def batches(self, from_offset: int = 0) -> Iterator[bytes]:
        """The batches, whole, from the one on that has `from_offset` or a later one."""
        raise NotImplementedError

    def dirty_ratio(self) -> float:
        """How much of the log no compaction has seen: dirty bytes by all bytes, active segment left out."""
        raise NotImplementedError

    def compact(self, now_ms: int) -> Compacted:
        """Keeps the last value of each key, in all segments but the active one, as Kafka's cleaner does.

        Offsets stay. A tombstone stays for delete_retention_ms from the first compaction that met it;
        `now_ms` is the wall clock. Errors: LogError with KAFKA_STORAGE_ERROR, the log being as before or
        compacted in part; DamagedLog for a batch that is not as it was written.
        """
        raise NotImplementedError

    def roll(self) -> None:
        """Begins a new segment if the active one holds anything, so that all before can be compacted."""
        raise NotImplementedError

    @property
    def next_offset(self) -> int:
        """The offset that the next append gets."""
        raise NotImplementedError

    @property
    def segment_bases(self) -> tuple[int, ...]:
        """The base offsets of the segments, the active one last."""
        raise NotImplementedError

    def close(self) -> None:
        """Syncs and gives all files back. Errors: as of `sync`; the files are given back nevertheless."""
        raise NotImplementedError
