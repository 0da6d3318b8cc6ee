"""Record batches: bytes by hand, round trips, kafka-python as a second opinion, damage of every kind."""

import gzip
import struct
from contextlib import suppress
from dataclasses import replace

import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from rota.wire import WireError, records
from rota.wire.records import Record, RecordsError, decode_batch, encode_batch, rebased, split

HEADER = 61
NO_EPOCH = b"\xff" * 4

INT64 = st.integers(-(2**63), 2**63 - 1)
NULLABLE = st.none() | st.binary(max_size=300)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
HEADERS = st.lists(st.tuples(TEXT, NULLABLE), max_size=3).map(tuple)


@st.composite
def runs(draw, gaps=True):
    """Records with ascending offsets, as a producer makes them or (`gaps`) as compaction leaves them."""
    offset = draw(st.integers(0, 2**62)) if gaps else 0
    found = []
    for _ in range(draw(st.integers(1, 6))):
        time = draw(st.integers(-1, 2**61))
        found.append(Record(offset, time, draw(NULLABLE), draw(NULLABLE), draw(HEADERS)))
        offset += draw(st.integers(1, 2**27)) if gaps else 1
    return found


PRODUCERS = st.fixed_dictionaries(
    {
        "producer_id": INT64,
        "producer_epoch": st.integers(-(2**15), 2**15 - 1),
        "base_sequence": st.integers(-1, 2**31 - 1),
    }
)


def with_crc(batch):
    """The batch with the CRC that its bytes have."""
    return batch[:17] + google_crc32c.value(bytes(batch[21:])).to_bytes(4, "big") + batch[21:]


def patched(batch, at, code, value):
    """The batch with another number in its header, and its CRC."""
    out = bytearray(batch)
    struct.pack_into(f">{code}", out, at, value)
    return with_crc(bytes(out))


def of_body(body, count=1, attributes=0):
    """A batch around this body, whatever it is."""
    head = struct.pack(">qiibIhiqqqhii", 5, 49 + len(body), -1, 2, 0, attributes, 0, 7, 9, -1, -1, -1, count)
    return with_crc(head + body)


SMALL = [
    Record(10, 1_000, b"k", b"v"),
    Record(11, 999, None, None, (("h", b"1"), ("h", None))),
    Record(14, 1_070, b"", b"", (("é", b""),)),
]


def test_bytes_of_a_batch():
    """Written by hand after KIP-98."""
    body = (
        b"\x10" b"\x00" b"\x00" b"\x00" b"\x02k" b"\x02v" b"\x00"
        b"\x1a" b"\x00" b"\x01" b"\x02" b"\x01" b"\x01" b"\x04" b"\x02h\x021" b"\x02h\x01"
        b"\x16" b"\x00" b"\x8c\x01" b"\x08" b"\x00" b"\x00" b"\x02" b"\x04\xc3\xa9\x00"
    )  # fmt: skip
    rest = (
        b"\x00\x00" b"\x00\x00\x00\x04" b"\x00\x00\x00\x00\x00\x00\x03\xe8"
        b"\x00\x00\x00\x00\x00\x00\x04\x2e"
        + b"\xff" * 14 + b"\x00\x00\x00\x03" + body
    )  # fmt: skip
    head = b"\x00" * 7 + b"\x0a" + (49 + len(body)).to_bytes(4, "big") + NO_EPOCH + b"\x02"
    batch = head + google_crc32c.value(rest).to_bytes(4, "big") + rest
    assert encode_batch(SMALL) == batch
    assert decode_batch(batch) == tuple(SMALL)


@settings(max_examples=200, deadline=None)
@given(runs(), st.sampled_from(("none", "gzip")), PRODUCERS, st.booleans(), st.booleans())
def test_what_was_written_is_read(found, compression, producer, transactional, control):
    batch = encode_batch(
        found, compression=compression, **producer, is_transactional=transactional, is_control=control
    )
    assert decode_batch(batch) == tuple(found)
    [(info, same)] = split(batch)
    assert same == batch
    assert (info.base_offset, info.last_offset, info.count) == (found[0].offset, found[-1].offset, len(found))
    assert (info.compression, info.size, info.partition_leader_epoch) == (compression, len(batch), -1)
    assert (info.is_transactional, info.is_control, info.timestamp_type) == (transactional, control, 0)
    assert info.base_timestamp == found[0].timestamp
    assert info.max_timestamp == max(record.timestamp for record in found)
    assert {name: getattr(info, name) for name in producer} == producer


@settings(max_examples=200, deadline=None)
@given(runs(gaps=False), PRODUCERS, st.booleans())
def test_kafka_python_writes_the_same_bytes(found, producer, transactional):
    theirs = DefaultRecordBatchBuilder(2, 0, transactional, **producer, batch_size=1 << 30)
    for record in found:
        assert theirs.append(record.offset, record.timestamp, record.key, record.value, record.headers)
    batch = encode_batch(found, **producer, is_transactional=transactional)
    assert rebased(batch, 0, 0) == bytes(theirs.build())


