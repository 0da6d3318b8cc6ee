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

    Types are told apart by their qualified names: `Encoding` refuses two that share one.
    Errors: NotEncodable for a type that states may not contain (lists, dicts, floats, named tuples).
    """
    return _ENCODERS[type(value)](value)


Encoder = Callable[[Any], bytes]


class NotEncodable(TypeError):
    """A value that states may not contain."""


class TwinTypes(NotEncodable):
    """Two types that the canonical encoding cannot tell apart."""

    @staticmethod
    def of(one: str, other: str) -> TwinTypes:
        """The error that names both, and the remedy."""
        both = f"{one} and {other}" if one != other else f"two types that are both {one}"
        return TwinTypes(
            f"the canonical encoding cannot tell values of {both} apart; rename one of them, or use only one"
        )


class Encoding(dict[type, Encoder]):
    """The canonical encoding of one system's values, each type of which has to be told from all others.

    kinds: by what encodings of values of no other type may begin with, the type.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kinds: dict[bytes, type] = {}

    def __missing__(self, kind: type) -> Encoder:
        self.claim(kind)
        self[kind] = encoder = _encoder(kind, self)
        return encoder

    def encode(self, value: Any) -> bytes:
        """As `encode`. Errors: TwinTypes, and NotEncodable as there."""
        return self[type(value)](value)

    def claim(self, kind: type) -> None:
        """There are values of a type. Errors: TwinTypes."""
        for claim in _claims(kind):
            other = self.kinds.setdefault(claim, kind)
            if other is not kind:
                raise TwinTypes.of(_full_name(other), _full_name(kind))

    def claims(self) -> dict[bytes, str]:
        """The types by their names, for other processes."""
        return {claim: _full_name(kind) for claim, kind in self.kinds.items()}


class _Anything(Encoding):
    """The encoding of values that need not be of one system: of two types with one name, too."""

    def claim(self, kind: type) -> None:
        """Nothing is refused."""


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _claims(kind: type[Any]) -> list[bytes]:
    """How encodings begin that values of a type have and values of no other type may have."""
    if kind is type(None) or kind is bool:
        return []
    if issubclass(kind, Enum):
        return [_text(b"e", f"{kind.__qualname__}.{name}") for name in kind.__members__]
    for base, tag in ((int, b"i"), (str, b"s"), (bytes, b"b"), (frozenset, b"{"), (Mapping, b"m")):
        if issubclass(kind, base):
            return [tag]
    return [] if kind is tuple else [_text(b"d", kind.__qualname__)]


def _encoder(kind: type[Any], encoders: Encoding) -> Encoder:
    """How values of a type are encoded, given how those within them are."""

    def together(parts: Iterable[Any]) -> bytes:
        return b"".join([encoders[type(part)](part) for part in parts])

    if kind is type(None):
        return lambda value: b"N"
    if kind is bool:
        return lambda value: b"T" if value else b"F"
    if issubclass(kind, Enum):
        return _of_enum(kind)
    if issubclass(kind, int):
        return lambda value: _text(b"i", str(int(value)))
    if issubclass(kind, str):
        return lambda value: _text(b"s", value)
    if issubclass(kind, bytes):
        return lambda value: b"b%d:%b" % (len(value), value)
    if issubclass(kind, Frozen):
        head = _text(b"d", kind.__qualname__)
        return lambda value: head + together(parts_of(value))
    if kind is tuple:
        return lambda value: b"(%d:" % len(value) + together(value)
    if issubclass(kind, frozenset):
        return lambda value: b"{%d:" % len(value) + b"".join(sorted(map(encoders.encode, value)))
    if issubclass(kind, Mapping) and kind.__hash__ is not None:
        return lambda value: b"m%d:" % len(value) + together(chain.from_iterable(value.items()))
    if is_dataclass(kind) and not issubclass(kind, tuple):
        head, names = _text(b"d", kind.__qualname__), [one.name for one in fields(kind)]
        return lambda value: head + together([getattr(value, name) for name in names])
    return _refused


def _of_enum(kind: type[Enum]) -> Encoder:
    prefix = f"{kind.__qualname__}."

    def encoded(value: Enum) -> bytes:
        if value.name is None:  # flags that have no name together
            raise NotEncodable(f"a state cannot contain {value!r}, which is no member of {kind.__name__}")
        return _text(b"e", prefix + value.name)

    return encoded


def _refused(value: Any) -> bytes:
    name = type(value).__name__
    if isinstance(value, tuple):
        raise NotEncodable(f"a state cannot contain the named tuple {name}; use a frozen value")
    raise NotEncodable(f"a state cannot contain {name}: {value!r}")


@lru_cache(1 << 16)
def _text(tag: bytes, text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return b"%b%d:%b" % (tag, len(raw), raw)


_ENCODERS = _Anything()


def component_hash(value: Any, encoding: Encoding = _ENCODERS) -> tuple[int, int]:
    """The 128-bit hash of one component's value as two 64-bit lanes. Errors: as of the encoding."""
    return encoded_hash(encoding[type(value)](value))


def encoded_hash(raw: bytes) -> tuple[int, int]:
    """`component_hash` of the value with this encoding."""
    code = blake2b(raw, digest_size=16).digest()
    return int.from_bytes(code[:8], "big"), int.from_bytes(code[8:], "big")


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
