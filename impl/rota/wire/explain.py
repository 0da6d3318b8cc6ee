"""Why a body cannot be written: looked for only after the writing has failed."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from rota.wire.runtime import MAX_STRING, Raw
from rota.wire.schema import FIXED, Field
from rota.wire.source import absent, element_of


def objections(
    fields: Sequence[Field], version: int, body: Any, path: str = "", odd: bool = False
) -> Iterator[str]:
    """Each value of the body that this version of the message cannot carry, as `path: reason`.

    With `odd` nothing is said against what the odd variant of the encoder writes.
    """
    if not isinstance(body, Mapping):
        yield f"{path or 'body'}: {_expected('a mapping', body)}"
        return
    for field in fields:
        if version in field.versions:
            value = body.get(field.name, absent(field, version))
            yield from _value(field, version, value, path + field.name, odd)
    yield from _tags(body.get("_tags"), path, odd)


def _value(field: Field, version: int, value: Any, path: str, odd: bool) -> Iterator[str]:
    sized = field.array or field.type in ("string", "bytes")
    if odd and (isinstance(value, Raw) or (value is None and sized)):
        return
    if value is None:
        if version not in field.nullable:
            yield f"{path}: null is not allowed in version {version}"
    elif field.array:
        yield from _elements(field, version, value, path, odd)
    elif field.type == "struct":
        yield from objections(field.fields, version, value, f"{path}.", odd)
    elif reason := _plain(field.type, value, odd):
        yield f"{path}: {reason}"


def _elements(field: Field, version: int, value: Any, path: str, odd: bool) -> Iterator[str]:
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        yield f"{path}: {_expected('a list', value)}"
        return
    for index, item in enumerate(value):
        yield from _value(element_of(field), version, item, f"{path}[{index}]", odd)


def _plain(kind: str, value: Any, odd: bool) -> str | None:
    if kind == "string":
        return _string(value, odd)
    if kind == "bytes":
        return None if isinstance(value, (bytes, bytearray, memoryview)) else _expected("bytes", value)
    if kind == "uuid":
        return None if isinstance(value, UUID) else _expected("a uuid.UUID", value)
    try:
        struct.pack(f">{FIXED[kind]}", value)
    except struct.error:
        return f"{value!r} is not an {kind}" if isinstance(value, int) else _expected(f"an {kind}", value)
    return None


def _string(value: Any, odd: bool) -> str | None:
    if odd and isinstance(value, bytes):
        return _too_long(len(value))
    if not isinstance(value, str):
        return _expected("a string", value)
    try:
        return _too_long(len(value.encode()))
    except UnicodeEncodeError:
        return "the string has a lone surrogate, which UTF-8 cannot carry"


def _too_long(length: int) -> str | None:
    return None if length <= MAX_STRING else f"a string of {length} bytes is too long"


def _tags(tags: Any, path: str, odd: bool) -> Iterator[str]:
    if tags is None or (odd and isinstance(tags, Raw)):
        return
    if not isinstance(tags, Mapping):
        yield f"{path}_tags: {_expected('a mapping from tag to bytes', tags)}"
        return
    for tag, value in tags.items():
        if not isinstance(tag, int) or tag < 0 or not isinstance(value, bytes):
            yield f"{path}_tags: {tag!r}: {value!r} is not a tag with its bytes"


def _expected(what: str, value: Any) -> str:
    hint = ", which takes odd=True" if isinstance(value, Raw) else ""
    return f"expected {what}, got {type(value).__name__}{hint}"
