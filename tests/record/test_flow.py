"""Segments are put in order, whatever order they come in, and what is missing is counted."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.record.capture import flow
from rota.record.capture.flow import Flow

DATA = bytes(range(250)) * 4


def fed(segments: list[tuple[int, bytes, int]], first: int, begun: bool = True) -> list[bytes | int]:
    one = Flow()
    if begun:
        one.begin(first)
    out: list[bytes | int] = []
    for at, payload, cut in segments:
        out += one.add((first + at) % 2**32, payload, cut)
    return [*out, *one.ended()]


def joined(pieces: list[bytes | int]) -> bytes:
    """The bytes, with a question mark for each that is missing."""
    return b"".join(one if isinstance(one, bytes) else b"?" * one for one in pieces)


@given(
    st.lists(st.integers(0, len(DATA)), max_size=12),
    st.randoms(use_true_random=False),
    st.sampled_from([0, 2**32 - 500, 2**31 - 3]),
)
def test_any_order_and_any_repetition_gives_the_same_bytes(
    cuts: list[int], random: Random, first: int
) -> None:
    edges = sorted({0, len(DATA), *cuts})
    segments = [(at, DATA[at:end], 0) for at, end in itertools.pairwise(edges)]
    again = [(at, DATA[at : at + random.randrange(1, 400)], 0) for at in edges[:-1] if random.random() < 0.5]
    segments += again
    random.shuffle(segments)
    assert joined(fed(segments, first)) == DATA


@given(st.lists(st.integers(1, len(DATA) - 1), min_size=3, max_size=12), st.integers(0, 100))
def test_what_is_lost_is_a_number_of_bytes_where_it_was(cuts: list[int], which: int) -> None:
    edges = sorted({0, len(DATA), *cuts})
    segments = [(at, DATA[at:end], 0) for at, end in itertools.pairwise(edges)]
    lost = segments.pop(which % (len(segments) - 1))
    expected = DATA[: lost[0]] + b"?" * len(lost[1]) + DATA[lost[0] + len(lost[1]) :]
    assert joined(fed(segments, 7)) == expected


def test_the_end_of_a_cut_segment_is_lost_at_once() -> None:
    assert fed([(0, DATA[:10], 20), (30, DATA[30:40], 0)], 5) == [DATA[:10], 20, DATA[30:40]]
    assert fed([(0, DATA[:10], 20), (5, DATA[5:40], 0)], 5) == [DATA[:10], 20, DATA[30:40]]


def test_a_flow_that_was_not_seen_from_its_start_begins_where_it_is_seen() -> None:
    assert fed([(10, DATA[10:20], 0), (20, DATA[20:30], 0)], 5, begun=False) == [DATA[10:20], DATA[20:30]]


def test_what_the_other_side_has_had_is_not_waited_for() -> None:
    one = Flow()
    one.begin(0)
    out = [*one.add(10, b"a", 0)]
    assert [*one.acknowledged(5), *one.acknowledged(11)] == []
    assert out == []
    for at in range(11, 11 + flow.ENOUGH_BEHIND):
        out += one.add(at, b"b", 0)
    assert out == [10, b"a", *[b"b"] * flow.ENOUGH_BEHIND]


def test_what_nobody_has_had_is_waited_for_and_no_further_than_memory_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flow, "MOST_AHEAD", 1000)
    one = Flow()
    one.begin(0)
    out: list[bytes | int] = []
    for at in range(10, 1010):
        out += one.add(at, b"b", 0)
    assert out == []
    out += one.add(1010, b"b", 0)
    assert (out[0], len(out)) == (10, 1002)


def test_what_was_answered_is_not_waited_for_at_all() -> None:
    one = Flow()
    one.begin(0)
    assert [*one.add(10, b"a", 0)] == []
    assert [*one.acknowledged(20, answered=True)] == [10, b"a", 9]
    assert [*one.add(3, b"late", 0), *one.add(20, b"b", 0)] == [b"b"]


def test_the_end_tells_what_was_missing_before_it() -> None:
    one = Flow()
    one.begin(0)
    assert [*one.ended(5)] == [5]
    assert [*one.acknowledged(6, answered=True)] == [], "the end itself has a number"
