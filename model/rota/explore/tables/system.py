"""What an engine over tables does with the states of one level, here or in a task of Spark's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isqrt

import numpy as np

from rota.explore.purity import Sampled, doubt
from rota.explore.result import Find, Violation, first
from rota.explore.tables.arrays import Flags, Ints, Longs, least
from rota.explore.tables.machines import Learned
from rota.explore.tables.properties import Judge
from rota.explore.tables.successors import expand
from rota.kernel import Property, State, System, Transition, component_hash, state_hash
from rota.kernel.encoding import GOLDEN, mix64

BLOCK = 1 << 14
"""Rows expanded at a time: enough to drown the cost of numpy's calls, few enough for caches."""

SAMPLE, SHARE = 24, 1024
"""States per run whose successors are compared with what `System.successors` says: so many at least, and the
square root of that share of the transitions where it is more."""


class EngineError(RuntimeError):
    """The table engine contradicts the system's own successors: a bug in the engine, or an impure machine."""


@dataclass
class Expanded:
    """What became known when a level was expanded. outcomes: marks by index of the outcomes that took
    part.
    """

    generated: int = 0
    stuck: Find | None = None
    bad_step: Find | None = None
    outcomes: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))

    def mark(self, count: int, used: Iterable[Longs]) -> None:
        """Note the outcomes that took part, of `count` known ones."""
        if count > len(self.outcomes):
            grown = np.zeros(2 * count, np.bool_)
            grown[: len(self.outcomes)] = self.outcomes
            self.outcomes = grown
        for outcomes in used:
            self.outcomes[outcomes] = True


class Tables:
    """What is learned about one system, its properties included; give it to a further run to start warm."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.learned = Learned(system)
        self.judge = Judge(self.learned)

    def find(self, rank: int, rows: Ints) -> Find:
        """The row with the least hash as a find."""
        high, low = self.learned.hashes(rows)
        index = least(high, low)
        return Find(rank, int(high[index]) << 64 | int(low[index]), self.learned.state(rows[index]))

    def bad_state(self, rows: Ints) -> Find | None:
        """The canonical violation of an invariant among rows."""
        return first(*(self.find(rank, rows[flags]) for rank, flags in self.judge.bad_states(rows)))

    def expand(self, block: Ints, into: Expanded) -> tuple[Longs, Ints]:
        """Transitions out of a block: sources (indices within it) and targets; the rest goes `into`."""
        expansion = expand(self.learned, block)
        source, target = expansion.source, expansion.target
        into.generated += len(source)
        into.mark(len(self.learned.outcome_rules), expansion.outcomes)
        if self.judge.steps:
            before = np.take(block, source, axis=0)
            for rank, flags in self.judge.bad_steps(before, target):
                into.bad_step = first(into.bad_step, self.find(rank, before[flags]))
        if self.judge.has_ends:
            into.stuck = first(into.stuck, self.lost(block[expansion.stuck(block)]))
        return source, target

    def lost(self, rows: Ints) -> Find | None:
        """Of rows that nothing leaves, the canonical one that is no declared end."""
        ended = rows[~self.judge.may_end(rows)]
        return self.find(0, ended) if len(ended) else None

    def fired(self, outcomes: Flags) -> frozenset[str]:
        """The slugs of marked outcomes."""
        rules = self.learned.outcome_rules
        return frozenset(slug for outcome in np.flatnonzero(outcomes).tolist() for slug in rules[outcome])

    def predecessor(
        self, blocks: Iterable[Ints], state: State, canonical: Callable[[Ints], Ints] = lambda rows: rows
    ) -> Find | None:
        """Of the rows in some blocks, the one with the least hash that `state` is a successor of.

        canonical: what successors are replaced by before they are compared.
        """
        wanted = np.array(self.learned.intern_state(state), np.int32)
        found: Find | None = None
        for block in blocks:
            expansion = expand(self.learned, block)
            hit = (canonical(expansion.target) == wanted).all(axis=1)
            if hit.any():
                found = first(found, self.find(0, block[expansion.source[hit]]))
        return found

    def sampled(self, rows: Ints) -> Sampled:
        """Look at what was learned again, and at the successors of some rows. Errors: Impure, EngineError."""
        asked = self.learned.again.ask()
        self.check(rows)
        return replace(asked, states=len(rows))

    def check(self, rows: Ints) -> None:
        """Compare successors of some rows with the system's own. Errors: EngineError, UserError, Impure."""
        for table in self.learned.machines:
            table.check()
        if not len(rows):
            return
        expansion = expand(self.learned, rows)
        high, low = self.learned.hashes(expansion.target)
        for index, row in enumerate(rows):
            state = self.learned.state(row)
            here = expansion.source == index
            ours = sorted(int(h) << 64 | int(w) for h, w in zip(high[here], low[here], strict=True))
            # most of a successor's values are those of the state
            known = {id(value): component_hash(value) for value in state}
            theirs = sorted(
                state_hash([known.get(id(value)) or component_hash(value) for value in transition.target])
                for transition in self.learned.system.successors(state)
            )
            if ours != theirs:
                doubt(self.learned.system, state)
                raise EngineError(
                    f"{self.system.name}: the tables give {len(ours)} successors and the system "
                    f"{len(theirs)}, or other ones, for {state!r}; is a machine's function impure?"
                )


def matching(system: System, tables: Tables | None) -> Tables:
    """The tables that a run is given, or new ones. Errors: ValueError if they are of another system."""
    if tables is not None and tables.system is not system:
        raise ValueError(f"these tables were learned from {tables.system.name}, not from {system.name}")
    return tables or Tables(system)


def worth(transitions: int, least: int = SAMPLE) -> int:
    """How many states of a run are compared: it grows with the square root of the transitions."""
    return max(least, isqrt(transitions // SHARE))


def sample(size: int, count: int = SAMPLE) -> Longs:
    """Up to `count` distinct numbers below `size`, spread like random ones and always the same."""
    if size <= count:
        return np.arange(size)
    return np.unique(np.array([mix64(GOLDEN * (i + 1)) % size for i in range(count)], np.int64))


def steps_along(
    system: System, states: Sequence[State], bad: Property | None = None
) -> tuple[Transition, ...]:
    """The transitions along a path of states, then the canonical one that breaks the step property `bad`.

    Of several transitions between two states: the first in the system's order.
    """
    path = [_between(system, a, b) for a, b in pairwise(states)]
    if bad is not None:
        before = states[-1]
        path.append(
            min(
                (t for t in system.successors(before) if not system.step_holds(bad, before, t.target)),
                key=lambda t: system.hash_state(t.target),
            )
        )
    return tuple(path)


def _between(system: System, before: State, after: State) -> Transition:
    return next(t for t in system.successors(before) if t.target == after)


def blocks(start: int, stop: int, size: int = BLOCK) -> Iterator[tuple[int, int]]:
    """The range cut into pieces."""
    for begin in range(start, stop, size):
        yield begin, min(begin + size, stop)


def violation(
    system: System, name: str, meaning: str, states: Sequence[State], bad: Property | None = None
) -> Violation:
    """The counterexample along a path of states; see `steps_along`."""
    return Violation(name, meaning, states[0], steps_along(system, states, bad))
