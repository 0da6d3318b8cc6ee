"""Random walks through a system that is too large to be explored: only the states met are judged.

Many walks go side by side over the tables of `rota.explore.tables.machines`, so that Python runs once per
distinct (value, input) here too. All successors of a state on a walk are met, judged and counted; the walk
goes on to one of them. A uniform choice revisits the same states (heartbeats, a fault that is spent at once);
so a successor weighs the less the more often walks have visited it, and a machine with many actions is not
chosen more often than one with few.

Walks never prove that a property holds: they end in a violation or undecided.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from rota.explore.mistakes import NotSeen, met_from, retraced
from rota.explore.result import (
    DEADLOCK,
    DEADLOCK_MEANING,
    Find,
    Limits,
    Result,
    Verdict,
    Violation,
    first,
    verdicts,
)
from rota.explore.tables.arrays import Flags, Ints, Longs, RowSet, total128
from rota.explore.tables.successors import Successors, expand
from rota.explore.tables.system import Expanded, Tables, steps_along, violation
from rota.explore.walks.model import Coverage, Simulation, WalkProgress, Walks
from rota.explore.walks.shorten import shortened
from rota.kernel import Digest, Kind, Property, State, System, UserError

SIDE_BY_SIDE = 256
"""Walks at a time: enough to drown the cost of numpy's calls, few enough to learn from each other."""

RETRACED = 20_000
"""States among which a shortest run to a mistake is looked for."""

REMEMBERED = 1 << 22
"""Distinct states that are remembered; beyond, those met are judged and not counted any more."""


def simulate(
    system: System, walks: Walks, *, progress: WalkProgress | None = None, remembered: int = REMEMBERED
) -> Simulation:
    """Walk until a violation, or to the end of what was asked for.

    Parameters: system; walks; progress; remembered, distinct states at most. Errors: UserError
    as of the engines; ValueError without a bound.
    """
    if walks.runs is None and walks.seconds is None:
        raise ValueError("walks without a bound; give a number of them or a time")
    simulation = _Simulation(system, walks, progress, remembered)
    try:
        return simulation.run()
    except UserError as error:
        raise simulation.run_to(error) from error


@dataclass
class _Found:
    """A violation. find: where; prop: the step property that is violated; walker: which walk of the round."""

    name: str
    meaning: str
    find: Find
    prop: Property | None
    walker: int


