"""What a value would be if something that changed in it before had not."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from rota.kernel import replace
from rota.kernel.structs import Frozen
from rota.trace.render import dotted, keyed, sequence

ABSENT = object()
"""Stands for the value of a key that is not there."""


def undone(value: Any, old: Any, new: Any, paths: Collection[str], path: str = "") -> Any:
    """A later value without changes from an old value to a new one, as far as these still stand.

    paths: the changes, by their paths in `rota.trace.differences`; path: where the value is.
    """
    if type(old) is type(new) and old == new:
        return value
    alike = type(old) is type(new) is type(value)
    if alike and dataclasses.is_dataclass(value):
        return _with_fields(value, old, new, paths, path)
    if alike and isinstance(value, Mapping):
        return _with_keys(value, old, new, paths, path)
    if alike and isinstance(value, frozenset):
        return (value - (new - old)) | (old - new) if path in paths else value
    if all(map(sequence, (value, old, new))) and len(value) == len(old) == len(new):
        parts = enumerate(zip(value, old, new, strict=True))
        return tuple(undone(a, b, c, paths, f"{path}[{place}]") for place, (a, b, c) in parts)
    stands = type(value) is type(new) and value == new
    return old if path in paths and stands else value


def _with_fields(value: Any, old: Any, new: Any, paths: Collection[str], path: str) -> Any:
    changes = {}
    for one in dataclasses.fields(value):
        now, before, after = (getattr(each, one.name) for each in (value, old, new))
        changes[one.name] = undone(now, before, after, paths, dotted(path, one.name))
    made: Any = replace if isinstance(value, Frozen) else dataclasses.replace
    return made(value, **changes)


def _with_keys(
    value: Mapping[Any, Any],
    old: Mapping[Any, Any],
    new: Mapping[Any, Any],
    paths: Collection[str],
    path: str,
) -> Any:
    """Keys that came are taken out, those that went come back."""
    items = {}
    for key in dict.fromkeys((*value, *old)):
        now, before, after = (each.get(key, ABSENT) for each in (value, old, new))
        left = undone(now, before, after, paths, keyed(path, key))
        if left is not ABSENT:
            items[key] = left
    made: Any = type(value)
    return made(items)
