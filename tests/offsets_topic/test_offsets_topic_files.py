"""Segments and folders of the offsets topic: whole, torn, damaged, being compacted, or another broker's."""

import io
import os
import sys
import tracemalloc

import cramjam
import pytest
from click.testing import CliRunner

from harness.kafka_on_disk import ask, commit, lead
from harness.offsets_logs import WrittenLog, state_loaded, state_of
from harness.packed_batches import repacked
from rota.cli.main import main
from rota.history import Kind
from rota.log import Disk, Fsync, LogOptions, PartitionFiles, frames
from rota.log.group_records import GroupKey, GroupValue, OffsetKey, OffsetValue
from rota.offsets_topic import read_data_folder, read_partition_folder, read_segment, segments
from rota.offsets_topic.records import Place
from rota.reading import ReadingError, Tally, read
from rota.server import DataDir, running

A, B, C = (OffsetKey("g", "t", number) for number in range(3))
GROUP = GroupValue("consumer", 1, "range", "m")


def value(offset):
    return OffsetValue(offset, "", 1)


def some_log():
    log = WrittenLog().write((GroupKey("g"), GROUP)).write((A, value(1)), (B, value(2))).skip(5)
    return log.write((C, value(3)), producer_id=9).write((A, value(4))).end(9, True).write((B, None))


def told(events):
    return [(event.origin, event.data["text"], event.reason) for event in events if event.kind is Kind.UNREAD]


@pytest.mark.parametrize("number", [1, 2, 6])
def test_a_partition_in_however_many_segments(tmp_path, number):
    log = some_log()
    folder = log.folder(tmp_path, 7, number)
    assert len(list(folder.iterdir())) == number
    events = [*read_partition_folder(folder)]
    assert state_of(events) == state_loaded(log.batches)
    assert events[0].origin == "__consumer_offsets-7@0"
    assert {event.data["partition"] for event in events} == {7}
    assert not told(events)


def test_a_data_folder_is_read_by_time_and_other_topics_are_left_out(tmp_path):
    logs = [some_log(), WrittenLog().skip(2).write((A._replace(group="h"), value(1)))]
    logs[0].folder(tmp_path, 10)
    logs[1].folder(tmp_path, 2)
    WrittenLog().write((b"user", b"record")).folder(tmp_path / "x", 0).rename(tmp_path / "orders-0")
    (tmp_path / "meta.properties").write_text("version=1\n")
    events = [*read_data_folder(tmp_path)]
    assert state_of(events) == state_loaded(logs[0].batches) | state_loaded(logs[1].batches)
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert {event.origin.partition("@")[0] for event in events} == {
        "__consumer_offsets-10",
        "__consumer_offsets-2",
    }


@pytest.mark.parametrize("cut", [1, 30, 65])
def test_a_torn_tail_is_told_and_what_is_before_it_counts(tmp_path, cut):
    log = some_log()
    folder = log.folder(tmp_path)
    (segment,) = folder.iterdir()
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-cut])
    events = [*read_partition_folder(folder)]
    last = log.batches.pop()
    assert state_of(events) == state_loaded(log.batches)
    ((origin, what, why),) = told(events)
    assert origin == f"__consumer_offsets-0@{log.next - 1}"
    assert what == f"{len(last) - cut} bytes from byte {len(whole) - len(last)} on, to the end"
    assert why.startswith("cut short, or being written: ")


def test_what_cannot_be_unpacked_is_counted_once_and_spoils_nothing(tmp_path, monkeypatch):
    log = WrittenLog().write((GroupKey("g"), GroupValue("consumer", 1, None, None)))
    log.write((A, value(1))).write((B, value(2)))
    log.write((GroupKey("g"), GroupValue("consumer", 5, None, None)))
    log.batches[1:3] = [repacked(batch, "zstd") for batch in log.batches[1:3]]
    folder = str(log.folder(tmp_path, 7))
    told = "a batch is not read that is compressed with zstd: pip install 'rota[compression]'"
    for is_installed in (False, True):
        monkeypatch.setitem(sys.modules, "cramjam", cramjam if is_installed else None)
        done = CliRunner().invoke(main, ["validate", folder])
        said = " ".join(done.stdout.split())
        assert (done.exit_code, "holds: 1 group, 2 of 4 events judged" in said) == (0, True), said
        assert (f"2 times {told} (first at __consumer_offsets-7@1)" in said) is not is_installed


