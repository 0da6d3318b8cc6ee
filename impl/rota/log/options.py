"""How a log is kept; the defaults are those of Kafka's offsets topic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Fsync(Enum):
    """When what was appended is forced to the disk, and so what an acknowledgement is worth.

    Whatever the policy: a process that is killed loses nothing that `append` has returned for, since the
    operating system has it; a segment is synced before the next one is begun, a compacted one before it
    takes the place of others; `close` syncs. The policies differ in what a power failure or a crash of the
    operating system takes. What is left is always whole batches, in order, from the first on.
    """

    ALWAYS = "always"
    """Before each acknowledgement; what came in one turn of the event loop shares one. Nothing is lost."""

    INTERVAL = "interval"
    """Every so many milliseconds. At most what was acknowledged since the last sync is lost."""

    NEVER = "never"
    """When the operating system likes (Linux: within some thirty seconds). The last segment may be lost."""


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What a log needs to know of its topic and its user.

    `segment_bytes`, `max_batch_bytes`, `delete_retention_ms` and `min_cleanable_ratio` are Kafka's
    segment.bytes, max.message.bytes, delete.retention.ms and min.cleanable.dirty.ratio. `leader_epoch` is
    written into every batch.
    """

    segment_bytes: int = 104_857_600
    max_batch_bytes: int = 1_048_588
    delete_retention_ms: int = 86_400_000
    min_cleanable_ratio: float = 0.5
    leader_epoch: int = 0
    fsync: Fsync = Fsync.ALWAYS
    fsync_interval_ms: int = 1_000
