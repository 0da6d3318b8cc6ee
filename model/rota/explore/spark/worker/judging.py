"""What the tables of a process have judged, as keys for the driver's count."""

from __future__ import annotations

import numpy as np

from rota.explore.spark.combinations import MARKED, counted, lanes, mark
from rota.explore.tables.arrays import Column, Words, mix
from rota.explore.tables.system import Tables
from rota.explore.tables.views import VACUOUS, Answers, Seen
from rota.kernel.encoding import lane_factors


class Judging:
    """The keys of what is judged, each made once. tables: of the system, perhaps warm."""

    def __init__(self, tables: Tables) -> None:
        known = tables.judge.answers
        ranked = enumerate(counted(tables.system))
        self._answers = [(rank, known[prop]) for rank, prop in ranked if prop in known]
        self._taken = [0] * len(self._answers)
        self._lanes: dict[Seen, Column] = {}

    def news(self) -> bytes:
        """The keys of what was judged since the last call; see `rota.explore.spark.combinations`."""
        some = zip(self._answers, self._taken, strict=True)
        keys = b"".join(
            [self._keys(rank, answers, start) for (rank, answers), start in some if len(answers) > start]
        )
        self._taken = [len(answers) for _, answers in self._answers]
        return keys

    def _keys(self, rank: int, answers: Answers, start: int) -> bytes:
        """`combinations.key_of` of a property's combinations from one on."""
        pairs, judged = answers.pairs(start)
        high, low = np.zeros((2, len(pairs)), np.uint64)
        for place, (seen, factors) in enumerate(
            zip(answers.seen, lane_factors(len(answers.seen)), strict=True)
        ):
            hashes = self._hashes(seen, int(pairs[:, place].max()))[pairs[:, place]]
            high += hashes[:, 0] * np.uint64(factors[0])
            low += hashes[:, 1] * np.uint64(factors[1])
        low = mix(low ^ mix(high))
        marks = np.where(judged == VACUOUS, mark(rank, False), mark(rank, True)).astype(np.uint64)
        return np.stack([low & ~np.uint64(MARKED) | marks, mix(high + low)], axis=1).astype("<u8").tobytes()

    def _hashes(self, seen: Seen, last: int) -> Words:
        """The lanes of what a view has seen, by number, up to one."""
        column = self._lanes.setdefault(seen, Column(np.uint64, width=2))
        for code in range(column.size, last + 1):
            column.append(lanes(seen.result(code)))
        return column.data
