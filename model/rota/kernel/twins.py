"""Values that Python takes for one another and the canonical encoding does not, or the other way round.

Engines keep values in dicts, where equal ones are one; states are hashed, counted and sent by their encoding.
So every two values of a system must be equal exactly where their encodings are. `True` and `1` part, an
IntEnum's member and its number, two dataclasses of one name, whatever has an `__eq__` of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from itertools import compress
from operator import attrgetter, is_not
from typing import Any

from rota.kernel.encoding import Encoding, NotEncodable, component_hash, encode
from rota.kernel.mistakes import UserError, place_in, said, shortened
from rota.kernel.structs import Frozen, parts_of

_ATOMS = frozenset((str, bytes, int, bool, type(None)))


def same(a: Any, b: Any) -> bool:
    """Whether two equal values agree in every part and type within, so that their encodings are equal."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind in _ATOMS:
        return bool(a == b)
    if kind is frozenset:
        twins = dict(zip(a, a, strict=True))
        return len(a) == len(b) and all(one in twins and same(twins[one], one) for one in b)
    parts = _PARTS[kind]
    if parts is None:
        return _encoded_alike(a, b)
    ours, theirs = parts(a), parts(b)
    if len(ours) != len(theirs):
        return False
    # most parts are one object, and these are passed by without a step of Python
    for x, y in compress(zip(ours, theirs, strict=True), map(is_not, ours, theirs)):
        if not (type(x) is type(y) and (x == y if type(x) in _ATOMS else same(x, y))):
            return False
    return True


def _encoded_alike(a: Any, b: Any) -> bool:
    """What has no encoding, such as a float that a view shows, is the same where it reads the same."""
    try:
        return encode(a) == encode(b)
    except TypeError:
        return repr(a) == repr(b)


class _Parts(dict[type, Callable[[Any], tuple[Any, ...]] | None]):
    """How to take a value of each type apart; None where only the encoding can tell (enums)."""

    def __missing__(self, kind: type) -> Callable[[Any], tuple[Any, ...]] | None:
        self[kind] = _taking_apart(kind)
        return self[kind]


def _taking_apart(kind: type) -> Callable[[Any], tuple[Any, ...]] | None:
    if issubclass(kind, Frozen):
        return parts_of
    if issubclass(kind, tuple):
        return tuple
    if issubclass(kind, Mapping):
        return lambda value: (*value.keys(), *value.values())
    if not is_dataclass(kind):
        return None
    names = [one.name for one in fields(kind)]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


_PARTS = _Parts()


def refused(where: str, one: Any, other: Any) -> UserError:
    """The error about two values that are equal and not the same."""
    return UserError(
        where,
        f"{shortened(other)} equals {shortened(one)} and has other types within; make them one type",
    )


def alike(where: str, one: Any, other: Any) -> UserError:
    """The error about two values that are not equal and are the same by their encodings."""
    return UserError(
        where,
        f"{shortened(one)} and {shortened(other)} are not equal and are encoded alike; "
        "let values be equal where all their fields are",
    )


def unfit(where: str, value: Any, error: Exception) -> UserError:
    """The error about a value that cannot be kept, because of what hashing or encoding it raised.

    Errors: that error, if it is not the value's.
    """
    if isinstance(error, NotEncodable):
        return UserError(where, str(error))
    if not _hashable(value) and isinstance(error, TypeError):
        return UserError(where, f"{shortened(value)} is not hashable; use immutable values")
    place = place_in(error.__traceback__ and error.__traceback__.tb_next)
    if not place:
        raise error
    return UserError(where, f"{shortened(value)} raised {said(error)}", place)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except Exception:  # its own __hash__ may raise anything
        return False
    return True


class Vocabulary:
    """The values that there have been in one place of a system (a machine, its messages), each kept once."""

    def __init__(self, where: str, encoding: Encoding) -> None:
        self._where, self._encoding = where, encoding
        self._kept: dict[Any, Any] = {}
        self._coded: dict[tuple[int, int], Any] = {}

    def keep(self, value: Any) -> Any:
        """The value that is kept for it. Errors: UserError for one that states or messages cannot contain."""
        try:
            known = self._kept.get(value, self)
        except Exception as error:  # whatever the value's own __hash__ or __eq__ raises
            raise unfit(self._where, value, error) from error
        if known is self:
            return self._add(value)
        if known is not value and not same(known, value):
            raise refused(self._where, known, value)
        return known

    def _add(self, value: Any) -> Any:
        try:
            code = component_hash(value, self._encoding)
        except Exception as error:  # what is in it may be anything
            raise unfit(self._where, value, error) from error
        twin = self._coded.setdefault(code, value)
        if twin is not value:
            raise alike(self._where, twin, value)
        self._kept[value] = value
        return value
