"""Expressions about states, as they are typed for `rota check --reach`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

from rota.kernel import FrozenMap
from rota.trace.expressions import NOTHING, ExpressionError, parse


class Colour(Enum):
    RED = "red"
    DEEP = 7


@dataclass(frozen=True)
class Part:
    number: int
    colour: Colour = Colour.RED


@dataclass(frozen=True)
class Value:
    part: Part | None = None
    parts: FrozenMap[str, Part] = FrozenMap({"a": Part(1), "b": Part(2, Colour.DEEP)})  # noqa: RUF009
    row: tuple[int, ...] = (3, 4)

    @property
    def double(self) -> int:
        return 2 * self.row[0]

    def method(self) -> int:
        raise AssertionError("nothing is called")


NAMES = ["shop", "client", "client/c1", "client/c10"]


def of(text: str, value: Any = None) -> Any:
    """What an expression about the shop gives."""
    expression = parse(text, NAMES)
    assert [name for name, _ in expression.reads] == ["shop"]
    return expression.evaluate(expression.seen(0, value or Value()))


@pytest.mark.parametrize(
    "text",
    [
        "shop.row == (3, 4)",
        "shop.row[0] + 1 == shop.row[1] and not shop.row[0] > shop.row[1]",
        "shop.double == 6",
        "shop.part is None",
        'shop.parts["a"].number == 1 and shop.parts["b"].colour == "DEEP"',
        'shop.parts.get("a").colour == "red"',
        "len(shop.parts) == 2 and sum(one.number for one in shop.parts.values()) == 3",
        'any(name == "b" and one.colour == "DEEP" for name, one in shop.parts.items())',
        'set(one.colour for one in shop.parts.values()) == {"red", "DEEP"}',
        "sorted(shop.parts.keys()) == ['a', 'b']",
        '"a" in shop.parts and "c" not in shop.parts',
        "max(shop.row) if shop.row else False",
        '"client/c1" == "client/c1" and shop.row',
    ],
)
def test_what_is_so(text: str) -> None:
    assert of(text)
    assert not of(f"not ({text})")


@pytest.mark.parametrize(
    "text",
    ["shop.part.number == 1", "shop.part.number != 1", "shop.part.number < 1", "shop.part.number + 1 >= 0",
     "shop.part.number is None", 'shop.parts["z"].number == 1', "shop.row[9] == 4", "shop.method",
     "1 in shop.part.number", "len(shop.part.number)", "shop.row.values()", "-shop.part.number <= 0"],
)  # fmt: skip
def test_nothing_is_true_of_what_is_not_there(text: str) -> None:
    assert not of(text)
    assert of(f"not ({text})") is True


def test_what_is_read() -> None:
    expression = parse('client/c10.part.number == 1 and client/c1.part.colour == "red" and client.row', NAMES)
    assert expression.reads == (
        ("client/c10", (("part", "number"),)),
        ("client/c1", (("part", "colour"),)),
        ("client", (("row",),)),
    )
    with_part = Value(Part(1))
    assert expression.seen(0, with_part) == (1,)
    assert expression.seen(1, with_part) == ("red",)
    assert expression.seen(0, Value()) == (NOTHING,)
    assert hash(expression.seen(0, Value())) == hash((NOTHING,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shop.row ==", r"cannot be read \(invalid syntax\)"),
        ("shpo.row", "no machine or role shpo; did you mean shop"),
        ("client/c2.row", "/ is for names of machines; there are client, client/c1"),
        ("3 > 2", "names no machine and no role"),
        ("shop.__class__", "__class__ is not for expressions"),
        ("[one.__class__ for one in shop.row]", "__class__ is not for expressions"),
        ("shop.method()", "shop.method cannot be called"),
        ("open('x')", "open cannot be called; there are all, any"),
        ("__import__('os')", "__import__ cannot be called"),
        ("(lambda: shop)()", "lambda: shop cannot be called"),
        ("lambda: shop.row", "Lambda has no place in it"),
        ("shop.row[0:1]", "Slice has no place in it"),
        ("f'{shop.row}'", "JoinedStr has no place in it"),
        ("(x := shop.row)", "NamedExpr has no place in it"),
        ("shop.row ** 2", "Pow has no place in it"),
        ("any(one for one in shop.row) and one", "no machine or role one"),
        ("len(obj=shop)", "len cannot be called"),
    ],
)
def test_what_is_no_expression(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        parse(text, NAMES)


def test_what_cannot_be_worked_out_names_the_expression() -> None:
    with pytest.raises(ExpressionError, match=r"shop\.row < 3: '<' not supported"):
        of("shop.row < 3")


def test_python_says_the_same() -> None:
    """Without names of machines an expression means what it means in Python."""
    for text in ("{0} * 3 % 4 // 1 - 1", "not {0} and {0} or 5", "{0} in (1, 2, [2])", "2 if {0} > 1 else 3"):
        assert of(text.format("shop.row[0]")) == eval(text.format("3"))
