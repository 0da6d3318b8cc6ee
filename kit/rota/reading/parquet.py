"""Events as a table: the reader of Parquet files that have them, and what writes such files.

A row is an event, with the keys of its line as columns (`rota.history.lines`): `at` in seconds since 1970 or
as a timestamp, `data` as JSON text, texts null or "" where there is nothing to tell.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from rota.history import SCHEMA, Event, LineError
from rota.history.lines import event_from
from rota.reading.errors import ReadingError
from rota.reading.source import OpenSource

MAGIC = b"PAR1"

NEEDED = ("at", "source", "origin", "kind")
TEXTS = ("source", "origin", "kind", "group", "member", "instance", "client", "host", "state", "reason")
"""Columns that every such table has; and those that are texts."""

AT_ONCE = 4096
"""Rows that are read, and written, at a time."""

MISSING = "Parquet is read and written with pyarrow; install it: pip install pyarrow"


@dataclass(frozen=True)
class Parquet:
    """Reads events, one a row."""

    name: str = "parquet"
    rotated: bool = False

    def recognises(self, name: str, head: bytes) -> bool:
        """Whether it is Parquet."""
        return head.startswith(MAGIC)

    def recognises_file(self, path: Path) -> bool:
        """Whether it has the columns of events. One that is damaged may have had them."""
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            return True
        try:
            return set(NEEDED) <= set(pq.read_schema(path).names)
        except (pa.ArrowException, OSError):
            return True

    def read(self, source: OpenSource) -> Iterator[Event]:
        """The events, with the origin that they were told with. Errors: ReadingError."""
        if source.path is None:
            raise ReadingError(f"Parquet cannot be read from {source.name}; give the path of the file")
        for part in source.parts:
            assert part.path is not None, "only standard input has no path"
            yield from _events(part.path, part.name, source)


def _events(path: Path, name: str, source: OpenSource) -> Iterator[Event]:
    for number, row in enumerate(_rows(path, name, source), 1):
        try:
            yield _event(row)
        except LineError as error:
            source.quarantine(str(error), f"{name}:{number}")


def _rows(path: Path, name: str, source: OpenSource) -> Iterator[Mapping[str, Any]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ReadingError(MISSING) from None
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=AT_ONCE):
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError) as error:
        source.quarantine(f"the file cannot be read on: {str(error).splitlines()[0]}", name)


def _event(row: Mapping[str, Any]) -> Event:
    """Errors: LineError."""
    values = {key: value for key, value in row.items() if value is not None}
    at, data = values.get("at"), values.get("data", "{}")
    if isinstance(at, datetime):
        values["at"] = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    try:
        values["data"] = json.loads(data)
    except (TypeError, ValueError, RecursionError):
        raise LineError(f"data is no JSON: {data!r:.60}") from None
    return event_from({"schema": SCHEMA, **values})


def write(path: str | Path, events: Iterable[Event]) -> int:
    """Write events as a table. Returns how many. Errors: ReadingError without pyarrow; those of `events`."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ReadingError(MISSING) from None
    texts = [pa.field(name, pa.string()) for name in TEXTS]
    schema = pa.schema([
        pa.field("schema", pa.int32()), pa.field("at", pa.float64()), *texts,
        pa.field("generation", pa.int64()), pa.field("data", pa.string()),
    ])  # fmt: skip
    written, rows = 0, iter(events)
    with pq.ParquetWriter(path, schema, compression="zstd") as file:
        while told := [_row(event) for event in islice(rows, AT_ONCE)]:
            file.write_table(pa.Table.from_pylist(told, schema))
            written += len(told)
    return written


def _row(event: Event) -> dict[str, Any]:
    texts = {name: str(getattr(event, name)) or None for name in TEXTS}
    sent = texts | {"source": event.source.value, "kind": event.kind.value}
    data = json.dumps(dict(event.data), ensure_ascii=False) if event.data else None
    return {"schema": SCHEMA, "at": event.at, **sent, "generation": event.generation, "data": data}
