"""Visited states as sorted runs: files that are written once, mapped where needed, and never changed.

A run has its states in order of their codes (ties by words), shape [n, words], and beside them in NAME.index
where the states of each bucket begin; a bucket are the states with the same upper bits of the code. A look-up
reads both in one place each. A run without states has no files.

Every file is written under a name of its own and then renamed, so several tries of one task may write the
same run at once: the same states make the same bytes, whatever order they came in. A try that is killed
leaves at most files whose names end in `.part`, which nobody reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from rota.explore.cache.digest import DIGEST, digest_of
from rota.explore.compiled import state_set
from rota.explore.spark.protocol import Damaged, RunFile
from rota.explore.spark.worker import sorting
from rota.explore.tables.arrays import Words

Starts = NDArray[np.uint32]
"""Where buckets begin, shape [buckets + 1, 1]."""

FEWEST_A_BUCKET = 8
"""States of a bucket are on the average this many to twice as many."""

MOST_STATES = 1 << 32
"""States of a run are fewer: the index numbers them in 32 bits."""

BLOCK = 1 << 22
"""Bytes of states that are read, merged or written together."""


@dataclass(frozen=True, eq=False)
class SortedRun:
    """A run that is mapped. keys: shape [n, words]; starts: of its buckets; file: what it is called."""

    file: RunFile
    keys: Words
    starts: Starts


class RunMissing(Exception):
    """A file of a run is not there, as when an executor was lost with its disk."""


class RunDamaged(Damaged):
    """A file of a run has not the content that it was written with."""


def open_run(folder: Path, run: RunFile) -> SortedRun:
    """Map a run of a folder; only the sizes of its files are checked. Raises RunMissing or RunDamaged."""
    if not run.states:
        return SortedRun(run, np.empty((0, run.words), np.uint64), np.zeros((3, 1), np.uint32))
    buckets = 1 << _bits(run.states)
    keys = _mapped(folder / run.name, np.dtype(np.uint64), (run.states, run.words))
    starts = _mapped(folder / run.index, np.dtype(np.uint32), (buckets + 1, 1))
    if starts[0, 0] != 0 or starts[buckets, 0] != run.states:
        raise RunDamaged(f"{folder / run.index} is not the index of {run.states} states")
    return SortedRun(run, keys, starts)


def verify(folder: Path, run: RunFile) -> None:
    """Read all of a run and compare it with what was written. Raises RunMissing or RunDamaged."""
    opened = open_run(folder, run)
    if not run.states:
        return
    if digest_of(*(block.data for block in _blocks(opened.keys))) != run.digest:
        raise RunDamaged(f"{folder / run.name} is not as it was written, or of another level or run")
    begin = 0
    for part in _index_of(opened.keys):
        if not np.array_equal(opened.starts[begin : begin + len(part), 0], part):
            raise RunDamaged(f"{folder / run.index} does not fit the states")
        begin += len(part)


class Absorber:
    """The new states of one round: those among the candidates that no known run has.

    Parameters: folder, for the run that is written; words, of a state; known, what is visited; memory, bytes
    for candidates, beyond which they are put aside in files without a name. What is put aside is gone with
    the process, however it ends.
    """

    def __init__(self, folder: Path, words: int, known: Sequence[SortedRun], memory: int) -> None:
        self._folder, self._words = folder, words
        self._unit = (0,) * words
        self._known = sorted((run for run in known if run.file.states), key=lambda run: -run.file.states)
        most = max(2, memory // (2 * 8 * words))
        self._held = np.empty((most, words), np.uint64)
        self._spare = np.empty((most, words), np.uint64)
        self._filled = 0
        self._aside: list[Words] = []

    def add(self, keys: Words) -> None:
        """Take in candidates, shape [n, words], in any order; they are copied."""
        taken = 0
        while taken < len(keys):
            if self._filled == len(self._held):
                self._condense()
                if self._filled > len(self._held) // 2:
                    self._put_aside()
            some = keys[taken : taken + len(self._held) - self._filled]
            self._held[self._filled : self._filled + len(some)] = some
            self._filled += len(some)
            taken += len(some)

    def finish(self, name: str) -> RunFile:
        """Write the new states, each once, as the run `name`; the absorber is used up. Raises OSError."""
        self._condense()
        new = self._held[: self._filled]
        with _Writer(self._folder, name, self._words) as writer:
            new.flags.writeable = False  # as what is put aside, or there would be compiled code for both
            for block in _merged([*self._aside, new], self._unit) if self._aside else _blocks(new):
                writer.append(block)
            return writer.commit()

    def _condense(self) -> None:
        """Leave of what is held the new states, in order."""
        self._filled = sorting.arrange(self._held, self._filled, self._spare, self._unit)
        for run in self._known:
            shift = 64 - _bits(run.file.states)
            given = self._held, self._filled, run.keys, run.starts, shift, self._unit
            self._filled = sorting.subtract(*given)

    def _put_aside(self) -> None:
        with TemporaryFile(dir=self._folder) as file:
            for block in _blocks(self._held[: self._filled]):
                file.write(block.data)
            file.flush()
            self._aside.append(np.memmap(file, np.uint64, "r", shape=(self._filled, self._words)))
        self._filled = 0


def merge(folder: Path, name: str, runs: Sequence[SortedRun]) -> RunFile:
    """Write the states of several runs, at least one, as one run `name`; they stay. Raises OSError."""
    words = runs[0].file.words
    with _Writer(folder, name, words) as writer:
        for block in _merged([run.keys for run in runs if run.file.states], (0,) * words):
            writer.append(block)
        return writer.commit()


def to_merge(runs: Sequence[RunFile]) -> Sequence[RunFile]:
    """Those runs that should now be one, () if there are none.

    Afterwards every run has more states than all smaller ones together, so there are few; a state is written
    again only into a run at least twice as large.
    """
    ordered = sorted((run for run in runs if run.states), key=lambda run: (run.states, run.name))
    most, smaller = 0, 0
    for number, run in enumerate(ordered):
        if number and smaller >= run.states:
            most = number + 1
        smaller += run.states
    return tuple(ordered[:most])


def distinct(keys: Words) -> Words:
    """The same states, shape [n, words], in order of their codes and each once; `keys` is left alone."""
    out = np.array(keys, np.uint64, order="C")
    return out[: sorting.arrange(out, len(out), np.empty_like(out), (0,) * keys.shape[1])]


class Box:
    """Successors for one partition on their way out.

    Parameters: words, of a state; memory, bytes for all of it. A table of recent states drops most repeats
    at once; what it forgets may be sent again.
    """

    def __init__(self, words: int, memory: int) -> None:
        self._unit = (0,) * words
        bits = max(1, (memory // (4 * 8 * words)).bit_length() - 1)
        self._recent = np.zeros((1 << bits, words), np.uint64)
        self._shift = 64 - bits
        self._most = max(1, (memory - self._recent.nbytes) // (2 * 8 * words))
        self._held = np.empty((self._most, words), np.uint64)
        self._filled = 0
        # the state of zeros must not be thought to have been there: its place gets a state of another place
        zero = np.zeros((1, words), np.uint64)
        place = self._place(zero)
        while self._place(zero) == place:
            zero[0, 0] += np.uint64(1)
        self._recent[place] = zero[0]

    def add(self, keys: Words) -> Words | None:
        """Take in states, shape [n, words]; returns a block to be sent once one is full, else None."""
        full: list[Words] = []
        taken = 0
        while taken < len(keys):
            given = keys, taken, self._recent, self._shift, self._held, self._filled, self._unit
            taken, self._filled = sorting.sift(*given)
            if self._filled == self._most:
                self._condense()
                if 2 * self._filled > self._most:
                    full.append(self.flush())
        if len(full) > 1:
            return distinct(np.concatenate(full))
        return full[0] if full else None

    def flush(self) -> Words:
        """What is left to be sent, each state once, in order of their codes."""
        self._condense()
        block, self._held = self._held[: self._filled], np.empty_like(self._held)
        self._filled = 0
        return block

    def _condense(self) -> None:
        if self._filled:
            spare = np.empty_like(self._held[: self._filled])
            self._filled = sorting.arrange(self._held, self._filled, spare, self._unit)

    def _place(self, state: Words) -> int:
        return int(state_set.codes(state, self._unit)[0]) >> self._shift


class _Writer:
    """A run being written: sorted blocks are appended, then committed under its name, or nothing is left."""

    def __init__(self, folder: Path, name: str, words: int) -> None:
        self._folder, self._name, self._words = folder, name, words
        self._part = folder / f"{name}.{uuid4().hex}.part"
        self._index_part = self._part.with_suffix(".index.part")
        self._states, self._hashed = 0, blake2b(digest_size=DIGEST)

    def __enter__(self) -> _Writer:
        self._file: BinaryIO = self._part.open("xb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._file.close()
        for path in (self._part, self._index_part):
            with suppress(OSError):
                path.unlink()

    def append(self, block: Words) -> None:
        """More states, sorted, behind those before."""
        self._file.write(block.data)
        self._hashed.update(block.data)
        self._states += len(block)

    def commit(self) -> RunFile:
        """Make it the run that it is to be."""
        self._file.close()
        if self._states >= MOST_STATES:
            raise ValueError(
                f"{self._name} has {self._states} states, a run cannot have so many; use more partitions"
            )
        run = RunFile(self._name, self._states, self._words, self._hashed.hexdigest())
        if run.states:
            keys = _mapped(self._part, np.dtype(np.uint64), (run.states, run.words))
            with self._index_part.open("xb") as file:
                for part in _index_of(keys):
                    file.write(part.data)
            self._index_part.replace(self._folder / run.index)
            self._part.replace(self._folder / run.name)
        return run


def _bits(states: int) -> int:
    """Upper bits of a code that tell the bucket in a run of so many states."""
    return max(1, (states // FEWEST_A_BUCKET).bit_length() - 1)


def _index_of(keys: Words) -> Iterator[Starts]:
    """What the index of these sorted states says, in parts."""
    bits = _bits(len(keys))
    bucket = base = 0
    for block in _blocks(keys):
        part: Starts = sorting.starts_of(block, base, bucket, 64 - bits, (0,) * keys.shape[1])
        yield part
        bucket += len(part)
        base += len(block)
    yield np.full((1 << bits) + 1 - bucket, len(keys), np.uint32)


def _blocks(keys: Words) -> Iterator[Words]:
    """The states in parts of BLOCK bytes."""
    room = max(1, BLOCK // (8 * keys.shape[1]))
    return (keys[begin : begin + room] for begin in range(0, len(keys), room))


def _merged(parts: Sequence[Words], unit: tuple[int, ...]) -> Iterator[Words]:
    """All states of sorted parts in order, each once, in blocks that hold until the next is taken."""
    room = max(1, BLOCK // (8 * len(unit)))
    held = np.empty((room, len(unit)), np.uint64)
    spare = np.empty_like(held)
    for cut in _cuts([part for part in parts if len(part)], room, 0, 1 << 64):
        if (total := sum(map(len, cut))) > len(held):
            held, spare = np.empty((2, total, len(unit)), np.uint64)
        filled = 0
        for some in cut:
            held[filled : filled + len(some)] = some
            filled += len(some)
        yield held[: sorting.arrange(held, filled, spare, unit)]


def _cuts(parts: Sequence[Words], room: int, low: int, high: int) -> Iterator[Sequence[Words]]:
    """Split sorted parts, with codes from low to below high, at the same codes: at most `room` states a time.

    States with one code stay together, however many they are.
    """
    if sum(map(len, parts)) <= room or high - low == 1:
        yield parts
        return
    middle = (low + high) // 2
    firsts = [sorting.first_from(part, np.uint64(middle), (0,) * part.shape[1]) for part in parts]
    yield from _cuts([part[:first] for part, first in zip(parts, firsts, strict=True)], room, low, middle)
    yield from _cuts([part[first:] for part, first in zip(parts, firsts, strict=True)], room, middle, high)


def _mapped(path: Path, kind: np.dtype[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """A file's content, mapped."""
    try:
        size, wanted = path.stat().st_size, kind.itemsize * shape[0] * shape[1]
        if size != wanted:
            raise RunDamaged(f"{path} has {size} bytes, {wanted} were written")
        return np.memmap(path, kind, "r", shape=shape)
    except FileNotFoundError as error:
        raise RunMissing(f"{path} is missing; what wrote it has to be done again") from error
