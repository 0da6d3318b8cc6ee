"""A hash slice of the states, owned by one partition: what a task of the Spark engine does in a round.

Everything that a round leaves behind is a file, written under a temporary name and then renamed, the
manifest last; a task reads only what earlier rounds committed. So a task may be tried again anywhere.
Memory of the process (tables, visited rows) is a cache of those files and never the only copy.

Numbers of values mean nothing outside a process, so a block carries the values that occur in it, each once.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rota.explore.arrays import Ints, RowSet, total128
from rota.explore.learn import AmbiguousValue, BadTurn, Learned
from rota.explore.level import EngineError, Expanded, Find, Tables, blocks, first, sample
from rota.kernel import State, SystemRef
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


@dataclass
class _Slice:
    """The visited rows of one partition as this process knows them. rounds: how many of them."""

    visited: RowSet
    rounds: int = 0


@dataclass
class _Process:
    """What this worker process remembers, of one run at a time."""

    run: str = ""
    tables: dict[SystemRef, Tables] = field(default_factory=dict)
    slices: dict[int, _Slice] = field(default_factory=dict)

    def tables_of(self, job: Job) -> Tables:
        if job.run != self.run:
            self.run = job.run
            self.slices = {}
            self.tables = {ref: tables for ref, tables in self.tables.items() if ref == job.ref}
        if job.ref not in self.tables:
            self.tables[job.ref] = Tables(job.ref.build())
        return self.tables[job.ref]


_PROCESS = _Process()


def take_turn(job: Job, round_: int, wanted: frozenset[str], partition: int) -> Report | Exception:
    """Absorb what was sent to a partition, judge its new states, expand them, send on what it does not own.

    Parameters: job; round_, the level; wanted, the witnesses not seen yet; partition. Returns the report,
    or the error that every try would raise again.
    """
    tables = _PROCESS.tables_of(job)
    # a slice that a failed try has half changed is not put back
    mine = _PROCESS.slices.pop(partition, None) or _Slice(RowSet(tables.learned.width))
    try:
        report = _round(job, tables, mine, round_, wanted, partition)
    except (BadTurn, AmbiguousValue, EngineError) as error:
        return error
    _PROCESS.slices[partition] = mine
    return report


def find_before(job: Job, round_: int, state: State, partition: int) -> Find | None:
    """The state with the least hash of a partition's level that `state` is a successor of."""
    tables = _PROCESS.tables_of(job)
    rows = _level(job, tables, partition, round_)
    return tables.predecessor((rows[a:b] for a, b in blocks(0, len(rows))), state)


def _round(
    job: Job, tables: Tables, mine: _Slice, round_: int, wanted: frozenset[str], partition: int
) -> Report:
    calls = tables.learned.effort.calls
    while mine.rounds < round_:
        mine.visited.add(_level(job, tables, partition, mine.rounds))
        mine.rounds += 1
    begin = len(mine.visited)
    for rows in _inbox(job, tables, round_, partition):
        mine.visited.add(rows)
    mine.rounds += 1
    level = mine.visited.rows(begin, len(mine.visited))
    place = job.place(partition, round_)
    place.mkdir(parents=True, exist_ok=True)
    _write(place / "level", pack(tables.learned, level))
    digest, witnesses, bad_state = _judge(tables, level, wanted)
    expanded = Expanded()
    outbox = _expand(job, tables, level, expanded)
    sent = 0
    for to, block in outbox.items():
        blob = pack(tables.learned, block.rows(0, len(block)))
        _write(place / f"to-{to:04d}", blob)
        sent += len(blob)
    _write(place / "manifest.json", json.dumps({"states": len(level), "to": sorted(outbox)}).encode())
    tables.check(level[sample(len(level), 1)])
    return Report(
        states=len(level),
        digest=digest,
        witnesses=witnesses,
        bad_state=bad_state,
        generated=expanded.generated,
        stuck=expanded.stuck,
        bad_step=expanded.bad_step,
        fired=tables.fired(expanded.turns),
        sent_bytes=sent,
        python_calls=tables.learned.effort.calls - calls,
    )


def _judge(tables: Tables, level: Ints, wanted: frozenset[str]) -> tuple[int, frozenset[str], Find | None]:
    digest, witnesses, bad_state = 0, frozenset[str](), None
    for begin, end in blocks(0, len(level)):
        rows = level[begin:end]
        digest += total128(*tables.learned.hashes(rows))
        witnesses |= tables.judge.witnessed(rows, wanted - witnesses)
        bad_state = first(bad_state, tables.bad_state(rows))
    return digest & MASK128, witnesses, bad_state


def _expand(job: Job, tables: Tables, level: Ints, expanded: Expanded) -> dict[int, RowSet]:
    """Distinct successors by owner."""
    outbox: dict[int, RowSet] = {}
    for begin, end in blocks(0, len(level)):
        _, target = tables.expand(level[begin:end], expanded)
        owner = _owner(tables.learned, target, job.partitions)
        for to in np.unique(owner).tolist():
            outbox.setdefault(to, RowSet(tables.learned.width)).add(target[owner == to])
    return outbox


def _owner(learned: Learned, rows: Ints, partitions: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    _, low = learned.hashes(rows)
    return low % np.uint64(partitions)


def _inbox(job: Job, tables: Tables, round_: int, partition: int) -> Iterator[Ints]:
    """What every partition sent here in the round before; in the first round, the initial states."""
    if round_ == 0:
        states = [tables.learned.intern_state(state) for state in tables.system.initial_states()]
        rows = np.array(states, np.int32).reshape(-1, tables.learned.width)
        yield rows[_owner(tables.learned, rows, job.partitions) == partition]
        return
    for source in range(job.partitions):
        place = job.place(source, round_ - 1)
        if partition in json.loads((place / "manifest.json").read_bytes())["to"]:
            yield unpack(tables.learned, (place / f"to-{partition:04d}").read_bytes())


def _level(job: Job, tables: Tables, partition: int, round_: int) -> Ints:
    return unpack(tables.learned, (job.place(partition, round_) / "level").read_bytes())


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    temporary.replace(path)


def pack(learned: Learned, rows: Ints) -> bytes:
    """Rows as a block that any process can read: per machine the values that occur, and indices of them."""
    values = []
    local = np.empty((len(rows), len(learned.machines)), np.int32)
    for position, table in enumerate(learned.machines):
        occurs = np.zeros(len(table.interned), np.bool_)
        occurs[rows[:, position]] = True
        local[:, position] = (np.cumsum(occurs) - 1)[rows[:, position]]
        values.append([table.interned.values[i] for i in np.flatnonzero(occurs).tolist()])
    return pickle.dumps((values, local.tobytes()), protocol=5)


def unpack(learned: Learned, blob: bytes) -> Ints:
    """The rows of a block in this process's numbers."""
    values, raw = pickle.loads(blob)
    local = np.frombuffer(raw, np.int32).reshape(-1, len(learned.machines))
    rows = np.zeros((len(local), learned.width), np.int32)
    for position, (table, known) in enumerate(zip(learned.machines, values, strict=True)):
        numbers = np.array([table.intern(value) for value in known], np.int32)
        if len(local):
            rows[:, position] = numbers[local[:, position]]
    return rows
