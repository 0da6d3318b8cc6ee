"""Compaction keeps of each key the last value, at its offset, and tombstones as long as Kafka does."""

from __future__ import annotations

import pytest

from harness.crashing_disk import CrashingDisk
from rota.log import DamagedLog, LogOptions, PartitionFiles
from rota.wire.records import DELETE_HORIZON, Record, decode_batch, encode_batch, split

FOLDER = "/data/topic-0"
DAY = 86_400_000

Entry = tuple[int, bytes | None, bytes | None]


def log_of(
    batches: list[bytes], segment_bytes: int = 10_000, disk: CrashingDisk | None = None
) -> PartitionFiles:
    """A log with a segment for each batch, all of them ended."""
    log, _ = PartitionFiles.open(disk or CrashingDisk(), FOLDER, LogOptions(segment_bytes=segment_bytes))
    for one in batches:
        log.append(one)
        log.roll()
    return log


def batch(*entries: tuple[bytes | None, bytes | None], **options: object) -> bytes:
    records = [Record(delta, 500 + delta, key, value) for delta, (key, value) in enumerate(entries)]
    return encode_batch(records, **options)  # type: ignore[arg-type]


def entries(log: PartitionFiles) -> list[Entry]:
    return [
        (record.offset, record.key, record.value) for one in log.batches() for record in decode_batch(one)
    ]


def test_the_last_value_of_each_key_stays_where_it_was() -> None:
    log = log_of([batch((b"a", b"1"), (b"b", b"1")), batch((b"a", b"2")), batch((b"c", b"1"), (b"a", b"3"))])
    before = {record.offset: record for one in log.batches() for record in decode_batch(one)}
    done = log.compact(0)
    assert entries(log) == [(1, b"b", b"1"), (3, b"c", b"1"), (4, b"a", b"3")]
    assert all(record == before[record.offset] for one in log.batches() for record in decode_batch(one))
    assert (done.segments_before, done.segments_after) == (3, 1)
    assert done.bytes_after < done.bytes_before
    assert log.append(batch((b"a", b"4"))) == 5


def test_a_batch_keeps_what_it_spans() -> None:
    log = log_of([batch((b"a", b"1"), (b"b", b"1"), (b"a", b"2")), batch((b"a", b"3"))])
    log.compact(0)
    info, _ = next(split(next(log.batches())))
    assert (info.base_offset, info.last_offset, info.count) == (0, 2, 1)


def test_the_active_segment_is_left_alone() -> None:
    log = log_of([batch((b"a", b"1"))])
    log.append_all([batch((b"a", b"2")), batch((b"a", b"3"))])
    log.compact(0)
    assert entries(log) == [(0, b"a", b"1"), (1, b"a", b"2"), (2, b"a", b"3")]


def test_a_tombstone_goes_a_retention_after_the_first_compaction_that_met_it() -> None:
    log = log_of([batch((b"a", b"1"), (b"b", b"1")), batch((b"a", None))])
    kept = [(1, b"b", b"1"), (2, b"a", None)]
    log.compact(1000)
    assert entries(log) == kept
    info, _ = list(split(b"".join(log.batches())))[1]
    assert info.attributes & DELETE_HORIZON
    assert info.base_timestamp == 1000 + DAY
    times = [record.timestamp for one in log.batches() for record in decode_batch(one)]
    assert times == [501, 500]
    log.compact(999 + DAY)
    assert entries(log) == kept
    log.compact(1000 + DAY)
    assert entries(log) == kept[:1]
    assert log.next_offset == 3


@pytest.mark.parametrize(
    "options",
    [
        {"is_transactional": True},
        {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0},
    ],
)
def test_what_keys_cannot_judge_stays_and_keeps_tombstones(options: dict[str, object]) -> None:
    special = batch((b"a", b"1"), (b"a", b"2"), **options)
    log = log_of([batch((b"a", b"0")), special, batch((b"a", None))])
    log.compact(0)
    log.compact(2 * DAY)
    assert entries(log) == [(1, b"a", b"1"), (2, b"a", b"2"), (3, b"a", None)]


def test_a_special_batch_does_not_count_against_what_is_older() -> None:
    log = log_of([batch((b"a", b"0")), batch((b"a", b"1"), is_transactional=True)])
    log.compact(0)
    assert entries(log) == [(0, b"a", b"0"), (1, b"a", b"1")]


def test_compressed_batches_stay_compressed() -> None:
    log = log_of([batch((b"a", b"1"), (b"b", b"1"), compression="gzip"), batch((b"a", b"2"))])
    log.compact(0)
    info, one = next(split(next(log.batches())))
    assert info.compression == "gzip"
    assert [record.key for record in decode_batch(one)] == [b"b"]


def test_only_what_is_new_is_dirty_and_a_restart_knows_it() -> None:
    disk = CrashingDisk()
    log = log_of([batch((b"a", b"1")), batch((b"b", b"1"))], disk=disk)
    assert log.dirty_ratio() == 1
    log.compact(0)
    assert log.dirty_ratio() == 0
    log.append(batch((b"a", b"2")))
    log.roll()
    log.close()
    log, _ = PartitionFiles.open(disk.killed(), FOLDER, LogOptions())
    assert 0 < log.dirty_ratio() < 1
    log.compact(0)
    assert entries(log) == [(1, b"b", b"1"), (2, b"a", b"2")]


def test_a_segment_grows_no_larger_than_it_may() -> None:
    log = log_of([batch((b"k%d" % number, b"v" * 50)) for number in range(9)], segment_bytes=400)
    done = log.compact(0)
    assert (done.segments_before, done.segments_after) == (9, 3)
    assert len(entries(log)) == 9


def test_appends_go_on_between_the_pieces_of_a_compaction() -> None:
    value = b"v" * 300_000
    three = [batch((key, value)) for key in (b"a", b"b", b"a")]
    log = log_of(three * 3, segment_bytes=500_000)
    sent = log.next_offset
    pieces = 0
    for _ in log.compacting(0):
        log.append(batch((b"x%d" % pieces, value)))
        pieces += 1
    assert pieces > 3
    left = [offset for offset, _, _ in entries(log)]
    assert left == [7, 8, *range(sent, sent + pieces)]


def test_bytes_that_went_bad_get_no_good_checksum() -> None:
    disk = CrashingDisk()
    log = log_of([batch((b"a", b"1"), (b"b", b"1")), batch((b"a", b"2"))], disk=disk)
    path = f"{FOLDER}/{0:020}.log"
    content = bytearray(disk.content(path))
    for position in (3, 70):
        flipped = bytearray(content)
        flipped[position] ^= 1
        disk.plant(path, bytes(flipped))
        with pytest.raises(DamagedLog):
            log.compact(0)
    disk.plant(path, bytes(content))
    log.compact(0)
    assert entries(log) == [(1, b"b", b"1"), (2, b"a", b"2")]
