"""Whatever was once synced and is not so any more is seen: each byte flipped, each file cut anywhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.crashing_disk import CrashingDisk
from rota.log import DamagedLog, LogOptions, PartitionFiles, Recovered
from rota.wire.records import Record, encode_batch

FOLDER = "/data/topic-0"
OPTIONS = LogOptions(segment_bytes=400)
FIRST, LAST = (f"{FOLDER}/{base:020}.log" for base in (0, 4))
OURS = (f"{FOLDER}/rota-segments", f"{FOLDER}/rota-synced")


def batch(number: int) -> bytes:
    return encode_batch([Record(0, 1000, b"k%d" % number, b"v" * 20)])


def written(closed: bool = True, adopted: bool = False) -> CrashingDisk:
    """A disk with a log of six batches in two segments, all acknowledged."""
    disk = CrashingDisk()
    log, _ = PartitionFiles.open(disk, FOLDER, OPTIONS)
    for number in range(6):
        log.append(batch(number))
        log.sync()
    assert log.segment_bases == (0, 4)
    if closed:
        log.close()
    if adopted:
        for path in OURS:
            disk.unlink(path)
    return disk.killed()


def opened(disk: CrashingDisk) -> tuple[list[bytes], Recovered]:
    log, recovered = PartitionFiles.open(disk, FOLDER, OPTIONS)
    return list(log.batches()), recovered


def changes(content: bytes) -> Iterator[tuple[str, bytes]]:
    """The content with one bit the other way, for each byte, and cut at each length."""
    for position in range(len(content)):
        flipped = bytearray(content)
        flipped[position] ^= 1 << position % 8
        yield f"bit {position % 8} of byte {position}", bytes(flipped)
        yield f"cut at {position}", content[:position]


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "killed"])
@pytest.mark.parametrize("path", [FIRST, LAST], ids=["ended segment", "active segment"])
def test_no_bit_of_a_synced_segment_changes_unseen(path: str, closed: bool) -> None:
    content = written().content(path)
    for change, damaged in changes(content):
        disk = written(closed)
        disk.plant(path, damaged)
        with pytest.raises(DamagedLog) as caught:
            opened(disk)
        assert caught.value.path == path, change
        assert 0 <= caught.value.position <= len(content), change


def test_the_error_names_file_position_offset_and_the_way_out() -> None:
    disk = written()
    content = bytearray(disk.content(FIRST))
    size = len(batch(0))
    content[2 * size + 70] ^= 4
    disk.plant(FIRST, bytes(content))
    with pytest.raises(DamagedLog) as caught:
        opened(disk)
    assert (caught.value.position, caught.value.offset) == (2 * size, 2)
    told = f"{FIRST}: at byte {2 * size} (offset 2): the CRC of a batch does not match. Put back a copy"
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize("path", [FIRST, LAST])
def test_a_segment_that_is_missing_is_seen(path: str) -> None:
    disk = written()
    disk.unlink(path)
    with pytest.raises(DamagedLog, match="is missing"):
        opened(disk)


def test_a_segment_of_somebody_else_is_seen() -> None:
    disk = written()
    disk.open(f"{FOLDER}/{9:020}.log", create=True).append(batch(9))
    with pytest.raises(DamagedLog, match="not in the list of segments"):
        opened(disk)


def test_damage_to_the_list_of_segments_is_refused() -> None:
    content = written().content(OURS[0])
    for change, damaged in changes(content):
        disk = written()
        disk.plant(OURS[0], damaged)
        with pytest.raises(DamagedLog) as caught:
            opened(disk)
        assert caught.value.path == OURS[0], change


def test_damage_to_the_note_of_the_last_sync_is_told_and_loses_nothing() -> None:
    whole, _ = opened(written())
    content = written().content(OURS[1])
    for change, damaged in changes(content):
        disk = written()
        disk.plant(OURS[1], damaged)
        found, recovered = opened(disk)
        assert found == whole, change
        assert not damaged or recovered.finished == (
            f"rota-synced cannot be read: nothing is known of how far {LAST.rpartition('/')[2]} was synced",
        )


def test_another_brokers_folder_is_checked_by_its_batches() -> None:
    """All that a batch's CRC covers; a torn end is cut and told, a bad batch before a good one is refused."""
    whole, recovered = opened(written(adopted=True))
    assert recovered.adopted
    assert (recovered.next_offset, len(whole)) == (6, 6)
    content, size = written().content(LAST), len(batch(0))
    for position in range(len(content)):
        if position % size < 17:  # not covered: base offset, length, epoch, magic
            continue
        disk = written(adopted=True)
        flipped = bytearray(content)
        flipped[position] ^= 1 << position % 8
        disk.plant(LAST, bytes(flipped))
        if position < size:
            with pytest.raises(DamagedLog, match="a good batch follows at byte"):
                opened(disk)
            continue
        found, recovered = opened(disk)
        assert found == whole[:5]
        assert recovered.cut is not None
        assert (recovered.cut.position, recovered.cut.offset, recovered.cut.bytes_cut) == (size, 5, size)
        assert recovered.cut.reason == "the CRC of a batch does not match"


def test_a_bad_batch_in_the_middle_that_was_never_synced_is_damage_unless_power_took_a_sector() -> None:
    size = len(batch(0))
    for zeros in (False, True):
        disk = CrashingDisk()
        log, _ = PartitionFiles.open(disk, FOLDER, LogOptions())
        log.append_all([batch(number) for number in range(20)])
        content = bytearray(disk.content(FIRST))
        assert len(content) > 3 * 512
        if zeros:
            content[512:1024] = bytes(512)
        else:
            content[600] ^= 1
        disk.plant(FIRST, bytes(content))
        if zeros:
            _, recovered = opened(disk.killed())
            assert recovered.next_offset == 512 // size
            assert recovered.cut is not None
            assert recovered.cut.bytes_cut == len(content) - recovered.next_offset * size
        else:
            with pytest.raises(DamagedLog, match="a good batch follows"):
                opened(disk.killed())


def test_a_torn_tail_is_cut_and_told_once() -> None:
    disk = written(closed=False)
    disk.open(LAST).append(batch(6)[:50])
    whole, recovered = opened(disk)
    assert recovered.cut is not None
    assert recovered.cut.segment == LAST.rpartition("/")[2]
    assert recovered.cut.bytes_cut == 50
    assert recovered.cut.reason == f"a batch of {len(batch(6))} bytes has 50 left"
    assert opened(disk.killed()) == (whole, Recovered(0, 6))
