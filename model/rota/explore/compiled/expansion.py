"""Packed states on their way through compiled code, piece by piece: judged, expanded, tried again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rota.explore.compiled import kernels
from rota.explore.compiled.arguments import Fields, Given, Groups, Lanes, Room
from rota.explore.compiled.primitives import (
    AGAIN_AT,
    BAD_STEPS_AT,
    MISSES_AT,
    STUCK_AT,
    TRANSITIONS_AT,
    forget_misses,
)
from rota.explore.result import EngineLimit
from rota.explore.tables.arrays import Longs, Words
from rota.kernel.system import endless

PIECE = 1 << 15
"""States expanded before successors are absorbed: enough to drown the cost of calls."""

ROOM = 8 * PIECE
"""Successors that an expansion has room for; it stops where they end."""

LARGEST_PIECE = 2 * PIECE
"""States expanded at most when some that were tried before go first."""

MOST_MISSES = 1 << 16


def scan(keys: Words, fields: Fields, lanes: Lanes, groups: Groups, asks: Longs) -> tuple[int, Words]:
    """The sum of the hashes of states, and those states that need a look; see `kernels.scan`."""
    halves, found = np.zeros(4, np.uint64), np.empty(len(keys), np.int64)
    noted = kernels.scan(keys, fields, lanes, groups, asks, halves, found)
    return sum(int(half) << 32 * place for place, half in enumerate(halves)), keys[found[:noted]]


@dataclass
class Work:
    """A piece being expanded: states todo[start:] of the array `number`."""

    number: int
    todo: Longs
    start: int = 0


class Expansion:
    """Arrays of states on their way through `kernels.expand`.

    Parameters: boxes, into how many successors are sorted by their codes; words, of a state.
    room: where successors, misses and marks of outcomes are after `expand`. generated, bad_steps: so far.
    A round is: `allow`, `expand`, take what is in the room, learn the misses, `settle`.
    """

    def __init__(self, boxes: int, words: int) -> None:
        self._boxes = boxes
        self._arrays: Sequence[Words] = ()
        self._work: list[Work] = []
        self.generated = 0
        self.bad_steps = 0
        self.room = self._new_room(words)

    def begin(self, arrays: Sequence[Words]) -> None:
        """What shall be expanded, first to last."""
        self._arrays = arrays
        self._work = [
            Work(number, np.arange(start, min(start + PIECE, len(array))))
            for number, array in reversed(list(enumerate(arrays)))
            for start in reversed(range(0, len(array), PIECE))
        ]

    def goes_on_with(self, arrays: Sequence[Words], words: int) -> None:
        """The same states, packed otherwise. Not while successors are in the room."""
        self._arrays = arrays
        if words != self.room.out.shape[2]:
            self.room = self._new_room(words)._replace(marks=self.room.marks)

    @property
    def busy(self) -> bool:
        """Whether there are states that are not expanded yet."""
        return bool(self._work)

    def expand(self, given: Given) -> None:
        """Expand the next piece into the room; misses and stuck rows are there when it returns.

        Errors: UserError where messages go to and fro without end, EngineLimit.
        """
        room = self.room
        room.out_count[:] = 0
        if room.counts[MISSES_AT]:
            forget_misses(room)
        room.counts[:] = 0
        if not self._work:
            return
        work, unit = self._work[-1], (0,) * room.out.shape[2]
        keys = self._arrays[work.number]
        stopped = kernels.expand(keys, work.todo, work.start, *given, room, unit)
        if stopped == kernels.TOO_DEEP:
            raise endless("messages", "the system")
        if stopped == work.start and not room.counts[AGAIN_AT]:
            raise EngineLimit(f"a state has more than {ROOM // self._boxes:,} successors")
        work.start = int(stopped)
        self.generated += int(room.counts[TRANSITIONS_AT])
        self.bad_steps += int(room.counts[BAD_STEPS_AT])

    def allow(self, outcomes: int) -> None:
        """Make room for marks of so many outcomes."""
        marks = self.room.marks
        if outcomes > len(marks):
            grown = np.zeros(2 * outcomes, np.int8)
            grown[: len(marks)] = marks
            self.room = self.room._replace(marks=grown)

    def stuck(self) -> Words:
        """The states of the last piece that have no successor but themselves."""
        if not self.room.counts[STUCK_AT]:
            return self.room.out[0, :0]
        return self._arrays[self._work[-1].number][self.room.stuck[: self.room.counts[STUCK_AT]]]

    def misses(self) -> Longs:
        """What the last piece missed, shape [n, 4]."""
        return self.room.misses[: self.room.counts[MISSES_AT]]

    def settle(self) -> None:
        """After the misses have been taken: states to try again are put before the rest.

        They go with the next piece of their array: a piece of their own would often be a small one, which
        costs a round like a full one, and the other workers wait for it.
        """
        if not self._work:
            return
        again, work = self.room.again[: self.room.counts[AGAIN_AT]].copy(), self._work[-1]
        if work.start == len(work.todo):
            self._work.pop()
        if not len(again):
            return
        if self._work and self._work[-1].number == work.number:
            rest = self._work[-1].todo[self._work[-1].start :]
            if len(again) + len(rest) <= LARGEST_PIECE:
                self._work.pop()
                again = np.concatenate([again, rest])
        self._work.append(Work(work.number, again))

    def _new_room(self, words: int) -> Room:
        return Room(
            out=np.empty((self._boxes, ROOM // self._boxes, words), np.uint64),
            out_count=np.zeros(self._boxes, np.int64),
            marks=np.zeros(0, np.int8),
            stuck=np.empty(LARGEST_PIECE, np.int64),
            again=np.empty(LARGEST_PIECE, np.int64),
            misses=np.empty((MOST_MISSES, 4), np.int64),
            asked=np.zeros(2 * MOST_MISSES, np.uint64),
            counts=np.zeros(5, np.int64),
        )
