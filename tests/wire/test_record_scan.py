"""Records read through in slices: the same verdicts as `decode_batch`, in little memory and short steps."""

import gzip
import tracemalloc
import zlib
from time import thread_time

import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.wire import record_scan, records
from rota.wire.record_scan import check_records, first_since
from rota.wire.records import HEADER_SIZE, Record, RecordsError, decode_batch, encode_batch, split


def result(steps):
    """What a generator returns in the end, and the CPU seconds of its longest step."""
    longest = 0.0
    while True:
        begun = thread_time()
        try:
            next(steps)
        except StopIteration as end:
            return end.value, longest
        finally:
            longest = max(longest, thread_time() - begun)


def verdict(batch):
    """What is wrong with the records, "" if nothing is."""
    try:
        ((info, data),) = split(batch)
        result(check_records(data, info))
    except RecordsError as error:
        return str(error)
    return ""


def packed(body, count, compressed=None):
    """A batch whose header is right, around this body; `compressed` in its place says so."""
    empty = encode_batch([Record(0, 0, None, None)])
    head = bytearray(empty[:HEADER_SIZE])
    rest = body if compressed is None else compressed
    head[8:12] = (HEADER_SIZE - 12 + len(rest)).to_bytes(4, "big")
    head[22] = compressed is not None
    head[23:27], head[57:61] = (count - 1).to_bytes(4, "big"), count.to_bytes(4, "big")
    data = bytes(head) + rest
    return data[:17] + google_crc32c.value(data[21:]).to_bytes(4, "big") + data[21:]


SIZES = st.sampled_from([0, 1, 60, 63, 64, 5000, 8190, 8191, 8192, 20_000])
VALUES = st.none() | SIZES.map(bytes)
RECORDS = st.lists(
    st.tuples(st.integers(0, 2**40), VALUES, VALUES, st.lists(st.tuples(st.just("h"), VALUES), max_size=2)),
    min_size=1,
    max_size=8,
).map(
    lambda drawn: [
        Record(index, time, key, value, tuple(headers))
        for index, (time, key, value, headers) in enumerate(drawn)
    ]
)
COMPRESSIONS = st.sampled_from(["none", "gzip"])


@settings(max_examples=150, deadline=None)
@given(RECORDS, COMPRESSIONS, st.integers(0, 2**40))
def test_whole_batches_have_nothing_wrong_and_their_times_are_found(found, compression, since):
    batch = encode_batch(found, compression=compression)
    assert verdict(batch) == ""
    ((info, data),) = split(batch)
    later = [(each.offset, each.timestamp) for each in found if each.timestamp >= since]
    assert result(first_since(data, info, since))[0] == (later[0] if later else None)


@settings(max_examples=400, deadline=None)
@given(RECORDS, COMPRESSIONS, st.data())
def test_damaged_records_get_the_verdict_of_the_decoder(found, compression, data):
    body = bytearray(encode_batch(found)[HEADER_SIZE:])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, min(len(body), 30)) | st.integers(0, len(body)))
        cut = data.draw(st.integers(0, 2))
        body[at : at + cut] = data.draw(
            st.sampled_from([b"", b"\x00", b"\x01", b"\x02", b"\xff", b"\x80\x01", b"\xff\xff\xff\x7f"])
        )
    count = len(found) + data.draw(st.sampled_from([0, 0, 0, 1]))
    batch = packed(bytes(body), count, gzip.compress(bytes(body)) if compression == "gzip" else None)
    wrong = ""
    try:
        if any(each.offset != index for index, each in enumerate(decode_batch(batch))):
            wrong = "a gap"
    except RecordsError as error:
        # What is not read need not be a text.
        wrong = str(error).replace("records: a string is not UTF-8", "")
    assert (verdict(batch) == "") == (wrong == "")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=4))
def test_streams_cut_anywhere_are_one(body, cuts):
    ends = sorted({min(each, len(body)) for each in cuts})
    parts = [body[begin:end] for begin, end in zip([0, *ends], [*ends, len(body)], strict=True)]
    assert b"".join(records.inflated(b"".join(map(gzip.compress, parts)))) == body


def cost(batch):
    """(CPU seconds, those of the longest step, most bytes held) of a look at the records."""
    ((info, data),) = split(batch)
    begun = thread_time()
    _, longest = result(check_records(data, info))
    seconds = thread_time() - begun
    tracemalloc.start()
    try:
        for _, _ in zip(check_records(data, info), range(3_000), strict=False):
            pass
        return seconds, longest, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_many_gzip_streams_cost_little():
    """Each of 1,500 once cost a copy of all behind it and of all before: 51 s for these 110 KB."""
    body = encode_batch([Record(index, index, None, bytes(1000)) for index in range(1500)])[HEADER_SIZE:]
    step = len(body) // 1500
    parts = [body[pos : pos + step] for pos in range(0, len(body), step)]
    batch = packed(body, 1500, b"".join(gzip.compress(part) for part in parts))
    seconds, longest, held = cost(batch)
    assert seconds < 1
    assert longest < 0.02
    assert held < 1_000_000


def test_a_megabyte_of_empty_streams_costs_little():
    body = encode_batch([Record(0, 0, None, b"x")])[HEADER_SIZE:]
    batch = packed(body, 1, gzip.compress(b"") * 45_000 + gzip.compress(body))
    seconds, longest, held = cost(batch)
    assert seconds < 5
    assert longest < 0.02
    assert held < 1_000_000


def gzipped(pieces):
    packer = zlib.compressobj(wbits=31)
    return b"".join([*map(packer.compress, pieces), packer.flush()])


def test_more_records_than_there_may_be_are_not_read():
    """64 MiB of seven-byte records in 97 KB were 9.6 million objects."""
    plain = bytes([12, 0, 0, 0, 1, 1, 0])
    batch = packed(b"", 9_000_000, gzipped([plain * 100_000] * 90))
    begun = thread_time()
    assert "may have 1000000" in verdict(batch)
    assert thread_time() - begun < 1


def test_a_large_record_is_not_held():
    """60 MiB of zeros in 60 KB: once held twice."""
    body = encode_batch([Record(0, 0, None, bytes(60 << 20))])[HEADER_SIZE:]
    seconds, longest, held = cost(packed(b"", 1, gzip.compress(body)))
    assert seconds < 2
    assert longest < 0.02
    assert held < 1_000_000


def test_headers_count_as_records(monkeypatch):
    many = encode_batch([Record(0, 0, None, None, (("h", None),) * 50)])
    assert verdict(many) == ""
    monkeypatch.setattr(record_scan, "MAX_RECORDS", 50)
    assert "records and headers together may be 50" in verdict(many)
    across = encode_batch([Record(0, 0, bytes(40_000), None, (("h", None),) * 50)])
    assert "records and headers together may be 50" in verdict(across)


@pytest.mark.parametrize("compression", [pytest.param("none", marks=pytest.mark.long), "gzip"])
def test_a_megabyte_of_records_is_read_in_short_steps(compression):
    found = [Record(index, index, None, None) for index in range(100_000)]
    seconds, longest, held = cost(encode_batch(found, compression=compression))
    assert seconds < 2
    assert longest < 0.02
    assert held < 2_500_000
