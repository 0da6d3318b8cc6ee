"""What compiled code is given to look things up, and how what it missed is learned."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rota.explore.compiled import arguments
from rota.explore.compiled.arguments import (
    NO_OFFER,
    NO_QUEUE,
    NO_RECEIVE,
    NO_RENAMED,
    NO_SEEN,
    Fields,
    Given,
    Groups,
    Lanes,
)
from rota.explore.compiled.packing import Layout
from rota.explore.compiled.symmetry import Orbits
from rota.explore.tables.arrays import Longs
from rota.explore.tables.system import Tables

_LOOK_UNLESS_FINE, _LOOK_UNLESS_NOT = 0b101, 0b011
"""Bits of the statuses (unknown, fine, not) for which a state is judged in Python."""


class Lookups:
    """The tables of a system as compiled code reads them. symmetry: whether states are turned."""

    def __init__(self, tables: Tables, symmetry: bool = False) -> None:
        self.learned, self.judge = tables.learned, tables.judge
        self.orbits = Orbits(self.learned, self.learned.system.symmetry if symmetry else None)

    def layout(self, now: Layout | None = None) -> Layout:
        """The layout in use, if all values still fit into it; else a wider one."""
        counts = [len(table.interned) for table in self.learned.machines]
        return now if now is not None and now.fits(counts) else Layout(counts)

    def places(self, layout: Layout) -> tuple[Fields, Lanes]:
        """Where values are in a state, and their hashes."""
        return Fields(*layout.fields()), arguments.lanes(self.learned)

    def given(self, layout: Layout) -> Given:
        """All that an expansion reads, as it is now."""
        steps = self.judge.step_groups
        groups = arguments.groups(self.judge, [((place, place), group) for place, group in steps.items()])
        fields, lanes = self.places(layout)
        return Given(arguments.learnt(self.learned), fields, lanes, groups, self.orbits.bundle())

    def judged(self, unseen: Iterable[str]) -> tuple[Groups, Longs]:
        """The groups of invariants and of witnesses not seen yet, and when each asks for a look."""
        wanted = frozenset(unseen)
        invariants = list(self.judge.state_groups.items())
        witnesses = [pair for prop, (pair,) in self.judge.witness_groups if prop.name in wanted]
        asks = [_LOOK_UNLESS_FINE] * len(invariants) + [_LOOK_UNLESS_NOT] * len(witnesses)
        return arguments.groups(self.judge, [*invariants, *witnesses]), np.array(asks, np.int64)

    def learn(self, misses: Longs) -> None:
        """Learn what an expansion has missed, shape [n, 4], in an order that does not depend on threads."""
        for some in distinct(misses):
            kind, place = some[0, :2].tolist()
            one, other = some[:, 2:].T
            if kind == NO_OFFER:
                self.learned.learn_offers(place, one.tolist())
            elif kind == NO_RECEIVE:
                self.learned.learn_receives(place, one << 32 | other)
            elif kind in (NO_SEEN, NO_RENAMED):
                self.orbits.learn(kind, place, one, other)
            elif kind == NO_QUEUE:
                self.learned.learn_joins(one << 32 | other)
            else:
                columns = [one.astype(np.int32), other.astype(np.int32)]
                list(self.judge.step_groups.values())[place].status(columns)


def distinct(misses: Longs) -> list[Longs]:
    """Misses in order without repeats, apart by kind and place."""
    if not len(misses):
        return []
    order = np.lexsort(misses.T[::-1])
    ordered = misses[order]
    changes = ordered[1:] != ordered[:-1]
    fresh = np.flatnonzero(changes.any(axis=1)) + 1
    starts = np.flatnonzero(changes[fresh - 1, :2].any(axis=1)) + 1
    return np.split(ordered[np.concatenate(([0], fresh))], starts)
