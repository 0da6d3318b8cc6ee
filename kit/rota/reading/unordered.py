"""Events that lie in any order, some of them told twice: put in the order of time, each kept once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from rota.history import Event, line_of
from rota.reading.tally import Tally

TWICE = "told twice: an event that was read before, from another place"

NEVER = float("-inf")

_NUMBERED = re.compile(r"(.*[#:@])(\d+)", re.DOTALL)


class Place(NamedTuple):
    """Where an event belongs among all, however they lie: by its time, then by where it was told first.

    at: its time, `NEVER` without one; source: its origin without a number; number: of its origin.
    """

    at: float
    source: str
    number: int


def place_of(event: Event) -> Place:
    """The place of an event. Of several in one place the order is that of their lines."""
    at = NEVER if event.at is None else event.at
    numbered = _NUMBERED.fullmatch(event.origin)
    return Place(at, event.origin, 0) if numbered is None else Place(at, numbered[1], int(numbered[2]))


def in_order(told: Iterable[tuple[str, Event]], tally: Tally) -> Iterator[tuple[str, Event]]:
    """Events of clusters in the order of time, without those that were told before; all are held in memory.

    tally: is told how many were told twice; its `events` has these as well. Lines are
    written only of what has one place, which is seldom.
    """
    rows = sorted(((place_of(event), cluster, event) for cluster, event in told), key=lambda row: row[0])
    for _, together in groupby(rows, key=lambda row: row[0]):
        each = [*together]
        if len(each) == 1:
            yield each[0][1:]
            continue
        lines = sorted(
            ((line_of(event), cluster, event) for _, cluster, event in each), key=lambda row: row[:2]
        )
        for _, same in groupby(lines, key=lambda row: row[:2]):
            (_, cluster, event), *again = same
            if again:
                tally.twice[event.source.value] += len(again)
            yield cluster, event
