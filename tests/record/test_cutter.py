"""Frames are found in whatever pieces they come, and nothing is kept of those that nobody wants."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.record.cutter import Cutter, NotAFrame
from rota.wire import frame

PAYLOADS = st.lists(st.binary(max_size=40), max_size=8)


@given(PAYLOADS, st.lists(st.integers(1, 60), min_size=1), st.sampled_from([4, 8]))
def test_whatever_pieces_frames_come_in(payloads: list[bytes], sizes: list[int], head: int) -> None:
    begun: list[tuple[bytes, int]] = []

    def begins(start: bytes, length: int) -> bool:
        begun.append((start, length))
        return bool(length % 2)

    cutter = Cutter(head, begins)
    stream = b"".join(map(frame, payloads))
    out: list[tuple[bool, bytes]] = []
    at = 0
    while at < len(stream):
        size = sizes[at % len(sizes)]
        out += cutter.feed(stream[at : at + size])
        at += size
    assert b"".join(piece for _, piece in out) == stream, "everything passes, in order"
    assert [piece for held, piece in out if held] == [frame(one) for one in payloads if len(one) % 2]
    assert begun == [(one[:head], len(one)) for one in payloads]
    assert cutter.waiting == 0


def test_of_a_frame_that_is_not_wanted_nothing_is_kept() -> None:
    cutter = Cutter(8, lambda head, length: False)
    assert list(cutter.feed(struct.pack(">i", 100_000_000) + bytes(8)))
    for _ in range(100):
        assert list(cutter.feed(bytes(100_000))) == [(False, bytes(100_000))]
        assert cutter.waiting == 0


def test_what_cannot_be_a_frame_is_told_when_all_before_it_is_out() -> None:
    cutter = Cutter(4, lambda head, length: True)
    pieces = cutter.feed(frame(b"abcd") + b"\xff\xff\xff\xff tea")
    assert next(pieces) == (True, frame(b"abcd"))
    with pytest.raises(NotAFrame, match="a length of -1"):
        next(pieces)
    assert cutter.leftover() == b"\xff\xff\xff\xff tea"
    assert cutter.waiting == 0
