"""The tables that come of a run: their columns, and how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from rota.histories.runs import Row, merged, table

MOST_AT_ONCE, LEAST_AT_ONCE = 32_768, 16
"""Rows of all files of a table together that are in memory when it is read, and the least of a file."""

PACKED = "zstd"
"""How Parquet is packed, which stays and which others read."""

MOST_FILES = 32
"""Files of a table that are read at a time: each takes a quarter of a megabyte while it is open."""

_HISTORY = [("cluster", pa.string()), ("group", pa.string())]
_MOMENT = pa.timestamp("us", "UTC")
_COUNTS = pa.map_(pa.string(), pa.int64())

VERDICTS: Final = pa.schema(
    [
        *_HISTORY,
        ("verdict", pa.string()),
        ("judged", pa.int64()),
        ("quarantined", pa.int64()),
        ("not_checked", pa.int64()),
        ("undecided", pa.int64()),
        ("violations", pa.int64()),
        ("rules", _COUNTS),
        ("causes", _COUNTS),
        ("first", _MOMENT),
        ("last", _MOMENT),
    ]
)
"""What became of each history, as `rota validate --report verdicts=PATH` has it; first, last: moments of its
events."""

VIOLATIONS: Final = pa.schema(
    [
        *_HISTORY,
        ("rule", pa.string()),
        ("at", _MOMENT),
        ("line", pa.string()),
        ("why", pa.string()),
        ("source", pa.string()),
        ("asked", pa.string()),
        ("expected", pa.string()),
        ("came", pa.string()),
        ("states", pa.int64()),
        ("lines", pa.list_(pa.string())),
        ("nearest", pa.list_(pa.string())),
        ("dialogue", pa.list_(pa.string())),
        ("said", pa.string()),
    ]
)
"""What the spec does not allow, in the order in which it was found in each history; the first 1,000 of it.
said: the dialogue as JSON, for pictures."""

NOT_JUDGED: Final = pa.schema(
    [
        *_HISTORY,
        ("fate", pa.string()),
        ("why", pa.string()),
        ("source", pa.string()),
        ("events", pa.int64()),
    ]
)
"""Events that were not judged. fate: `not checked`, `undecided` or `quarantined`; group: "" of events
of none."""

QUARANTINED: Final = pa.schema([*_HISTORY, ("origin", pa.string()), ("reason", pa.string())])
"""What could not be read, one by one. group: "" where nobody knows which."""

LATE: Final = pa.schema([*_HISTORY, ("what", pa.string()), ("seconds", pa.float64())])
"""What was late, and no violation for that."""

COVERAGE: Final = pa.schema([*_HISTORY, ("rule", pa.string()), ("state", pa.string())])
"""Rules that were used in a state of the group."""

_TEXTS = pa.list_(pa.string())

INCIDENTS: Final = pa.schema(
    [
        *_HISTORY,
        ("began", _MOMENT),
        ("ended", _MOMENT),
        ("open", pa.bool_()),
        ("seconds", pa.float64()),
        ("rebalances", pa.int64()),
        ("cause", pa.string()),
        ("title", pa.string()),
        ("routine", pa.bool_()),
        ("sentence", pa.string()),
        ("members", _TEXTS),
        ("rule", pa.string()),
        ("change", _TEXTS),
        ("without_consumer", pa.map_(pa.string(), pa.float64())),
        ("accounts", _TEXTS),
        ("rests_on", _TEXTS),
    ]
)
"""Rebalances that belong together, as `rota explain` tells of them; seconds: without an assignment, null
where that is not visible; routine: nobody is worse off; accounts: of each rebalance, in words."""

RESULTS: Final[Mapping[str, pa.Schema]] = {
    "verdicts": VERDICTS,
    "violations": VIOLATIONS,
    "not_judged": NOT_JUDGED,
    "quarantined": QUARANTINED,
    "late": LATE,
    "coverage": COVERAGE,
    "incidents": INCIDENTS,
}
"""Table → its columns."""

COMPARED: Final = pa.schema(
    [
        *_HISTORY,
        ("at", pa.float64()),
        ("source", pa.int32()),
        ("told", pa.string()),
        ("number", pa.int64()),
        ("turn", pa.int32()),
        ("one", pa.string()),
        ("other", pa.string()),
        ("difference", pa.float64()),
        ("what", pa.string()),
        ("violation", pa.string()),
    ]
)
"""What several sources tell of generations, for the comparison of clocks. violation: as JSON, "" without."""

OPEN: Final = pa.schema([*_HISTORY, ("events", pa.int64()), ("waits", pa.bool_())])
"""Every history with its events; waits: whether time alone may tell more."""

JUDGED: Final[Mapping[str, pa.Schema]] = {**RESULTS, "compared": COMPARED, "open": OPEN}
"""What a task that judges leaves."""


def write(path: Path, rows: Iterable[Row], schema: pa.Schema) -> None:
    """Rows as a file; equal rows make equal bytes."""
    pq.write_table(table(rows, schema), path, compression=PACKED)


def read(path: Path, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """The rows of a file, columns by name."""
    return pq.read_table(path, columns=columns, memory_map=False, use_threads=False).to_pylist()  # type: ignore[no-any-return]


def rows(folder: Path, name: str, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a run's table by cluster and group, columns by name. columns: these alone, both among
    them."""
    paths = parts_of(folder, name)
    at_once = max(LEAST_AT_ONCE, MOST_AT_ONCE // max(1, min(MOST_FILES, len(paths))))
    streams = (_rows(path, columns, at_once) for path in paths)
    return merged(streams, itemgetter("cluster", "group"), MOST_FILES)


def parts_of(folder: Path, name: str) -> list[Path]:
    """The files of a run's table, one for each bucket of groups, which are called alike in all tables."""
    return sorted((folder / name).glob("part-*.parquet"))


def rows_as_they_lie(paths: Iterable[Path], columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of files one after the other, columns by name: those of a group together. columns: these
    alone."""
    return chain.from_iterable(_rows(path, columns, MOST_AT_ONCE // MOST_FILES) for path in paths)


def _rows(path: Path, columns: Sequence[str] | None, at_once: int) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=at_once, columns=columns, use_threads=False):
            yield from batch.to_pylist()


def micros(at: float | None) -> int | None:
    """A moment as tables have it."""
    return None if at is None or at == float("-inf") else round(at * 1_000_000)