def test_zeros_behind_the_last_batch_are_told_as_such(tmp_path):
    folder = some_log().folder(tmp_path)
    (segment,) = folder.iterdir()
    segment.write_bytes(segment.read_bytes() + bytes(5000))
    ((_, what, why),) = told(read_partition_folder(folder))
    assert (what.split(" ")[0], why) == ("5000", "all zero: reserved, or never written")


@pytest.mark.parametrize("at", [9, 11, 16, 18, 40, 70])
def test_a_damaged_batch_is_told_and_those_behind_it_count(tmp_path, at, monkeypatch):
    monkeypatch.setattr(segments, "LOOK", 256)
    monkeypatch.setattr(segments, "LARGEST", 200)
    log = some_log()
    folder = log.folder(tmp_path)
    (segment,) = folder.iterdir()
    data = bytearray(segment.read_bytes())
    data[len(log.batches[0]) + at] ^= 0x55
    segment.write_bytes(data)
    events = [*read_partition_folder(folder)]
    del log.batches[1]
    assert state_of(events) == state_loaded(log.batches)
    ((origin, what, _),) = told(events)
    assert origin == "__consumer_offsets-0@1"
    assert what.endswith(f"from byte {len(log.batches[0])} on")


def test_a_batch_whose_offset_is_damaged_hides_none_of_those_behind_it(tmp_path):
    """The CRC does not cover the offset."""
    log = some_log()
    folder = log.folder(tmp_path)
    (segment,) = folder.iterdir()
    data = bytearray(segment.read_bytes())
    data[5] ^= 0x55
    segment.write_bytes(data)
    events = [*read_partition_folder(folder)]
    assert state_of(events) == state_loaded(log.batches)
    assert told(events) == [
        ("__consumer_offsets-0@1", "offsets from 1 on", f"they stand behind offset {0x550000}")
    ]


def test_a_segment_that_is_being_compacted_counts_once(tmp_path):
    """The compacted one is whole (`.swap`), and of those in whose place it comes some are gone."""
    log = WrittenLog()
    for offset in range(8):
        log.write((A if offset % 2 else B, value(offset)))
    folder = log.folder(tmp_path, 0, 4)
    swap = WrittenLog().skip(2).write((B, value(2))).write((A, value(3)))
    (folder / f"{0:020}.log.swap").write_bytes(swap.bytes())
    (folder / f"{2:020}.log").rename(folder / f"{2:020}.log.deleted")
    (folder / f"{4:020}.log.cleaned").write_bytes(b"half")
    events = [*read_partition_folder(folder)]
    assert [event.data["offset"] for event in events] == [2, 3, 4, 5, 6, 7]
    assert state_of(events) == state_loaded(log.batches)


def test_a_segment_that_goes_while_the_folder_is_opened_is_looked_for_again(tmp_path, monkeypatch):
    log = some_log()
    folder = log.folder(tmp_path, 0, 2)
    gone = sorted(folder.iterdir())[1]
    real = os.open

    def opening(path, *more):
        if path == gone and not gone.with_suffix(".kept").exists():
            gone.rename(gone.with_suffix(".kept"))
            (folder / f"{1:020}.log").write_bytes(gone.with_suffix(".kept").read_bytes())
        return real(path, *more)

    monkeypatch.setattr(os, "open", opening)
    assert state_of(read_partition_folder(folder)) == state_loaded(log.batches)


def test_a_partition_that_cannot_be_read_is_told_and_the_others_count(tmp_path):
    log = some_log()
    log.folder(tmp_path, 1)
    folder = log.folder(tmp_path, 2)
    (folder / f"{99:020}.log").symlink_to(tmp_path / "nowhere")
    events = [*read_data_folder(tmp_path)]
    assert state_of(events) == state_loaded(log.batches)
    ((origin, what, why),) = told(events)
    assert (origin, what) == ("__consumer_offsets-2@0", str(folder))
    assert "No such file" in why


def test_a_segment_by_itself_and_through_a_pipe(tmp_path):
    log = some_log()
    log.batches.append(b"torn")
    (segment,) = log.folder(tmp_path).iterdir()
    place = Place("00000000000000000000.log")
    events = [*read_segment(segment, place)]
    assert events == [*read_segment(io.BytesIO(log.bytes()), place)]
    assert events[0].origin == "00000000000000000000.log@0"
    assert state_of(events) == state_loaded(log.batches[:-1])
    assert len(told(events)) == 1


