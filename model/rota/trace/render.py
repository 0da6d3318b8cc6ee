"""Values as text, and what changed between two values, field by field.

Texts are short: a dataclass shows the fields that differ from their defaults, or its own `__str__` where it
has one. They are the same in every process: sets and maps come in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from typing import Any


@dataclass(frozen=True)
class Difference:
    """A change of one part of one machine's value.

    path: fields and keys, e.g. `group.members[c1-1].assignment`, empty for the whole value; old and new:
    texts, None where there was or is nothing. What left a set or queue and what came into it
    are differences of their own.
    """

    machine: str
    path: str
    old: str | None
    new: str | None


def render(value: Any) -> str:
    """A value as short text."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return value.value if isinstance(value.value, str) else value.name
    if isinstance(value, str):
        return value if value and value.isprintable() and value == value.strip() else repr(value)
    if isinstance(value, bytes):
        return _bytes(value)
    if isinstance(value, frozenset):
        return _bracketed("{", sorted(render(item) for item in value), "}")
    if isinstance(value, Mapping):
        return _bracketed("{", [f"{render(key)}: {render(item)}" for key, item in value.items()], "}")
    if is_dataclass(value):
        return _dataclass(value)
    if isinstance(value, tuple):
        return _bracketed("[", [render(item) for item in value], "]")
    return repr(value)


def _bytes(value: bytes) -> str:
    text = value.decode("ascii", "replace")
    readable = text.isprintable() and "\N{REPLACEMENT CHARACTER}" not in text
    return repr(text) if readable else f"0x{value.hex()}"


def _bracketed(left: str, items: list[str], right: str) -> str:
    return left + ", ".join(items) + right


def _dataclass(value: Any) -> str:
    if "__str__" in vars(type(value)):
        return str(value)
    shown = [one for one in fields(value) if not _is_default(one, getattr(value, one.name))]
    texts = [render(getattr(value, one.name)) for one in shown]
    if len(fields(value)) > 2:
        texts = [f"{one.name}={text}" for one, text in zip(shown, texts, strict=True)]
    return _bracketed(f"{type(value).__name__}(", texts, ")")


def _is_default(one: Field[Any], value: Any) -> bool:
    if one.default is not MISSING:
        return bool(value == one.default)
    return one.default_factory is not MISSING and bool(value == one.default_factory())


def differences(machine: str, old: Any, new: Any) -> tuple[Difference, ...]:
    """What changed in a machine's value, in the order of its fields and keys; nothing where all is equal."""
    return tuple(Difference(machine, path, *texts) for path, *texts in _walk("", old, new))


Change = tuple[str, str | None, str | None]


def _walk(path: str, old: Any, new: Any) -> Iterator[Change]:
    if type(old) is type(new) and old == new:
        return
    if is_dataclass(old) and type(old) is type(new):
        for one in fields(old):
            yield from _walk(dotted(path, one.name), getattr(old, one.name), getattr(new, one.name))
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _walk_mapping(path, old, new)
    elif isinstance(old, frozenset) and isinstance(new, frozenset):
        if old - new:
            yield path, _members(old - new), None
        if new - old:
            yield path, None, _members(new - old)
    elif sequence(old) and sequence(new):
        yield from _walk_tuple(path, old, new)
    else:
        yield path, render(old), render(new)


def _walk_mapping(path: str, old: Mapping[Any, Any], new: Mapping[Any, Any]) -> Iterator[Change]:
    for key in (*old, *(key for key in new if key not in old)):
        inner = keyed(path, key)
        if key not in new:
            yield inner, render(old[key]), None
        elif key not in old:
            yield inner, None, render(new[key])
        else:
            yield from _walk(inner, old[key], new[key])


def _walk_tuple(path: str, old: tuple[Any, ...], new: tuple[Any, ...]) -> Iterator[Change]:
    """Part by part; a queue shows what went in at its end or out at its front."""
    if len(old) == len(new):
        for position, pair in enumerate(zip(old, new, strict=True)):
            yield from _walk(f"{path}[{position}]", *pair)
    elif new[: len(old)] == old:
        yield path, None, ", ".join(render(item) for item in new[len(old) :])
    elif old[len(old) - len(new) :] == new:
        yield path, ", ".join(render(item) for item in old[: len(old) - len(new)]), None
    else:
        yield path, render(old), render(new)


def _members(items: frozenset[Any]) -> str:
    return ", ".join(sorted(render(item) for item in items))


def dotted(path: str, name: str) -> str:
    """The path of a field."""
    return f"{path}.{name}" if path else name


def keyed(path: str, key: Any) -> str:
    """The path of a key of a mapping."""
    return f"{path}[{render(key)}]"


def sequence(value: Any) -> bool:
    """Whether it is a tuple that is made of parts: frozen values are tuples, too, and are made of fields."""
    return isinstance(value, tuple) and not is_dataclass(value)
