"""Every version of a record of the offsets topic as an event; what is of another kind, and what is broken."""

import json
import sys
from base64 import b64decode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.offsets_logs import WrittenLog, state_loaded, state_of
from harness.packed_batches import HOWS, repacked
from rota.history import Kind, event_of, line_of
from rota.log.group_records import (
    GroupKey,
    GroupValue,
    MemberValue,
    OffsetKey,
    OffsetValue,
)
from rota.offsets_topic import PartitionEvents
from rota.offsets_topic import partition as subject
from rota.offsets_topic.records import NEWER_KINDS, Place

A, B = OffsetKey("g", "t", 0), OffsetKey("g", "t", 1)


def value(offset, **more):
    return OffsetValue(offset, "", 1, **more)


def events(log, reader=PartitionEvents):
    partition = reader(Place("__consumer_offsets-7", 7))
    return [event for batch in log.batches for event in partition.take(batch)] + [*partition.end()]


def kinds(log):
    return [(event.kind.name, event.data.get("type", "")) for event in events(log)]


@pytest.mark.parametrize("version", range(5))
def test_a_group_of_each_version(version):
    member = MemberValue("m-1", "app", "/10.0.0.7", 45_000, b"\0\1sub", b"\xff\0", "one", 300_000)
    stored = GroupValue("consumer", 5, "range", "m-1", (member,), 1_700_000_000_500, version)
    (event,) = events(WrittenLog().skip(412).write((GroupKey("orders"), stored)))
    assert (event.kind, event.group, event.generation, event.member) == (
        Kind.GROUP_STORED,
        "orders",
        5,
        "m-1",
    )
    assert (event.at, event.origin, event.state) == (1_700_000_000.412, "__consumer_offsets-7@412", "Stable")
    (told,) = event.data["members"]
    assert {**event.data, "members": []} == {
        "partition": 7,
        "offset": 412,
        "protocol_type": "consumer",
        "protocol": "range",
        "state_at": 1_700_000_000.5 if version >= 2 else None,
        "members": [],
    }
    assert b64decode(told.pop("subscription")) == b"\0\1sub"
    assert b64decode(told.pop("assignment")) == b"\xff\0"
    assert told == {
        "member": "m-1",
        "instance": "one" if version >= 3 else "",
        "client": "app",
        "host": "/10.0.0.7",
        "session_ms": 45_000,
        "rebalance_ms": 300_000 if version >= 1 else None,
    }


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("key_version", [0, 1])
def test_an_offset_of_each_version(version, key_version):
    stored = OffsetValue(9, "Grüße", 1_700_000_000_250, 4, 1_700_000_009_000, version=version)
    (event,) = events(WrittenLog().write((OffsetKey("orders", "t", 3, key_version), stored)))
    assert (event.kind, event.group) == (Kind.OFFSET_STORED, "orders")
    assert event.data == {
        "partition": 7,
        "offset": 0,
        "topic": "t",
        "topic_partition": 3,
        "committed": 9,
        "metadata": "Grüße",
        "leader_epoch": 4 if version >= 3 else None,
        "commit_at": 1_700_000_000.25,
        "expire_at": 1_700_000_009.0 if version == 1 else None,
    }


def test_a_group_without_members_is_empty():
    (event,) = events(WrittenLog().write((GroupKey("g"), GroupValue("consumer", 3, None, None))))
    assert (event.state, event.member, event.data["protocol"]) == ("Empty", "", None)


def test_tombstones():
    log = WrittenLog().write((GroupKey("g"), None), (A, None), (B._replace(version=0), None))
    assert [(each.kind, each.group, each.data.get("topic_partition")) for each in events(log)] == [
        (Kind.GROUP_REMOVED, "g", None),
        (Kind.OFFSET_REMOVED, "g", 0),
        (Kind.OFFSET_REMOVED, "g", 1),
    ]


@pytest.mark.parametrize(("version", "name"), [*NEWER_KINDS.items(), (24, "version 24"), (-1, "version -1")])
def test_records_of_newer_kinds_of_groups_are_counted_and_spoil_nothing(version, name):
    key = version.to_bytes(2, "big", signed=True) + b"\0\1g\0\2m1"
    log = WrittenLog().write((A, value(1)), (key, b"\0\0anything"), (key, None), (GroupKey("g"), None))
    before, stored, removed, after = events(log)
    for event in (stored, removed):
        assert (event.kind, event.data["type"]) == (Kind.OTHER_RECORD, name)
        assert event.group == ("g" if version in NEWER_KINDS else "")
    assert (before.kind, after.kind) == (Kind.OFFSET_STORED, Kind.GROUP_REMOVED)


