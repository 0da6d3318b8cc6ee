"""Members and requests under names that depend on the course of a history alone, not on whose history it is.

A member id that a broker makes ends with a UUID. Here it gets a label: the same where ids have come in the
same order and stand in the same order among one another. So maps by id have the same order under either name,
and whatever the spec says of one it says of the other. Ids of another form, which clients may make up, keep
their names, and so do all of a history that has one. A request has the least number that is free, from when
it is taken first until it is answered.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from copy import copy
from heapq import heappop, heappush
from typing import Any, TypeVar, cast

from rota.kernel import FrozenMap, replace
from rota.kernel.structs import Frozen, parts_of
from rota.linearise.ids import MARK, is_unknown
from rota.spec import (
    Call,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.classic.state import Member
from rota.spec.effects import Reply
from rota.spec.offset_messages import (
    FetchedTopic,
    OffsetCommitRequest,
    OffsetCommitTopic,
    TopicOutcome,
    TopicPartitions,
)

T = TypeVar("T")

LABEL, GROUP = "~", "the group"
"""How labels begin; the name of each group."""

OF_MEMBERS = (JoinGroupRequest, SyncGroupRequest, HeartbeatRequest, LeaveGroupRequest, OffsetCommitRequest)
"""Requests whose answers do not say which group they are about."""

ADDRESSED = {Member: ("awaiting_join", "awaiting_sync"), Reply: ("to",), Call: ("to",)}
"""Where the number of a request is, as text."""


def made_by_a_broker(text: str) -> bool:
    """Whether an id ends with a UUID, behind the name of a client or an instance."""
    if len(text) <= 36:
        return False
    return [text[at] for at in (-37, -28, -23, -18, -13)] == ["-"] * 5


class Names:
    """The names of a history. Attributes: others, whether ids of another form were seen."""

    def __init__(self, plain: bool = False) -> None:
        self.others = self.plain = plain
        self._labels: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._order: dict[str, list[tuple[str, str]]] = {MARK: [], LABEL: []}
        self._slots: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self._free: list[int] = []
        self._answered: list[int] = []

    def copied(self) -> Names:
        """Another one that goes on from here."""
        other = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | list):
                setattr(other, name, copy(value))
        other._order = {kind: [*known] for kind, known in self._order.items()}
        return other

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._labels) + len(self._slots)

    def slot(self, number: int) -> int:
        """The number of a request here."""
        found = self._slots.get(number)
        if found is None:
            found = heappop(self._free) if self._free else len(self._slots)
            self._slots[number], self._numbers[found] = found, number
        return found

    def number(self, slot: int) -> int:
        """The request that has this number here."""
        return self._numbers[slot]

    def answered(self, number: int) -> None:
        """A request is answered: nothing is about it from the next event on."""
        self._answered.append(number)

    def next_event(self) -> None:
        """Whoever still asks about states asks about later ones."""
        for number in self._answered:
            slot = self._slots.pop(number, None)
            if slot is not None:
                del self._numbers[slot]
                heappush(self._free, slot)
        self._answered.clear()

    def member(self, text: str) -> None:
        """Somebody has this id."""
        if text and not is_unknown(text) and not made_by_a_broker(text):
            self.others = True

    def into(self, value: T) -> T:
        """A value as it is here."""
        return cast(T, _exchanged(value, self._label, self._slot_text))

    def back(self, value: T) -> T:
        """A value as the history has it."""
        return cast(T, _exchanged(value, self._id, self._number_text))

    def call(self, call: Call) -> Call:
        """A request as it is here."""
        request: Any = call.request
        self.member(getattr(request, "member_id", ""))
        found = self.into(call)
        if not isinstance(request, OF_MEMBERS) or not request.group_id:
            return found
        anybody: Any = found.request
        return replace(found, request=replace(anybody, group_id=GROUP))

    def _label(self, text: str) -> str:
        if self.plain:
            return text
        known = self._labels.get(text)
        if known is not None:
            return known
        if is_unknown(text):
            return self._new(text, MARK)
        return self._new(text, LABEL) if made_by_a_broker(text) else text

    def _new(self, text: str, kind: str) -> str:
        """A label between those of its neighbours."""
        known = self._order[kind]
        place = bisect_left(known, (text, ""))
        before = known[place - 1][1][len(kind) :] if place else ""
        behind = known[place][1][len(kind) :] if place < len(known) else ""
        label = kind + between(before, behind)
        known.insert(place, (text, label))
        self._labels[text], self._ids[label] = label, text
        return label

    def _id(self, label: str) -> str:
        return self._ids.get(label, label)

    def _slot_text(self, number: str) -> str:
        return str(self.slot(int(number)))

    def _number_text(self, slot: str) -> str:
        return str(self.number(int(slot)))


def between(before: str, behind: str) -> str:
    """A binary fraction, written without a 0 at its end, between two such; "" stands for 0, and for 1."""
    places = max(len(before), len(behind)) + 1
    low = int(before.ljust(places, "0"), 2)
    high = int(behind.ljust(places, "0"), 2) if behind else 1 << places
    return format((low + high) // 2, f"0{places}b").rstrip("0")


_LEAF, _TEXT, _STRUCT, _MAP, _TUPLE, _SET = range(6)

NAMELESS = (
    OffsetCommitTopic,
    ProtocolMetadata,
    TopicOutcome,
    FetchedTopic,
    TopicPartitions,
)
"""What says nothing of members."""

_SORTS: dict[type, int] = dict.fromkeys(NAMELESS, _LEAF)
"""Of each type that was met, how names are found in its values; in a leaf there are none."""


def _sort_of(kind: type) -> int:
    if kind is str:
        return _TEXT
    if issubclass(kind, Frozen):
        return _STRUCT
    if issubclass(kind, FrozenMap):
        return _MAP
    if kind is tuple:
        return _TUPLE
    return _SET if kind is frozenset else _LEAF


def _exchanged(value: Any, text: Callable[[str], str], number: Callable[[str], str]) -> Any:
    """The same value with other names, and itself where it has none."""
    kind = type(value)
    sort = _SORTS.get(kind)
    if sort is None:
        sort = _SORTS[kind] = _sort_of(kind)
    if sort == _LEAF:
        return value
    if sort == _TEXT:
        return text(value)
    if sort == _STRUCT:
        parts = _exchanged_parts(parts_of(value), text, number)
        changed: Any = value if parts is None else kind(*parts)
        for name in ADDRESSED.get(kind, ()):
            address = getattr(value, name)
            if address:
                changed = replace(changed, **{name: number(address)})
        return changed
    if sort == _MAP:
        return FrozenMap(
            (_exchanged(key, text, number), _exchanged(one, text, number)) for key, one in value.items()
        )
    parts = _exchanged_parts(tuple(value), text, number)
    return value if parts is None else kind(parts)


def _exchanged_parts(
    parts: Sequence[Any], text: Callable[[str], str], number: Callable[[str], str]
) -> list[Any] | None:
    """The parts with other names, None where none of them has one."""
    found: list[Any] | None = None
    for at, part in enumerate(parts):
        if _SORTS.get(type(part)) == _LEAF:
            continue
        other = _exchanged(part, text, number)
        if other is not part:
            if found is None:
                found = [*parts]
            found[at] = other
    return found
