"""A partition's round in plain Python, for workers that have no numba: the same reports, slowly.

Nothing but the standard library and the kernel is needed. What a partition has visited is a set in memory,
built from the files of its levels wherever a process does not have it; `Job.memory` is not heeded. States
travel and lie in files as encodings of what differs, with a digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from rota.explore.cache.digest import digest_of
from rota.explore.purity import Impure
from rota.explore.result import Find, first
from rota.explore.spark.combinations import Journal
from rota.explore.spark.exchange import COPY
from rota.explore.spark.protocol import (
    Copy,
    Damaged,
    Fields,
    Job,
    Level,
    Missing,
    NotShippable,
    Order,
    Part,
    Report,
    RunFile,
    TaskOutput,
    level_name,
)
from rota.explore.spark.worker.plain_tables import Judge, Key, Remembering, Values
from rota.explore.spark.worker.surroundings import NotRebuilt, place, rebuilt
from rota.kernel import IN_STATES, Kind, State, SystemRef, Transition, UserError, keeping
from rota.kernel.encoding import MASK128

BLOCK = 1 << 14
"""Most states in a block and in a copy."""

NO_FIELDS = Fields((), (), ())


EXPECTED = (UserError, Impure, NotRebuilt, NotShippable, Damaged, OSError, MemoryError)
"""Errors that every try would raise again."""


def run_round(job: Job, order: Order, partition: int, inbox: Iterable[bytes]) -> TaskOutput:
    """As `tasks.run_round`."""
    return _answered(job, partition, lambda: _Round(job, order, partition).run(inbox))


def find_before(job: Job, order: Order, partition: int, state: State) -> TaskOutput:
    """As `tasks.find_before`."""
    return _answered(job, partition, lambda: _Round(job, order, partition).before(state))


def restore(job: Job, order: Order, partition: int, copies: Iterable[Copy]) -> TaskOutput:
    """As `tasks.restore`."""
    return _answered(job, partition, lambda: _Round(job, order, partition).restored(copies))


def verify(job: Job, order: Order, partition: int) -> TaskOutput:
    """As `tasks.verify`."""
    return _answered(job, partition, lambda: _Round(job, order, partition).verified())


def _answered(job: Job, partition: int, work: Any) -> TaskOutput:
    """What a piece of work gives; an error that would come again becomes its answer."""
    try:
        yield from work()
    except FileNotFoundError as error:
        lost = job.folder is None and error.filename is not None
        yield job.partitions, Missing(partition, str(error.filename)) if lost else error
    except EXPECTED as error:
        yield job.partitions, error


def meet(job: Job, order: Order, partition: int) -> TaskOutput:
    """As `tasks.meet`."""
    return _answered(job, partition, lambda: _Round(job, order, partition).met())


class _Worker:
    """What a process remembers of a system, and of the last run what its partitions have visited."""

    def __init__(self, job: Job) -> None:
        real = keeping(rebuilt(job))
        self.values = Values(len(real.machines))
        self.machines = [Remembering(one, i, self.values) for i, one in enumerate(real.machines)]
        self.system = replace(real, machines=tuple(self.machines))
        self.run = ""
        self.visited: dict[int, tuple[tuple[Level, ...], set[Key]]] = {}

        self.journal = Journal()
        judge = Judge(real, self.values, self.journal)
        self.invariants = judge.checks(*IN_STATES)
        self.steps, self.ends = judge.checks(Kind.STEP), judge.checks(Kind.TERMINAL)
        self.witnesses = judge.checks(Kind.WITNESS)

    @property
    def asked(self) -> int:
        """How often a machine's own code has run."""
        return sum(machine.asked for machine in self.machines)


_WORKERS: dict[tuple[SystemRef, tuple[str, ...]], _Worker] = {}
"""The one system that this process works on, by its ref and the properties that are judged."""


def _worker(job: Job) -> _Worker:
    system = job.ref, job.properties
    if system not in _WORKERS:
        _WORKERS.clear()
        _WORKERS[system] = _Worker(job)
    worker = _WORKERS[system]
    if worker.run != job.run:
        worker.run = job.run
        worker.visited.clear()
    return worker


