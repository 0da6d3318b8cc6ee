"""What states are made of beside frozen values: immutable mappings in one fixed order, and words."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from enum import Enum
from operator import itemgetter
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenMap(Mapping[K, V], Generic[K, V]):
    """A hashable mapping that iterates in the order of its sorted keys.

    Rules iterate over members and timers; a fixed order keeps every engine and every value of
    PYTHONHASHSEED on the same successors in the same order.

    Parameters: items, a mapping or pairs; keys must be hashable and comparable with each other.
    """

    __slots__ = ("_dict", "_hash")

    _dict: dict[K, V]
    _hash: int | None

    def __init__(self, items: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        pairs = items.items() if isinstance(items, Mapping) else items
        ordered = sorted(pairs, key=_first)
        self._dict = dict(ordered)
        self._hash = None

    def __getitem__(self, key: K) -> V:
        return self._dict[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __contains__(self, key: object) -> bool:
        return key in self._dict

    def keys(self) -> KeysView[K]:
        """The keys, sorted. These three are views of the dict within: those of `Mapping` are slow."""
        return self._dict.keys()

    def values(self) -> ValuesView[V]:
        """The values in the order of their keys."""
        return self._dict.values()

    def items(self) -> ItemsView[K, V]:
        """Keys and values, sorted by key."""
        return self._dict.items()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple(self._dict.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenMap) and self._dict == other._dict

    def __repr__(self) -> str:
        return f"FrozenMap({self._dict!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenMap, (tuple(self._dict.items()),))

    def set(self, key: K, value: V) -> FrozenMap[K, V]:
        """This map with `key` bound to `value`; itself when nothing changes."""
        if key in self._dict:
            old = self._dict[key]
            if old is value or old == value:
                return self
            new = object.__new__(FrozenMap)
            new._dict = self._dict.copy()
            new._dict[key] = value
            new._hash = None
            return new
        return FrozenMap((*self._dict.items(), (key, value)))

    def without(self, *keys: K) -> FrozenMap[K, V]:
        """This map less `keys`; unknown keys are no error."""
        if not any(key in self._dict for key in keys):
            return self
        return FrozenMap(tuple((k, v) for k, v in self._dict.items() if k not in keys))


_first = itemgetter(0)


class Word(Enum):
    """An enum whose members are hashed by what they are: each is there once in a process.

    `Enum` hashes a member's name in a function of Python, and values with many words in them are hashed all
    the time.
    """

    __hash__ = object.__hash__
