"""The folder of a partition and the data folder of a broker, as they are now; nothing is written."""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from rota.history import Event
from rota.log.files import Disk
from rota.log.folder import LOG, SWAP, Folder, segment_name
from rota.offsets_topic.partition import TOPIC, PartitionEvents
from rota.offsets_topic.records import Place, damaged
from rota.offsets_topic.segments import batches_of

_PARTITION = re.compile(rf"{TOPIC}-(\d+)")
_TRIES = 5


def partition_of(folder: Path) -> int | None:
    """The partition of the offsets topic that a folder of this name holds."""
    found = _PARTITION.fullmatch(folder.absolute().name)
    return int(found[1]) if found else None


def partition_folders(data_folder: Path) -> list[Path]:
    """The folders of the offsets topic's partitions in a broker's data folder, in order. Errors: OSError."""
    found = [(number, each) for each in data_folder.iterdir() if (number := partition_of(each)) is not None]
    return [each for _, each in sorted(found) if each.is_dir()]


def read_data_folder(folder: Path) -> Iterator[Event]:
    """The events of all partitions below a data folder, by time. Errors: OSError.

    A partition whose files cannot be opened is told, and the others are read.
    """
    yield from by_time([_read_or_told(each) for each in partition_folders(folder)])


def by_time(partitions: Sequence[Iterator[Event]]) -> Iterator[Event]:
    """The events of several partitions by time; those of one partition stay in their order."""
    merged = heapq.merge(*(_timed(number, each) for number, each in enumerate(partitions)))
    for _, _, _, event in merged:
        yield event


def read_partition_folder(folder: Path) -> Iterator[Event]:
    """The events of one partition's segments, in order. Errors: OSError.

    A compacted segment that was about to take the place of others (`.swap`) counts for what it has, since
    those may be gone already; what they have beside it is read too.
    """
    partition = PartitionEvents(Place(folder.absolute().name, partition_of(folder)))
    with ExitStack() as stack:
        # Opened together: a broker may compact meanwhile, and what is open stays as it was.
        descriptors = _opened(folder, stack)
        for descriptor in descriptors:
            yield from batches_of(descriptor, partition)
    yield from partition.end()


def _opened(folder: Path, stack: ExitStack) -> list[int]:
    for attempt in range(_TRIES):
        try:
            with ExitStack() as opening:
                found = []
                for name in _segments(folder):
                    found.append(os.open(folder / name, os.O_RDONLY | os.O_CLOEXEC))
                    opening.callback(os.close, found[-1])
                stack.enter_context(opening.pop_all())
                return found
        except FileNotFoundError:
            # Compacted away between a look into the folder and now.
            if attempt == _TRIES - 1:
                raise
    raise AssertionError("unreachable")


def _segments(folder: Path) -> list[str]:
    """Names of the segments in the order in which they are read."""
    files = Folder(Disk(), str(folder))
    found = [(base, suffix) for suffix in (SWAP, LOG) for base in files.bases(suffix)]
    return [segment_name(base, suffix) for base, suffix in sorted(found, key=lambda one: one[0])]


def _read_or_told(folder: Path) -> Iterator[Event]:
    try:
        yield from read_partition_folder(folder)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        yield damaged(Place(folder.name, partition_of(folder)), 0, str(folder), reason)


def _timed(number: int, events: Iterator[Event]) -> Iterator[tuple[float, int, int, Event]]:
    """Events with what they are ordered by; time never goes back, and what tells none has the last."""
    last = 0.0
    for count, event in enumerate(events):
        if event.at is not None:
            last = max(last, event.at)
        yield last, number, count, event