@settings(max_examples=200, deadline=None)
@given(st.lists(runs(), min_size=1, max_size=3), st.sampled_from(("none", "gzip")))
def test_kafka_python_reads_what_was_written(batches, compression):
    theirs = MemoryRecords(b"".join(encode_batch(found, compression=compression) for found in batches))
    for found in batches:
        batch = theirs.next_batch()
        assert batch.validate_crc()
        read = [
            Record(one.offset, one.timestamp, one.key, one.value, tuple(map(tuple, one.headers)))
            for one in batch
        ]
        assert read == found
    assert not theirs.has_next()


def test_gzip_of_kafka_python_is_read():
    builder = DefaultRecordBatchBuilder(2, 1, False, -1, -1, -1, 1 << 20)
    found = tuple(Record(index, 50 + index, b"key", b"value" * 20, (("h", b"x"),)) for index in range(20))
    for record in found:
        builder.append(record.offset, record.timestamp, record.key, record.value, record.headers)
    batch = bytes(builder.build())
    assert next(split(batch))[0].compression == "gzip"
    assert decode_batch(batch) == found


@pytest.mark.parametrize(("code", "name"), [(2, "snappy"), (3, "lz4"), (4, "zstd")])
def test_other_compressions_are_told_apart_and_not_written(code, name):
    batch = of_body(b"anything", attributes=code)
    assert next(split(batch))[0].compression == name
    with pytest.raises(RecordsError, match=f"cannot write compression '{name}'"):
        encode_batch(SMALL, compression=name)
    with pytest.raises(RecordsError, match="no compression has the number 5"):
        list(split(of_body(b"", attributes=5)))


def test_log_append_time_is_that_of_every_record():
    batch = patched(encode_batch(SMALL), 21, "h", 0x08)
    assert next(split(batch))[0].timestamp_type == 1
    assert decode_batch(batch) == tuple(replace(record, timestamp=1_070) for record in SMALL)


def test_a_control_batch():
    """A commit marker, as a transaction coordinator appends it."""
    marker = Record(7, 5, b"\x00\x00\x00\x01", b"\x00\x00\x00\x00\x00\x09")
    batch = encode_batch([marker], producer_id=4, producer_epoch=2, is_transactional=True, is_control=True)
    info = next(split(batch))[0]
    assert (info.is_control, info.is_transactional, info.attributes) == (True, True, 0x30)
    assert (info.producer_id, info.producer_epoch, info.base_sequence) == (4, 2, -1)
    [theirs] = MemoryRecords(batch).next_batch()
    assert (theirs.commit, decode_batch(batch)) == (True, (marker,))


def test_what_compaction_leaves():
    """Records go, offsets and the batch's span stay; a batch may even become empty."""
    left = encode_batch(SMALL[2:], base_offset=10)
    assert decode_batch(left) == tuple(SMALL[2:])
    assert next(split(left))[0].base_offset == 10
    tail = patched(encode_batch(SMALL[:1]), 23, "i", 4)
    info = next(split(tail))[0]
    assert (info.base_offset, info.last_offset, info.count) == (10, 14, 1)
    empty = encode_batch([], base_offset=3, producer_id=1)
    assert decode_batch(empty) == ()
    assert (next(split(empty))[0].last_offset, next(split(empty))[0].max_timestamp) == (3, -1)
    with pytest.raises(RecordsError, match="no records and no base_offset"):
        encode_batch([])


def test_rebased_batches_keep_their_crc():
    batch = rebased(encode_batch(SMALL), 2**40, 6)
    info = next(split(batch))[0]
    assert (info.base_offset, info.last_offset, info.partition_leader_epoch) == (2**40, 2**40 + 4, 6)
    assert [record.offset for record in decode_batch(batch)] == [2**40, 2**40 + 1, 2**40 + 4]
    assert rebased(batch, 10, -1) == encode_batch(SMALL)
    for given_batch, offset in ((batch[:60], 0), (batch, 2**63)):
        with pytest.raises(RecordsError):
            rebased(given_batch, offset)


def test_batches_in_front_of_a_damaged_one_are_told():
    first, second = encode_batch(SMALL), encode_batch(SMALL, base_offset=0, compression="gzip")
    assert [batch for _, batch in split(first + second)] == [first, second]
    assert list(split(b"")) == []
    told = split(first + second[:-1])
    assert next(told)[1] == first
    with pytest.raises(
        RecordsError, match=f"a batch of {len(second)} bytes announced, {len(second) - 1} left"
    ):
        next(told)