@pytest.mark.parametrize("key", [b"\0\x03", b"\0\x03\0\x09g", b"\0\x03\xff\xff", b"\0\x03\0\1\xff"])
def test_a_newer_key_whose_group_cannot_be_read_is_of_no_group(key):
    (event,) = events(WrittenLog().write((key, b"x")))
    assert (event.kind, event.group, event.data["type"]) == (Kind.OTHER_RECORD, "", "ConsumerGroupMetadata")


@pytest.mark.parametrize(
    ("key", "data", "text", "reason"),
    [
        (None, b"x", "the key of a record", "it has no version"),
        (b"\0", b"x", "the key of a record", "it has no version"),
        (b"\0\2\0\x09g", b"x", "a key of version 2", "9 announced, 1 bytes left"),
        (b"\0\1\0\1g\0\1t", b"x", "a key of version 1", "ends too early"),
        (GroupKey("g"), b"\0\x09", "the value of a group", "a value of version 9"),
        (A, b"\0\3\0", "the value of an offset", "ends too early"),
        (A, b"", "the value of an offset", "a value of version None"),
    ],
)
def test_what_is_broken_is_told_with_its_reason_and_the_rest_counts(key, data, text, reason):
    broken, fine = events(WrittenLog().write((key, data), (B, value(1))))
    assert (broken.kind, broken.data["text"]) == (Kind.UNREAD, text)
    assert reason in broken.reason
    assert broken.origin == "__consumer_offsets-7@0"
    assert fine.kind is Kind.OFFSET_STORED


def test_compressed_batches_are_read():
    log = WrittenLog().write((A, value(1)), (B, value(2)), compression="gzip")
    assert state_of(events(log)) == {("g", "t", 0): (1, ""), ("g", "t", 1): (2, "")}


@pytest.mark.parametrize("how", HOWS)
def test_however_a_broker_packs_batches_the_events_are_the_same(how):
    log = WrittenLog().write((GroupKey("g"), GroupValue("consumer", 3, None, None)), (A, value(1)))
    log.write((A, value(5)), (B, value(6)), producer_id=9).end(9, True)
    wanted = events(log)
    log.batches[:2] = [repacked(batch, how) for batch in log.batches[:2]]
    assert events(log) == wanted
    assert state_of(wanted) == state_loaded(log.batches) != {}


@pytest.mark.parametrize("how", HOWS)
def test_what_cannot_be_unpacked_here_is_told_with_what_is_lost(how, monkeypatch):
    monkeypatch.setitem(sys.modules, "cramjam", None)
    log = WrittenLog().write((A, value(1)), (B, value(2))).write((A, value(3)))
    log.batches[0] = repacked(log.batches[0], how)
    lost, fine = events(log)
    assert (lost.kind, lost.data["text"]) == (Kind.UNREAD, "offsets 0 to 1 (2 records)")
    assert f"compressed with {how.partition(' ')[0]}: pip install 'rota[compression]'" in lost.reason
    assert fine.data["committed"] == 3


def test_what_belongs_to_a_transaction_counts_from_its_commit_on():
    log = WrittenLog().write((A, value(5)), producer_id=9).write((B, value(1))).end(9, True)
    assert kinds(log) == [
        ("OFFSET_STORED", ""),
        ("OTHER_RECORD", "end-of-transaction"),
        ("OFFSET_STORED", ""),
    ]
    _, marker, committed = events(log)
    assert (marker.data["committed"], marker.data["producer_id"]) == (True, 9)
    assert (committed.data["offset"], committed.data["producer_id"], committed.at) == (0, 9, marker.at)


@pytest.mark.parametrize(
    ("log", "types"),
    [
        (WrittenLog().write((A, value(5)), producer_id=9).end(9, False), ["aborted-offset"]),
        (WrittenLog().write((A, value(5)), producer_id=9).end(8, True), ["open-offset"]),
        (
            WrittenLog().write((A, value(5)), (A, value(6)), producer_id=9),
            ["overtaken-offset", "open-offset"],
        ),
        (
            WrittenLog().write((A, value(5)), producer_id=9).write((A, value(1))).end(9, True),
            ["overtaken-offset"],
        ),
        (
            WrittenLog().write((A, value(5)), producer_id=9).write((A, None)).end(9, True),
            ["overtaken-offset"],
        ),
        (
            WrittenLog()
            .write((A, value(5)), producer_id=9)
            .write((A, value(6)), producer_id=8)
            .end(8, True)
            .end(9, True),
            ["overtaken-offset"],
        ),
    ],
    ids=["aborted", "open", "written-twice", "overtaken", "removed", "by-another"],
)
def test_records_of_transactions_that_never_count(log, types):
    told = [event for event in events(log) if event.kind is Kind.OTHER_RECORD and "topic" in event.data]
    assert [event.data["type"] for event in told] == types
    assert state_of(events(log)) == state_loaded(log.batches)


