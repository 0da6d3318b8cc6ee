"""What tables tell of a transition beside where it goes: its classes of fairness, and the rules in it.

A transition is known by its hops, each without the value that the machine then has: there are far fewer of
these than of transitions. Where an assumption reads a hop's value, the transition is known by its turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np

from rota.explore.compiled.arguments import NO_OFFER, NO_QUEUE, NO_RECEIVE
from rota.explore.liveness.graph import Classes
from rota.explore.tables.arrays import Column, Flags, IntMap, Ints, Longs
from rota.explore.tables.machines import Learned, MachineTable
from rota.kernel import Fairness, Hop, System, Transition, Turn

NO_HOP, NO_KIND, NO_TURN, NO_TURN_KIND = range(16, 20)
"""Kinds of misses beside those of `rota.explore.compiled.arguments`: (kind, 0, chain, next number or 0)."""

UNKNOWN, BY_TURNS = -1, -2
"""The kind of a transition that nobody has asked for, and of one that its hops do not tell."""


class CannotTabulate(Exception):
    """An assumption reads more of a transition than its hops."""


class _Read(Exception):
    """Somebody looked at what was not there."""


def _read(*_: Any) -> NoReturn:
    raise _Read


class _Unread:
    """Stands in the place of a value that must not be read; whatever is done to it but `is` fails."""

    __getattribute__ = _read
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _read
    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __call__ = _read
    __hash__ = __str__ = __repr__ = _read


UNREAD: Any = _Unread()
"""Instead of a transition's target, or of what a machine is after a hop."""


class Chains:
    """Sequences of numbers: 0 is the empty one, every other an earlier one and a number more.

    answer: what is known of each, `UNKNOWN` at first.
    """

    def __init__(self) -> None:
        self.longer = IntMap()
        self.answer = Column(np.int32, fill=UNKNOWN)
        self.answer.reserve(1)
        self._links = [(0, 0)]

    def lengthen(self, chains: Longs, numbers: Longs) -> None:
        """Number the chains that are these and a number more; they are distinct and new."""
        first = len(self._links)
        self._links += zip(chains.tolist(), numbers.tolist(), strict=True)
        self.longer.put(chains << 32 | numbers, np.arange(first, len(self._links), dtype=np.int32))
        self.answer.reserve(len(self._links))

    def numbers(self, chain: int) -> list[int]:
        """What a chain is made of."""
        out = []
        while chain:
            chain, number = self._links[chain]
            out.append(number)
        return out[::-1]


class Says(NamedTuple):
    """The tables of `Told` for compiled code: the hop of each turn, both kinds of chains, what they say."""

    turn_hop: Ints
    hops: Longs
    hop_shift: int
    by_hops: Ints
    turns: Longs
    turn_shift: int
    by_turns: Ints