def test_what_rotas_log_compacted_amounts_to_the_same(tmp_path):
    log = some_log()
    for round_ in range(40):
        log.write((A, value(round_)), (B, None if round_ % 2 else value(round_)))
    folder = tmp_path / "__consumer_offsets-0"
    kept, _ = PartitionFiles.open(Disk(), str(folder), LogOptions(512, fsync=Fsync.NEVER))
    for batch in log.batches:
        kept.append(batch)
    before = state_of(read_partition_folder(folder))
    many = len([*read_partition_folder(folder)])
    kept.compact(10**15)
    kept.close()
    events = [*read_partition_folder(folder)]
    assert state_of(events) == before
    assert len(events) < many
    assert not told(events)


def made_groups(address):
    """Members, offsets committed over one another, a group that was deleted."""
    topic = {"name": "t", "num_partitions": 1, "replication_factor": 1}
    assert ask(address, "CreateTopics", 5, {"topics": [topic]})["topics"][0]["error_code"] == 0
    member = lead(address, "orders", "one")
    commit(address, "orders", 41, generation_id_or_member_epoch=1, member_id=member)
    commit(address, "orders", 42, generation_id_or_member_epoch=1, member_id=member)
    commit(address, "simple", 7)
    commit(address, "gone", 1)
    assert ask(address, "DeleteGroups", 1, {"groups_names": ["gone"]})["results"][0]["error_code"] == 0
    return member


def test_a_data_folder_of_rotas_server(tmp_path):
    settings = {"group.initial.rebalance.delay.ms": 0}
    with running(settings, data_dir=DataDir(str(tmp_path), Fsync.NEVER)) as address:
        member = made_groups(address)
        # Files that are being written are read as they are.
        while_it_runs = state_of(read([str(tmp_path)]))
    tally = Tally()
    events = [*read([str(tmp_path)], tally=tally)]
    state = state_of(events)
    assert {key[0] for key in state} == {"orders", "simple"}
    assert state["orders", "t", 0][0] == 42
    assert state["orders",][2:] == (member, (member,))
    assert while_it_runs == state
    removed = {event.kind for event in events if event.group == "gone"}
    assert Kind.OFFSET_STORED in removed
    assert removed & {Kind.OFFSET_REMOVED, Kind.GROUP_REMOVED}
    assert (tally.unread, tally.sources) == (0, {str(tmp_path): "offsets-topic"})


def test_reading_finds_out_what_is_given(tmp_path, monkeypatch):
    log = some_log()
    folder = log.folder(tmp_path, 3)
    (segment,) = folder.iterdir()
    ways = [str(tmp_path), str(folder), str(segment)]
    found = [[*read([way])] for way in ways]
    assert found[0] == found[1] == found[2]
    assert found[0][0].data["partition"] == 3
    monkeypatch.chdir(folder)
    assert [*read(["."])] == [*read([segment.name])] == found[0]


def test_reading_quarantines_what_is_damaged(tmp_path):
    log = some_log()
    log.batches.append(b"torn")
    tally = Tally()
    events = [*read([str(log.folder(tmp_path, 3))], tally=tally)]
    assert (tally.unread, tally.broken) == (1, 1)
    ((reason, one),) = tally.quarantined.items()
    assert reason.startswith("cut short")
    assert one.first == events[-1].origin


@pytest.mark.parametrize("address", ["kafka://", "kafka://host", "kafka://host:0", "kafka://a b:1"])
def test_an_address_that_is_none(address):
    with pytest.raises(ReadingError, match="write kafka://HOST:PORT"):
        read([address])


def test_memory_does_not_grow_with_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr(frames, "WINDOW", 8192)

    def peak(batches):
        folder = log_of(batches).folder(tmp_path / str(batches))
        tracemalloc.start()
        for _ in read_partition_folder(folder):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    def log_of(batches):
        log = WrittenLog()
        for number in range(batches):
            log.write(*((A, value(number)),) * 50)
        return log

    # Until a window is full it is as large as the file.
    few = 3 * 8192 // len(log_of(1).bytes())
    assert peak(8 * few) < peak(few) * 1.5
