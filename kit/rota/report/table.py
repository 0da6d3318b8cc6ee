"""The tables of all verbs: titles, columns below each other, words that go on below themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rota.report.format import ROOM, emphasised, shown_length, width, wrapped


@dataclass(frozen=True)
class Column:
    """A column of a table.

    width: of its cells; left: they begin below each other; gap: blanks before it. words: it is the last
    one, and what is too long for the line goes on below its beginning; its width does not count.
    """

    title: str
    width: int = 0
    left: bool = False
    gap: int = 1
    words: bool = False

    def shown(self, cell: str) -> str:
        """A cell and the blanks around it; colours take no room."""
        blanks = " " * (self.width - shown_length(cell))
        return " " * self.gap + (cell + blanks if self.left else blanks + cell)

    @property
    def room(self) -> int:
        """The columns of the terminal that it takes at least."""
        return self.gap + (ROOM if self.words else self.width)


def names(title: str, cells: Iterable[str], gap: int = 2) -> Column:
    """A column of names, as wide as the longest of them."""
    return Column(title, max([len(title), *map(len, cells)]), left=True, gap=gap)


class Table:
    """A table of which every row can be printed as soon as it is known: as wide as the terminal has room for.

    Parameters: columns; spared, the titles of those that are left out where there is no room, in that order.
    """

    def __init__(self, columns: Sequence[Column], spared: Sequence[str] = ()) -> None:
        shown = list(columns)
        for title in spared:
            if sum(one.room for one in shown) > width():
                shown = [one for one in shown if one.title != title]
        self._shown = shown

    def head(self) -> str:
        """The titles."""
        return emphasised(self.row({one.title: one.title for one in self._shown}))

    def row(self, cells: Mapping[str, str]) -> str:
        """A row, on several lines where words are long. cells: by the titles of their columns."""
        last = self._shown[-1]
        if not last.words:
            return "".join(one.shown(cells[one.title]) for one in self._shown).rstrip()
        before = "".join(one.shown(cells[one.title]) for one in self._shown[:-1])
        return wrapped(before + " " * last.gap, cells[last.title])
