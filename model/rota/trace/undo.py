"""What a value would be if something that changed in it before had not."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rota.kernel import replace
from rota.kernel.structs import Frozen
from rota.trace.render import dotted, keyed, sequence

ABSENT = object()
"""Stands for the value of a key that is not there."""


def undone(later: Sequence[Any], old: Any, new: Any, paths: Collection[str], path: str = "") -> Any:
    """A value without changes that came to it some time ago, as far as these have stood ever since.

    Parameters: later, what the value has been since the changes, itself last; old and new, before and after
    them; paths, of the changes, as in `rota.trace.differences`; path, where the value is.
    """
    value = later[-1]
    if type(old) is type(new) and old == new:
        return value
    since = _told_once(later)
    alike = type(old) is type(new) and all(type(one) is type(new) for one in since)
    if alike and dataclasses.is_dataclass(value):
        return _with_fields(since, old, new, paths, path)
    if alike and isinstance(value, Mapping):
        return _with_keys(since, old, new, paths, path)
    if alike and isinstance(value, frozenset):
        if path not in paths:
            return value
        came, went = (new - old).intersection(*since), (old - new).difference(*since)
        return (value - came) | went
    if all(map(sequence, (old, new, *since))) and {len(old), len(new)} == {len(one) for one in since}:
        parts = enumerate(zip(old, new, zip(*since, strict=True), strict=True))
        return tuple(undone(each, a, b, paths, f"{path}[{place}]") for place, (a, b, each) in parts)
    stood = all(type(one) is type(new) and one == new for one in since)
    return old if path in paths and stood else value


def _told_once(values: Sequence[Any]) -> list[Any]:
    """Values without those that are the one before them: most of what a state is made of stays."""
    return [one for place, one in enumerate(values) if not place or one is not values[place - 1]]


def _with_fields(since: Sequence[Any], old: Any, new: Any, paths: Collection[str], path: str) -> Any:
    changes = {}
    for one in dataclasses.fields(new):
        each = [getattr(value, one.name) for value in since]
        before, after = getattr(old, one.name), getattr(new, one.name)
        changes[one.name] = undone(each, before, after, paths, dotted(path, one.name))
    made: Any = replace if isinstance(new, Frozen) else dataclasses.replace
    return made(since[-1], **changes)


def _with_keys(
    since: Sequence[Mapping[Any, Any]],
    old: Mapping[Any, Any],
    new: Mapping[Any, Any],
    paths: Collection[str],
    path: str,
) -> Any:
    """Keys that came are taken out, those that went come back."""
    items = {}
    for key in dict.fromkeys((*since[-1], *old)):
        each = [value.get(key, ABSENT) for value in since]
        left = undone(each, old.get(key, ABSENT), new.get(key, ABSENT), paths, keyed(path, key))
        if left is not ABSENT:
            items[key] = left
    made: Any = type(new)
    return made(items)
