"""A hash slice of the states, owned by one partition: what a task of the Spark engine does in a round.

Everything that a round leaves behind is a file, written under a temporary name and then renamed, the
manifest last; a task reads only what earlier rounds committed. So a task may be tried again anywhere.
Memory of the process (tables, visited rows) is a cache of those files and never the only copy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rota.explore.arrays import Ints, RowSet, Words, total128
from rota.explore.freight import Freight
from rota.explore.learn import AmbiguousValue, BadTurn
from rota.explore.level import EngineError, Expanded, Tables, blocks, sample
from rota.explore.result import Find, first
from rota.kernel import State, System, SystemRef
from rota.kernel.encoding import MASK128


@dataclass(frozen=True)
class Job:
    """What every task of a run knows. run: a unique name; folder: of its files; partitions: how many."""

    ref: SystemRef
    run: str
    folder: str
    partitions: int

    def place(self, partition: int, round_: int) -> Path:
        """The folder of what a partition did in a round."""
        return Path(self.folder, f"partition-{partition:04d}", f"round-{round_:05d}")


@dataclass(frozen=True)
class Report:
    """A partition's round: its new states, what was found among them, and what expanding them gave."""

    states: int
    digest: int
    witnesses: frozenset[str]
    bad_state: Find | None
    generated: int
    stuck: Find | None
    bad_step: Find | None
    fired: frozenset[str]
    sent_bytes: int
    python_calls: int


class NotRebuilt(ValueError):
    """A worker process cannot import the system's factory."""


@dataclass
class _Slice:
    """The visited rows of one partition as this process knows them. rounds: how many of them."""

    visited: RowSet
    rounds: int = 0


@dataclass
class _Process:
    """What this worker process remembers: tables of one system, slices of one run."""

    run: str = ""
    ref: SystemRef | None = None
    tables: Tables = field(init=False)
    freight: Freight = field(init=False)
    slices: dict[int, _Slice] = field(default_factory=dict)

    def prepare(self, job: Job) -> None:
        """Make what is remembered that of a job; tables of the same system are kept from run to run."""
        if job.ref != self.ref:
            self.tables = Tables(_rebuilt(job.ref))
            self.freight = Freight(self.tables.learned)
            self.ref = job.ref
        if job.run != self.run:
            self.slices = {}
            self.run = job.run


def take_turn(job: Job, round_: int, wanted: frozenset[str], partition: int) -> Report | Exception:
    """Absorb what was sent to a partition, judge its new states, expand them, send on what it does not own.

    Parameters: job; round_, the level; wanted, the witnesses not seen yet; partition. Returns the report,
    or the error that every try would raise again.
    """
    try:
        _PROCESS.prepare(job)
        # a slice that a failed try has half changed is not put back
        mine = _PROCESS.slices.pop(partition, None) or _Slice(RowSet(_PROCESS.tables.learned.width))
        report = _Round(job, round_, partition, _PROCESS.tables, _PROCESS.freight).run(mine, wanted)
    except (BadTurn, AmbiguousValue, EngineError, NotRebuilt) as error:
        return error
    _PROCESS.slices[partition] = mine
    return report


def find_before(job: Job, round_: int, state: State, partition: int) -> Find | None:
    """The state with the least hash of a partition's level that `state` is a successor of."""
    _PROCESS.prepare(job)
    rows = _Round(job, round_, partition, _PROCESS.tables, _PROCESS.freight).level(round_)
    return _PROCESS.tables.predecessor((rows[a:b] for a, b in blocks(0, len(rows))), state)


@dataclass(frozen=True)
class _Round:
    """One partition's work in one round."""

    job: Job
    round: int
    partition: int
    tables: Tables
    freight: Freight

    def run(self, mine: _Slice, wanted: frozenset[str]) -> Report:
        """See `take_turn`; `mine` is brought up to this round."""
        learned = self.tables.learned
        calls = learned.effort.calls
        while mine.rounds < self.round:
            mine.visited.add(self.level(mine.rounds))
            mine.rounds += 1
        begin = len(mine.visited)
        for rows in self._inbox():
            mine.visited.add(rows)
        mine.rounds += 1
        level = mine.visited.rows(begin, len(mine.visited))
        place = self.job.place(self.partition, self.round)
        place.mkdir(parents=True, exist_ok=True)
        _write(place / "level", self.freight.pack(level))
        digest, witnesses, bad_state = self._judge(level, wanted)
        expanded = Expanded()
        outbox = self._expand(level, expanded)
        sent = 0
        for to, block in outbox.items():
            blob = self.freight.pack(block.rows(0, len(block)))
            _write(place / f"to-{to:04d}", blob)
            sent += len(blob)
        _write(place / "manifest.json", json.dumps({"states": len(level), "to": sorted(outbox)}).encode())
        self.tables.check(level[sample(len(level), 1)])
        return Report(
            states=len(level),
            digest=digest,
            witnesses=witnesses,
            bad_state=bad_state,
            generated=expanded.generated,
            stuck=expanded.stuck,
            bad_step=expanded.bad_step,
            fired=self.tables.fired(expanded.turns),
            sent_bytes=sent,
            python_calls=learned.effort.calls - calls,
        )

    def level(self, round_: int) -> Ints:
        """This partition's new states of a round, from its file."""
        return self.freight.unpack((self.job.place(self.partition, round_) / "level").read_bytes())

    def _inbox(self) -> Iterator[Ints]:
        """What every partition sent here in the round before; in the first round, the initial states."""
        learned = self.tables.learned
        if self.round == 0:
            states = [learned.intern_state(state) for state in self.tables.system.initial_states()]
            rows = np.array(states, np.int32).reshape(-1, learned.width)
            yield rows[self._owner(rows) == self.partition]
            return
        for source in range(self.job.partitions):
            place = self.job.place(source, self.round - 1)
            if self.partition in json.loads((place / "manifest.json").read_bytes())["to"]:
                yield self.freight.unpack((place / f"to-{self.partition:04d}").read_bytes())

    def _judge(self, level: Ints, wanted: frozenset[str]) -> tuple[int, frozenset[str], Find | None]:
        digest, witnesses, bad_state = 0, frozenset[str](), None
        for begin, end in blocks(0, len(level)):
            rows = level[begin:end]
            digest += total128(*self.tables.learned.hashes(rows))
            witnesses |= self.tables.judge.witnessed(rows, wanted - witnesses)
            bad_state = first(bad_state, self.tables.bad_state(rows))
        return digest & MASK128, witnesses, bad_state

    def _expand(self, level: Ints, expanded: Expanded) -> dict[int, RowSet]:
        """Distinct successors by owner."""
        outbox: dict[int, RowSet] = {}
        for begin, end in blocks(0, len(level)):
            _, target = self.tables.expand(level[begin:end], expanded)
            owner = self._owner(target)
            for to in np.unique(owner).tolist():
                outbox.setdefault(to, RowSet(self.tables.learned.width)).add(target[owner == to])
        return outbox

    def _owner(self, rows: Ints) -> Words:
        _, low = self.tables.learned.hashes(rows)
        return low % np.uint64(self.job.partitions)


def _rebuilt(ref: SystemRef) -> System:
    try:
        return ref.build()
    except (ImportError, AttributeError) as error:
        raise NotRebuilt(
            f"a worker cannot build {ref.factory} ({error}); name its file in py_files"
        ) from error


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    temporary.replace(path)


_PROCESS = _Process()
