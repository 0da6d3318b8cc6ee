"""A partition's round in compiled code: absorb, judge, expand, send on.

What a round leaves behind is a file (the level) and blocks; a task reads only what earlier rounds have left
and committed, so it may be tried again anywhere. The tables of a process are a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from rota.explore.compiled.expansion import PIECE, Expansion, scan
from rota.explore.compiled.packing import Layout
from rota.explore.purity import NOTHING, Impure
from rota.explore.result import EngineLimit, Find, first
from rota.explore.spark import memory, protocol
from rota.explore.spark.exchange import COPY
from rota.explore.spark.protocol import (
    Copy,
    Damaged,
    Job,
    Level,
    Missing,
    NotShippable,
    Order,
    Part,
    Report,
    RunFile,
    Sent,
    TaskOutput,
    level_name,
)
from rota.explore.spark.worker import visited
from rota.explore.spark.worker.process import Process
from rota.explore.spark.worker.surroundings import NotRebuilt, place
from rota.explore.spark.worker.visited import Absorber, Box, RunDamaged, RunMissing, SortedRun
from rota.explore.tables.arrays import Ints, Words
from rota.explore.tables.system import EngineError, Expanded, blocks, sample, worth
from rota.kernel import State, SystemRef, UserError
from rota.kernel.encoding import MASK128

BLOCK = 1 << 20
"""Bytes of a level in one copy."""

BOX = 8 << 20
"""Most bytes for the states that wait for one addressee; a block has up to three eighths of it."""

CHECKED = 1
"""States of a level whose successors are compared with the system's own, at the least."""

EXPECTED = (
    UserError, Impure, EngineLimit, EngineError, NotRebuilt, NotShippable, Damaged, OSError, MemoryError
)  # fmt: skip
"""Errors that every try would raise again."""


def run_round(job: Job, order: Order, partition: int, inbox: Iterable[bytes]) -> TaskOutput:
    """As `tasks.run_round`."""
    return _answered(job, partition, lambda: _Round(job, order, partition).run(inbox))


def find_before(job: Job, order: Order, partition: int, state: State) -> TaskOutput:
    """As `tasks.find_before`."""
    return _answered(job, partition, lambda: [(job.partitions, _Round(job, order, partition).before(state))])


def _answered(job: Job, partition: int, work: Callable[[], Iterable[Sent]]) -> TaskOutput:
    """What a piece of work gives; lost files, and an error that would come again, become its answer."""
    try:
        yield from work()
    except RunMissing as error:
        yield job.partitions, Missing(partition, str(error))
    except EXPECTED as error:
        yield job.partitions, error


def restore(job: Job, order: Order, partition: int, copies: Iterable[Copy]) -> TaskOutput:
    """As `tasks.restore`."""
    return _answered(job, partition, lambda: _Round(job, order, partition).restored(copies))


def verify(job: Job, order: Order, partition: int) -> TaskOutput:
    """As `tasks.verify`."""
    part, folder = order.parts[partition], place(job, partition)

    def work() -> TaskOutput:
        for file in {level.file for level in part.levels} | set(part.runs):
            visited.verify(folder, file)
        yield job.partitions, None

    return _answered(job, partition, work)


_WORKERS: dict[tuple[SystemRef, tuple[str, ...]], Process] = {}
"""The one system that this process works on, by its ref and the properties that are judged."""


def _worker(job: Job) -> Process:
    system = job.ref, job.properties
    if system not in _WORKERS:
        _WORKERS.clear()
        _WORKERS[system] = Process(job)
    worker = _WORKERS[system]
    worker.begin(job)
    return worker


