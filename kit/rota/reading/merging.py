"""Events of several sources as one sequence in order of time."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePath

from msgspec.structs import replace

from rota.history import Event, Kind, Source
from rota.reading.errors import ReadingError
from rota.reading.finding import sources
from rota.reading.options import ReadOptions
from rota.reading.source import OpenSource
from rota.reading.tally import Tally
from rota.reading.unordered import in_order

Placed = tuple[float, int, int, Event]

AS_FOUND = ReadOptions()

CLUSTER = "cluster="
"""How the name of a folder begins that has what is of one cluster, as tables are partitioned."""

_OF_LOGS = (Source.BROKER_LOG, Source.CLIENT_LOG)


def read(
    paths: Sequence[str], *, options: ReadOptions = AS_FOUND, tally: Tally | None = None
) -> Iterator[Event]:
    """Every event of the sources at the paths, by time. Errors: ReadingError, before the first event.

    paths: of files and folders, `-` for standard input; tally: is told what was met. Events of one source
    keep their order even where its clock went back; one without a time comes after the one before it.
    Memory grows with the number of sources, not of lines.
    """
    return (event for _, event in read_by_cluster(paths, options=options, tally=tally))


def read_by_cluster(
    paths: Sequence[str], *, options: ReadOptions = AS_FOUND, tally: Tally | None = None
) -> Iterator[tuple[str, Event]]:
    """The same, each event with the cluster that its source is of (see `cluster_of`)."""
    # Here, not above: readers import parts of this package, and any of them may be imported first.
    from rota.reading.readers import READERS

    met = Tally() if tally is None else tally
    opened = sources(paths, READERS, options, met)
    skews = skews_of(options.skews, [source for source, _ in opened])
    events = [straightened(reader.read(source), skews.get(source.name, 0)) for source, reader in opened]
    clusters = [cluster_of(source.path) for source, _ in opened]
    placed = (_placed(*one) for one in enumerate(events))
    if options.unordered:
        merged: Iterable[Placed] = chain.from_iterable(placed)
    else:
        merged = next(placed) if len(events) == 1 else heapq.merge(*placed)
    told = ((clusters[place], event) for place, event in _counted(merged, met))
    return in_order(told, met) if options.unordered else told


def cluster_of(path: Path | None) -> str:
    """The cluster of a file or folder: the innermost folder `cluster=NAME` names it, else it is ""."""
    folders = [] if path is None else [path, *path.absolute().parents]
    named = (one.name for one in folders if one.name.startswith(CLUSTER) and one.is_dir())
    return next(named, "").removeprefix(CLUSTER)


def _placed(place: int, events: Iterator[Event]) -> Iterator[Placed]:
    """Events with the time by which they are merged: without one, that of the event before."""
    latest = float("-inf")
    for number, event in enumerate(events):
        if event.at is not None:
            latest = event.at
        yield latest, place, number, event


def straightened(events: Iterator[Event], skew: float) -> Iterator[Event]:
    """Events of a clock that is ahead by `skew` seconds, by one that is right."""
    if not skew:
        return events
    return (event if event.at is None else replace(event, at=event.at - skew) for event in events)


def _counted(events: Iterable[Placed], tally: Tally) -> Iterator[tuple[int, Event]]:
    for _, place, _, event in events:
        noted(event, tally)
        yield place, event


def noted(event: Event, tally: Tally) -> None:
    """Tell a tally of an event."""
    tally.events += 1
    if event.kind is Kind.UNREAD:
        tally.unread += 1
        tally.unknown += event.source in _OF_LOGS
    if event.at is None and event.source in _OF_LOGS:
        tally.without_time(event.origin)


def skews_of(given: Mapping[str, float], opened: Sequence[OpenSource]) -> Mapping[str, float]:
    """Source name → skew. A skew is given for a path, the name of a file or of the folder it is in."""
    result: dict[str, float] = {}
    for named, skew in given.items():
        meant = [one.name for one in opened if named in _called(one)]
        if not meant:
            there = ", ".join(one.name for one in opened)
            raise ReadingError(f"a skew is given for {named}, which is not read; there are {there}")
        result |= dict.fromkeys(meant, skew)
    return result


def _called(source: OpenSource) -> tuple[str, ...]:
    path = PurePath(source.name)
    return (source.name, path.name, path.parent.name, str(path.parent))
