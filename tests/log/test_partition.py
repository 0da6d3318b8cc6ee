"""A log as its user sees it: offsets, segments, fsync policies, and a disk that refuses."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from harness.crashing_disk import CrashingDisk
from rota.log import Disk, Files, Fsync, LogError, LogErrorCode, LogOptions, PartitionFiles
from rota.wire.records import Record, decode_batch, encode_batch, split

FOLDER = "/data/topic-0"


def batch(number: int, count: int = 1, size: int = 20) -> bytes:
    records = [Record(delta, 1000, b"k%d" % (number + delta), b"v" * size) for delta in range(count)]
    return encode_batch(records)


def opened(files: Files, folder: str = FOLDER, **options: object) -> PartitionFiles:
    return PartitionFiles.open(files, folder, LogOptions(**options))[0]  # type: ignore[arg-type]


@pytest.fixture(params=["memory", "disk"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Files, str]:
    return (CrashingDisk(), FOLDER) if request.param == "memory" else (Disk(), f"{tmp_path}/topic-0")


def test_batches_get_the_next_offsets_and_are_there_after_a_restart(where: tuple[Files, str]) -> None:
    files, folder = where
    log = opened(files, folder, segment_bytes=300, leader_epoch=7)
    assert log.append_all([batch(0, 3), batch(3), batch(4, 2)]) == [0, 3, 4]
    assert log.append(batch(6)) == 6
    assert log.next_offset == 7
    log.close()
    log = opened(files, folder, segment_bytes=300, leader_epoch=7)
    assert log.next_offset == 7
    found = [next(split(one))[0] for one in log.batches()]
    assert [(info.base_offset, info.last_offset) for info in found] == [(0, 2), (3, 3), (4, 5), (6, 6)]
    assert {info.partition_leader_epoch for info in found} == {7}
    assert [record.offset for one in log.batches(4) for record in decode_batch(one)] == [4, 5, 6]
    assert [record.offset for one in log.batches(5) for record in decode_batch(one)] == [4, 5, 6]
    assert list(log.batches(7)) == []
    log.close()


def test_segments_are_named_as_kafka_names_them(where: tuple[Files, str]) -> None:
    files, folder = where
    log = opened(files, folder, segment_bytes=200)
    for number in range(5):
        log.append(batch(number))
    assert log.segment_bases == (0, 2, 4)
    logs = [name for name in files.names(folder) if name.endswith(".log")]
    assert logs == ["00000000000000000000.log", "00000000000000000002.log", "00000000000000000004.log"]
    log.close()


def test_what_comes_in_one_turn_is_one_write_and_one_sync() -> None:
    disk = CrashingDisk()
    log = opened(disk)
    before = len(disk.calls)
    log.append_all([batch(number) for number in range(10)])
    assert log.sync_if_due(0)
    name = f"{0:020}.log"
    assert disk.calls[before:] == [f"append {name}", f"sync {name}", "write_at rota-synced"]
    assert log.append_all([]) == []
    log.sync()
    assert len(disk.calls) == before + 3


def test_the_policies_sync_when_they_say() -> None:
    def syncs(fsync: Fsync) -> list[bool]:
        disk = CrashingDisk()
        log = opened(disk, fsync=fsync, fsync_interval_ms=100)
        done = []
        for now in (1000, 1050, 1100, 1150, 1200):
            log.append(batch(0))
            calls = len(disk.calls)
            assert log.sync_if_due(now) == (len(disk.calls) > calls)
            done.append(len(disk.calls) > calls)
        return done

    assert syncs(Fsync.ALWAYS) == [True] * 5
    assert syncs(Fsync.INTERVAL) == [True, False, True, False, True]
    assert syncs(Fsync.NEVER) == [False] * 5


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (batch(0, size=600), LogErrorCode.MESSAGE_TOO_LARGE),
        (batch(0, size=400), LogErrorCode.RECORD_LIST_TOO_LARGE),
        (batch(0)[:-1], LogErrorCode.CORRUPT_MESSAGE),
        (batch(0)[:-1] + b"x", LogErrorCode.CORRUPT_MESSAGE),
        (b"", LogErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_a_batch_that_cannot_be_taken_takes_none_of_its_turn_in(sent: bytes, code: int) -> None:
    log = opened(CrashingDisk(), segment_bytes=300, max_batch_bytes=500)
    with pytest.raises(LogError) as caught:
        log.append_all([batch(1), sent])
    assert caught.value.error_code == code
    assert list(log.batches()) == []
    assert log.append(batch(1)) == 0


@pytest.mark.parametrize("room", [0, 1, 100, 199])
def test_a_full_disk_is_told_and_the_log_goes_on_when_there_is_room(room: int) -> None:
    disk = CrashingDisk()
    log = opened(disk)
    log.append(batch(0))
    disk.room = room
    for _ in range(3):
        with pytest.raises(LogError, match="No space left on device") as caught:
            log.append_all([batch(1), batch(2), batch(3)])
        assert caught.value.error_code == LogErrorCode.KAFKA_STORAGE_ERROR
        assert not log.in_doubt
        assert log.next_offset == 1
    disk.room = None
    assert log.append(batch(4)) == 1
    log.sync()
    again = opened(disk.killed())
    assert [record.key for one in again.batches() for record in decode_batch(one)] == [b"k0", b"k4"]


@pytest.mark.parametrize("number", [errno.EROFS, errno.EIO, errno.ENOSPC])
def test_any_call_of_an_append_or_roll_may_fail(number: int) -> None:
    """Each in turn: told, nothing of it is there, and the log goes on; after a failed sync it does not."""
    turns = range(8)
    disk = CrashingDisk()
    log = opened(disk, segment_bytes=200)
    first = len(disk.calls)
    for turn in turns:
        log.append(batch(turn))
        log.sync()
    refused = failed = 0
    for call in range(first, len(disk.calls)):
        disk = CrashingDisk()
        log = opened(disk, segment_bytes=200)
        disk.fail = {call: number}
        acknowledged = []
        for turn in turns:
            try:
                log.append(batch(turn))
                log.sync()
                acknowledged.append(b"k%d" % turn)
            except LogError as error:
                refused += error.error_code == LogErrorCode.KAFKA_STORAGE_ERROR
        found = [record.key for one in opened(disk.killed()).batches() for record in decode_batch(one)]
        if log.in_doubt:
            failed += 1
            assert found[: len(acknowledged)] == acknowledged
        else:
            assert found == acknowledged
            assert len(found) >= len(turns) - 1
    assert refused > failed > 0


def test_a_failed_sync_fails_the_log_for_good() -> None:
    disk = CrashingDisk()
    log = opened(disk)
    log.append(batch(0))
    disk.fail = {len(disk.calls): errno.EIO}
    with pytest.raises(LogError, match="a sync failed: Input/output error"):
        log.sync()
    calls = len(disk.calls)
    for action in (log.sync, log.roll, log.close, lambda: log.append(batch(1)), lambda: log.compact(0)):
        with pytest.raises(LogError, match="only opening it again tells") as caught:
            action()
        assert caught.value.error_code == LogErrorCode.KAFKA_STORAGE_ERROR
    assert len(disk.calls) == calls


def test_a_read_only_disk_is_told_when_it_is_opened() -> None:
    disk = CrashingDisk()
    disk.read_only = True
    with pytest.raises(LogError, match="Read-only file system"):
        opened(disk)


def test_a_read_only_folder_of_the_system_is_told() -> None:
    with pytest.raises(LogError) as caught:
        opened(Disk(), "/proc/topic-0")
    assert caught.value.error_code == LogErrorCode.KAFKA_STORAGE_ERROR


def test_torn_bytes_that_cannot_be_cut_refuse_the_next_append_and_only_that() -> None:
    disk = CrashingDisk()
    log = opened(disk)
    disk.room = 30
    at = len(disk.calls)
    disk.fail = {at + 2: errno.EIO, at + 3: errno.EIO}
    for _ in range(2):
        with pytest.raises(LogError):
            log.append(batch(0))
        assert log.in_doubt
    disk.room = None
    assert log.append(batch(1)) == 0
    assert not log.in_doubt
    assert [record.key for one in log.batches() for record in decode_batch(one)] == [b"k1"]
