"""How the text of a config is read, as Kafka reads it, and what is said of one that cannot be.

Source: upstream's ConfigDef (parseType, Range, ValidString, ValidList), of which the texts are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from rota.server.errors import ErrorCode, Refusal

Value = int | float | bool | str | tuple[str, ...]

BOOLEAN, STRING, INT, LONG, DOUBLE, LIST = 1, 2, 3, 5, 6, 7
"""The types of configs, by the numbers of DescribeConfigs."""

_MOST = {INT: 2**31 - 1, LONG: 2**63 - 1}
_NAMES = {INT: "INT", LONG: "LONG", DOUBLE: "DOUBLE"}
_INTEGER = re.compile(r"[+-]?[0-9]+")

Check = Callable[[Value], str]
"""What is wrong with a value, an empty text if nothing is."""


class BadValue(ValueError):
    """A value that cannot be; the text is Kafka's."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A type by its number, and what its values have to be."""

    number: int
    check: Check
    shown: Callable[[Value], str] = str

    def read(self, name: str, text: str) -> Value:
        """The value. Errors: BadValue, for which `name` is said."""
        value = _parsed(self.number, name, text)
        wrong = self.check(value)
        if wrong:
            raise BadValue(f"Invalid value {self.shown(value)} for configuration {name}: {wrong}")
        return value


def _parsed(number: int, name: str, text: str) -> Value:
    stripped = text.strip()
    if number == STRING:
        return text
    if number == LIST:
        return tuple(each.strip() for each in stripped.split(",")) if stripped else ()
    if number == BOOLEAN:
        known = {"true": True, "false": False}
        if stripped.lower() not in known:
            raise _bad(name, text, "Expected value to be either true or false")
        return known[stripped.lower()]
    value = _number(number, stripped)
    if value is None:
        raise _bad(name, stripped, f"Not a number of type {_NAMES[number]}")
    return value


def _number(number: int, text: str) -> int | float | None:
    if number == DOUBLE:
        try:
            value = float(text)
        except ValueError:
            return None
        return value if math.isfinite(value) else None
    if not _INTEGER.fullmatch(text) or len(text) > 20:
        return None
    whole = int(text)
    return whole if -_MOST[number] - 1 <= whole <= _MOST[number] else None


def _bad(name: str, text: str, why: str) -> BadValue:
    return BadValue(f"Invalid value {text} for configuration {name}: {why}")


def whole(number: int, least: int | None = None, most: int | None = None) -> Kind:
    """An INT or a LONG within bounds."""
    return Kind(number, _bounds(least, most))


def ratio() -> Kind:
    """A DOUBLE from 0 to 1."""
    return Kind(DOUBLE, _bounds(0, 1))


def _bounds(least: int | None, most: int | None) -> Check:
    def check(value: Value) -> str:
        assert isinstance(value, int | float)
        if least is not None and value < least:
            return f"Value must be at least {least}"
        if most is not None and value > most:
            return f"Value must be no more than {most}"
        return ""

    return check


def gzip_level() -> Kind:
    """An INT from 1 to 9, or -1."""
    return Kind(
        INT,
        lambda value: "" if value in (-1, *range(1, 10)) else "Value must be between 1 and 9 or equal to -1",
    )


def boolean() -> Kind:
    """true or false."""
    return Kind(BOOLEAN, lambda value: "")


def one_of(*choices: str) -> Kind:
    """A STRING out of these."""
    text = f"String must be one of: {', '.join(choices)}"
    return Kind(STRING, lambda value: "" if value in choices else text)


def formed(pattern: str, otherwise: str) -> Kind:
    """A STRING of a form; `otherwise` is said of one that is not, which stands for {}."""
    form = re.compile(pattern)
    return Kind(STRING, lambda value: "" if form.fullmatch(str(value)) else otherwise.format(value))


def any_text() -> Kind:
    """Any STRING."""
    return Kind(STRING, lambda value: "")


def any_list() -> Kind:
    """Any LIST."""
    return Kind(LIST, lambda value: "")


def some_of(*choices: str) -> Kind:
    """A LIST of these."""
    text = f"String must be one of: {', '.join(choices)}"

    def wrong(value: Value) -> str | None:
        assert isinstance(value, tuple)
        return next((each for each in value if each not in choices), None)

    return Kind(LIST, lambda value: text if wrong(value) is not None else "", lambda value: str(wrong(value)))


def replicas(name: str) -> Kind:
    """A LIST of partitions with their brokers, or of everything."""
    text = (
        f"{name} must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
    )
    pair = re.compile(r"[0-9]+:[0-9]+")

    def check(value: Value) -> str:
        assert isinstance(value, tuple)
        return "" if value == ("*",) or all(map(pair.fullmatch, value)) else text

    return Kind(LIST, check, lambda value: f"[{', '.join(value)}]" if isinstance(value, tuple) else "")


def refused(error: BadValue) -> Refusal:
    """The answer to a bad value of a topic."""
    return Refusal(ErrorCode.INVALID_CONFIG, str(error))
