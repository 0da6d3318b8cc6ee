"""Folders of rows that say what events mean for groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rota.histories.rows import ROUTED
from rota.histories.runs import Row, rows_of

CONVERSATION, SOURCE = ROUTED.names.index("conversation"), ROUTED.names.index("source")


@dataclass(frozen=True)
class Routed:
    """A folder of what events mean for groups.

    places: of each source, by its number then, its place now in the order of reading; stale: conversations
    that a later folder has anew; new: whether nothing of it was judged before.
    """

    folder: Path
    places: Mapping[int, int] = field(default_factory=dict)
    stale: frozenset[int] = frozenset()
    new: bool = True

    def rows(self, part: int, below: str = "") -> list[Iterator[Row]]:
        """The rows of a part, each iterator's in their order, of those that still count."""
        return [self._counted(one) for one in rows_of(self.folder / below, part)]

    def _counted(self, rows: Iterator[Row]) -> Iterator[Row]:
        if not self.stale and all(place == source for source, place in self.places.items()):
            return rows
        return self._replaced(rows)

    def _replaced(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            if row[CONVERSATION] not in self.stale:
                place = self.places.get(row[SOURCE], row[SOURCE])
                yield row if place == row[SOURCE] else (*row[:SOURCE], place, *row[SOURCE + 1 :])
