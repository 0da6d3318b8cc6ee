"""Labels of transitions, from tables: the fairness classes that a transition belongs to, and its rules.

They are looked up by the sequence of its local steps, each without the value that the machine then has: there
are far fewer of these than of transitions. Where an assumption reads the value after a local step, they are
looked up by the sequence of the machines' outcomes.
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
from rota.kernel import Fairness, LocalStep, Outcome, System, Transition

NO_LOCAL_STEP, NO_KIND, NO_OUTCOME, NO_OUTCOME_KIND = range(16, 20)
"""Kinds of misses beside those of `rota.explore.compiled.arguments`: (kind, 0, chain, next number or 0)."""

UNKNOWN, BY_OUTCOMES = -1, -2
"""Instead of a kind: it was not computed yet, or the local steps do not decide it and the outcomes do."""


class CannotTabulate(Exception):
    """An assumption reads more of a transition than its local steps."""


class _Read(Exception):
    """A value was read that is not there."""


def _read(*_: Any) -> NoReturn:
    raise _Read


class _Unread:
    """Stands in the place of a value that must not be read; whatever is done to it but `is` fails."""

    __getattribute__ = _read
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _read
    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __call__ = _read
    __hash__ = __str__ = __repr__ = _read


UNREAD: Any = _Unread()
"""Instead of a transition's target, or of a machine's value after a local step."""


class Chains:
    """Sequences of numbers: 0 is the empty one, every other an earlier one and a number more.

    kind: of the transitions with this sequence, `UNKNOWN` at first.
    """

    def __init__(self) -> None:
        self.longer = IntMap()
        self.kind = Column(np.int32, fill=UNKNOWN)
        self.kind.reserve(1)
        self._links = [(0, 0)]

    def lengthen(self, chains: Longs, numbers: Longs) -> None:
        """Number the chains that are these and a number more; they are distinct and new."""
        first = len(self._links)
        self._links += zip(chains.tolist(), numbers.tolist(), strict=True)
        self.longer.put(chains << 32 | numbers, np.arange(first, len(self._links), dtype=np.int32))
        self.kind.reserve(len(self._links))

    def numbers(self, chain: int) -> list[int]:
        """What a chain is made of."""
        out = []
        while chain:
            chain, number = self._links[chain]
            out.append(number)
        return out[::-1]


class LabelTables(NamedTuple):
    """What compiled code reads of `LabelledTables`: the local step of each outcome, and the kinds of
    sequences of local steps and of outcomes."""

    local_step_of: Ints
    local_steps: Longs
    local_step_shift: int
    by_local_steps: Ints
    outcomes: Longs
    outcome_shift: int
    by_outcomes: Ints


class LabelledTables(Learned):
    """The tables of a system, with the classes of its transitions under some fairness assumptions.

    kinds: the sets of classes that a transition may belong to, by number; classes: (assumption, class) ->
    number.
    """

    def __init__(self, system: System, fairness: Iterable[Fairness]) -> None:
        super().__init__(system)
        self.fairness = tuple(dict.fromkeys(fairness))
        self.classes: dict[tuple[Fairness, Any], int] = {}
        self.kinds: list[Classes] = []
        self._kind_numbers: dict[Classes, int] = {}
        self._by_local_steps, self._by_outcomes = Chains(), Chains()
        self._local_step_of = Column(np.int32)
        self._local_steps: list[tuple[int, LocalStep]] = []
        self._local_step_numbers: dict[tuple[int, int, str, tuple[str, ...]], int] = {}
        self._taken = -1

    # ---- the local step of each outcome

    def _receive(self, table: MachineTable, value: int, delivery: int) -> int:
        self._taken = delivery
        try:
            return super()._receive(table, value, delivery)
        finally:
            self._taken = -1

    def _enter(self, table: MachineTable, outcomes: Sequence[Outcome]) -> int:
        outcomes = tuple(outcomes)  # a machine may have made a generator of it
        entry = super()._enter(table, outcomes)
        for outcome in outcomes:
            self._local_step_of.append(self._local_step(table.position, outcome))
        return entry

    def _local_step(self, position: int, outcome: Outcome) -> int:
        """The number of an outcome's local step, which leaves out the value after it."""
        key = (position, self._taken, outcome.label, outcome.rules)
        number = self._local_step_numbers.setdefault(key, len(self._local_steps))
        if number == len(self._local_steps):
            message = sender = None
            if self._taken >= 0:
                origin, _, content = self.delivery_list[self._taken]
                message, sender = self.messages.values[content], self.system.machines[origin].name
            name = self.system.machines[position].name
            self._local_steps.append(
                (position, LocalStep(name, message, sender, outcome.label, outcome.rules, UNREAD))
            )
        return number

    # ---- what was missing

    def learn(self, misses: Longs) -> None:
        """Learn what compiled code has missed, shape [n, 4]. Errors: CannotTabulate, those of machines."""
        distinct = np.unique(misses, axis=0)
        for kind in np.unique(distinct[:, 0]).tolist():
            some = distinct[distinct[:, 0] == kind]
            if kind in (NO_OFFER, NO_RECEIVE, NO_QUEUE):
                self._learn_outcomes(kind, some)
            elif kind in (NO_LOCAL_STEP, NO_OUTCOME):
                chains = self._by_local_steps if kind == NO_LOCAL_STEP else self._by_outcomes
                chains.lengthen(some[:, 2], some[:, 3])
            elif kind == NO_KIND:
                self._find_kinds(self._by_local_steps, some[:, 2], self._kind_by_local_steps)
            else:
                self._find_kinds(self._by_outcomes, some[:, 2], self._kind_by_outcomes)

    def _learn_outcomes(self, kind: int, some: Longs) -> None:
        for place in np.unique(some[:, 1]).tolist():
            one, other = some[some[:, 1] == place][:, 2:].astype(np.int32).T
            if kind == NO_OFFER:
                self.offer_entries(place, one)
            elif kind == NO_RECEIVE:
                self.receive_entries(place, one, other)
            else:
                self.joined(one, other)

    def _find_kinds(self, chains: Chains, some: Longs, kind_of: Callable[[list[int]], int]) -> None:
        for chain in some.tolist():
            chains.kind.data[chain] = kind_of(chains.numbers(chain))

    def _kind_by_local_steps(self, local_steps: list[int]) -> int:
        """The kind of a transition with these local steps, or `BY_OUTCOMES`."""
        try:
            return self._kind([self._local_steps[local_step][1] for local_step in local_steps])
        except (
            Exception
        ):  # reading what is not there fails in any way; the assumption's own errors recur below
            return BY_OUTCOMES

    def _kind_by_outcomes(self, outcomes: list[int]) -> int:
        """The kind of a transition with these outcomes."""
        local_steps = []
        for outcome in outcomes:
            position, local_step = self._local_steps[self._local_step_of.data[outcome]]
            value = self.machines[position].interned.values[self.outcomes.data[outcome, 0]]
            local_steps.append(replace(local_step, value=value))
        try:
            return self._kind(local_steps)
        except Exception as error:  # an error of the assumption itself recurs in the plain search
            raise CannotTabulate from error

    def _kind(self, local_steps: Iterable[LocalStep]) -> int:
        return self.kind_of(Transition(UNREAD, tuple(local_steps)))

    def kind_of(self, transition: Transition) -> int:
        """The number of the set of classes that a transition belongs to."""
        named = [(one, name) for one in self.fairness for name in one.of(transition)]
        members = frozenset(self.classes.setdefault(pair, len(self.classes)) for pair in named)
        number = self._kind_numbers.setdefault(members, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(members)
        return number

    # ---- what is known

    def of(self, fairness: Iterable[Fairness]) -> list[int]:
        """The classes of some assumptions that occur, in order."""
        wanted = set(fairness)
        return sorted(number for (one, _), number in self.classes.items() if one in wanted)

    def belongs(self, classes: Sequence[int]) -> Flags:
        """Whether transitions of each kind belong to each class, shape [kinds, classes]."""
        rows = [[one in members for one in classes] for members in self.kinds]
        return np.array(rows, np.bool_).reshape(len(self.kinds), len(classes))

    def label_tables(self) -> LabelTables:
        """The tables as they are now."""
        return LabelTables(
            self._local_step_of.data,
            *self._by_local_steps.longer.arrays,
            self._by_local_steps.kind.data,
            *self._by_outcomes.longer.arrays,
            self._by_outcomes.kind.data,
        )

    def fired(self) -> frozenset[str]:
        """The slugs of the rules in transitions whose kind was computed."""
        asked = np.flatnonzero(self._by_local_steps.kind.data != UNKNOWN).tolist()
        local_steps = {local_step for chain in asked for local_step in self._by_local_steps.numbers(chain)}
        return frozenset(
            slug for local_step in local_steps for slug in self._local_steps[local_step][1].rules
        )
