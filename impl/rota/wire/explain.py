"""Why a body cannot be written: looked for only after the writing has failed."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from rota.wire.schema import FIXED, Field
from rota.wire.source import absent, element_of


def objections(fields: Sequence[Field], version: int, body: Any, path: str = "") -> Iterator[str]:
    """Each value of the body that this version of the message cannot carry, as `path: reason`."""
    if not isinstance(body, Mapping):
        yield f"{path or 'body'}: expected a mapping, got {type(body).__name__}"
        return
    for field in fields:
        if version in field.versions:
            yield from _value(field, version, body.get(field.name, absent(field, version)), path + field.name)
    yield from _tags(body.get("_tags"), path)


def _value(field: Field, version: int, value: Any, path: str) -> Iterator[str]:
    if value is None:
        if version not in field.nullable:
            yield f"{path}: null is not allowed in version {version}"
    elif field.array:
        yield from _elements(field, version, value, path)
    elif field.type == "struct":
        yield from objections(field.fields, version, value, f"{path}.")
    elif reason := _plain(field.type, value):
        yield f"{path}: {reason}"


def _elements(field: Field, version: int, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        yield f"{path}: expected a list, got {type(value).__name__}"
        return
    for index, item in enumerate(value):
        yield from _value(element_of(field), version, item, f"{path}[{index}]")


def _plain(kind: str, value: Any) -> str | None:
    if kind == "string":
        return _string(value)
    if kind == "bytes":
        return None if isinstance(value, (bytes, bytearray, memoryview)) else _expected("bytes", value)
    if kind == "uuid":
        return None if isinstance(value, UUID) else _expected("a uuid.UUID", value)
    try:
        struct.pack(f">{FIXED[kind]}", value)
    except struct.error:
        return f"{value!r} is not an {kind}" if isinstance(value, int) else _expected(f"an {kind}", value)
    return None


def _string(value: Any) -> str | None:
    if not isinstance(value, str):
        return _expected("a string", value)
    try:
        length = len(value.encode())
    except UnicodeEncodeError:
        return "the string has a lone surrogate, which UTF-8 cannot carry"
    return None if length <= 0x7FFF else f"a string of {length} bytes is too long"


def _tags(tags: Any, path: str) -> Iterator[str]:
    if tags is None:
        return
    if not isinstance(tags, Mapping):
        yield f"{path}_tags: expected a mapping from tag to bytes, got {type(tags).__name__}"
        return
    for tag, value in tags.items():
        if not isinstance(tag, int) or tag < 0 or not isinstance(value, bytes):
            yield f"{path}_tags: {tag!r}: {value!r} is not a tag with its bytes"


def _expected(what: str, value: Any) -> str:
    return f"expected {what}, got {type(value).__name__}"