BATCH = encode_batch(SMALL)
PACKED = encode_batch(SMALL, compression="gzip")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (BATCH[:60], "a batch of 60 bytes is too short for its header of 61"),
        (BATCH[:-1], "bytes announced"),
        (BATCH + b"\x00", "1 bytes are left over after the batch"),
        (BATCH[:16] + b"\x01" + BATCH[17:], "magic 1, not 2"),
        (BATCH[:8] + b"\x00\x00\x00\x30" + BATCH[12:], "bad length 48"),
        (BATCH[:8] + b"\xff\xff\xff\xff" + BATCH[12:], "bad length -1"),
        (BATCH[:20] + bytes([BATCH[20] ^ 1]) + BATCH[21:], "CRC does not match"),
        (patched(BATCH, 57, "i", -1), "negative record count -1"),
        (patched(BATCH, 23, "i", -1), "last offset delta -1"),
        (patched(BATCH, 57, "i", 4), "it ends too early"),
        (patched(BATCH, 57, "i", 2), "12 bytes are left over after 2 records"),
        (patched(BATCH, 57, "i", 2**31 - 1), "2147483647 records announced, 35 bytes left"),
        (of_body(b"\x7f" + b"\x00" * 7), "a record of -64 bytes announced"),
        (of_body(b"\x12" + b"\x00" * 7), "a record of 9 bytes announced, 7 left"),
        (of_body(b"\x0e" + b"\x00" * 7), "a record of 7 bytes ends -1 bytes off"),
        (of_body(b"\x0c\x00\x00\x00\x06\x00\x00"), "3 bytes announced in a record, 2 left"),
        (of_body(b"\x0c\x00\x00\x00\x01\x01\x01"), "-1 headers announced"),
        (of_body(b"\x0c\x00\x00\x00\x01\x01\x02"), "1 headers announced, 0 bytes left"),
        (of_body(b"\x10\x00\x00\x00\x01\x01\x02\x01\x00"), "the key of a header is null"),
        (of_body(b"\x12\x00\x00\x00\x01\x01\x02\x02\xff\x00"), "a string is not UTF-8"),
        (of_body(b"\xff\xff\xff\xff\x1f" + b"\x00" * 7), "a varint has more than 32 bits"),
        (of_body(b"\x20\x00" + b"\xff" * 10 + b"\x01\x00\x00\x00\x00"), "a varint has more than 10 bytes"),
        (of_body(b"no gzip", attributes=1), "gzip: "),
        (patched(PACKED[:-6], 8, "i", len(PACKED) - 18), "gzip: it ends too early"),
    ],
)
def test_what_is_none_is_refused(data, reason):
    with pytest.raises(RecordsError, match=reason):
        decode_batch(data)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"offset": 10}, "offset 10 does not ascend"),
        ({"offset": 10 + 2**31}, "does not fit in 32 bits"),
        ({"timestamp": 2**63 + 1_000}, "does not fit in 64 bits"),
        ({"timestamp": None}, "records: "),
        ({"key": "text"}, "records: "),
        ({"headers": ((None, b""),)}, "records: "),
        ({"headers": (("\ud800", b""),)}, "records: "),
    ],
)
def test_what_cannot_be_written_is_refused(changes, reason):
    with pytest.raises(RecordsError, match=reason):
        encode_batch([SMALL[0], replace(SMALL[1], **changes)])
    with pytest.raises(RecordsError, match="records: "):
        encode_batch(SMALL, producer_epoch=2**15)


def test_several_gzip_streams_are_one_body_and_bombs_are_refused(monkeypatch):
    plain = encode_batch([SMALL[0]])[HEADER:]
    halves = b"".join(gzip.compress(part) for part in (plain[:3], plain[3:]))
    [record] = decode_batch(of_body(halves, attributes=1))
    assert (record.offset, record.key, record.value) == (5, b"k", b"v")
    monkeypatch.setattr(records, "MAX_INFLATED", 100)
    with pytest.raises(RecordsError, match="gzip: more than 100 bytes"):
        decode_batch(encode_batch([replace(SMALL[0], value=bytes(1_000))], compression="gzip"))


@settings(max_examples=300, deadline=None)
@given(runs(), st.data())
def test_every_flipped_bit_under_the_crc_is_found(found, data):
    batch = bytearray(encode_batch(found))
    batch[data.draw(st.integers(16, len(batch) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(RecordsError, match=r"CRC does not match|magic"):
        decode_batch(bytes(batch))


@settings(max_examples=400, deadline=None)
@given(runs(), st.sampled_from(("none", "gzip")), st.booleans(), st.data())
def test_damaged_batches_are_read_or_refused(found, compression, crc, data):
    batch = bytearray(encode_batch(found, compression=compression))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(batch)))
        cut = data.draw(st.integers(0, 3))
        batch[at : at + cut] = data.draw(st.sampled_from((b"", b"\xff", b"\x00\x80", b"\xff\xff\xff\x7f")))
    damaged = bytes(batch)
    if crc and len(damaged) > HEADER:
        damaged = patched(damaged, 8, "i", len(damaged) - 12)
    with suppress(RecordsError):
        decode_batch(damaged)
    with suppress(RecordsError):
        list(split(damaged))


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=80), st.integers(-1, 5), st.sampled_from((0, 1, 8)))
def test_any_body_is_read_or_refused(body, count, attributes):
    with suppress(RecordsError):
        assert len(decode_batch(of_body(body, count, attributes))) == count
    with suppress(RecordsError):
        list(split(body))


def test_errors_of_records_are_wire_errors():
    assert issubclass(RecordsError, WireError)