def test_a_record_of_a_control_batch_that_ends_no_transaction_changes_nothing():
    log = WrittenLog().write((A, value(5)), producer_id=9)
    log._append([(b"\0\0\0\5", b"")], producer_id=9, is_transactional=True, is_control=True)
    log.end(9, True)
    assert kinds(log) == [
        ("OTHER_RECORD", "control-record"),
        ("OTHER_RECORD", "end-of-transaction"),
        ("OFFSET_STORED", ""),
    ]


KEYS = [OffsetKey("g", "t", 0), OffsetKey("g", "t", 1), OffsetKey("g", "t", 0, 0), OffsetKey("h", "t", 0)]
OFFSETS = st.tuples(st.sampled_from(KEYS), st.one_of(st.none(), st.builds(value, st.integers(0, 99))))
GROUPS = st.tuples(
    st.sampled_from([GroupKey("g"), GroupKey("h")]),
    st.one_of(st.none(), st.builds(GroupValue, st.just("consumer"), st.integers(0, 9), st.none(), st.none())),
)
PRODUCERS = st.sampled_from([7, 8])
STEPS = st.one_of(
    st.tuples(st.just("write"), st.lists(st.one_of(OFFSETS, GROUPS), min_size=1, max_size=3)),
    st.tuples(st.just("write in"), PRODUCERS, st.lists(OFFSETS, min_size=1, max_size=3)),
    st.tuples(st.just("end"), PRODUCERS, st.booleans()),
    st.tuples(st.just("skip"), st.integers(1, 3)),
)


def written(steps):
    log = WrittenLog()
    for name, *more in steps:
        if name == "write":
            log.write(*more[0])
        elif name == "write in":
            log.write(*more[1], producer_id=more[0])
        else:
            getattr(log, name)(*more)
    return log


def agrees(steps, reader=PartitionEvents):
    """The events fold to what a coordinator loads; each record is one of them, and each is a line."""
    log = written(steps)
    found = events(log, reader)
    placed = sorted(event.data["offset"] for event in found)
    records = [each.offset for batch in log.batches for each in subject.decode_batch(batch)]
    assert [event_of(json.dumps(json.loads(line_of(event)))) for event in found] == found
    return state_of(found) == state_loaded(log.batches) and placed == records


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_the_last_event_of_each_key_is_what_a_coordinator_loads(steps):
    assert agrees(steps)


class IgnoresTombstones(PartitionEvents):
    def take(self, batch):
        removed = (Kind.GROUP_REMOVED, Kind.OFFSET_REMOVED)
        return (event for event in super().take(batch) if event.kind not in removed)


class TakesAborted(PartitionEvents):
    def _ended(self, producer_id, marker, at):
        return super()._ended(producer_id, subject.EndOfTransaction(True, 0), at)


class TakesAtOnce(PartitionEvents):
    def _data(self, record, info):
        yield subject.event_of(record, self.place)


class ForgetsWhoWasOvertaken(PartitionEvents):
    def _overtaken(self, event):
        return iter(())


class LosesWhatIsOpen(PartitionEvents):
    def end(self):
        return iter(())


class StopsAtAGap(PartitionEvents):
    def take(self, batch):
        is_next = int.from_bytes(batch[:8], "big") == self.next_offset
        return super().take(batch) if is_next else iter(())


ONE = (A, value(5))
MUTANTS = {
    IgnoresTombstones: [("write", [ONE]), ("write", [(A, None)])],
    TakesAborted: [("write in", 7, [ONE]), ("end", 7, False)],
    TakesAtOnce: [("write in", 7, [ONE])],
    ForgetsWhoWasOvertaken: [("write in", 7, [ONE]), ("write", [(A, value(6))]), ("end", 7, True)],
    LosesWhatIsOpen: [("write in", 7, [ONE])],
    StopsAtAGap: [("write", [ONE]), ("skip", 2), ("write", [(A, value(6))])],
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_reader_with_a_mistake_is_found(mutant):
    assert agrees(MUTANTS[mutant])
    assert not agrees(MUTANTS[mutant], mutant)
