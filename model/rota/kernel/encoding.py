"""Canonical encoding of values, hashes of states, and the digest of a set of states.

The digest does not depend on the order of exploration, on PYTHONHASHSEED, on the process or on the engine:
it is the sum modulo 2**128 of one 128-bit hash per state, and that hash mixes one 128-bit hash (BLAKE2b of
the canonical encoding) per component. The mixing uses 64-bit multiplications and xors only, so that engines
can do it for whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain
from typing import Any

from rota.kernel.structs import Frozen, parts_of

MASK64 = (1 << 64) - 1
MASK128 = (1 << 128) - 1
GOLDEN = 0x9E3779B97F4A7C15
"""The odd 64-bit constant nearest to 2**64 divided by the golden ratio (Steele, Lea, Flood: SplitMix)."""


def encode(value: Any) -> bytes:
    """The canonical bytes of a value; equal bytes exactly for equal values of equal types.

    Errors: TypeError for a type that states may not contain (lists, dicts, floats, named tuples).
    """
    return _ENCODERS[type(value)](value)


Encoder = Callable[[Any], bytes]


class _Encoders(dict[type, Encoder]):
    """How values of each type that there has been are encoded."""

    def __missing__(self, kind: type) -> Encoder:
        self[kind] = encoder = _encoder(kind)
        return encoder


def _encoder(kind: type[Any]) -> Encoder:
    if issubclass(kind, Enum):
        prefix = f"{kind.__qualname__}."
        return lambda value: _text(b"e", prefix + value.name)
    if issubclass(kind, int):
        return lambda value: _text(b"i", str(int(value)))
    if issubclass(kind, str):
        return lambda value: _text(b"s", value)
    if issubclass(kind, bytes):
        return lambda value: b"b%d:%b" % (len(value), value)
    if issubclass(kind, Frozen):
        head = _text(b"d", kind.__qualname__)
        return lambda value: head + _all(parts_of(value))
    if kind is tuple:
        return lambda value: b"(%d:" % len(value) + _all(value)
    if issubclass(kind, frozenset):
        return lambda value: b"{%d:" % len(value) + b"".join(sorted([encode(item) for item in value]))
    if issubclass(kind, Mapping) and kind.__hash__ is not None:
        return lambda value: b"m%d:" % len(value) + _all(chain.from_iterable(value.items()))
    if is_dataclass(kind) and not issubclass(kind, tuple):
        return _of_dataclass(kind)
    return _refused


def _of_dataclass(kind: type[Any]) -> Encoder:
    head, names = _text(b"d", kind.__qualname__), [one.name for one in fields(kind)]
    return lambda value: head + _all([getattr(value, name) for name in names])


def _refused(value: Any) -> bytes:
    name = type(value).__name__
    if isinstance(value, tuple):
        raise TypeError(f"a state cannot contain the named tuple {name}; use a frozen value")
    raise TypeError(f"a state cannot contain {name}: {value!r}")


def _all(parts: Iterable[Any]) -> bytes:
    encoders = _ENCODERS
    return b"".join([encoders[type(part)](part) for part in parts])


@lru_cache(1 << 16)
def _text(tag: bytes, text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return b"%b%d:%b" % (tag, len(raw), raw)


_ENCODERS = _Encoders(
    {type(None): lambda value: b"N", bool: lambda value: b"T" if value else b"F"},
)


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
