"""Properties over rows: views once per distinct value, predicates once per distinct combination of views."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rota.explore.tables.arrays import Column, Flags, IntMap, Ints, Longs, Pool, Region
from rota.explore.tables.machines import Learned
from rota.explore.tables.views import Answers, Seen, ViewTable
from rota.kernel import IN_STATES, Kind, Property, View

FINE, NOT = 1, 2
"""Status of a combination: every predicate answered True; some predicate answered False."""

DENSE = 1 << 22
"""Most combinations that a group tabulates in a plain array (one byte each); beyond, in a hash map."""


@dataclass
class Check:
    """One property at one choice of machines.

    answers: of the property, at whichever machines; places: per view of the property, the group's slot and
    the view's index in the slot.
    """

    answers: Answers
    places: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        # a property of one view is asked for it twice, so that all have pairs
        self.first, self.second = self.places[0], self.places[-1]

    @property
    def prop(self) -> Property:
        """What is checked."""
        return self.answers.prop

    def holds(self, joint: Sequence[Ints]) -> Flags:
        """Where it holds. joint: per slot the joint views, a row for each combination that is asked about."""
        slot, index = self.first
        other, at = self.second
        return self.answers.holds(joint[slot][:, index], joint[other][:, at])


@dataclass(frozen=True)
class Pools:
    """Where all groups' tables live: joint views by value, statuses by pair of joint views."""

    codes: Pool = field(default_factory=lambda: Pool(np.int32, fill=-1))
    status: Pool = field(default_factory=lambda: Pool(np.int8))
    sparse: IntMap = field(default_factory=IntMap)
    """Statuses of groups with too many pairs for an array, by `sparse_key`."""


class _Slot:
    """One machine's side of a group: the joint view, i.e. all that the group's checks see of it."""

    def __init__(self, pools: Pools) -> None:
        self.views: list[ViewTable] = []
        self.code = Region(pools.codes)
        self._known: dict[tuple[int, ...], int] = {}

    @cached_property
    def joint(self) -> Column:
        """What each joint view is of each view, by its number. All views are known before the first one."""
        return Column(np.int32, width=len(self.views))

    def codes(self, values: Ints) -> Ints:
        """The joint view's number of each value."""
        if not len(values):
            return values
        self.code.reserve(int(values.max()) + 1)
        codes: Ints = self.code.data[values]
        missing = codes < 0
        if missing.any():
            unknown = sorted(set(values[missing].tolist()))
            seen = [view.codes_of(unknown) for view in self.views]
            known, numbers = self._known, []
            for joint in zip(*seen, strict=True):
                number = known.get(joint)
                if number is None:
                    number = known[joint] = len(known)
                    self.joint.append(joint)
                numbers.append(number)
            self.code.data[unknown] = numbers
            codes = self.code.data[values]
        return codes

    def recall(self, codes: Ints, joint: Ints) -> None:
        """Begin with the joint views of an earlier run: their numbers by value, what each is of each view."""
        self.code.reserve(len(codes))
        self.code.data[:] = codes
        self.joint.reserve(len(joint))
        self.joint.data[:] = joint
        self._known = {seen: number for number, seen in enumerate(map(tuple, joint.tolist()))}


CODE_BITS = 26
"""Most bits of a joint view's number."""


