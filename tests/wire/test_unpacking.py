"""Batches packed with snappy, lz4 and zstd: read, refused in words, and never more than there may be."""

import struct
import sys
from contextlib import suppress
from dataclasses import replace

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.packed_batches import HOWS, in_blocks, packed, repacked, with_body
from rota.wire import records, unpacking
from rota.wire.records import HEADER_SIZE, Record, RecordsError, decode_batch, encode_batch, split

SMALL = [
    Record(10 + index, 1_000 + index, b"key", b"value" * index, (("h", b"x"), ("h", None)))
    for index in range(20)
]
FRAME = b"\x28\xb5\x2f\xfd"


@pytest.mark.parametrize("how", HOWS)
def test_what_is_packed_is_read_as_what_is_not(how):
    batch = repacked(encode_batch(SMALL, producer_id=7, is_transactional=True), how)
    info = next(split(batch))[0]
    assert (info.compression, info.is_transactional) == (how.partition(" ")[0], True)
    assert decode_batch(batch) == tuple(SMALL)
    assert decode_batch(repacked(encode_batch([], base_offset=3, producer_id=1), how)) == ()


@pytest.mark.parametrize("how", HOWS)
def test_what_expands_to_a_thousand_times_its_size_is_read(how):
    found = (Record(0, 0, None, bytes(3_000_000)), Record(1, 0, None, b"end"))
    assert decode_batch(repacked(encode_batch(found), how)) == found


@pytest.mark.parametrize("how", HOWS)
def test_room_for_just_as_much_as_there_may_be_is_enough(how, monkeypatch):
    batch = encode_batch(SMALL)
    monkeypatch.setattr(records, "MAX_INFLATED", len(batch) - HEADER_SIZE)
    assert decode_batch(repacked(batch, how)) == tuple(SMALL)
    monkeypatch.setattr(records, "MAX_INFLATED", len(batch) - HEADER_SIZE - 1)
    with pytest.raises(RecordsError, match=rf"^{how.partition(' ')[0]}: more than {len(batch) - 62} bytes$"):
        decode_batch(repacked(batch, how))


def test_streams_of_snappy_in_a_row_are_one_as_for_java():
    batch = encode_batch(SMALL)
    body = batch[HEADER_SIZE:]
    both = in_blocks([body[:50]]) + in_blocks([body[50:51], body[51:]])
    assert decode_batch(with_body(batch, both, "snappy")) == tuple(SMALL)


@pytest.mark.parametrize(
    ("how", "body", "reason"),
    [
        ("snappy", b"\xff\xff\xff\xff\x0fxxxx", "snappy: more than 67108864 bytes"),
        ("snappy", b"\x05\xff", "snappy: corrupt input"),
        ("snappy", in_blocks([b"abc"])[:-1], "snappy: a block of 5 bytes announced, 4 left"),
        ("snappy", in_blocks([b"abc"]) + b"\0\0", "snappy: a block of 0 bytes announced, 0 left"),
        ("snappy", in_blocks([]) + b"\xff\xff\xff\xffabc", "snappy: a block of -1 bytes announced, 3 left"),
        ("lz4", b"anything at all", "lz4: .*frameType"),
        ("lz4", packed(bytes(range(256)), "lz4")[:-9], "lz4: "),
        ("zstd", b"anything at all", "zstd: Unknown frame descriptor"),
        ("zstd", packed(bytes(range(256)), "zstd")[:-9], "zstd: incomplete frame"),
        ("zstd", b"", "zstd: "),
        # Windows of 2^30 bytes, and a frame that says that it has 10 GiB: neither is made room for.
        ("zstd", FRAME + b"\x00\xa0" + b"\x03\x00\x10A", "zstd: Frame requires too much memory"),
        ("zstd", FRAME + b"\xe0" + struct.pack("<Q", 10 << 30) + b"\x03\x00\x10A", "too much memory"),
    ],
)
def test_what_is_damaged_or_a_bomb_is_refused_in_words(how, body, reason):
    batch = with_body(encode_batch(SMALL), body, how)
    with pytest.raises(RecordsError, match=reason):
        decode_batch(batch)


@pytest.mark.parametrize("how", HOWS)
def test_a_batch_of_nothing_but_records_has_a_most(how, monkeypatch):
    monkeypatch.setattr(records, "MAX_RECORDS", 60)
    assert len(decode_batch(repacked(encode_batch(SMALL), how))) == 20
    for found in (
        [*SMALL, replace(SMALL[0], offset=40, headers=())],
        [replace(SMALL[0], headers=(("h", None),) * 61)],
    ):
        with pytest.raises(RecordsError, match="records and headers, of which a batch may have 60"):
            decode_batch(repacked(encode_batch(found), how))


@pytest.mark.parametrize("how", HOWS)
def test_without_the_library_the_remedy_is_named(how, monkeypatch):
    monkeypatch.setitem(sys.modules, "cramjam", None)
    name = how.partition(" ")[0]
    with pytest.raises(RecordsError) as told:
        decode_batch(repacked(encode_batch(SMALL), how))
    wanted = f"a batch is not read that is compressed with {name}: pip install 'rota[compression]'"
    assert str(told.value) == wanted


@settings(max_examples=75, deadline=None)
@given(st.sampled_from(HOWS), st.data())
def test_whatever_is_packed_there_it_is_read_or_refused(how, data):
    body = bytearray(packed(encode_batch(SMALL)[HEADER_SIZE:], how))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(body)))
        cut = data.draw(st.integers(0, 3))
        body[at : at + cut] = data.draw(st.sampled_from((b"", b"\xff", b"\x00\x80", b"\xff\xff\xff\x7f")))
    with suppress(RecordsError):
        decode_batch(with_body(encode_batch(SMALL), bytes(body), how))


def test_the_words_by_which_too_little_room_is_known_are_the_librarys():
    for how in ("lz4", "zstd"):
        with pytest.raises(cramjam.DecompressionError, match=unpacking._NO_ROOM):
            getattr(cramjam, how).decompress_into(packed(bytes(100), how), bytearray(99))
