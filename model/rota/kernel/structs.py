"""Frozen values: what states and messages are made of, written like dataclasses and as quick as tuples.

An engine makes, compares and hashes millions of them, so each is a tuple of its class and its fields: it is
compared and hashed like one, with whatever is nested in it, and the class in front keeps two kinds with equal
fields apart. To whoever uses a value it is a dataclass: fields by name, `dataclasses.fields`, `repr`. It is
no sequence, though `isinstance(value, tuple)` says so: nothing can be unpacked from it.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar, cast, dataclass_transform, overload

T = TypeVar("T")

_make = tuple.__new__
_parts = tuple.__iter__


class Frozen(tuple[Any, ...]):
    """What all frozen values have in common."""

    __slots__ = ()

    _places: ClassVar[dict[str, int]] = {}
    """Where each field is; at 0 is the class."""

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is no sequence; name its fields")

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, self[:]

    def _unordered(self, other: object) -> Any:
        return NotImplemented

    __lt__ = __le__ = __gt__ = __ge__ = _unordered


@overload
def frozen(kind: type[T], /) -> type[T]: ...


@overload
def frozen(*, order: bool = False, kw_only: bool = False) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: Any = None, /, *, order: bool = False, kw_only: bool = False) -> Any:
    """Make a class with annotated fields one of frozen values.

    Parameters: order, its values are sorted by their fields; kw_only, its fields are given by name.
    A default factory is called once: what it returns is immutable like any default. Errors: TypeError for
    what a value cannot have: a `__post_init__`, a field that is not given, an instance dict.
    """
    if kind is None:
        return lambda kind: _frozen(kind, order, kw_only)
    return _frozen(kind, order, kw_only)


def _frozen(kind: type[Any], order: bool, kw_only: bool) -> type[Any]:
    dataclass(init=False, eq=False, kw_only=kw_only)(kind)
    parts = fields(kind)
    if hasattr(kind, "__post_init__") or not all(one.init for one in parts):
        raise TypeError(f"{kind.__name__}: a frozen value is what its fields are given as")
    space = {name: item for name, item in vars(kind).items() if name not in ("__dict__", "__weakref__")}
    space |= {one.name: _getter(place) for place, one in enumerate(parts, 1)}
    space |= {"__slots__": (), "__qualname__": kind.__qualname__, "__new__": _constructor(parts)}
    space["_places"] = {one.name: place for place, one in enumerate(parts, 1)}
    if order:
        space |= {name: getattr(tuple, name) for name in ("__lt__", "__le__", "__gt__", "__ge__")}
    bases = tuple(Frozen if base is object else base for base in kind.__bases__)
    if not any(issubclass(base, Frozen) for base in bases):
        bases = (*bases, Frozen)
    meta: Any = type(kind)
    made: type[Any] = meta(kind.__name__, bases, space)
    if made.__dictoffset__:
        raise TypeError(f"{kind.__name__}: the bases of a frozen value have empty slots or are frozen")
    return made


def _constructor(parts: Sequence[Field[Any]]) -> Callable[..., Any]:
    """`__new__` with the fields as parameters. Written out, since it is called for every value there is."""
    defaults: dict[str, Any] = {}
    for one in parts:
        if one.default is not MISSING:
            defaults[one.name] = one.default
        elif one.default_factory is not MISSING:
            defaults[one.name] = one.default_factory()
    taken = [one.name + f"=_defaults[{one.name!r}]" * (one.name in defaults) for one in parts]
    by_place = [name for name, one in zip(taken, parts, strict=True) if not one.kw_only]
    by_name = [name for name, one in zip(taken, parts, strict=True) if one.kw_only]
    signature = ", ".join(["_kind", *by_place, *(["*", *by_name] if by_name else [])])
    values = "".join(f"{one.name}, " for one in parts)
    names = {"_make": _make, "_defaults": defaults}
    exec(f"def __new__({signature}):\n    return _make(_kind, (_kind, {values}))", names)
    return cast(Callable[..., Any], names["__new__"])


def _remade(kind: type[Any], *parts: Any) -> Any:
    """What was pickled or copied."""
    return _make(kind, (kind, *parts))


@cache
def _getter(place: int) -> Any:
    """The descriptor of the field at a place: the one of a named tuple, which costs no call of Python."""
    names = [f"at_{i}" for i in range(place + 1)]
    return vars(namedtuple("Places", names))[names[place]]


parts_of: Callable[[Any], tuple[Any, ...]] = itemgetter(slice(1, None))
"""The fields of a frozen value, in order."""


if TYPE_CHECKING:
    # So that the checker knows which fields a value has.
    from dataclasses import replace as replace
else:

    def replace(value: T, /, **changes: Any) -> T:
        """A frozen value with some fields exchanged; itself where each is what it was.

        Errors: TypeError for a field that it does not have, or for what is no frozen value.
        """
        parts = [*_parts(value)]
        places = value._places
        changed = False
        try:
            for name, new in changes.items():
                place = places[name]
                if parts[place] is not new:
                    parts[place] = new
                    changed = True
        except KeyError as error:
            raise TypeError(f"{type(value).__name__} has no field {error}") from None
        return _make(value.__class__, parts) if changed else value