class _Round:
    """One partition's work in one round."""

    def __init__(self, job: Job, order: Order, partition: int) -> None:
        self.job, self.order, self.partition = job, order, partition
        self.worker = _worker(job)
        self.values = self.worker.values
        self.values.reader.learn(order.kinds)
        self.folder = place(job, partition)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.levels = order.parts[partition].levels
        self.asked = self.worker.asked
        self.boxes: list[list[Key]] = [[] for _ in range(job.partitions)]
        self.seen: set[Key] = set()
        self.digest = self.generated = self.sent = 0
        self.fired: set[str] = set()
        self.witnessed: set[str] = set()
        self.bad_state: Find | None = None
        self.stuck: Find | None = None
        self.bad_step: Find | None = None

    # ---- a round

    def run(self, inbox: Iterable[bytes]) -> TaskOutput:
        """See `run_round`. Errors: `EXPECTED`."""
        visited = self._visited()
        new = {key for keys in self._arrived(inbox) for key in keys} - visited
        states = 0
        for local in range(self.job.local_levels):
            coded = sorted((self.values.code(key), key) for key in new)
            file = self._write(level_name(self.order.round, local), coded)
            self.levels = (*self.levels, Level(file, NO_FIELDS))
            self.digest += sum(code for code, _ in coded)
            keys = [key for _, key in coded]
            visited |= new
            self.worker.visited[self.partition] = self.levels, visited
            states += len(keys)
            yield from self._copies(keys)
            last = local == self.job.local_levels - 1 or not keys
            new = set()
            self._judge(keys)
            yield from self._expanded(keys, visited, None if last else new)
            if last:
                break
        for to, box in enumerate(self.boxes):
            if box:
                yield to, self._block(box)
        yield self.job.partitions, self._report(states)

    def _arrived(self, inbox: Iterable[bytes]) -> Iterator[list[Key]]:
        if self.order.round:
            for block in inbox:
                yield self.values.unpack(block, "a block")
            return
        initial = [self.values.key(state) for state in self.worker.system.initial_states()]
        yield [key for key in initial if self._owner(key) == self.partition]

    def _report(self, states: int) -> Report:
        return Report(
            partition=self.partition,
            part=Part(self.levels),
            states=states,
            digest=self.digest & MASK128,
            witnesses=frozenset(self.witnessed),
            bad_state=self.bad_state,
            generated=self.generated,
            stuck=self.stuck,
            bad_step=self.bad_step,
            fired=frozenset(self.fired),
            news=None,
            judged=self.worker.journal.told(self.order.judged),
            sent_bytes=self.sent,
            python_calls=self.worker.asked - self.asked,
            sampled=self.values.again.ask(),
            kinds=self.values.kinds,
            types=self.values.encoding.claims(),
        )

    # ---- files

    def _visited(self) -> set[Key]:
        """All states of the levels that count; what a try left that does not count is forgotten."""
        known, visited = self.worker.visited.pop(self.partition, ((), set[Key]()))
        if known != self.levels[: len(known)]:
            known, visited = (), set()
        for level in self.levels[len(known) :]:
            visited.update(self._read(level.file))
        return visited

    def _write(self, name: str, coded: Sequence[tuple[int, Key]]) -> RunFile:
        """Write states, in the order of their codes: the same states make the same bytes."""
        content = self.values.pack([key for _, key in coded])
        if coded:
            part = self.folder / f"{name}.{uuid4().hex}.part"
            try:
                part.write_bytes(content)
                part.replace(self.folder / name)
            finally:
                part.unlink(missing_ok=True)
        return RunFile(name, len(coded), 0, digest_of(content))

    def _read(self, file: RunFile) -> list[Key]:
        """Errors: FileNotFoundError, Damaged."""
        path = Path(self.folder, file.name)
        content = path.read_bytes() if file.states else b""
        if file.states and digest_of(content) != file.digest:
            raise Damaged(f"{path} is not as it was written, or of another level or run")
        return self.values.unpack(content, str(path)) if file.states else []

    def _copies(self, keys: Sequence[Key]) -> TaskOutput:
        for begin in range(0, len(keys) if self.job.copied else 0, BLOCK):
            content = self.values.pack(keys[begin : begin + BLOCK])
            yield COPY, Copy(self.partition, len(self.levels) - 1, begin, content)

    def restored(self, copies: Iterable[Copy]) -> TaskOutput:
        """All levels from copies in any order. Errors: Damaged."""
        pieces: list[dict[int, bytes]] = [{} for _ in self.levels]
        for copy in copies:
            pieces[copy.round][copy.offset] = copy.content
        for level, some in zip(self.levels, pieces, strict=True):
            keys = [key for _, raw in sorted(some.items()) for key in self.values.unpack(raw, "a copy")]
            if self._write(level.file.name, [(self.values.code(key), key) for key in keys]) != level.file:
                raise Damaged(f"{level.file.name} cannot be restored from its copies")
        yield self.job.partitions, (self.partition, Part(self.levels))

    def verified(self) -> TaskOutput:
        """Read all files. Errors: FileNotFoundError, Damaged."""
        for level in self.levels:
            self._read(level.file)
        yield self.job.partitions, None

    def met(self) -> TaskOutput:
        """The values of the partition's states, those of each machine."""
        columns = zip(*self._visited(), strict=True)
        yield self.job.partitions, [[self.values.all[number] for number in set(one)] for one in columns]

    # ---- states

    def _owner(self, key: Key) -> int:
        return self.values.code(key) % self.job.partitions

    def _judge(self, keys: Sequence[Key]) -> None:
        """Witnesses and invariants of a level."""
        for check in self.worker.witnesses:
            name = check.prop.name
            if name in self.order.wanted - self.witnessed and any(map(check.holds, keys)):
                self.witnessed.add(name)
        for check in self.worker.invariants:
            broken = next((key for key in keys if not check.holds(key)), None)
            if broken is not None:
                self.bad_state = first(self.bad_state, self._find(check.rank, broken))

    def _expanded(self, keys: Sequence[Key], visited: set[Key], home: set[Key] | None) -> TaskOutput:
        """Successors of a level. home: takes own states that are new, for this round's next level."""
        for key in keys:
            moved = False
            for transition, target in self._successors(key):
                self.generated += 1
                self.fired.update(transition.rules)
                moved = moved or target != key
                for check in self.worker.steps:
                    if not check.step_holds(key, target):
                        self.bad_step = first(self.bad_step, self._find(check.rank, key))
                if target not in self.seen and target not in visited:
                    yield from self._sent(target, home)
            if not moved and self.worker.ends and not all(end.holds(key) for end in self.worker.ends):
                self.stuck = first(self.stuck, self._find(0, key))

    def _successors(self, key: Key) -> Iterator[tuple[Transition, Key]]:
        for transition in self.worker.system.successors(self.values.state(key)):
            yield transition, self.values.key(transition.target)

    def _find(self, rank: int, key: Key) -> Find:
        return Find(rank, self.values.code(key), self.values.state(key))

    def before(self, state: State) -> TaskOutput:
        """See `find_before`."""
        wanted = tuple([self.values.number(i, value) for i, value in enumerate(state)])
        level = self.levels[self.order.round]
        hits = (key for key in self._read(level.file) if any(to == wanted for _, to in self._successors(key)))
        yield self.job.partitions, first(*(self._find(0, key) for key in hits))

    # ---- sending

    def _sent(self, target: Key, home: set[Key] | None) -> TaskOutput:
        """Put a state into the box of its owner; a full one leaves."""
        self.seen.add(target)
        to = self._owner(target)
        if to == self.partition and home is not None:
            home.add(target)
            return
        self.boxes[to].append(target)
        if len(self.boxes[to]) == BLOCK:
            yield to, self._block(self.boxes[to])
            self.boxes[to] = []

    def _block(self, keys: Sequence[Key]) -> bytes:
        block = self.values.pack(keys)
        self.sent += len(block)
        return block
