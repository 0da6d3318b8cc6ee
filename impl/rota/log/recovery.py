"""What is done to a folder before it is a log again: unfinished work ended, torn tails cut, damage refused."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cut:
    """A torn tail: `bytes_cut` from `position` on in `segment`; `offset` is given again to the next batch."""

    segment: str
    position: int
    offset: int
    bytes_cut: int
    reason: str


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a log held when it was opened, and what was done to it.

    `start_offset` is the first one that there may be a record of, `next_offset` the one that the next append
    gets. `adopted` says that the folder was another broker's, of which nothing is known but its batches.
    `finished` names what an earlier process had left half done, one line each.
    """

    start_offset: int
    next_offset: int
    cut: Cut | None = None
    adopted: bool = False
    finished: tuple[str, ...] = ()