class _Round:
    """One partition's work in one round."""

    def __init__(self, job: Job, order: Order, partition: int) -> None:
        self.job, self.order, self.partition = job, order, partition
        self.worker = worker = _worker(job)
        self.tables, self.lookups, self.numbers = worker.tables, worker.lookups, worker.numbers
        self.learned = self.tables.learned
        assert order.fields is not None
        self.fields, self.layout = order.fields, _layout(order.fields)
        self.folder, self.part = place(job, partition), order.parts[partition]
        self.folder.mkdir(parents=True, exist_ok=True)
        self.numbers.sync(order.deltas, order.kinds)
        self.memory = memory.room(job.memory, job.ceiling)
        self.numbers.begin(self.layout)
        self.system, self.calls = worker.system, worker.system.memory.computed
        self.expansion = Expansion(1, self.numbers.local_layout.words)
        self.boxes = self._new_boxes()
        self.digest, self.sent, self.sampled = 0, 0, NOTHING
        self.obsolete: list[str] = []
        self.witnesses: frozenset[str] = frozenset()
        self.bad_state: Find | None = None
        self.stuck: Find | None = None
        self.bad_step: Find | None = None

    # ---- a round

    def run(self, inbox: Iterable[bytes]) -> TaskOutput:
        """See `run_round`. Errors: `EXPECTED`, RunMissing."""
        self._forget()
        self._fit_runs()
        absorber = self._absorber()
        for keys in self._arrived(inbox):
            absorber.add(keys)
        states = 0
        for local in range(self.job.local_levels):
            level = self._written(absorber, level_name(self.order.round, local))
            states += level.file.states
            yield from self._copies(level)
            if local == self.job.local_levels - 1 or not level.file.states:
                yield from self._expanded(level, None)
                break
            absorber = self._absorber()
            yield from self._expanded(level, absorber)
        yield from self._flushed()
        yield self.job.partitions, self._report(states)

    def _arrived(self, inbox: Iterable[bytes]) -> Iterator[Words]:
        """Candidates in global numbers; in the first round the initial states that are this partition's."""
        if self.order.round:
            for block in inbox:
                yield self.numbers.read(block, self.layout)
            return
        states = [self.learned.intern_state(state) for state in self.system.initial_states()]
        self.numbers.fit()
        rows = np.array(states, np.int32).reshape(-1, self.learned.width)
        parts = self.numbers.route(
            self.numbers.local_layout.pack(rows), self.job.partitions, self.job.deciding
        )
        assert parts is not None, "the registry numbers the values of initial states first"
        yield parts[self.partition]

    def _report(self, states: int) -> Report:
        outcomes = np.zeros(self.learned.outcomes.size, np.bool_)
        marks = self.expansion.room.marks[: len(outcomes)]
        outcomes[: len(marks)] = marks.astype(np.bool_)
        return Report(
            partition=self.partition,
            part=self.part,
            states=states,
            digest=self.digest & MASK128,
            witnesses=self.witnesses,
            bad_state=self.bad_state,
            generated=self.expansion.generated,
            stuck=self.stuck,
            bad_step=self.bad_step,
            fired=self.tables.fired(outcomes),
            news=self.numbers.news(),
            judged=self.worker.judged(self.order.judged),
            kinds=self.numbers.reader.kinds,
            sent_bytes=self.sent,
            python_calls=self.system.memory.computed - self.calls,
            types=self.learned.encoding.claims(),
            obsolete=tuple(self.obsolete),
            sampled=self.sampled,
        )

    # ---- files

    def _forget(self) -> None:
        """Delete what has not been needed since the last round was committed."""
        for name in self.order.obsolete[self.partition] if self.order.obsolete else ():
            for file in (name, f"{name}.index"):
                (self.folder / file).unlink(missing_ok=True)

    def _fit_runs(self) -> None:
        """Pack all that is visited anew if the layout of the round is another one."""
        if self.part.fields in (None, self.fields):
            return
        assert self.part.fields is not None
        runs = [(run, self.part.fields) for run in self.part.runs]
        self._replace_runs(self.part.runs, self._packed_anew(runs, f"fitted-{self.order.round:05d}"))

    def _packed_anew(self, runs: Iterable[tuple[RunFile, protocol.Fields]], name: str) -> RunFile:
        """Disjoint files of states, each with its fields, as one run of the round's layout."""
        absorber = Absorber(self.folder, self.layout.words, (), self.memory // 2)
        for file, fields in runs:
            keys, old = visited.open_run(self.folder, file).keys, _layout(fields)
            for begin, end in blocks(0, len(keys), PIECE):
                rows = old.unpack(np.asarray(keys[begin:end]), self.learned.width)
                absorber.add(self.layout.pack(rows))
        return absorber.finish(name)

    def _absorber(self) -> Absorber:
        known = [visited.open_run(self.folder, run) for run in self.part.runs]
        return Absorber(self.folder, self.layout.words, known, self.memory // 2)

    def _written(self, absorber: Absorber, name: str) -> Level:
        """What was absorbed becomes a level; runs are merged where there are too many."""
        level = Level(absorber.finish(name), self.fields)
        runs = (*self.part.runs, *((level.file,) if level.file.states else ()))
        self.part = Part((*self.part.levels, level), runs, self.fields)
        if merging := tuple(visited.to_merge(runs)):
            opened: list[SortedRun] = [visited.open_run(self.folder, run) for run in merging]
            self._replace_runs(merging, visited.merge(self.folder, f"run-of-{name}", opened))
        return level

    def _replace_runs(self, old: Iterable[RunFile], new: RunFile) -> None:
        gone = tuple(old)
        kept = tuple(run for run in self.part.runs if run not in gone)
        levels = {level.file.name for level in self.part.levels}
        self.part = Part(self.part.levels, (*kept, new), self.fields)
        self.obsolete += [run.name for run in gone if run.name not in levels and run.states]

    def _copies(self, level: Level) -> TaskOutput:
        """The level for the keeping of others, if this executor may be lost with its disk."""
        if self.job.copied:
            keys, number = visited.open_run(self.folder, level.file).keys, len(self.part.levels) - 1
            for begin, end in blocks(0, len(keys), BLOCK // (8 * self.layout.words)):
                yield COPY, Copy(self.partition, number, begin, keys[begin:end].tobytes())

    def restored(self, copies: Iterable[Copy]) -> TaskOutput:
        """All levels and one run of them, from copies in any order. Errors: RunDamaged."""
        spools = [self.folder / f"copy-{number:05d}" for number in range(len(self.part.levels))]
        for spool in spools:
            spool.write_bytes(b"")
        for copy in copies:
            with spools[copy.round].open("r+b") as file:
                file.seek(copy.offset * 8 * self.part.levels[copy.round].file.words)
                file.write(copy.content)
        for spool, level in zip(spools, self.part.levels, strict=True):
            absorber = Absorber(self.folder, level.file.words, (), self.memory // 2)
            if level.file.states:
                absorber.add(np.memmap(spool, np.uint64, "r").reshape(-1, level.file.words))
            if absorber.finish(level.file.name) != level.file:
                raise RunDamaged(f"{level.file.name} cannot be restored from its copies")
            spool.unlink()
        files = [(level.file, level.fields) for level in self.part.levels]
        run = self._packed_anew(files, f"restored-{self.order.round:05d}")
        yield self.job.partitions, (self.partition, Part(self.part.levels, (run,), self.fields))

    # ---- states

    def _expanded(self, level: Level, home: Absorber | None) -> TaskOutput:
        """Judge and expand the states of a level. home: takes own states for this round's next level."""
        keys = visited.open_run(self.folder, level.file).keys
        for begin, end in blocks(0, len(keys), PIECE):
            local = self.numbers.to_local(keys[begin:end], self.layout)
            self._judge(local)
            bad = self.expansion.bad_steps
            for successors in self._successors(local):
                yield from self._sent(successors, home)
            if self.expansion.bad_steps > bad:
                self._find_bad_step(self.numbers.to_local(keys[begin:end], self.layout))
        chosen = sample(len(keys), worth(len(keys), CHECKED))
        self.sampled += self.tables.sampled(self._rows(self.numbers.to_local(keys[chosen], self.layout)))

    def _judge(self, keys: Words) -> None:
        """Digest, witnesses and invariants of some states."""
        wanted = self.order.wanted - self.witnesses
        places = self.lookups.places(self.numbers.local_layout)
        total, suspects = scan(keys, *places, *self.lookups.judged(wanted))
        self.digest += total
        for begin, end in blocks(0, len(suspects)):
            rows = self._rows(suspects[begin:end])
            self.witnesses |= self.tables.judge.witnessed(rows, wanted - self.witnesses)
            self.bad_state = first(self.bad_state, self.tables.bad_state(rows))

    def _find_bad_step(self, keys: Words) -> None:
        expanded = Expanded()
        self.tables.expand(self._rows(keys), expanded)
        self.bad_step = first(self.bad_step, expanded.bad_step)

    def _successors(self, keys: Words) -> Iterator[Words]:
        """The successors of states, in views that hold until the next; what is missing is learned."""
        expansion, layout = self.expansion, self.numbers.local_layout
        expansion.goes_on_with([keys], layout.words)
        expansion.begin([keys])
        while expansion.busy:
            expansion.allow(self.learned.outcomes.size)
            expansion.expand(self.lookups.given(layout))
            if self.tables.judge.has_ends and len(stuck := expansion.stuck()):
                self.stuck = first(self.stuck, self.tables.lost(self._rows(stuck)))
            yield expansion.room.out[0, : expansion.room.out_count[0]]
            misses = expansion.misses()
            expansion.settle()
            if len(misses):
                self.lookups.learn(misses)
                if self.numbers.fit():
                    old, layout = layout, self.numbers.local_layout
                    keys = layout.pack(old.unpack(keys, self.learned.width))
                    expansion.goes_on_with([keys], layout.words)

    def _rows(self, keys: Words) -> Ints:
        return self.numbers.local_layout.unpack(keys, self.learned.width)

    def before(self, state: State) -> Find | None:
        """See `find_before`."""
        level, found = self.part.levels[self.order.round], None
        keys, layout = visited.open_run(self.folder, level.file).keys, _layout(level.fields)
        row = np.array([self.learned.intern_state(state)], np.int32)
        for begin, end in blocks(0, len(keys), PIECE):
            hit = False
            for successors in self._successors(self.numbers.to_local(keys[begin:end], layout)):
                hit |= bool((successors == self.numbers.local_layout.pack(row)).all(axis=1).any())
            if hit:
                rows = self._rows(self.numbers.to_local(keys[begin:end], layout))
                found = first(found, self.tables.predecessor([rows], state))
        return found

    # ---- sending

    def _new_boxes(self) -> list[Box]:
        room = min(BOX, self.memory // (4 * self.job.partitions))
        return [Box(self.numbers.wire_layout.words, room) for _ in range(self.job.partitions)]

    def _sent(self, keys: Words, home: Absorber | None) -> TaskOutput:
        """Put states of this process into the boxes of their owners; full ones leave."""
        parts = self.numbers.route(keys, self.job.partitions, self.job.deciding)
        if parts is None:  # numbers outgrow the layout in which the boxes are packed
            yield from self._flushed()
            parts = self.numbers.route(keys, self.job.partitions, self.job.deciding)
            assert parts is not None
            self.boxes = self._new_boxes()
        for to, some in enumerate(parts):
            leaving = some if to != self.partition or home is None else self._kept(some, home)
            full = self.boxes[to].add(leaving)
            if full is not None:
                yield to, self._block(full)

    def _kept(self, keys: Words, home: Absorber) -> Words:
        """Let states that all processes could read stay at home; returns the others."""
        layout = self.numbers.wire_layout
        if layout is not self.layout:
            return keys
        known = np.ones(len(keys), np.bool_)
        for position, count in enumerate(self.numbers.counts):
            number = (keys[:, layout.word[position]] >> layout.shift[position]) & layout.mask[position]
            known &= number < np.uint64(count)
        home.add(keys[known])
        return keys[~known]

    def _flushed(self) -> TaskOutput:
        for to, box in enumerate(self.boxes):
            keys = box.flush()
            if len(keys):
                yield to, self._block(keys)

    def _block(self, keys: Words) -> bytes:
        block = self.numbers.block(keys)
        self.sent += len(block)
        return block


def _layout(fields: protocol.Fields) -> Layout:
    return Layout.of_fields(fields.word, fields.shift, fields.mask)
