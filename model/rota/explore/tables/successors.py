"""Successors of whole arrays of states, by tables; `System.successors` says what they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rota.explore.tables.arrays import Flags, Ints, Longs
from rota.explore.tables.machines import EMPTY, Learned
from rota.kernel.system import MAX_MESSAGES, endless


@dataclass(frozen=True)
class Successors:
    """Transitions out of a block of rows, duplicates included.

    source: index within the block, shape [n]; target: rows, shape [n, width]; began: index of the outcome
    that began each, shape [n]; outcomes: indices of the outcomes that took part in any of them, with
    repetitions, in several arrays.
    """

    source: Longs
    target: Ints
    began: Longs
    outcomes: tuple[Longs, ...]

    def stuck(self, block: Ints) -> Flags:
        """Which rows of the block have no successor but themselves."""
        moving = np.zeros(len(block), np.bool_)
        moving[self.source[(self.target != block[self.source]).any(axis=1)]] = True
        return ~moving


@dataclass(frozen=True)
class _Branches:
    """Unfinished transitions: where they come from, the state so far, what is pending, outcomes so far."""

    source: Longs
    rows: Ints
    queue: Ints
    outcomes: tuple[Longs, ...]

    def take(self, index: Longs) -> _Branches:
        return _Branches(
            self.source[index],
            np.take(self.rows, index, axis=0),
            self.queue[index],
            tuple(t[index] for t in self.outcomes),
        )


def expand(learned: Learned, block: Ints) -> Successors:
    """Every transition out of the rows of a block, shape [n, width]. Errors: UserError."""
    nothing = np.zeros(len(block), np.int32)
    start = _Branches(np.arange(len(block)), block, nothing, ())
    open_ = _merged(
        [
            _branched(learned, position, start, learned.offer_entries(position, block[:, position]))
            for position in range(len(learned.machines))
        ]
    )
    done: list[_Branches] = []
    for _ in range(MAX_MESSAGES + 1):
        ended = open_.queue == EMPTY
        done.append(open_.take(np.flatnonzero(ended)))
        if ended.all():
            return Successors(
                np.concatenate([branches.source for branches in done]),
                np.concatenate([branches.rows for branches in done]),
                np.concatenate([branches.outcomes[0] for branches in done]),
                tuple(outcomes for branches in done for outcomes in branches.outcomes),
            )
        open_ = _deliver(learned, open_.take(np.flatnonzero(~ended)))
    raise endless("messages", learned.system.name)


def _deliver(learned: Learned, branches: _Branches) -> _Branches:
    """The first pending message of each branch is taken; a refusal ends the branch without a trace."""
    delivery = learned.head.data[branches.queue]
    receiver = learned.receiver.data[delivery]
    rest = _Branches(branches.source, branches.rows, learned.rest.data[branches.queue], branches.outcomes)
    out = []
    for position in np.flatnonzero(np.bincount(receiver)).tolist():
        here = np.flatnonzero(receiver == position)
        part = rest.take(here)
        values = np.ascontiguousarray(part.rows[:, position])
        out.append(
            _branched(learned, position, part, learned.receive_entries(position, values, delivery[here]))
        )
    return _merged(out)


def _merged(parts: list[_Branches]) -> _Branches:
    if len(parts) == 1:
        return parts[0]
    return _Branches(
        np.concatenate([part.source for part in parts]),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.queue for part in parts]),
        tuple(np.concatenate(outcomes) for outcomes in zip(*(part.outcomes for part in parts), strict=True)),
    )


def _branched(learned: Learned, position: int, branches: _Branches, entries: Ints) -> _Branches:
    """One branch per outcome of each branch's entry."""
    start, count = learned.entries.data[entries].T
    ends = np.cumsum(count)
    origin = np.repeat(np.arange(len(entries)), count)
    outcome = np.arange(len(origin)) + np.repeat(start - ends + count, count)
    rows = np.take(branches.rows, origin, axis=0)
    value, sends = learned.outcomes.data[outcome].T
    rows[:, position] = value
    queue = learned.joined(branches.queue[origin], sends)
    outcomes = (*(t[origin] for t in branches.outcomes), outcome)
    return _Branches(branches.source[origin], rows, queue, outcomes)
