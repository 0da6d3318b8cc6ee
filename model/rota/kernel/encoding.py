"""Canonical encoding of values, hashes of states, and the digest of a set of states.

The digest does not depend on the order of exploration, on PYTHONHASHSEED, on the process or on the engine:
it is the sum modulo 2**128 of one 128-bit hash per state, and that hash mixes one 128-bit hash (BLAKE2b of
the canonical encoding) per component. The mixing uses 64-bit multiplications and xors only, so that engines
can do it for whole arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from hashlib import blake2b
from typing import Any

MASK64 = (1 << 64) - 1
MASK128 = (1 << 128) - 1
GOLDEN = 0x9E3779B97F4A7C15
"""The odd 64-bit constant nearest to 2**64 divided by the golden ratio (Steele, Lea, Flood: SplitMix)."""


def encode(value: Any) -> bytes:
    """The canonical bytes of a value; equal bytes exactly for equal values of equal types.

    Errors: TypeError for a type that states may not contain (lists, dicts, floats, named tuples).
    """
    out: list[bytes] = []
    _encode(value, out)
    return b"".join(out)


def _encode(value: Any, out: list[bytes]) -> None:
    if value is None or value is True or value is False:
        out.append({None: b"N", True: b"T", False: b"F"}[value])
    elif isinstance(value, Enum):
        _text(b"e", f"{type(value).__qualname__}.{value.name}", out)
    elif isinstance(value, int):
        _text(b"i", str(int(value)), out)
    elif isinstance(value, str):
        _text(b"s", value, out)
    elif isinstance(value, bytes):
        out += (b"b%d:" % len(value), value)
    elif isinstance(value, tuple):
        _plain_tuple(value, out)
    elif isinstance(value, frozenset):
        out.append(b"{%d:" % len(value))
        out += sorted(encode(item) for item in value)
    elif isinstance(value, Mapping) and value.__hash__ is not None:
        out.append(b"m%d:" % len(value))
        for key, item in value.items():
            _encode(key, out)
            _encode(item, out)
    elif is_dataclass(value) and not isinstance(value, type):
        _text(b"d", type(value).__qualname__, out)
        for name in _field_names(type(value)):
            _encode(getattr(value, name), out)
    else:
        raise TypeError(f"a state cannot contain {type(value).__name__}: {value!r}")


def _plain_tuple(value: tuple[Any, ...], out: list[bytes]) -> None:
    if type(value) is not tuple:
        raise TypeError(
            f"a state cannot contain the named tuple {type(value).__name__}; use a frozen dataclass"
        )
    out.append(b"(%d:" % len(value))
    for item in value:
        _encode(item, out)


def _text(tag: bytes, text: str, out: list[bytes]) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    out += (tag, b"%d:" % len(raw), raw)


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def component_hash(value: Any) -> tuple[int, int]:
    """The 128-bit hash of one component's value as two 64-bit lanes."""
    raw = blake2b(encode(value), digest_size=16).digest()
    return int.from_bytes(raw[:8], "big"), int.from_bytes(raw[8:], "big")


@cache
def lane_factors(count: int) -> tuple[tuple[int, int], ...]:
    """Odd multipliers, two per position, so that equal values in other positions count differently."""
    return tuple((mix64(GOLDEN * (2 * i + 1)) | 1, mix64(GOLDEN * (2 * i + 2)) | 1) for i in range(count))


def mix64(x: int) -> int:
    """The finalizer of SplitMix64 on a 64-bit number."""
    x &= MASK64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK64
    return x ^ (x >> 31)


def state_hash(component_hashes: Sequence[tuple[int, int]]) -> int:
    """The 128-bit hash of a state from its components' hashes, in the order of the components."""
    high = low = 0
    for (a, b), (factor_a, factor_b) in zip(
        component_hashes, lane_factors(len(component_hashes)), strict=True
    ):
        high += a * factor_a
        low += b * factor_b
    low = mix64(low ^ mix64(high))
    return (mix64(high + low) << 64) | low


class Digest:
    """The running sum of state hashes; `hex()` is what results print."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, hashes: Iterable[int]) -> None:
        """Count further states, each exactly once."""
        self.total = (self.total + sum(hashes)) & MASK128

    def hex(self) -> str:
        """32 hexadecimal digits."""
        return f"{self.total:032x}"
