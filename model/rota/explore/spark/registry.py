"""The driver's side of numbers that all processes agree on: which value of which table has which number.

What counts as the same value is decided by a digest alone: 32 bytes of BLAKE2b of the kernel's canonical
encoding. It is the only hash that decides what is visited, and it is resistant to collisions. So the
driver merges what tasks have found without building a value or calling a rule. Tables are those of the
machines in their order, then the messages that machines send, then the rules (tuples of slugs) of outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from rota.explore.cache.digest import DIGEST
from rota.explore.spark.facts import Facts, together
from rota.explore.tables.arrays import Flags, Longs

BEYOND_MACHINES = 2
"""Tables behind those of the machines: messages, rules."""

Named = tuple[bytes, bytes]
"""A value from outside: its digest, and its canonical encoding."""


def named(raw: bytes) -> Named:
    """A value of which this is the encoding; what decides whether two are the same is BLAKE2b of it."""
    return blake2b(raw, digest_size=DIGEST).digest(), raw


@dataclass(frozen=True)
class News:
    """What one task found that has no number in a version of the registry.

    values: per table; the first of a table is meant by the number that the version would give next. facts:
    see `rota.explore.spark.facts`.
    """

    version: int
    values: tuple[tuple[Named, ...], ...]
    facts: bytes = b""


@dataclass(frozen=True)
class Delta:
    """What a version has that the one before had not.

    values: per table, in the order of their numbers; facts: see `rota.explore.spark.facts`.
    """

    version: int
    values: tuple[tuple[Named, ...], ...]
    facts: bytes = b""


class Registry:
    """All numbers that were given. Version 0 has none; each delta makes the next one.

    Parameters: machines, how many the system has; deltas, of versions 1, 2 ... if some exist already.
    Memory: about 150 bytes per value and 8 per fact; neither values nor facts are kept.
    """

    def __init__(self, machines: int, deltas: Sequence[Delta] = ()) -> None:
        self._machines = machines
        self._numbers: list[dict[bytes, int]] = [{} for _ in range(machines + BEYOND_MACHINES)]
        self._counts = [[0] * len(self._numbers)]
        """Per version, of each table."""
        self._facts = np.zeros(0, np.int64)
        """Keys of all facts, sorted."""
        for delta in deltas:
            if delta.version != self.version + 1:
                raise ValueError(f"version {delta.version} cannot follow version {self.version}")
            for known, values in zip(self._numbers, delta.values, strict=True):
                for digest, _ in values:
                    known[digest] = len(known)
            self._add(Facts.from_bytes(delta.facts).codes())
            self._close()

    @property
    def version(self) -> int:
        """The latest one."""
        return len(self._counts) - 1

    @property
    def counts(self) -> list[int]:
        """How many values each machine's table has: what layouts are made of."""
        return self._counts[-1][: self._machines]

    def merge(self, news: Sequence[News]) -> Delta | None:
        """Number what is new, in the order given; None if nothing is.

        News of an earlier version and news seen before do no harm. Errors: ValueError for news of a version
        that does not exist yet.
        """
        fresh: list[list[Named]] = [[] for _ in self._numbers]
        facts = [self._one(each, fresh) for each in news]
        merged = together(facts)
        merged = merged.only(self._unknown(merged.codes()))
        if not any(fresh) and not len(merged.keys):
            return None
        self._add(merged.codes())
        self._close()
        return Delta(self.version, tuple(map(tuple, fresh)), merged.to_bytes())

    def _one(self, news: News, fresh: list[list[Named]]) -> Facts:
        """Number the values of one piece of news; returns its facts in final numbers."""
        if news.version > self.version:
            raise ValueError(f"news of version {news.version}, and there are {self.version}")
        finals: list[Longs] = []
        for known, added, values in zip(self._numbers, fresh, news.values, strict=True):
            numbers = np.empty(len(values), np.int64)
            for i, (digest, raw) in enumerate(values):
                if digest not in known:
                    known[digest] = len(known)
                    added.append((digest, raw))
                numbers[i] = known[digest]
            finals.append(numbers)
        return Facts.from_bytes(news.facts).renumbered(self._counts[news.version], finals)

    def _unknown(self, codes: Longs) -> Flags:
        """Which facts are kept: the first with each key, if that is not known yet."""
        first = np.zeros(len(codes), np.bool_)
        first[np.unique(codes, return_index=True)[1]] = True
        if not len(self._facts):
            return first & (codes >= 0)
        at = np.minimum(np.searchsorted(self._facts, codes), len(self._facts) - 1)
        unknown: Flags = first & (codes >= 0) & (self._facts[at] != codes)
        return unknown

    def _add(self, codes: Longs) -> None:
        self._facts = np.sort(np.concatenate([self._facts, codes]), kind="stable")

    def _close(self) -> None:
        """Make what the tables hold now a version."""
        self._counts.append([len(known) for known in self._numbers])
