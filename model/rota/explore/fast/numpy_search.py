"""The table engine: breadth-first search over integers; Python runs once per distinct (value, input).

Same answers as `rota.explore.reference`, in numpy. Levels are worked off whole: the order within a level
does not matter, canonical traces are found afterwards by state hashes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from time import perf_counter
from typing import Any

import numpy as np

from rota.explore.cache.run import searched
from rota.explore.mistakes import finding
from rota.explore.purity import Sampled
from rota.explore.result import (
    DEADLOCK,
    DEADLOCK_MEANING,
    Find,
    Limits,
    Progress,
    Result,
    Violation,
    first,
    overall,
    verdicts,
)
from rota.explore.tables.arrays import Ints, RowSet, total128
from rota.explore.tables.rejudge import states_again
from rota.explore.tables.system import Expanded, Tables, blocks, sample, violation, worth
from rota.kernel import Digest, Kind, State, System

__all__ = ["Tables", "explore"]


@finding
def explore(
    system: System,
    limits: Limits | None = None,
    *,
    progress: Progress | None = None,
    tables: Tables | None = None,
) -> Result:
    """Visit every reachable state.

    Parameters: system; limits; progress, called after each level; tables, what an earlier run on the
    same system learned. Errors: UserError for a mistake of the system's, Impure if a function of it answers
    otherwise when it is asked again, EngineError if a sample disagrees with `System.successors`.
    """
    given = limits or Limits()
    return searched(system, given, tables, lambda known: _Search(known, given, progress).run())


class _Search:
    def __init__(self, tables: Tables, limits: Limits, progress: Progress | None) -> None:
        self.system, self.tables = tables.learned.system, tables
        self.limits, self.progress = limits, progress
        self.visited = RowSet(tables.learned.width)
        self.levels: list[tuple[int, int]] = []
        self.witnesses: dict[str, int | None] = {p.name: None for p in self.system.select(Kind.WITNESS)}
        self.digest = Digest()
        self.expanded = Expanded()
        self.effort = replace(tables.learned.effort)
        self.bounded, self.sampled = False, Sampled()

    @property
    def distinct(self) -> int:
        """States of the levels that are complete."""
        return self.levels[-1][1] if self.levels else 0

    def run(self) -> Result:
        started = perf_counter()
        initial = [self.tables.learned.intern_state(state) for state in self.system.initial_states()]
        self.visited.add(np.array(initial, np.int32).reshape(-1, self.tables.learned.width))
        more = self._close_level()
        self.expanded.generated = len(self.visited)
        found: Violation | None = None
        undecided = False
        while more and not undecided:
            begin, end = self.levels[-1]
            found = self._judge(begin, end) or self._expand(begin, end)
            if found:
                break
            if self.progress:
                seconds = perf_counter() - started
                self.progress(len(self.levels) - 1, end, end - begin, self.expanded.generated, seconds)
            self.bounded = undecided = self.limits.beyond(len(self.levels))
            if undecided:
                break
            more = self._close_level()
            undecided = self.limits.max_states is not None and self.distinct > self.limits.max_states
        self.sampled = self._sampled()
        return self._result(found, undecided, perf_counter() - started)

    def _close_level(self) -> bool:
        """What was added since the last level is the next one; False if that is nothing."""
        begin, end = self.distinct, len(self.visited)
        for rows in self._blocks(begin, end):
            self.digest.add([total128(*self.tables.learned.hashes(rows))])
        if end > begin:
            self.levels.append((begin, end))
        return end > begin

    def _blocks(self, begin: int, end: int) -> Iterator[Ints]:
        return (self.visited.rows(start, stop) for start, stop in blocks(begin, end))

    def _judge(self, begin: int, end: int) -> Violation | None:
        """Witnesses and invariants of one level."""
        depth = len(self.levels) - 1
        found: Find | None = None
        for rows in self._blocks(begin, end):
            wanted = [name for name, seen in self.witnesses.items() if seen is None]
            for name in self.tables.judge.witnessed(rows, wanted):
                self.witnesses[name] = depth
            found = first(found, self.tables.bad_state(rows))
        if found is None:
            return None
        prop = self.tables.judge.invariants[found.rank]
        return violation(self.system, prop.name, prop.meaning, self._path(found.state))

    def _expand(self, begin: int, end: int) -> Violation | None:
        """Successors of one level; deadlocks (found here, one step shorter) come before bad steps."""
        for block in self._blocks(begin, end):
            _, target = self.tables.expand(block, self.expanded)
            self.visited.add(target)
        if (stuck := self.expanded.stuck) is not None:
            return violation(self.system, DEADLOCK, DEADLOCK_MEANING, self._path(stuck.state))
        if (bad := self.expanded.bad_step) is not None:
            prop = self.tables.judge.steps[bad.rank]
            return violation(self.system, prop.name, prop.meaning, self._path(bad.state), prop)
        return None

    def _path(self, state: State) -> list[State]:
        """The canonical path to a state of the last level: least hash first, level by level upwards."""
        path = [state]
        for begin, end in reversed(self.levels[:-1]):
            found = self.tables.predecessor(self._blocks(begin, end), path[0])
            assert found is not None
            path.insert(0, found.state)
        return path

    def _sampled(self) -> Sampled:
        """Try a sample of the states that were expanded against the system itself."""
        chosen = sample(self.distinct, worth(self.expanded.generated))
        rows = [self.visited.rows(number, number + 1) for number in chosen.tolist()]
        checked = np.concatenate([np.empty((0, self.tables.learned.width), np.int32), *rows])
        states_again(self.tables, checked)
        return self.tables.sampled(checked)

    def _result(self, found: Violation | None, undecided: bool, seconds: float) -> Result:
        return Result(
            engine="numpy",
            verdict=overall(found, undecided, self.witnesses),
            distinct=self.distinct,
            generated=self.expanded.generated,
            depth=len(self.levels) - 1,
            histogram=tuple(end - begin for begin, end in self.levels),
            digest=self.digest.hex(),
            properties=verdicts(self.system, found, undecided, self.witnesses, self.tables.judge.counts),
            violation=found,
            rules_fired=self.tables.fired(self.expanded.outcomes),
            seconds=seconds,
            stats=self._stats(seconds),
            bounded=self.bounded,
        )

    def _stats(self, seconds: float) -> dict[str, Any]:
        """Sizes of the tables, cost of learning in this run, speed, memory."""
        effort = self.tables.learned.effort
        return {
            **self.tables.learned.sizes(),
            "python_calls": effort.calls - self.effort.calls,
            "seconds_in_python": effort.seconds - self.effort.seconds,
            "retries": effort.fills - self.effort.fills,
            "sampled": asdict(self.sampled),
            "peak_frontier": max((end - begin for begin, end in self.levels), default=0),
            "bytes_per_state": self.visited.nbytes / max(1, len(self.visited)),
        }
