"""Rows in sorted files: written in batches as they come, read back part by part in their order.

A folder of runs appears whole or not at all. A file has its rows in order, those of a part in batches of
their own, so that a reader of one part reads no other. The files are Arrow's: everybody opens those of all
others, some hundreds of thousands of times where there is much, and to open one costs a twentieth of what it
costs with Parquet.
"""

from __future__ import annotations

import heapq
import json
import os
import pickle
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar

import pyarrow as pa

MOST_ROWS = 100_000
MOST_BYTES = 48 << 20
"""Rows of a file, and bytes of their lines: what is sorted in memory."""

AT_ONCE = 256
"""Rows of a batch, which are read of a file at a time."""

MOST_OPEN = 200
"""Files that are merged at a time."""

PACKED = "lz4"
"""Twice the bytes of zstd, for a third of the time: rows are for the next task."""

NO_MEMORY = "allocation"
"""What pyarrow's error says of a batch for which there is no memory once it is unpacked."""

ALONE = pa.ipc.IpcReadOptions(use_threads=False)
"""A task has one core, and memory for one thread."""

PARTS = b"rota.parts"
"""The key in a file's metadata of its parts, in their order, with the number of batches of each."""

HALVES = ".*.half"
"""How folders are called that are not filled yet."""

Row = tuple[Any, ...]
T = TypeVar("T")


class Runs:
    """Takes rows in any order. Parameters: folder, where files go; schema, its first column the part and one
    of them the line; most: rows of a file. Attributes: parts, how many rows each has in files."""

    def __init__(self, folder: Path, schema: pa.Schema, most: int = MOST_ROWS) -> None:
        self._folder, self._schema, self._most = folder, schema, most
        self._line = schema.names.index("line")
        self._rows: list[Row] = []
        self._bytes = 0
        self._files = 0
        self.parts: dict[int, int] = {}

    def add(self, row: Row) -> None:
        """One more row."""
        self._rows.append(row)
        self._bytes += len(row[self._line])
        if len(self._rows) >= self._most or self._bytes >= MOST_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was added."""
        if not self._rows:
            return
        self._rows.sort()
        parts = [(part, list(rows)) for part, rows in groupby(self._rows, key=itemgetter(0))]
        for part, rows in parts:
            self.parts[part] = self.parts.get(part, 0) + len(rows)
        named = json.dumps([(part, -(-len(rows) // AT_ONCE)) for part, rows in parts]).encode()
        schema, options = (
            self._schema.with_metadata({PARTS: named}),
            pa.ipc.IpcWriteOptions(compression=PACKED),
        )
        with pa.ipc.new_file(str(self._folder / f"{self._files:05}.arrow"), schema, options=options) as file:
            for _, rows in parts:
                file.write_table(table(rows, schema), max_chunksize=AT_ONCE)
        self._files += 1
        self._rows, self._bytes = [], 0


def table(rows: Iterable[Row], schema: pa.Schema) -> pa.Table:
    """Rows as a table."""
    columns = [*zip(*rows, strict=True)] or [()] * len(schema)
    arrays = [pa.array(values, one.type) for values, one in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


@contextmanager
def whole(folder: Path) -> Iterator[Path]:
    """A folder beside `folder` to be filled, that takes its name in the end: never is half of it there.

    Where another process was as fast, its work stays; both are equal.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    half = folder.with_name(f".{folder.name}.{os.uname().nodename}.{os.getpid()}.half")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir()
    try:
        yield half
        try:
            half.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(half, ignore_errors=True)


def rows_of(folder: Path, part: int) -> list[Iterator[Row]]:
    """The rows of a part, an iterator for each file, each in its order."""
    return [_rows_of(path, part) for path in sorted(folder.glob("*.arrow"))]


def _rows_of(path: Path, part: int) -> Iterator[Row]:
    with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped, options=ALONE) as file:
        begin = 0
        for one, batches in json.loads(file.schema.metadata[PARTS]):
            if one == part:
                for number in range(begin, begin + batches):
                    columns = _columns(file, number)
                    yield from zip(*(column.to_pylist() for column in columns), strict=True)
                return
            begin += batches


def _columns(file: Any, number: int) -> Any:
    """Of a batch. Errors: MemoryError, also where pyarrow says so of what it unpacks only in words."""
    try:
        return file.get_batch(number).columns
    except OSError as error:
        if NO_MEMORY in str(error):
            raise MemoryError(str(error)) from error
        raise


def merged(streams: Iterable[Iterator[T]], key: Any = None, most: int | None = None) -> Iterator[T]:
    """All of them in order, each in order by itself. Where they are more than `most` (`MOST_OPEN`) some are
    merged into a file first, which nobody else sees. key: a function by which they are in order, None: by
    themselves."""
    waiting, most = list(streams), most or MOST_OPEN
    while len(waiting) > most:
        starts = range(0, len(waiting), most)
        waiting = [_kept(heapq.merge(*waiting[start : start + most], key=key)) for start in starts]
    return heapq.merge(*waiting, key=key) if len(waiting) != 1 else waiting[0]


def _kept(rows: Iterator[T]) -> Iterator[T]:
    """The same rows, from a file without a name."""
    file: IO[bytes] = TemporaryFile()  # noqa: SIM115 - closed with the last row
    while batch := list(islice(rows, AT_ONCE)):
        pickle.dump(batch, file, pickle.HIGHEST_PROTOCOL)
    file.seek(0)
    return _read_back(file)


def _read_back(file: IO[bytes]) -> Iterator[Any]:
    with file:
        while file.peek(1):  # type: ignore[attr-defined]  # a buffered reader has it
            yield from pickle.load(file)  # what this process has written