class _Simulation:
    def __init__(self, system: System, walks: Walks, progress: WalkProgress | None, remembered: int) -> None:
        self.walks, self.progress, self.remembered = walks, progress, remembered
        self.tables = Tables(system)
        self.learned, self.judge = self.tables.learned, self.tables.judge
        self.system = self.learned.system
        self.random = np.random.Generator(np.random.PCG64(walks.seed))
        self.met = RowSet(self.learned.width)
        self.gone = np.zeros(1024, np.int32)
        """Per state that is remembered: how often a walk has gone there."""
        self.exact = True
        self.witnesses: dict[str, int | None] = {p.name: None for p in system.select(Kind.WITNESS)}
        self.digest = Digest()
        self.expanded = Expanded()
        self.walked = self.steps = self.longest = 0
        self.walkers, self.history = np.empty(0, np.int64), list[Ints]()

    def run(self) -> Simulation:
        """Round after round of walks. Errors: Impure."""
        self.started = perf_counter()
        initial = [self.learned.intern_state(state) for state in self.system.initial_states()]
        self.starts = np.array(initial, np.int32).reshape(-1, self.learned.width)
        while not self._over() and not self._all_walked():
            found = self._round()
            for table in self.learned.machines:
                table.check()
            if found:
                self.learned.again.ask()
                return self._violated(found)
            if self.progress:
                seconds = perf_counter() - self.started
                self.progress(self.walked, self.met.size, self.steps, self.expanded.generated, seconds)
        self.learned.again.ask()
        return Simulation(self._result(None), self._coverage())

    def run_to(self, error: UserError) -> UserError:
        """A mistake with a run to it: a shortest one if it is found soon, else the walk that met it."""
        with suppress(NotSeen):
            try:
                retraced(error, self.system, Limits(), most=RETRACED)
            except UserError as found:
                if found.path is not None:
                    return found
        for walker in self.walkers:
            path = [self.learned.state(rows[walker]) for rows in self.history]
            if (near := met_from(self.system, path[-1])) is not None:
                return near.found(path[0], (*steps_along(self.system, path), *(near.path or ())))
        return error

    def _over(self) -> bool:
        """Whether the time is over."""
        bound = self.walks.seconds
        return bound is not None and perf_counter() - self.started >= bound

    def _all_walked(self) -> bool:
        return self.walks.runs is not None and self.walked >= self.walks.runs

    def _round(self) -> _Found | None:
        """A batch of walks side by side, from their initial states to their ends."""
        left = SIDE_BY_SIDE if self.walks.runs is None else self.walks.runs - self.walked
        rows = self.starts[self.random.integers(0, len(self.starts), min(left, SIDE_BY_SIDE))]
        self.walkers = np.arange(len(rows))
        self.history = [rows]
        """Per step, where each walk is; a walk that has ended stays where it ended."""
        if found := self._meet(rows, self.walkers, depth=0):
            return found
        for depth in range(1, self.walks.depth + 1):
            if found := self._step(depth):
                return found
            if not len(self.walkers):
                break
            if self._over():
                self.walked -= len(self.walkers) if depth < self.walks.depth else 0  # those have not ended
                break
        self.walked += len(rows)
        return None

    def _step(self, depth: int) -> _Found | None:
        """One step of every walk that goes on."""
        rows = self.history[-1][self.walkers]
        expansion = expand(self.learned, rows)
        self.expanded.generated += len(expansion.source)
        self.expanded.mark(len(self.learned.outcome_rules), expansion.outcomes)
        before, targets = rows[expansion.source], np.ascontiguousarray(expansion.target)
        found = (
            self._lost(rows, expansion)
            or self._bad_step(before, targets, expansion.source)
            or self._meet(targets, self.walkers[expansion.source], depth)
        )
        if found:
            return found
        chosen = self._choose(expansion, (targets != before).any(axis=1))
        self.walkers = self.walkers[expansion.source[chosen]]
        now = self.history[-1].copy()
        now[self.walkers] = targets[chosen]
        self.history.append(now)
        self.steps += len(chosen)
        self.longest = max(self.longest, depth if len(chosen) else 0)
        return None

    def _meet(self, rows: Ints, walkers: Longs, depth: int) -> _Found | None:
        """Judge states and enter them among those met."""
        base = self.met.size
        if base + len(rows) <= self.remembered:
            self.numbers = self.met.add(np.ascontiguousarray(rows))
            fresh = self.met.rows(base, self.met.size)
            high, low = self.learned.hashes(fresh)
            self.digest.add([total128(high, low)])
        else:
            self.exact, fresh = False, rows
            self.numbers = np.full(len(rows), -1)
        if self.met.size > len(self.gone):
            self.gone = np.concatenate([self.gone, np.zeros(self.met.size, np.int32)])
        wanted = [name for name, seen in self.witnesses.items() if seen is None]
        for name in self.judge.witnessed(fresh, wanted):
            self.witnesses[name] = depth
        if (find := self.tables.bad_state(fresh)) is None:
            return None
        row = np.array(self.learned.intern_state(find.state), np.int32)
        walker = int(walkers[(rows == row).all(axis=1)][0])
        prop = self.judge.invariants[find.rank]
        return _Found(prop.name, prop.meaning, find, None, walker)

    def _lost(self, rows: Ints, expansion: Successors) -> _Found | None:
        """A walk in deadlock: no transition leads out of its state, which is no declared end."""
        if not self.judge.has_ends:
            return None
        stuck = np.flatnonzero(expansion.stuck(rows))
        if (find := self.tables.lost(rows[stuck])) is None:
            return None
        return _Found(DEADLOCK, DEADLOCK_MEANING, find, None, self._walker_in(find.state, rows))

    def _bad_step(self, before: Ints, targets: Ints, source: Longs) -> _Found | None:
        """A walk in a state from which a step breaks a property."""
        bad = (self.tables.find(rank, before[flags]) for rank, flags in self.judge.bad_steps(before, targets))
        if (find := first(*bad)) is None:
            return None
        prop = self.judge.steps[find.rank]
        rows = self.history[-1][self.walkers]
        return _Found(prop.name, prop.meaning, find, prop, self._walker_in(find.state, rows))

    def _walker_in(self, state: State, rows: Ints) -> int:
        row = np.array(self.learned.intern_state(state), np.int32)
        return int(self.walkers[(rows == row).all(axis=1)][0])

    def _choose(self, expansion: Successors, moving: Flags) -> Longs:
        """One transition for each walk that can go on: their indices, in the order of walks.

        The weight of a transition is 1 / (1 + how often walks have gone to its target)², divided by how many
        the machine that begins it begins; a step to where a walk is already is none.
        """
        candidates = np.flatnonzero(moving)
        source, numbers = expansion.source[candidates], self.numbers[candidates]
        gone = np.where(numbers >= 0, self.gone[numbers], 0).astype(np.float64)
        machine = self.learned.outcome_machine.data[expansion.began[candidates]]
        _, group, size = np.unique(
            source * self.learned.width + machine, return_inverse=True, return_counts=True
        )
        # the least of exponential variables, each as often as its weight says
        key = self.random.exponential(size=len(candidates)) * (1.0 + gone) ** 2 * size[group]
        order = np.lexsort((key, source))
        from_ = source[order]
        firsts = np.ones(len(order), np.bool_)
        firsts[1:] = from_[1:] != from_[:-1]
        chosen: Longs = candidates[order[firsts]]
        known = self.numbers[chosen]
        np.add.at(self.gone, known[known >= 0], 1)
        return chosen

    # ---- the end

    def _violated(self, found: _Found) -> Simulation:
        path = [self.learned.state(rows[found.walker]) for rows in self.history]
        if path[-1] != found.find.state:
            path.append(found.find.state)
        short = shortened(self.tables, found.name, found.prop, path)
        shortest_known = violation(self.system, found.name, found.meaning, short, found.prop)
        walked = len(path) - 1 + (found.prop is not None)
        number = self.walked + found.walker
        return Simulation(self._result(shortest_known), self._coverage(), number, walked)

    def _result(self, found: Violation | None) -> Result:
        seconds = perf_counter() - self.started
        return Result(
            engine="simulate",
            verdict=Verdict.VIOLATED if found else Verdict.UNDECIDED,
            distinct=self.met.size,
            generated=self.expanded.generated,
            depth=self.longest,
            histogram=(),
            digest=self.digest.hex(),
            properties=verdicts(self.system, found, not found, self.witnesses, dict),
            violation=found,
            rules_fired=self.tables.fired(self.expanded.outcomes),
            seconds=seconds,
            stats=self._stats(seconds),
        )

    def _stats(self, seconds: float) -> dict[str, Any]:
        effort = self.learned.effort
        return {
            **self.learned.sizes(),
            "python_calls": effort.calls,
            "seconds_in_python": effort.seconds,
            "steps_per_second": self.steps / seconds if seconds else 0.0,
        }

    def _coverage(self) -> Coverage:
        values = {table.machine.name: len(table.interned) for table in self.learned.machines}
        outcomes = int(np.count_nonzero(self.expanded.outcomes))
        return Coverage(self.walked, self.steps, self.longest, self.met.size, self.exact, values, outcomes)
