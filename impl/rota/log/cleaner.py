"""Compaction: of each key the last value stays, in segments of Kafka's form, swapped in as Kafka swaps them.

A group of segments is rewritten into NAME.log.cleaned, which is synced and renamed to NAME.log.swap; then
the list of segments says that it is one of them, and only then do those that it was made of go. Whenever
this is cut short, the list tells a recovery which of them are the log.

What cannot be judged by its keys alone stays as it is, and its keys do not count against older records:
batches of producers with an id (their last sequence number is known by them), of transactions, control
batches, those whose timestamps brokers gave, and compressions that cannot be written here. Where such a
batch is, tombstones stay too, for a value of theirs may be in it. Source: KIP-58, KIP-534, and upstream's
classes Cleaner and MemoryRecords.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from rota.log.errors import DamagedLog
from rota.log.files import OpenFile
from rota.log.folder import CLEANED, SWAP, Folder, segment_name
from rota.log.frames import BadBatch, frames
from rota.log.options import LogOptions
from rota.log.sidecars import Sealed, write_all
from rota.wire.records import (
    DELETE_HORIZON,
    BatchInfo,
    RecordsError,
    checksum,
    decode_batch,
    encode_batch,
    rebased,
    split,
)

Group = Sequence[Sealed]
"""Segments, one after the other, that become one."""

PIECE = 1 << 16
"""Bytes of segments that are read in one piece of a compaction, some milliseconds' work."""

_MOST_OFFSETS = 2**31 - 1
_REWRITTEN = ("none", "gzip")


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did: segments and bytes of them before and after, the active one left out."""

    segments_before: int
    segments_after: int
    bytes_before: int
    bytes_after: int


@dataclass(slots=True)
class Latest:
    """The last offset of each key, as far as a compaction has to know, and whether all keys could be read."""

    offsets: dict[bytes, int]
    complete: bool = True


def groups(sealed: Sequence[Sealed], segment_bytes: int) -> Iterator[Group]:
    """Neighbours that fit into one segment together, each as long as may be."""
    group: list[Sealed] = []
    size = 0
    for one in sealed:
        if group and (size + one.size > segment_bytes or one.base - group[0].base > _MOST_OFFSETS):
            yield tuple(group)
            group, size = [], 0
        group.append(one)
        size += one.size
    if group:
        yield tuple(group)


def latest_offsets(folder: Folder, dirty: Sequence[Sealed]) -> Generator[None, None, Latest]:
    """What the segments that no compaction has seen say of their keys; it stops after each PIECE."""
    latest = Latest({})
    read = 0
    for info, batch in _batches(folder, dirty):
        if _is_judged(info):
            for record in decode_batch(batch):
                if record.key is not None:
                    latest.offsets[record.key] = record.offset
        read += len(batch)
        if read >= PIECE:
            read = 0
            yield
    return latest


def rewrite(
    folder: Folder, group: Group, latest: Latest, now_ms: int, options: LogOptions
) -> Generator[None, None, Sealed | None]:
    """What is left of a group of segments, in a file of its own; it stops after each PIECE.

    None if all of the only segment is left.
    """
    base = group[0].base
    changed = len(group) > 1
    size = crc = 0
    pending: list[bytes] = []
    waiting = 0
    with closing(folder.open(segment_name(base, CLEANED), create=True)) as file:
        file.truncate(0)
        for info, batch in _batches(folder, group):
            kept = _kept(info, batch, latest, now_ms, options.delete_retention_ms)
            changed = changed or kept is not batch
            pending.append(kept)
            waiting += len(batch)
            if waiting >= PIECE:
                size, crc = _flushed(file, pending, size, crc)
                waiting = 0
                yield
        size, crc = _flushed(file, pending, size, crc)
        if changed:
            file.sync()
            return Sealed(base, size, crc)
    folder.unlink(segment_name(base, CLEANED))
    return None


def _flushed(file: OpenFile, pending: list[bytes], size: int, crc: int) -> tuple[int, int]:
    data = b"".join(pending)
    pending.clear()
    write_all(file, data)
    return size + len(data), checksum(data, crc)


def put_in_place(folder: Folder, group: Group, decide: Callable[[], None]) -> None:
    """Lets the rewritten segment take the place of its group; `decide` says so to whoever recovers.

    All of it is synced before another swap file may take the name of this one.
    Errors: OSError, before `decide` or after it.
    """
    base = group[0].base
    swap = segment_name(base, SWAP)
    folder.rename(segment_name(base, CLEANED), swap)
    folder.sync()
    decide()
    for one in group[1:]:
        folder.drop_indexes(one.base)
        folder.unlink(segment_name(one.base))
    folder.drop_indexes(base)
    folder.rename(swap, segment_name(base))
    folder.sync()


def _batches(folder: Folder, segments: Sequence[Sealed]) -> Iterator[tuple[BatchInfo, bytes]]:
    """Header and bytes of each batch, checked: a compaction must not give bad bytes a good checksum."""
    for sealed in segments:
        name = segment_name(sealed.base)
        crc = 0
        with closing(folder.open(name)) as file:
            try:
                for _, batch in frames(file, 0, sealed.size):
                    crc = checksum(batch, crc)
                    yield next(split(batch))
            except (BadBatch, RecordsError) as error:
                raise _damaged(folder, sealed, str(error)) from None
        if crc != sealed.crc:
            raise _damaged(folder, sealed, "the segment is not as it was when it was ended")


def _damaged(folder: Folder, sealed: Sealed, wrong: str) -> DamagedLog:
    remedy = "Nothing was compacted; stop, and see what opening the log says."
    return DamagedLog(folder.of(segment_name(sealed.base)), 0, sealed.base, wrong, remedy)


def _is_judged(info: BatchInfo) -> bool:
    """Whether the records of a batch are kept or not by their keys."""
    special = info.is_control or info.is_transactional or info.producer_id >= 0 or info.timestamp_type
    return not special and info.compression in _REWRITTEN


def _kept(info: BatchInfo, batch: bytes, latest: Latest, now_ms: int, retention_ms: int) -> bytes:
    """What is left of a batch: itself, another one with fewer records, or nothing."""
    if not _is_judged(info):
        latest.complete = latest.complete and info.is_control
        return batch
    horizon = info.base_timestamp if info.attributes & DELETE_HORIZON else None
    tombstones_go = horizon is not None and now_ms >= horizon and latest.complete
    records = decode_batch(batch)
    kept = [
        record
        for record in records
        if record.key is None
        or (
            record.offset >= latest.offsets.get(record.key, -1)
            and (record.value is not None or not tombstones_go)
        )
    ]
    if horizon is None and any(record.value is None for record in kept):
        horizon = now_ms + retention_ms
    elif len(kept) == len(records):
        return batch
    if not kept:
        return b""
    smaller = encode_batch(
        kept,
        base_offset=info.base_offset,
        last_offset=info.last_offset,
        compression=info.compression,
        delete_horizon_ms=horizon,
    )
    return rebased(smaller, info.base_offset, info.partition_leader_epoch)
