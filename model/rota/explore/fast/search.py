"""The compiled engine: breadth-first search over packed integers, with one or several workers.

Same answers as `rota.explore.reference`. What the Python of machines and properties says is learned in
tables (`rota.explore.tables.machines`, `rota.explore.tables.properties`); compiled code expands, absorbs and
judges by them. The states are split between owners by their code; in each round every owner expands a piece,
and then takes in what all of them have found for it. Workers are threads: compiled code does not hold the
interpreter's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from rota.explore.cache.run import searched
from rota.explore.checkpoint import Checkpoint
from rota.explore.compiled import state_set
from rota.explore.compiled.canonical import canonical
from rota.explore.compiled.lookups import Lookups
from rota.explore.compiled.primitives import MISSES_AT
from rota.explore.fast.shard import Owner
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
from rota.explore.tables.arrays import Ints, Words, total128
from rota.explore.tables.rejudge import states_again
from rota.explore.tables.system import Expanded, Tables, blocks, sample, violation, worth
from rota.kernel import Kind, State, System
from rota.kernel.encoding import MASK128

_T = TypeVar("_T")


def explore(
    system: System,
    limits: Limits | None = None,
    *,
    progress: Progress | None = None,
    tables: Tables | None = None,
) -> Result:
    """As `rota.explore.fast.engine.explore`."""
    given = limits or Limits()
    return searched(system, given, tables, lambda known: _Search(known, given, progress).run())


class _Search:
    """One exploration; `run` it once. tables: of the system, perhaps warm."""

    def __init__(self, tables: Tables, limits: Limits, progress: Progress | None) -> None:
        self.tables, self.learned, self.judge = tables, tables.learned, tables.judge
        self.system, self.limits, self.progress = self.learned.system, limits, progress
        self.lookups = Lookups(tables, limits.symmetry)
        self.layout = self.lookups.layout()
        self.owners: list[Owner] = []
        self.histogram: list[int] = []
        self.witnesses: dict[str, int | None] = {p.name: None for p in self.system.select(Kind.WITNESS)}
        self.digest = 0
        self.fired: frozenset[str] = frozenset()
        self.repacked = 0
        self.stuck: Find | None = None
        self.effort = replace(tables.learned.effort)
        self.bounded, self.sampled = False, Sampled()
        self._judged = [0] * len(self.judge.answers)
        """By property, how many combinations the checkpoint has."""
        folder = limits.checkpoint
        self.checkpoint = Checkpoint(folder, tables.system, limits) if folder else None

    @property
    def distinct(self) -> int:
        """States of the levels that are complete."""
        return sum(self.histogram)

    @property
    def _generated(self) -> int:
        return sum(owner.expansion.generated for owner in self.owners)

    def run(self) -> Result:
        """Visit every reachable state. Errors: as of `rota.explore.fast.engine.explore`."""
        started = perf_counter()
        with (
            ThreadPoolExecutor(self.limits.workers) as pool,
            TemporaryDirectory(prefix="rota-states-") as folder,
        ):
            self.owners = [self._owner(Path(folder, str(number))) for number in range(self.limits.workers)]
            self._pool = pool
            found, undecided = self._search(started)
            self.sampled = self._sampled()
            return self._result(found, undecided, perf_counter() - started)

    def _all(self, work: Callable[[Owner], _T]) -> list[_T]:
        """Do the same with every owner, each in a thread; this thread is one of them."""
        others = [self._pool.submit(work, owner) for owner in self.owners[1:]]
        return [work(self.owners[0]), *(other.result() for other in others)]

    def _owner(self, folder: Path) -> Owner:
        folder.mkdir()
        memory, workers = self.limits.memory, self.limits.workers
        budget = None if memory is None else memory // workers
        return Owner(workers, self.layout, budget, folder, exact=not self.limits.fingerprints)

    def _search(self, started: float) -> tuple[Violation | None, bool]:
        if not self._restore():
            initial = [self.learned.intern_state(state) for state in self.system.initial_states()]
            rows = self._canonical(np.array(initial, np.int32).reshape(-1, self.learned.width))
            self._fit()
            self._hand_out(self.layout.pack(rows))
            self._close_level()
            self.owners[0].expansion.generated += self.distinct
        more = bool(self.histogram)
        while more:
            self._save()
            found = self._judge_level() or self._expand_level()
            if found:
                return found, False
            if self.progress:
                seconds = perf_counter() - started
                depth, level = len(self.histogram) - 1, self.histogram[-1]
                self.progress(depth, self.distinct, level, self._generated, seconds)
            self.bounded = self.limits.beyond(len(self.histogram))
            if self.bounded:
                return None, True
            more = self._close_level()
            if self.limits.max_states is not None and self.distinct > self.limits.max_states:
                self._scan_level()  # only for the digest: the level is not judged
                return None, True
        return None, False

    # ---- going on with an ended search

    def _restore(self) -> bool:
        """Take up what the checkpoint has; False if that is nothing."""
        if self.checkpoint is None or not self.checkpoint.saved.levels:
            return False
        counts = self.checkpoint.saved.counts
        for parts in self.checkpoint.values():
            for table, values in zip(self.learned.machines, parts, strict=True):
                known = len(table.interned)
                if [table.intern(value) for value in values] != list(range(known, known + len(values))):
                    raise self.checkpoint.wrong("values are there twice")
        self._fit()
        sizes = [len(table.interned) for table in self.learned.machines]
        for depth, level in enumerate(self.checkpoint.levels(sizes)):
            if depth:
                self.digest += sum(total128(*self.learned.hashes(rows)) for rows in self._rows(depth - 1))
            for rows in level:
                self._hand_out(self.layout.pack(rows))
            self._close_level()
        if self.histogram != counts["histogram"] or f"{self.digest & MASK128:x}" != counts["digest"]:
            raise self.checkpoint.wrong("its states are not those that were counted")
        for judged in self.checkpoint.judged(len(self.judge.answers), sizes):
            for answers, shown in zip(self.judge.answers.values(), judged, strict=True):
                answers.meet(shown)
        self._judged = [len(answers) for answers in self.judge.answers.values()]
        self.owners[0].expansion.generated, self.fired = counts["generated"], frozenset(counts["fired"])
        self.witnesses.update(counts["witnesses"])
        return True

    def _save(self) -> None:
        """Write a checkpoint, if one is kept: of all levels, the last one neither judged nor expanded yet."""
        if self.checkpoint is None:
            return
        levels = [
            list(self._arrays(depth))
            for depth in range(len(self.checkpoint.saved.levels), len(self.histogram))
        ]
        counts = {
            "histogram": self.histogram,
            "digest": f"{self.digest & MASK128:x}",
            "generated": self._generated,
            "witnesses": self.witnesses,
            "fired": sorted(self._fired()),
        }
        values = [table.interned.values for table in self.learned.machines]
        answers = self.judge.answers.values()
        judged = [one.shown(known) for one, known in zip(answers, self._judged, strict=True)]
        self.checkpoint.save(self.layout, levels, values, judged, counts)
        self._judged = [len(one) for one in answers]

    # ---- one level

    def _close_level(self) -> bool:
        count = sum(owner.close_level() for owner in self.owners)
        if count:
            self.histogram.append(count)
        return bool(count)

    def _judge_level(self) -> Violation | None:
        """Digest, witnesses and invariants of the last level."""
        depth = len(self.histogram) - 1
        found: Find | None = None
        for suspects in self._scan_level():
            for begin, end in blocks(0, len(suspects)):
                rows = self.layout.unpack(suspects[begin:end], self.learned.width)
                wanted = [name for name, seen in self.witnesses.items() if seen is None]
                for name in self.judge.witnessed(rows, wanted):
                    self.witnesses[name] = depth
                found = first(found, self.tables.bad_state(rows))
        if found is None:
            return None
        prop = self.judge.invariants[found.rank]
        return violation(self.system, prop.name, prop.meaning, self._path(found.state))

    def _scan_level(self) -> list[Words]:
        """Per owner, the states of the last level that Python has to look at; all go into the digest."""
        unseen = [name for name, depth in self.witnesses.items() if depth is None]
        given = *self.lookups.places(self.layout), *self.lookups.judged(unseen)
        scanned = self._all(lambda owner: owner.scan(*given))
        self.digest += sum(total for total, _ in scanned)
        return [suspects for _, suspects in scanned]

    def _expand_level(self) -> Violation | None:
        """Successors of the last level; deadlocks (found here, one step shorter) come before bad steps."""
        while any(owner.expansion.busy for owner in self.owners):
            given = self.lookups.given(self.layout)
            outcomes = self.learned.outcomes.size
            for owner in self.owners:
                owner.expansion.allow(outcomes)
            self._all(lambda owner, given=given: owner.expansion.expand(given))  # type: ignore[misc]
            self._all(self._absorb)
            self._settle()
        if self.stuck is not None:
            return violation(self.system, DEADLOCK, DEADLOCK_MEANING, self._path(self.stuck.state))
        if any(owner.expansion.bad_steps for owner in self.owners):
            return self._bad_step()
        return None

    def _absorb(self, owner: Owner) -> None:
        """Take in what every worker has found for one of them."""
        mine = self.owners.index(owner)
        for room in (peer.expansion.room for peer in self.owners):
            owner.absorb(room.out[mine, : room.out_count[mine]])

    def _settle(self) -> None:
        """After a round: ends that may not be, then what was missing is learned."""
        if self.judge.has_ends:
            for owner in self.owners:
                if len(keys := owner.expansion.stuck()):
                    lost = self.tables.lost(self.layout.unpack(keys, self.learned.width))
                    self.stuck = first(self.stuck, lost)
        misses = np.concatenate([owner.expansion.misses() for owner in self.owners])
        for owner in self.owners:
            owner.expansion.settle()
        if len(misses):
            self.lookups.learn(misses)
            self._fit()

    def _bad_step(self) -> Violation:
        """The canonical bad step of the last level."""
        expanded = Expanded()
        for rows in self._rows(len(self.histogram) - 1):
            self.tables.expand(rows, expanded)
        bad = expanded.bad_step
        assert bad is not None
        prop = self.judge.steps[bad.rank]
        return violation(self.system, prop.name, prop.meaning, self._path(bad.state), prop)

    def _path(self, state: State) -> list[State]:
        """The canonical path to a state of the last level: least hash first, level by level upwards."""
        path = [state]
        for depth in range(len(self.histogram) - 2, -1, -1):
            found = self.tables.predecessor(self._rows(depth), path[0], self._canonical)
            assert found is not None
            path.insert(0, found.state)
        return path if not self.limits.symmetry else self._real(path)

    def _real(self, path: list[State]) -> list[State]:
        """A path through states of the same orbits that transitions lead along, from an initial state."""
        start = [state for state in self.system.initial_states() if self._representative(state) == path[0]]
        real = [min(start, key=self.system.hash_state)]
        for wanted in path[1:]:
            targets = (transition.target for transition in self.system.successors(real[-1]))
            real.append(next(target for target in targets if self._representative(target) == wanted))
        return real

    def _representative(self, state: State) -> State:
        """The canonical state of a state's orbit."""
        rows = np.array([self.learned.intern_state(state)], np.int32)
        return self.learned.state(self._canonical(rows)[0])

    def _canonical(self, rows: Ints) -> Ints:
        """Rows with the canonical state of its orbit in each place; the same rows without symmetry."""
        if not self.limits.symmetry:
            return rows
        room = self.owners[0].expansion.room
        while True:
            self._fit()
            keys = self.layout.pack(rows)
            room.asked[:], room.counts[:] = 0, 0
            fields, lanes = self.lookups.places(self.layout)
            if not canonical(keys, fields, lanes, self.lookups.orbits.bundle(), room, self._unit):
                return self.layout.unpack(keys, self.learned.width)
            self.lookups.learn(room.misses[: room.counts[MISSES_AT]])

    def _rows(self, depth: int) -> Iterator[Ints]:
        """The states of a level as rows, in blocks."""
        for array in self._arrays(depth):
            for begin, end in blocks(0, len(array)):
                yield self.layout.unpack(array[begin:end], self.learned.width)

    def _arrays(self, depth: int) -> Iterator[Words]:
        """The states of a level as they are packed."""
        for owner in self.owners:
            yield from owner.levels[depth]

    # ---- what compiled code is given

    @property
    def _unit(self) -> tuple[int, ...]:
        return (0,) * self.layout.words

    def _fit(self) -> None:
        """Pack all states anew if a machine has more values than its field can number."""
        old, self.layout = self.layout, self.lookups.layout(self.layout)
        if self.layout is not old:
            self.repacked += 1
            for owner in self.owners:
                owner.repack(old, self.layout)

    def _hand_out(self, keys: Words) -> None:
        """Give states to their owners."""
        owners = state_set.owner(keys, self.lookups.places(self.layout)[0], len(self.owners))
        for number, owner in enumerate(self.owners):
            owner.absorb(np.ascontiguousarray(keys[owners == number]))

    # ---- the end

    def _sampled(self) -> Sampled:
        """Try a sample of the states that were expanded against the system itself."""
        wanted, at = sample(self.distinct, worth(self._generated)), 0
        rows = [np.empty((0, self.learned.width), np.int32)]
        for depth in range(len(self.histogram)):
            for array in self._arrays(depth):
                here = wanted[(wanted >= at) & (wanted < at + len(array))]
                if len(here):
                    rows.append(self.layout.unpack(array[here - at], self.learned.width))
                at += len(array)
        states_again(self.tables, np.concatenate(rows))
        return self.tables.sampled(np.concatenate(rows))

    def _result(self, found: Violation | None, undecided: bool, seconds: float) -> Result:
        return Result(
            engine="fast",
            verdict=overall(found, undecided, self.witnesses),
            distinct=self.distinct,
            generated=self._generated,
            depth=len(self.histogram) - 1,
            histogram=tuple(self.histogram),
            digest=f"{self.digest & MASK128:032x}",
            properties=verdicts(self.system, found, undecided, self.witnesses, self.judge.counts),
            violation=found,
            rules_fired=self._fired(),
            seconds=seconds,
            stats=self._stats(seconds),
            bounded=self.bounded,
            odds=self.distinct**2 / 2**65 if self.limits.fingerprints else 0.0,
        )

    def _fired(self) -> frozenset[str]:
        """The slugs of all outcomes that took part, before a checkpoint too."""
        outcomes = np.zeros(self.learned.outcomes.size, np.bool_)
        for owner in self.owners:
            marks = owner.expansion.room.marks[: len(outcomes)]
            outcomes[: len(marks)] |= marks.astype(np.bool_)
        return self.fired | self.tables.fired(outcomes)

    def _stats(self, seconds: float) -> dict[str, Any]:
        """Sizes of the tables, cost of learning in this run, speed, memory."""
        effort = self.learned.effort
        return {
            **self.learned.sizes(),
            "python_calls": effort.calls - self.effort.calls,
            "seconds_in_python": effort.seconds - self.effort.seconds,
            "retries": effort.fills - self.effort.fills,
            "sampled": asdict(self.sampled),
            "peak_frontier": max(self.histogram, default=0),
            "duplicates": 1 - self.distinct / max(1, self._generated),
            "bytes_per_state": sum(owner.nbytes for owner in self.owners) / max(1, self.distinct),
            "bytes_on_disk": sum(owner.bytes_on_disk for owner in self.owners),
            "words_per_state": self.layout.words,
            "repacked": self.repacked,
            "workers": len(self.owners),
            **(self.checkpoint.resumed if self.checkpoint else {}),
        }
