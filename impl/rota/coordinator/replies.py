"""Answers to many requests: what they tell is settled in the step, each is made when it is taken.

At the end of a phase there are thousands, and whoever sends them may do other things between.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Generic, TypeVar, overload

from rota.coordinator.effects import Reply
from rota.coordinator.purgatory import ParkedRequest, Token

T = TypeVar("T")

Answer = tuple[Token, Reply]


class ToEach(Generic[T]):
    """Answers to requests, each with what `make` makes its answer of.

    `make` has to read nothing that a later step could change.
    """

    __slots__ = ("_make", "_requests")

    def __init__(self, requests: Sequence[tuple[ParkedRequest, T]], make: Callable[[T], Reply]) -> None:
        self._requests = requests
        self._make = make

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[Answer]:
        make = self._make
        for parked, of in self._requests:
            yield parked.token, make(of).for_version(parked.version)


class Replies(Sequence[Answer]):
    """The answers of a step, in order; made anew whenever they are gone through."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[ToEach[Any] | Sequence[Answer]]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[Answer]:
        return chain.from_iterable(self._parts)

    def __eq__(self, other: object) -> bool:
        """Whether they are the same answers in the same order, settled in a step or made already."""
        return isinstance(other, Replies | tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    @overload
    def __getitem__(self, index: int) -> Answer: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Answer]: ...

    def __getitem__(self, index: int | slice) -> Answer | Sequence[Answer]:
        return tuple(self)[index]
