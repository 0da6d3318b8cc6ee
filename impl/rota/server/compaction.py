"""Compaction of a log in memory: of each key the last record stays, under the offset that it has.

The newest segment is left out, as in Kafka, and so is what is younger than the topic's configs want; the rest
has to be dirty enough, or old. Tombstones stay for delete.retention.ms from
when they are first met. Batches of transactions are left as they are and hide nothing: whether they count is
decided behind them.

Source: upstream's LogCleaner, Cleaner and LogCleanerManager; KIP-280, KIP-354, KIP-534.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b

from rota.server.partition import Batch, PartitionLog
from rota.wire.records import BatchInfo, RecordsError, split
from rota.wire.rewritten import Place, expanded, filtered, places

MAX_KEYS = 100_000
"""Of how many keys the last record is looked for in one go; behind them it is gone on the next time."""

_DIGEST = 16

Latest = dict[bytes, int]


def compact(log: PartitionLog) -> Iterator[None]:
    """Compacts a log as far as that is due, in steps; the log may grow or go meanwhile."""
    now = log.clock()
    batches = log.batches(_cleanable_end(log, now))
    dirty = [batch for batch in batches if batch.base_offset >= log.clean_until]
    if not _is_due(log, batches, dirty, now):
        return
    latest: Latest = {}
    end = yield from _look_through(dirty, latest)
    for batch in batches:
        if not log.is_gone and (batch.base_offset < end or _has_due_tombstones(batch, now)):
            yield from _clean(log, batch, latest, now)
    log.clean_until = max(log.clean_until, end)


def _cleanable_end(log: PartitionLog, now: int) -> int:
    """Where the part ends that may be compacted: its records are older than min.compaction.lag.ms."""
    lag = log.config.min_compaction_lag_ms
    if lag <= 0:
        return log.active_start
    young = (batch.base_offset for batch in log.batches(log.active_start) if batch.max_timestamp > now - lag)
    return next(young, log.active_start)


def _is_due(log: PartitionLog, batches: Sequence[Batch], dirty: Sequence[Batch], now: int) -> bool:
    size = sum(len(batch.data) for batch in dirty)
    total = sum(len(batch.data) for batch in batches)
    if size and size / total >= log.config.min_cleanable_dirty_ratio:
        return True
    if dirty and now - dirty[0].max_timestamp > log.config.max_compaction_lag_ms:
        return True
    return any(_has_due_tombstones(batch, now) for batch in batches)


def _has_due_tombstones(batch: Batch, now: int) -> bool:
    return batch.horizon is not None and batch.horizon < now


def _look_through(dirty: Sequence[Batch], latest: Latest) -> Generator[None, None, int]:
    """Notes the last offset of each key; gives the offset up to which that has been done."""
    end = 0
    for batch in dirty:
        if len(latest) >= MAX_KEYS:
            break
        info = next(split(batch.data))[0]
        body = yield from _body(batch, info)
        for place in _places(body, info):
            if place is None:
                yield
            elif place.key is not None:
                latest[_digest(place.key)] = info.base_offset + place.offset
        end = info.last_offset + 1
        yield
    return end


def _clean(log: PartitionLog, batch: Batch, latest: Latest, now: int) -> Iterator[None]:
    """Exchanges a batch by what is to stay of it."""
    info = next(split(batch.data))[0]
    body = yield from _body(batch, info)
    if body is None:
        return
    kept: list[Place] = []
    try:
        for place in places(body, info):
            if place is None:
                yield
            elif _stays(place, info, latest, batch, now):
                kept.append(place)
    except RecordsError:  # of a compression that a broker does not look into
        return
    horizon = batch.horizon
    if any(place.is_tombstone for place in kept):
        horizon = now + log.config.delete_retention_ms if horizon is None else horizon
    else:
        horizon = None
    if len(kept) < info.count:
        data = yield from filtered(batch.data, info, body, kept)
        newest = next(split(data))[0].max_timestamp
        needed = kept or log.producers.ends_with(batch.producer_id, info.last_offset)
        log.exchange(
            batch, replace(batch, data=data, max_timestamp=newest, horizon=horizon) if needed else None
        )
    elif horizon != batch.horizon:
        log.exchange(batch, replace(batch, horizon=horizon))


def _stays(place: Place, info: BatchInfo, latest: Latest, batch: Batch, now: int) -> bool:
    if place.key is None:
        return False
    if latest.get(_digest(place.key), -1) > info.base_offset + place.offset:
        return False
    return not (place.is_tombstone and _has_due_tombstones(batch, now))


def _body(batch: Batch, info: BatchInfo) -> Generator[None, None, bytes | None]:
    """The unpacked records of a batch; None for one that is left as it is."""
    if info.is_transactional or info.is_control:
        return None
    return (yield from expanded(batch.data, info))


def _places(body: bytes | None, info: BatchInfo) -> Iterator[Place | None]:
    """As `places`, of nothing where there is no body, and as far as the records are whole."""
    if body is not None:
        with suppress(RecordsError):
            yield from places(body, info)


def _digest(key: bytes) -> bytes:
    """A key, or what stands for one that is long."""
    return key if len(key) <= _DIGEST else blake2b(key, digest_size=_DIGEST).digest()
