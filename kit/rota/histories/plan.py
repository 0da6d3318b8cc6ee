"""How a run goes: what every task is told, whatever it does."""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from pathlib import Path

from rota.histories.routed import Routed
from rota.reading import ReadOptions
from rota.validate.terms import Terms

ROWS = 5_000, 100_000
"""Rows of a sorted file at most: the least, and where there is no bound on memory."""

BESIDE, OF_A_ROW = 160 << 20, 2 << 10
"""Bytes that a process has beside rows that are sorted, and of such a row on its way into a file."""

LEARNED = 50_000, 1_000_000
"""What a judge has learned and keeps at most: the least, and however much memory there is."""

MERGING, OF_LEARNED = 100 << 20, 3 << 9
"""Bytes of rows that are merged, and of something that is learned, of groups of 17 members on average."""


def rows_within(most: int | None) -> int:
    """Rows of a sorted file at most. most: bytes that a process may have, None: no bound."""
    return ROWS[1] if most is None else max(ROWS[0], min(ROWS[1], (most - BESIDE) // OF_A_ROW))


def learned_within(most: int | None) -> int | None:
    """What a judge keeps of what it has learned, in half of the memory left; None: as without a bound.
    most: as of `rows_within`."""
    if most is None:
        return None
    return max(LEARNED[0], min(LEARNED[1], (most - BESIDE - MERGING) // 2 // OF_LEARNED))


@dataclass(frozen=True)
class Span:
    """Of a cluster's events: when frames begin and when all ends; None: there are no frames."""

    began: float | None = None
    ended: float = 0.0

    def with_more(self, other: Span) -> Span:
        """Of both."""
        begins = [one for one in (self.began, other.began) if one is not None]
        return Span(min(begins, default=None), max(self.ended, other.ended))


@dataclass(frozen=True)
class Plan:
    """folder: of the run; terms; options, of reading; parts, buckets: into how many events and groups are
    divided; rows: of a sorted file at most; learned: what a judge keeps of what it has learned, None: as
    without a bound; spans: by cluster; routed: what events mean for groups; anew: clusters of which every
    group is judged anew."""

    folder: Path
    terms: Terms
    options: ReadOptions
    parts: int
    buckets: int
    rows: int = ROWS[1]
    learned: int | None = None
    spans: dict[str, Span] = field(default_factory=dict)
    routed: tuple[Routed, ...] = ()
    anew: frozenset[str] = frozenset()

    @property
    def work(self) -> Path:
        """Where files go that are no result."""
        return self.folder / "work"

    def sent(self) -> str:
        """As text, for a task."""
        return b64encode(pickle.dumps(self)).decode()

    @classmethod
    def got(cls, text: str) -> Plan:
        """From a text that this driver made."""
        return pickle.loads(b64decode(text))  # type: ignore[no-any-return]
