"""A partition of the offsets topic read again: which records count."""

import pytest

from rota.log.group_records import (
    EndOfTransaction,
    GroupKey,
    GroupValue,
    OffsetKey,
    OffsetValue,
    encode_key,
    encode_marker,
    encode_value,
)
from rota.log.group_replay import Replay, StoredGroup
from rota.wire.records import Record, RecordsError, encode_batch

A, B = OffsetKey("g", "t", 0), OffsetKey("g", "t", 1)
GROUP = GroupValue("consumer", 1, "range", "m")


def value(offset):
    return OffsetValue(offset, "", 1)


class Log:
    """Batches as they are appended."""

    def __init__(self):
        self.replay = Replay()
        self.next = 0

    def write(self, *entries, producer_id=-1, **more):
        raw = [
            (key if isinstance(key, bytes) else encode_key(key), encode_value(value))
            for key, value in entries
        ]
        self.raw(*raw, producer_id=producer_id, is_transactional=producer_id != -1, **more)

    def raw(self, *entries, **more):
        records = [Record(self.next + at, 1, *entry) for at, entry in enumerate(entries)]
        self.replay.take(encode_batch(records, **more))
        self.next += len(entries)

    def end(self, producer_id, is_commit):
        marker = encode_marker(EndOfTransaction(is_commit, 0))
        self.raw(marker, producer_id=producer_id, is_transactional=True, is_control=True)

    def offsets(self):
        """Offset by partition, and what is pending."""
        groups = self.replay.groups()
        (group,) = groups or [StoredGroup("g")]
        pending = {(producer, key.partition): one.offset for producer, key, one in group.pending}
        return {key.partition: one.offset for key, one in group.offsets}, pending


@pytest.fixture
def log():
    return Log()


def test_the_last_value_of_each_key_counts(log):
    log.write((A, value(1)), (B, value(2)))
    log.write((GroupKey("g"), GROUP))
    log.write((A, value(3)), (OffsetKey("h", "t", 0), value(4)))
    groups = log.replay.groups()
    assert groups == [
        StoredGroup("g", GROUP, [(A, value(3)), (B, value(2))]),
        StoredGroup("h", None, [(OffsetKey("h", "t", 0), value(4))]),
    ]
    assert log.replay.records == 5


def test_a_tombstone_ends_a_key(log):
    log.write((A, value(1)), (B, value(2)), (GroupKey("g"), GROUP))
    log.write((A, None), (GroupKey("g"), None))
    assert log.replay.groups() == [StoredGroup("g", None, [(B, value(2))])]


def test_old_keys_mean_the_same(log):
    log.write((A._replace(version=0), value(1)))
    log.write((A, value(2)))
    log.write((B, value(3)))
    log.write((B._replace(version=0), value(4)))
    assert log.offsets() == ({0: 2, 1: 4}, {})


def test_compressed_batches_are_read(log):
    log.write((A, value(1)), (A, value(2)), compression="gzip")
    assert log.offsets() == ({0: 2}, {})


def test_keys_of_other_kinds_are_counted(log):
    log.write((b"\0\x10new", value(1)), (b"\0\x10", None), (b"", value(1)), (A, value(2)))
    log.raw((None, b"x"))
    assert log.offsets() == ({0: 2}, {})
    assert dict(log.replay.unknown) == {16: 2, None: 2}


def test_what_cannot_be_read_is_told_and_left_out(log):
    log.raw((encode_key(A), b"\0\x03\0"), (encode_key(B), encode_value(value(1))), (b"\0\x02\0\x09", b""))
    assert log.offsets() == ({1: 1}, {})
    assert [line.partition(":")[0] for line in log.replay.unreadable] == [
        f"the value of {A}",
        "a key of version 2",
    ]


@pytest.mark.parametrize(("is_commit", "after"), [(True, {0: 5}), (False, {0: 1})])
def test_what_belongs_to_a_transaction_waits_for_its_end(log, is_commit, after):
    log.write((A, value(1)))
    log.write((A, value(5)), producer_id=9)
    assert log.offsets() == ({0: 1}, {(9, 0): 5})
    log.end(8, is_commit=True)
    assert log.offsets() == ({0: 1}, {(9, 0): 5})
    log.end(9, is_commit)
    assert log.offsets() == (after, {})


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_later_record_counts_more_than_a_transaction_that_ends_after_it(log, is_commit):
    log.write((A, value(5)), producer_id=9)
    log.write((A, value(1)))
    assert log.offsets() == ({0: 1}, {(9, 0): 1})
    log.end(9, is_commit)
    assert log.offsets() == ({0: 1}, {})


def test_of_two_transactions_the_later_record_counts(log):
    log.write((A, value(5)), producer_id=9)
    log.write((A, value(6)), producer_id=8)
    log.end(8, is_commit=True)
    log.end(9, is_commit=True)
    assert log.offsets() == ({0: 6}, {})


def test_a_tombstone_ends_what_is_pending(log):
    log.write((A, value(5)), producer_id=9)
    log.write((A, None))
    log.end(9, is_commit=True)
    assert log.offsets() == ({}, {})


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: data[:61] + b"\x7f"]
)
def test_a_batch_that_is_damaged_inside_is_refused(spoil):
    batch = encode_batch([Record(0, 1, encode_key(A), encode_value(value(1)))])
    with pytest.raises(RecordsError):
        Replay().take(spoil(batch))
