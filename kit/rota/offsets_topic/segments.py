"""A segment file of the offsets topic, whole or not, as it lies on a disk or comes through a pipe."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from rota.history import Event
from rota.log.files import Readable
from rota.log.frames import BadBatch, frames, good_batch_behind, head
from rota.offsets_topic.partition import PartitionEvents
from rota.offsets_topic.records import Place, damaged

LOOK = 8 << 20
"""Bytes that are searched at once for the next whole batch behind a damaged one."""

LARGEST = 4 << 20
"""Bytes by which such looks overlap, more than a broker takes for a batch of the offsets topic."""


class _ReadOnly:
    """A file of which nothing is written, so that a folder may be looked at that is another's."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read_at(self, position: int, size: int) -> bytes:
        return os.pread(self._descriptor, size, position)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size


def read_segment(source: Path | BinaryIO, place: Place) -> Iterator[Event]:
    """The events of one segment by itself. Errors: OSError."""
    partition = PartitionEvents(place)
    if isinstance(source, Path):
        with source.open("rb") as file:
            yield from batches_of(file.fileno(), partition)
    else:
        # A stream cannot go back; behind damage one has to.
        with closing(tempfile.TemporaryFile()) as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
            copy.flush()
            yield from batches_of(copy.fileno(), partition)
    yield from partition.end()


def batches_of(descriptor: int, partition: PartitionEvents) -> Iterator[Event]:
    """The events of an open file's batches, up to where it ends now; damage is told and left out."""
    file = _ReadOnly(descriptor)
    start, end, due = 0, file.size(), 0
    while start < end:
        at = start
        try:
            for position, batch in frames(file, start, end):
                at = position
                base, _, following = head(batch)
                if base < due:
                    # The offset is what the CRC does not cover.
                    why = f"they stand behind offset {due - 1}"
                    yield damaged(partition.place, base, f"offsets from {base} on", why)
                    partition.next_offset = base
                yield from partition.take(batch)
                due = following
            return
        except BadBatch as bad:
            at, why = bad.position, bad.why
        except ValueError as error:
            why = str(error)
        sound = _good_batch_behind(file, at, end, partition.next_offset)
        start = end if sound is None else sound
        yield _lost(file, (at, start), partition, why, is_tail=sound is None)


def _lost(
    file: Readable, between: tuple[int, int], partition: PartitionEvents, why: str, is_tail: bool
) -> Event:
    """What is said of the bytes between two positions that are no batches."""
    start, stop = between
    what = f"{stop - start} bytes from byte {start} on"
    if is_tail and _is_zero(file, start, stop):
        what, why = f"{what}, to the end", "all zero: reserved, or never written"
    elif is_tail:
        what, why = f"{what}, to the end", f"cut short, or being written: {why}"
    return damaged(partition.place, partition.next_offset, what, why)


def _is_zero(file: Readable, position: int, stop: int) -> bool:
    while position < stop:
        data = file.read_at(position, min(LOOK, stop - position))
        if not data or data.strip(b"\0"):
            return False
        position += len(data)
    return True


def _good_batch_behind(file: Readable, bad: int, end: int, next_offset: int) -> int | None:
    for start in range(bad, end, LOOK - LARGEST):
        found = good_batch_behind(file, start, min(end, start + LOOK), next_offset)
        if found is not None:
            return found
    return None
