"""Values of machines as lines: a long one is broken at its brackets, and what changed in it is found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache

COLUMNS = 64
"""A line is about so long at most, where there is a bracket to break it at."""

DEEPEST, LONGEST = 30, 20_000
"""Brackets in brackets and letters of a value, beyond which it is left as it is."""

_PIECE = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[(\[{]|[)\]}]|, |[^'"(\[{)\]},]+|.""", re.DOTALL)
_CLOSES = {"(": ")", "[": "]", "{": "}"}


@dataclass
class _Group:
    """What is in a pair of brackets, or outside of all: items, each of texts and groups."""

    opening: str = ""
    items: list[list[str | _Group]] = field(default_factory=lambda: [[]])


@cache
def lines(value: str) -> tuple[str, ...]:
    """A value as lines, indented by what they are part of."""
    tree = _tree(value) if COLUMNS < len(value) <= LONGEST else None
    return tuple(_laid_out(tree, "")) if tree else (value,)


def _tree(value: str) -> _Group | None:
    """The value by its brackets; None where they do not match."""
    open_groups = [_Group()]
    for piece in _PIECE.findall(value):
        if piece in _CLOSES and len(open_groups) <= DEEPEST:
            group = _Group(piece)
            open_groups[-1].items[-1].append(group)
            open_groups.append(group)
        elif piece in _CLOSES:
            return None
        elif piece in _CLOSES.values():
            if _CLOSES.get(open_groups.pop().opening) != piece:
                return None
        elif piece == ", ":
            open_groups[-1].items.append([])
        else:
            open_groups[-1].items[-1].append(piece)
    return open_groups[0] if len(open_groups) == 1 else None


def _flat(part: str | _Group) -> str:
    if isinstance(part, str):
        return part
    inner = ", ".join("".join(map(_flat, item)) for item in part.items)
    return f"{part.opening}{inner}{_CLOSES.get(part.opening, '')}"


def _laid_out(group: _Group, indent: str) -> list[str]:
    """A line for each item, or several for an item that is too long."""
    result: list[str] = []
    for number, item in enumerate(group.items):
        comma = "," if number < len(group.items) - 1 else ""
        flat = "".join(map(_flat, item)) + comma
        inner = next((part for part in reversed(item) if isinstance(part, _Group)), None)
        if inner is None or len(indent) + len(flat) <= COLUMNS:
            result.append(indent + flat)
            continue
        before = "".join(_flat(part) for part in item[: item.index(inner)])
        after = "".join(_flat(part) for part in item[item.index(inner) + 1 :])
        result.append(f"{indent}{before}{inner.opening}")
        result.extend(_laid_out(inner, indent + "  "))
        result.append(f"{indent}{_CLOSES[inner.opening]}{after}{comma}")
    return result


def changed(old: Sequence[str], new: Sequence[str]) -> tuple[int, ...]:
    """The lines of a value, by number, that its last value did not have there."""
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    fresh = [
        number
        for code, _, _, low, high in codes
        if code in ("insert", "replace")
        for number in range(low, high)
    ]
    return tuple(number for number in fresh if new[number].strip(" ,()[]{}"))