class Told(Learned):
    """What is learned about a system, with what some assumptions say of its transitions.

    kinds: the sets of classes that a transition may belong to, by number; classes: (assumption, class) ->
    number.
    """

    def __init__(self, system: System, fairness: Iterable[Fairness]) -> None:
        super().__init__(system)
        self.fairness = tuple(dict.fromkeys(fairness))
        self.classes: dict[tuple[Fairness, Any], int] = {}
        self.kinds: list[Classes] = []
        self._kind_numbers: dict[Classes, int] = {}
        self._by_hops, self._by_turns = Chains(), Chains()
        self._turn_hop = Column(np.int32)
        self._hops: list[tuple[int, Hop]] = []
        self._hop_numbers: dict[tuple[int, int, str, tuple[str, ...]], int] = {}
        self._taken = -1

    # ---- what each turn looks like

    def _receive(self, table: MachineTable, value: int, delivery: int) -> int:
        self._taken = delivery
        try:
            return super()._receive(table, value, delivery)
        finally:
            self._taken = -1

    def _enter(self, table: MachineTable, turns: Sequence[Turn]) -> int:
        entry = super()._enter(table, turns)
        for turn in turns:
            self._turn_hop.append(self._hop(table.position, turn))
        return entry

    def _hop(self, position: int, turn: Turn) -> int:
        """The number of a turn's hop, whatever the machine is afterwards."""
        key = (position, self._taken, turn.label, turn.rules)
        number = self._hop_numbers.setdefault(key, len(self._hops))
        if number == len(self._hops):
            message = sender = None
            if self._taken >= 0:
                origin, _, content = self._delivery_list[self._taken]
                message, sender = self.messages.values[content], self.system.machines[origin].name
            name = self.system.machines[position].name
            self._hops.append((position, Hop(name, message, sender, turn.label, turn.rules, UNREAD)))
        return number

    # ---- what was missing

    def learn(self, misses: Longs) -> None:
        """Learn what compiled code has missed, shape [n, 4]. Errors: CannotTabulate, those of machines."""
        distinct = np.unique(misses, axis=0)
        for kind in np.unique(distinct[:, 0]).tolist():
            some = distinct[distinct[:, 0] == kind]
            if kind in (NO_OFFER, NO_RECEIVE, NO_QUEUE):
                self._learn_turns(kind, some)
            elif kind in (NO_HOP, NO_TURN):
                chains = self._by_hops if kind == NO_HOP else self._by_turns
                chains.lengthen(some[:, 2], some[:, 3])
            elif kind == NO_KIND:
                self._answer(self._by_hops, some[:, 2], self._kind_by_hops)
            else:
                self._answer(self._by_turns, some[:, 2], self._kind_by_turns)

    def _learn_turns(self, kind: int, some: Longs) -> None:
        for place in np.unique(some[:, 1]).tolist():
            one, other = some[some[:, 1] == place][:, 2:].astype(np.int32).T
            if kind == NO_OFFER:
                self.offer_entries(place, one)
            elif kind == NO_RECEIVE:
                self.receive_entries(place, one, other)
            else:
                self.joined(one, other)

    def _answer(self, chains: Chains, some: Longs, kind: Callable[[list[int]], int]) -> None:
        for chain in some.tolist():
            chains.answer.data[chain] = kind(chains.numbers(chain))

    def _kind_by_hops(self, hops: list[int]) -> int:
        """The kind of a transition with these hops, or `BY_TURNS`."""
        try:
            return self._kind([self._hops[hop][1] for hop in hops])
        except Exception:  # what is not there may fail in any way; a mistake of its own fails again below
            return BY_TURNS

    def _kind_by_turns(self, turns: list[int]) -> int:
        """The kind of a transition in which these turns are taken."""
        hops = []
        for turn in turns:
            position, hop = self._hops[self._turn_hop.data[turn]]
            value = self.machines[position].interned.values[self.turns.data[turn, 0]]
            hops.append(replace(hop, value=value))
        try:
            return self._kind(hops)
        except Exception as error:  # a mistake of its own fails again in the plain search
            raise CannotTabulate from error

    def _kind(self, hops: Iterable[Hop]) -> int:
        return self.kind_of(Transition(UNREAD, tuple(hops)))

    def kind_of(self, transition: Transition) -> int:
        """The number of the set of classes that a transition belongs to."""
        named = [(one, name) for one in self.fairness for name in one.of(transition)]
        owed = frozenset(self.classes.setdefault(pair, len(self.classes)) for pair in named)
        number = self._kind_numbers.setdefault(owed, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(owed)
        return number

    # ---- what is known

    def of(self, fairness: Iterable[Fairness]) -> list[int]:
        """The classes of some assumptions that occur, in order."""
        wanted = set(fairness)
        return sorted(number for (one, _), number in self.classes.items() if one in wanted)

    def belongs(self, classes: Sequence[int]) -> Flags:
        """Whether transitions of each kind belong to each class, shape [kinds, classes]."""
        rows = [[one in owed for one in classes] for owed in self.kinds]
        return np.array(rows, np.bool_).reshape(len(self.kinds), len(classes))

    def says(self) -> Says:
        """The tables as they are now."""
        return Says(
            self._turn_hop.data,
            *self._by_hops.longer.arrays,
            self._by_hops.answer.data,
            *self._by_turns.longer.arrays,
            self._by_turns.answer.data,
        )

    def fired(self) -> frozenset[str]:
        """The slugs of the rules in transitions whose kind was asked for."""
        asked = np.flatnonzero(self._by_hops.answer.data != UNKNOWN).tolist()
        hops = {hop for chain in asked for hop in self._by_hops.numbers(chain)}
        return frozenset(slug for hop in hops for slug in self._hops[hop][1].rules)
