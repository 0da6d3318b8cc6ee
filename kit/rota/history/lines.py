"""The line format: an event is one JSON object on a line, with the number of its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from rota.history.event import Event, Kind, Source

SCHEMA = 1
"""Grows when a key changes its meaning. Keys and kinds that are new do not change it."""

_ENCODED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Made once: `json.dumps` makes an encoder for each line, which takes as long as the line."""

_SOURCES: Mapping[str, Source] = {one.value: one for one in Source}
_KINDS: Mapping[str, Kind] = {one.value: one for one in Kind}
"""By the words of lines: to look among all kinds takes longer than to read a line."""

T = TypeVar("T")

_TEXTS = ("group", "member", "instance", "client", "host", "state", "reason")


class LineError(ValueError):
    """A line that is no event. The message says what is wrong with it."""


def line_of(event: Event) -> str:
    """An event as a line, without its end. What is empty is left out."""
    values: dict[str, Any] = {
        "schema": SCHEMA,
        "at": event.at,
        "source": event.source.value,
        "origin": event.origin,
        "kind": event.kind.value,
    }
    values |= {name: value for name in _TEXTS if (value := getattr(event, name))}
    if event.generation is not None:
        values["generation"] = event.generation
    if event.data:
        values["data"] = dict(event.data)
    return _ENCODED(values)


def event_of(line: str | bytes) -> Event:
    """The event of a line. Errors: LineError; a schema or a kind of another age is told as such."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LineError(f"no JSON: {error}") from None
    if not isinstance(values, dict):
        raise LineError(f"a JSON {type(values).__name__} where an object is expected")
    return event_from(values)


def event_from(values: Mapping[str, Any]) -> Event:
    """The event of a line's keys and values. Errors: LineError, as of `event_of`."""
    if values.get("schema") != SCHEMA:
        raise LineError(f"schema {values.get('schema')!r}, and this reads schema {SCHEMA}")
    texts = {name: _of_type(values, name, (str,)) for name in _TEXTS if name in values}
    return Event(
        _of_type(values, "at", (int, float, type(None))),
        _known(values, "source", _SOURCES),
        _of_type(values, "origin", (str,)),
        _known(values, "kind", _KINDS),
        generation=_of_type(values, "generation", (int, type(None))),
        data=_of_type(values, "data", (dict,), {}),
        **texts,
    )


def _known(values: Mapping[str, Any], name: str, kinds: Mapping[str, T]) -> T:
    value = values.get(name)
    if not isinstance(value, str) or value not in kinds:
        raise LineError(f"{name} {value!r} is unknown here")
    return kinds[value]


def _of_type(values: Mapping[str, Any], name: str, types: tuple[type, ...], default: Any = None) -> Any:
    value = values.get(name, default)
    if not isinstance(value, types) or isinstance(value, bool):
        raise LineError(f"{name} is {value!r}")
    return value
