"""What compiled programs call for the rarer things: long varints, tagged fields, refusals."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, NoReturn

from rota.wire.errors import WireError

MAX_STRING = 0x7FFF
"""Longest string in bytes that Kafka reads, in compact encoding too."""

MAX_TAGS = 1_000
"""Most tagged fields of one structure. No message has more than three that are known."""

FAILURES = (AttributeError, TypeError, ValueError, KeyError, IndexError, OverflowError, struct.error)
"""What compiled programs raise on a body or on bytes that do not fit."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes in place of a value, its length included: written as they are where odd values are allowed."""

    data: bytes


def varint(number: int) -> bytes:
    """An unsigned number in base 128, low groups first (KIP-482)."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def string_length(number: int) -> bytes:
    """The varint in front of a string, one more than its length. Errors: WireError if it is too long."""
    if number > MAX_STRING + 1:
        raise WireError(f"a string of {number - 1} bytes is too long")
    return varint(number)


def read_varint(data: bytes | memoryview, pos: int, bits: int = 32) -> Span:
    """The unsigned number of at most so many bits (32 or 64) at `pos`, and the position after it."""
    number = shift = 0
    while True:
        byte = data[pos]
        pos += 1
        number |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > bits:
            raise WireError(f"a varint has more than {bits // 7 + 1} bytes")
    if number >> bits:
        raise WireError(f"a varint has more than {bits} bits")
    return number, pos


def read_tags(data: bytes | memoryview, pos: int, size: int) -> tuple[dict[int, Span], int]:
    """Where the value of each tagged field begins and ends, by tag, and the position after them all."""
    count, pos = read_varint(data, pos)
    if count > MAX_TAGS:
        refuse("tagged fields", f"{count} announced, more than {MAX_TAGS}")
    if 2 * count > size - pos:
        refuse("tagged fields", f"{count} announced, {size - pos} bytes left")
    spans: dict[int, Span] = {}
    for _ in range(count):
        tag, pos = read_varint(data, pos)
        length, pos = read_varint(data, pos)
        if length > size - pos:
            refuse(f"tagged field {tag}", f"{length} bytes announced, {size - pos} left")
        if tag in spans:
            refuse(f"tagged field {tag}", "appears twice")
        spans[tag] = (pos, pos + length)
        pos += length
    return spans, pos


def write_tags(out: bytearray, tags: Mapping[int, bytes]) -> None:
    """Appends the tagged fields, in ascending order of tags as KIP-482 wants them."""
    out += varint(len(tags))
    for tag in sorted(tags):
        value = tags[tag]
        out += varint(tag) + varint(len(value))
        out += value


def reading_failure(error: Exception) -> str:
    """What one of the `FAILURES` says about the bytes that were read."""
    if isinstance(error, UnicodeDecodeError):
        return "a string is not UTF-8"
    return str(error) if isinstance(error, WireError) else "it ends too early"


def refuse(field: str, reason: str) -> NoReturn:
    raise WireError(f"{field}: {reason}")


def refuse_unknown(given: Set[str], known: Set[str]) -> NoReturn:
    """Names the keys of a body that no version of the message has: most likely a slip of the pen."""
    strange = ", ".join(sorted(map(str, given - known)))
    raise WireError(f"no version of this message has {strange}; there are: {', '.join(sorted(known))}")


def plain_tags(data: bytes | memoryview, spans: Mapping[int, Span]) -> dict[int, bytes]:
    return {tag: bytes(data[start:end]) for tag, (start, end) in spans.items()}


NAMESPACE: dict[str, Any] = {
    "Raw": Raw,
    "string_length": string_length,
    "MAX_STRING": MAX_STRING,
    "varint": varint,
    "read_varint": read_varint,
    "read_tags": read_tags,
    "write_tags": write_tags,
    "refuse": refuse,
    "refuse_unknown": refuse_unknown,
    "plain_tags": plain_tags,
}
"""The names that compiled programs find."""
