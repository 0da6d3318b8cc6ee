"""Rows in sorted files: written in batches as they come, read back part by part in their order.

A folder of runs appears whole or not at all. A file has its rows in order, those of a part in a row group of
its own, so that a reader of one part reads no other.
"""

from __future__ import annotations

import heapq
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MOST_ROWS = 100_000
MOST_BYTES = 48 << 20
"""Rows of a file, and bytes of their lines: what is sorted in memory."""

AT_ONCE = 512
"""Rows that are read of a file at a time."""

PACKED = "zstd"

PARTS = b"rota.parts"
"""The key in a file's metadata of its parts, in the order of its row groups."""

HALVES = ".*.half"
"""How folders are called that are not filled yet."""

Row = tuple[Any, ...]


class Runs:
    """Takes rows in any order. Parameters: folder, where files go; schema, its first column the part and one
    of them the line; most: rows of a file. Attributes: parts, how many rows each has."""

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
        self.parts[row[0]] = self.parts.get(row[0], 0) + 1
        if len(self._rows) >= self._most or self._bytes >= MOST_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was added."""
        if not self._rows:
            return
        self._rows.sort()
        parts = [(part, list(rows)) for part, rows in groupby(self._rows, key=itemgetter(0))]
        named = json.dumps([part for part, _ in parts]).encode()
        path = self._folder / f"{self._files:05}.parquet"
        with pq.ParquetWriter(path, self._schema.with_metadata({PARTS: named}), compression=PACKED) as file:
            for _, rows in parts:
                file.write_table(table(rows, self._schema), row_group_size=len(rows))
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


def rows_of(folder: Path, part: int, columns: Sequence[str] | None = None) -> list[Iterator[Row]]:
    """The rows of a part, an iterator for each file, each in its order. columns: only these."""
    return [_rows_of(path, part, columns) for path in sorted(folder.glob("*.parquet"))]


def _rows_of(path: Path, part: int, columns: Sequence[str] | None) -> Iterator[Row]:
    with pq.ParquetFile(path) as file:
        parts = json.loads(file.schema_arrow.metadata[PARTS])
        if part not in parts:
            return
        groups = [parts.index(part)]
        for batch in file.iter_batches(batch_size=AT_ONCE, row_groups=groups, columns=columns):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def merged(streams: Iterable[Iterator[Row]]) -> Iterator[Row]:
    """All of them in order, each in order by itself."""
    return heapq.merge(*streams)
