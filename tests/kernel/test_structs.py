"""Frozen values: like dataclasses to whoever uses them, like tuples to whoever compares and hashes them."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass, field, fields, is_dataclass
from dataclasses import replace as replace_dataclass
from enum import Enum
from typing import Any

import pytest

from rota.environment.clients.state import Client
from rota.kernel import FrozenMap, encode, frozen, replace
from rota.kernel.structs import Frozen, parts_of


class Colour(Enum):
    RED = 1


@frozen
class Point:
    """A point."""

    x: int
    y: int = 0
    names: FrozenMap[str, int] = field(default_factory=FrozenMap)

    @property
    def total(self) -> int:
        return self.x + self.y


@frozen
class Pixel(Point):
    """A point that has a colour."""

    colour: Colour = Colour.RED


@frozen
class Place:
    """Looks like a point and is none."""

    x: int
    y: int = 0
    names: FrozenMap[str, int] = field(default_factory=FrozenMap)


@frozen
class Nothing:
    """Says all by being there."""


@frozen(order=True)
class Version:
    major: int
    minor: int = 0


@frozen(kw_only=True)
class Text:
    text: str = ""
    size: int = 1


@frozen
class Sign(Text):
    height: int


def test_fields_are_there_by_name_and_position() -> None:
    point = Point(1, y=2)
    assert (point.x, point.y, point.names, point.total) == (1, 2, FrozenMap(), 3)
    assert repr(point) == "Point(x=1, y=2, names=FrozenMap({}))"
    assert parts_of(point) == (1, 2, FrozenMap())
    assert Pixel(1).colour is Colour.RED
    assert repr(Nothing()) == "Nothing()"


@pytest.mark.parametrize(
    ("given", "named"), [((), {}), ((1, 2, FrozenMap(), 4), {}), ((1,), {"z": 2}), ((1,), {"x": 1})]
)
def test_other_fields_are_refused(given: Any, named: Any) -> None:
    with pytest.raises(TypeError):
        Point(*given, **named)


def test_fields_given_by_name() -> None:
    assert repr(Sign(3)) == "Sign(text='', size=1, height=3)"
    assert Sign(3, text="x") == replace(Sign(3), text="x") != Sign(3)
    with pytest.raises(TypeError):
        Sign(3, "x")  # type: ignore[misc]


def test_equality_is_that_of_the_class_and_all_fields() -> None:
    assert Point(1, 2) == Point(1, 2)
    assert Point(1, 2) != Point(1, 3)
    assert Point(1, 2) != Place(1, 2)
    assert Point(1) != Pixel(1)
    assert Point(1, 2) != (1, 2, FrozenMap())
    assert Nothing() == Nothing()


def test_equal_values_have_equal_hashes_and_kinds_do_not_meet() -> None:
    assert hash(Point(1, 2)) == hash(Point(1, 2))
    assert len({Point(1, 2), Point(1, 2), Place(1, 2), Pixel(1, 2)}) == 3


@pytest.mark.parametrize("name", ["x", "names", "z", "total"])
def test_nothing_can_be_set_or_deleted(name: str) -> None:
    point = Point(1)
    with pytest.raises(AttributeError):
        setattr(point, name, 2)
    with pytest.raises(AttributeError):
        delattr(point, name)
    assert point == Point(1)


def test_there_is_no_instance_dict() -> None:
    assert not hasattr(Point(1), "__dict__")
    assert not hasattr(Client("c1"), "__dict__")
    assert sys.getsizeof(Nothing()) < 64


def test_it_is_no_sequence() -> None:
    with pytest.raises(TypeError, match="Point is no sequence"):
        _, *_ = Point(1)  # type: ignore[misc]
    with pytest.raises(TypeError, match="no sequence"):
        list(Point(1))  # type: ignore[call-overload]


def test_only_ordered_values_are_sorted() -> None:
    assert sorted([Version(2), Version(1, 5), Version(1)]) == [Version(1), Version(1, 5), Version(2)]
    with pytest.raises(TypeError, match="not supported between"):
        sorted([Point(2), Point(1)])  # type: ignore[type-var]
    with pytest.raises(TypeError, match="not supported between"):
        _ = Version(1) < Nothing()  # type: ignore[operator]


def test_a_copy_with_other_fields() -> None:
    point = Point(1, 2)
    assert replace(point, y=3) == Point(1, 3)
    assert replace(point, x=5, y=6) == replace_dataclass(point, x=5, y=6) == Point(5, 6)
    assert type(replace(Pixel(1), y=3)) is Pixel
    assert point == Point(1, 2)


def test_a_copy_of_what_stays_the_same_is_no_copy() -> None:
    point = Point(1, 2)
    assert replace(point, y=point.y) is point
    # equal is not enough: the two are not the same in a state
    assert replace(point, x=True).x is True


def test_a_copy_with_a_field_that_is_not_there() -> None:
    with pytest.raises(TypeError, match="Point has no field 'z'"):
        replace(Point(1), z=2)  # type: ignore[call-arg]


def test_a_copy_of_what_is_no_frozen_value() -> None:
    with pytest.raises(TypeError):
        replace(replace_dataclass(Plain(1)), x=2)


@dataclass(frozen=True)
class Plain:
    x: int


def test_it_is_a_dataclass() -> None:
    assert is_dataclass(Point)
    assert [one.name for one in fields(Pixel)] == ["x", "y", "names", "colour"]
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_a_default_factory_is_called_once() -> None:
    assert Point(1).names is Point(2).names


def test_copies_and_pickles_are_equal() -> None:
    for value in (Pixel(1, 2, FrozenMap({"a": 1})), Nothing(), Version(1), Sign(3, size=2)):
        assert copy.copy(value) == copy.deepcopy(value) == value
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(value, protocol))
            assert again == value
            assert type(again) is type(value)


ELSEWHERE = """
import pickle, sys
from rota.environment.clients.state import Client
from rota.kernel import encode
from rota.spec import ErrorCode, HeartbeatReply
value = Client("c1", member_id="c1-1", inbox=HeartbeatReply(ErrorCode.NONE))
sys.stdout.buffer.write(pickle.dumps((value, {value: "found"}, hash(value), encode(value))))
"""


def _made_elsewhere(seed: str) -> Any:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], env=environment, capture_output=True, check=True)
    return pickle.loads(done.stdout)


def test_pickles_travel_between_processes_with_other_hashes() -> None:
    """A hash that came along would be another one than that of an equal value here."""
    (one, named, first, raw), (other, _, second, same) = _made_elsewhere("1"), _made_elsewhere("2")
    assert first != second
    assert one == other
    assert hash(one) == hash(other)
    assert named[other] == "found"
    assert raw == same == encode(one)


@pytest.mark.parametrize("kind", [Point, Pixel, Place, Version, Nothing])
def test_the_encoding_is_that_of_a_dataclass(kind: Any) -> None:
    """Digests are those of the time when values were plain dataclasses."""
    names = [(one.name, one.type) for one in fields(kind)]
    plain = dataclass(frozen=True)(
        type(kind.__name__, (), {"__annotations__": dict(names), "__qualname__": kind.__qualname__})
    )
    given = [1, 2, FrozenMap({"a": 1}), Colour.RED][: len(names)]
    assert encode(kind(*given)) == encode(plain(*given))
    assert not issubclass(plain, Frozen)


def test_equal_values_of_other_types_have_other_encodings() -> None:
    assert Point(True) == Point(1)
    assert encode(Point(True)) != encode(Point(1))
    assert encode(FrozenMap({"a": Point(True)})) != encode(FrozenMap({"a": Point(1)}))


def test_what_is_no_value_is_refused() -> None:
    class Prepared:
        x: int

        def __post_init__(self) -> None:
            raise AssertionError

    class Silent:
        x: int = field(init=False, default=1)

    class Roomy:
        pass

    class Late(Roomy):
        x: int

    for kind in (Prepared, Silent, Late):
        with pytest.raises(TypeError, match=kind.__name__):
            frozen(kind)
