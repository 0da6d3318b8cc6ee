"""What is encoded is read back as it was, and nothing else is made of any bytes."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntFlag
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.kernel import FrozenMap, encode
from rota.kernel.decoding import DecodeError, Decoder, kinds_within


class Colour(Enum):
    RED = "red"
    BLUE = 2


@dataclass(frozen=True)
class Pair:
    left: Any
    right: Any = None


@dataclass(frozen=True)
class Outer:
    @dataclass(frozen=True)
    class Inner:
        value: int

    inner: Inner


@dataclass(frozen=True)
class Keyed:
    value: int = field(kw_only=True)


@dataclass(frozen=True)
class Counted:
    value: int
    double: int = field(init=False, default=0)


class Flags(IntFlag):
    ONE = 1
    TWO = 2


class Name(str):
    __slots__ = ()


class Odd(Mapping[int, int]):
    """A mapping that is hashable and no FrozenMap."""

    def __getitem__(self, key: int) -> int:
        return key

    def __iter__(self) -> Iterator[int]:
        return iter((1, 2))

    def __len__(self) -> int:
        return 2

    def __hash__(self) -> int:
        return 1


Point = namedtuple("Point", "x y")

ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.binary()
    | st.sampled_from(Colour)
    | st.builds(Outer, st.builds(Outer.Inner, st.integers()))
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.frozensets(inner, max_size=3)
        | st.dictionaries(st.text(), inner, max_size=3).map(FrozenMap)
        | st.builds(Pair, inner, inner)
    ),
    max_leaves=12,
)
KINDS = (Colour, Pair, Outer, Outer.Inner)
DECODER = Decoder(KINDS)


@given(VALUES)
def test_what_was_encoded_is_read_back_with_all_its_types(value: Any) -> None:
    again = DECODER.decode(encode(value))
    assert again == value
    assert encode(again) == encode(value)
    assert kinds_within([value]) <= set(KINDS)
    assert Decoder(kinds_within([value])).decode(encode(value)) == value


@given(VALUES, st.data())
def test_other_bytes_are_an_error_or_another_value_with_just_these_bytes(value: Any, data: Any) -> None:
    raw = bytearray(encode(value))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        other = DECODER.decode(bytes(raw))
    except DecodeError:
        return
    assert encode(other) == bytes(raw)


@given(st.binary(max_size=40))
def test_any_bytes_are_an_error_or_a_value_with_just_these_bytes(raw: bytes) -> None:
    try:
        value = DECODER.decode(raw)
    except DecodeError:
        return
    assert encode(value) == raw


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"NN",
        b"i2: 1",
        b"i3:1_0",
        b"i2:01",
        b"(3:NN",
        b"(999999999999:N",
        b"s-1:a",
        b"(1" * 5_000,
        b"{2:NN",
        b"{2:i1:2i1:1",
        b"m2:i1:2Ni1:1N",
        b"m1:i1:1",
        b"d4:PairN",
    ],
)
def test_bytes_that_encode_nothing(raw: bytes) -> None:
    with pytest.raises(DecodeError):
        DECODER.decode(raw)


@pytest.mark.parametrize("value", [Pair(1), Outer.Inner(1), Colour.RED, (FrozenMap({"a": Pair(2)}),)])
def test_a_type_that_was_not_given_is_not_made(value: Any) -> None:
    with pytest.raises(DecodeError, match="no type given"):
        Decoder(()).decode(encode(value))


def test_names_of_what_is_loaded_mean_nothing() -> None:
    for raw in (b"d5:Path.s1:x", b"d14:pathlib.Path.s", b"d7:Decoder(0:", b"e6:Kind.X"):
        with pytest.raises(DecodeError):
            DECODER.decode(raw)


def test_two_types_of_one_name_are_refused() -> None:
    twin = dataclass(frozen=True)(
        type("Pair", (), {"__annotations__": {"left": int}, "__qualname__": "Pair"})
    )
    with pytest.raises(DecodeError, match="two types are called Pair"):
        Decoder([Pair, twin])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (Name("a"), "cannot be told"),
        (Odd(), "cannot be told"),
        (Point(1, 2), "cannot be told"),
        (Pair((Name("a"),)), "cannot be told"),
        (FrozenMap({1: Odd()}), "cannot be told"),
        (Flags.ONE | Flags.TWO, "no member"),
        (Keyed(value=1), "not given in order"),
        (Counted(1), "not given in order"),
        ([1], "cannot be told"),
        (1.5, "cannot be told"),
    ],
)
def test_what_could_not_be_read_back_is_noticed_before_it_is_kept(value: Any, why: str) -> None:
    with pytest.raises(DecodeError, match=why):
        kinds_within([(value,)])