class CheckGroup:
    """Checks that look at the same machines, tabulated together.

    One slot per argument: a state's group has one slot per machine; a step's has the machine before and
    after. The table's key is the pair of joint views (the second one 0 where there is one slot). number: its
    own among the groups of a judge.
    """

    def __init__(self, slots: int, pools: Pools, number: int) -> None:
        self.slots = tuple(_Slot(pools) for _ in range(slots))
        self.checks: list[Check] = []
        self._pools = pools
        self.bits = (0, 0)
        self.dense: Region | None = Region(pools.status)
        self.dense.reserve(1)
        self.number = number

    def add(self, answers: Answers, arguments: Sequence[tuple[int, ViewTable]]) -> None:
        """Enter a check before the first use. arguments: per view the slot and the table."""
        placed = []
        for slot, view in arguments:
            views = self.slots[slot].views
            if view not in views:
                views.append(view)
            placed.append((slot, views.index(view)))
        self.checks.append(Check(answers, tuple(placed)))

    def status(self, columns: Sequence[Ints]) -> Ints:
        """FINE or NOT for each entry of the columns (one per slot) of value numbers."""
        first, second = self._pairs(columns)
        status = self._get(first, second)
        missing = status <= 0
        if missing.any():
            pairs = np.unique(first[missing].astype(np.int64) << 32 | second[missing])
            some, others = pairs >> 32, pairs & 0xFFFFFFFF
            answers = np.logical_and.reduce(self._answers(some, others))
            self._set(some, others, np.where(answers, FINE, NOT))
            status = self._get(first, second)
        return status

    def failing(self, columns: Sequence[Ints]) -> Iterable[tuple[Property, Flags]]:
        """For each check that answers False somewhere: its property and where."""
        for check, answers in zip(self.checks, self._answers(*self._pairs(columns)), strict=True):
            if not answers.all():
                yield check.prop, ~answers

    def _pairs(self, columns: Sequence[Ints]) -> tuple[Ints, Ints]:
        codes = [slot.codes(column) for slot, column in zip(self.slots, columns, strict=True)]
        return codes[0], codes[1] if len(codes) == 2 else np.zeros_like(codes[0])

    def _answers(self, first: Any, second: Any) -> list[Flags]:
        """For each check, of which pairs of joint views it holds."""
        joint = [slot.joint.data[codes] for slot, codes in zip(self.slots, (first, second), strict=False)]
        return [check.holds(joint) for check in self.checks]

    def _get(self, first: Ints, second: Ints) -> Ints:
        needed = [max(0, slot.joint.size - 1).bit_length() for slot in self.slots]
        first_bits, second_bits = needed[0], needed[1] if len(needed) == 2 else 0
        if self.dense is not None and (first_bits > self.bits[0] or second_bits > self.bits[1]):
            self._widen(self.dense, max(first_bits, self.bits[0]), max(second_bits, self.bits[1]))
        if self.dense is None:
            return self._pools.sparse.get(self._sparse_key(first, second))
        status: Ints = self.dense.data[first.astype(np.int64) << self.bits[1] | second].astype(np.int32)
        return status

    def _set(self, first: Longs, second: Longs, status: Longs) -> None:
        if self.dense is not None:
            self.dense.data[first << self.bits[1] | second] = status
        else:
            self._pools.sparse.put(self._sparse_key(first, second), status.astype(np.int32))

    def _widen(self, old: Region, first_bits: int, second_bits: int) -> None:
        """Room for more joint views: a larger region, or the hash map once that would be too large."""
        used = np.flatnonzero(old.data)
        status = old.data[used]
        first, second = used >> self.bits[1], used & ((1 << self.bits[1]) - 1)
        if 1 << (first_bits + second_bits) <= DENSE:
            self.dense = Region(self._pools.status)
            self.dense.reserve(1 << (first_bits + second_bits))
            self.dense.data[first << second_bits | second] = status
            self.bits = (first_bits, second_bits)
        else:
            self.dense = None
            self._pools.sparse.put(self._sparse_key(first, second), status.astype(np.int32))

    def statuses(self) -> tuple[Longs, Flags]:
        """Where there are statuses in the array, and which; none for a group that has them in the map."""
        if self.dense is None:
            return np.empty(0, np.int64), np.empty(0, np.bool_)
        used = np.flatnonzero(self.dense.data)
        return used, self.dense.data[used] == FINE

    def recall(self, bits: tuple[int, int], dense: bool, used: Longs, fine: Flags) -> None:
        """Begin with the statuses of an earlier run; those that are not in an array are in the map."""
        self.bits, self.dense = bits, None
        if dense:
            self.dense = Region(self._pools.status)
            self.dense.reserve(1 << sum(bits))
            self.dense.data[used] = np.where(fine, FINE, NOT)

    def _sparse_key(self, first: Any, second: Any) -> Longs:
        if any(slot.joint.size > 1 << CODE_BITS for slot in self.slots):
            raise OverflowError(f"a property sees more than {1 << CODE_BITS} different values of a machine")
        keys: Longs = first.astype(np.int64) << CODE_BITS | second
        keys |= self.number << 2 * CODE_BITS
        return keys


