"""The line format: an event is one JSON object on a line, with the number of its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from rota.history.event import Event, Kind, Source

SCHEMA = 1
"""Grows when a key changes its meaning. Keys and kinds that are new do not change it."""

_ENCODED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Made once: `json.dumps` makes an encoder for each line, which takes as long as the line."""

_SOURCES: Mapping[str, Source] = {one.value: one for one in Source}
_KINDS: Mapping[str, Kind] = {one.value: one for one in Kind}
"""By the words of lines: to look among all kinds takes longer than to read a line."""

_DECODED = msgspec.json.Decoder(Event).decode
_USUAL = f'{{"schema":{SCHEMA},'.encode()
"""How lines begin that rota has written."""

_MOMENTS, _NUMBERS = frozenset({int, float, type(None)}), frozenset({int, type(None)})
_NOTHING: Mapping[str, Any] = {}

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
    told = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
    if told.startswith(_USUAL):
        try:
            return _DECODED(told)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass  # `event_from` says what is odd, and Python reads more than JSON has
    try:
        values = json.loads(told)
    except (ValueError, RecursionError) as error:
        raise LineError(f"no JSON: {error}") from None
    if type(values) is not dict:
        raise LineError(f"a JSON {type(values).__name__} where an object is expected")
    return event_from(values)


def event_from(values: Mapping[str, Any]) -> Event:
    """The event of a line's keys and values. Errors: LineError, as of `event_of`."""
    get = values.get
    if get("schema") != SCHEMA:
        raise LineError(f"schema {get('schema')!r}, and this reads schema {SCHEMA}")
    texts: list[Any] = [get(name, "") for name in _TEXTS]
    for name, value in zip(_TEXTS, texts, strict=True):
        if type(value) is not str:
            raise _odd(name, value)
    at, origin, generation, data = get("at"), get("origin"), get("generation"), get("data", _NOTHING)
    if type(at) not in _MOMENTS:
        raise _odd("at", at)
    source = _known("source", get("source"), _SOURCES)
    if type(origin) is not str:
        raise _odd("origin", origin)
    kind = _known("kind", get("kind"), _KINDS)
    if type(generation) not in _NUMBERS:
        raise _odd("generation", generation)
    if type(data) is not dict:
        raise _odd("data", data)
    group, member, instance, client, host, state, reason = texts
    return Event(
        at, source, origin, kind, group, member, instance, client, host, generation, state, reason, data or {}
    )


def _odd(name: str, value: object) -> LineError:
    return LineError(f"{name} is {value!r}")


def _known(name: str, value: Any, kinds: Mapping[str, T]) -> T:
    if type(value) is not str or value not in kinds:
        raise LineError(f"{name} {value!r} is unknown here")
    return kinds[value]
