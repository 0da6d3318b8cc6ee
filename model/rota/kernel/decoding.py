"""Values from their canonical encoding: what `rota.kernel.encoding.encode` wrote is read back.

A decoder makes values of the types that it is given and of no others, and imports nothing. What it returns
has the very bytes that it was given as its encoding; whatever else the bytes may be is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from rota.kernel.encoding import encode
from rota.kernel.values import FrozenMap

PLAIN = frozenset({type(None), bool, int, str, bytes, tuple, frozenset, FrozenMap})
"""Types that need not be named; what is encoded like one of them and is none cannot be read back."""


class DecodeError(ValueError):
    """Bytes that are no encoding of a value of the types given."""


def kinds_within(values: Iterable[Any]) -> set[type]:
    """The dataclasses and enums that values are made of. Errors: DecodeError for what cannot be read back.

    Values share most of their parts, so a part that was looked at is not looked at again.
    """
    kinds: dict[type, tuple[str, ...]] = {}  # each with the names of its fields
    seen: dict[int, Any] = {}  # the parts too: while they are held no other has their id
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind in _ATOMS or id(value) in seen:
            continue
        seen[id(value)] = value
        if kind in PLAIN:
            waiting += (*value, *value.values()) if isinstance(value, FrozenMap) else value
        elif isinstance(value, Enum):
            if kind.__members__.get(value.name) is not value:
                raise DecodeError(f"{value!r} is no member of {kind.__name__} that has a name")
            kinds[kind] = ()
        else:
            if kind not in kinds:
                kinds[kind] = _fields(kind)
            waiting += [getattr(value, name) for name in kinds[kind]]
    return set(kinds)


_ATOMS = frozenset({type(None), bool, int, str, bytes})


def _fields(kind: type[Any]) -> tuple[str, ...]:
    """The names of a type's fields. Errors: DecodeError where a value is more than these, given in order."""
    if not is_dataclass(kind):
        raise DecodeError(f"a {kind.__name__} cannot be told from a value of another type by its encoding")
    if not all(one.init and not one.kw_only for one in fields(kind)):
        raise DecodeError(f"{kind.__name__} has fields that are not given in order when one is made")
    return tuple(one.name for one in fields(kind))


class Decoder:
    """Reads encodings. types: the dataclasses and enums that values may be made of, of different names."""

    def __init__(self, types: Iterable[type]) -> None:
        self._kinds: dict[bytes, tuple[type, int]] = {}
        self._members: dict[bytes, Enum] = {}
        names: dict[str, type] = {}
        for kind in types:
            name = kind.__qualname__
            if names.setdefault(name, kind) is not kind:
                raise DecodeError(f"two types are called {name}")
            if issubclass(kind, Enum):
                self._members |= {f"{name}.{one.name}".encode(): one for one in kind}
            else:
                self._kinds[name.encode()] = kind, len(_fields(kind))
        self._readers: Mapping[int, Callable[[bytes, int, int], tuple[Any, int]]] = {
            ord("e"): self._member,
            ord("i"): self._number,
            ord("s"): self._text,
            ord("b"): self._bytes,
            ord("("): self._tuple,
            ord("{"): self._set,
            ord("m"): self._map,
            ord("d"): self._record,
        }

    def decode(self, raw: bytes) -> Any:
        """The value with this encoding. Errors: DecodeError."""
        try:
            value, end = self._value(raw, 0)
            fits = end == len(raw) and encode(value) == raw
        except DecodeError:
            raise
        except Exception as error:  # types and bytes are others': anything may come of putting them together
            raise DecodeError(f"cannot be read ({type(error).__name__}: {error})") from error
        if not fits:
            raise DecodeError("is not the encoding of what can be read from it")
        return value

    def _value(self, raw: bytes, at: int) -> tuple[Any, int]:
        tag = raw[at]
        if tag in _SINGLE:
            return _SINGLE[tag], at + 1
        reader = self._readers.get(tag)
        if reader is None:
            raise DecodeError(f"nothing begins with {bytes([tag])!r}")
        colon = raw.index(b":", at)
        size = raw[at + 1 : colon]
        if not size.isdigit():
            raise DecodeError(f"{size!r} is no size")
        return reader(raw, colon + 1, int(size))

    def _values(self, raw: bytes, at: int, count: int) -> tuple[list[Any], int]:
        out = []
        for _ in range(count):
            value, at = self._value(raw, at)
            out.append(value)
        return out, at

    def _member(self, raw: bytes, at: int, size: int) -> tuple[Any, int]:
        name = raw[at : at + size]
        if name not in self._members:
            raise DecodeError(f"no type given has the member {name!r}")
        return self._members[name], at + size

    def _number(self, raw: bytes, at: int, size: int) -> tuple[Any, int]:
        return int(raw[at : at + size]), at + size

    def _text(self, raw: bytes, at: int, size: int) -> tuple[Any, int]:
        return raw[at : at + size].decode("utf-8", "surrogatepass"), at + size

    def _bytes(self, raw: bytes, at: int, size: int) -> tuple[Any, int]:
        return raw[at : at + size], at + size

    def _tuple(self, raw: bytes, at: int, count: int) -> tuple[Any, int]:
        items, end = self._values(raw, at, count)
        return tuple(items), end

    def _set(self, raw: bytes, at: int, count: int) -> tuple[Any, int]:
        items, end = self._values(raw, at, count)
        return frozenset(items), end

    def _map(self, raw: bytes, at: int, count: int) -> tuple[Any, int]:
        items, end = self._values(raw, at, 2 * count)
        return FrozenMap(zip(items[::2], items[1::2], strict=True)), end

    def _record(self, raw: bytes, at: int, size: int) -> tuple[Any, int]:
        name = raw[at : at + size]
        if name not in self._kinds:
            raise DecodeError(f"no type given is called {name!r}")
        kind, count = self._kinds[name]
        items, end = self._values(raw, at + size, count)
        return kind(*items), end


_SINGLE = {ord("N"): None, ord("T"): True, ord("F"): False}