class Judge:
    """The properties of one system over rows. Properties are ranked by their order in the system."""

    def __init__(self, learned: Learned) -> None:
        self._learned = learned
        self.pools = Pools()
        self.groups: list[CheckGroup] = []
        """All there are, by number."""
        self.seen: dict[View, Seen] = {}
        self.views: dict[tuple[int, View], ViewTable] = {}
        self.answers: dict[Property, Answers] = {}
        system = learned.system
        self.invariants = system.select(*IN_STATES)
        self.steps = system.select(Kind.STEP)
        self.has_ends = bool(system.select(Kind.TERMINAL))
        self.state_groups = self._grouped(self.invariants)
        self.end_groups = self._grouped(system.select(Kind.TERMINAL))
        self.witness_groups = [
            (prop, list(self._grouped((prop,), [choice]).items()))
            for prop in system.select(Kind.WITNESS)
            for choice in system.positions(prop)
        ]
        self.step_groups: dict[int, CheckGroup] = {}
        for prop in self.steps:
            for (position,) in system.positions(prop):
                view = self._view(position, prop.views[0])
                group = self.step_groups.setdefault(position, self._group(2))
                group.add(self._answers(prop), [(0, view), (1, view)])

    def _grouped(
        self, props: Iterable[Property], choices: Sequence[tuple[int, ...]] | None = None
    ) -> dict[tuple[int, ...], CheckGroup]:
        """One group per set of machines that some property looks at together."""
        groups: dict[tuple[int, ...], CheckGroup] = {}
        for prop in props:
            for choice in choices or self._learned.system.positions(prop):
                places = tuple(sorted(choice))
                arguments = [
                    (places.index(position), self._view(position, view))
                    for position, view in zip(choice, prop.views, strict=True)
                ]
                group = groups.setdefault(places, self._group(len(places)))
                group.add(self._answers(prop), arguments)
        return groups

    def _group(self, slots: int) -> CheckGroup:
        self.groups.append(CheckGroup(slots, self.pools, len(self.groups)))
        return self.groups[-1]

    def _view(self, position: int, view: View) -> ViewTable:
        return self.views.setdefault((position, view), ViewTable(self._sees(view), position))

    def _sees(self, view: View) -> Seen:
        return self.seen.setdefault(view, Seen(self._learned, view))

    def _answers(self, prop: Property) -> Answers:
        views = prop.views * 2 if prop.kind is Kind.STEP else prop.views
        return self.answers.setdefault(prop, Answers(prop, [self._sees(view) for view in views]))

    def counts(self) -> dict[str, tuple[int, int]]:
        """By property how often it was judged, and how often its premise was True, in all runs together.

        After a run over all reachable states that is what this run has judged: whatever an earlier one has
        met of the same system, this one has met too. A property of more machines than there are is never
        judged.
        """
        never = {prop.name: (0, 0) for prop in (*self.invariants, *self.steps)}
        return never | {prop.name: (len(known), known.given) for prop, known in self.answers.items()}

    def bad_states(self, rows: Ints) -> list[tuple[int, Flags]]:
        """Rank of an invariant and the rows that break it, for each group that finds any."""
        out = []
        for places, group in self.state_groups.items():
            columns = [rows[:, place] for place in places]
            out += _ranked(self.invariants, group, columns)
        return out

    def bad_steps(self, before: Ints, after: Ints) -> list[tuple[int, Flags]]:
        """Rank of a step property and the pairs of rows that break it, for each group that finds any."""
        out = []
        for place, group in self.step_groups.items():
            out += _ranked(self.steps, group, [before[:, place], after[:, place]])
        return out

    def may_end(self, rows: Ints) -> Flags:
        """Which rows are declared ends."""
        fine = np.ones(len(rows), np.bool_)
        for places, group in self.end_groups.items():
            fine &= group.status([rows[:, place] for place in places]) == FINE
        return fine

    def witnessed(self, rows: Ints, wanted: Iterable[str]) -> set[str]:
        """Which of the wanted witnesses some row is."""
        found: set[str] = set()
        open_ = set(wanted)
        for prop, groups in self.witness_groups:
            if prop.name in open_ - found:
                ((places, group),) = groups
                if (group.status([rows[:, place] for place in places]) == FINE).any():
                    found.add(prop.name)
        return found


def _ranked(
    props: tuple[Property, ...], group: CheckGroup, columns: Sequence[Ints]
) -> list[tuple[int, Flags]]:
    bad = np.flatnonzero(group.status(columns) == NOT)
    out = []
    if bad.size:
        for prop, where in group.failing([column[bad] for column in columns]):
            flags = np.zeros(len(columns[0]), np.bool_)
            flags[bad[where]] = True
            out.append((props.index(prop), flags))
    return out
