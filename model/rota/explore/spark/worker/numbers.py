"""A worker process between its own numbers of values and the registry's: states come in, states go out.

Numbers of a process follow the order in which it learned; numbers in files and between processes are the
registry's ("global"). A value that has none yet gets a provisional one for the round of a partition, and
every block says by digest which values these are; when it is read, a round later, the registry has numbered
them. A task that is repeated, or runs twice at once, may give other provisional numbers and nothing breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from rota.explore.compiled import arguments
from rota.explore.compiled.arguments import Fields
from rota.explore.compiled.packing import Layout
from rota.explore.spark.registry import Delta, News
from rota.explore.spark.spread import spread
from rota.explore.spark.values import Reader
from rota.explore.spark.worker import blocks, translate
from rota.explore.spark.worker.blocks import BlockDamaged, Header
from rota.explore.spark.worker.memo import Recalling
from rota.explore.spark.worker.translate import OUT_OF_RANGE, UNKNOWN, Map
from rota.explore.spark.worker.value_table import Known
from rota.explore.tables.arrays import Longs, Pool, Words
from rota.explore.tables.machines import Interned
from rota.explore.tables.system import Tables

__all__ = ["BlockDamaged", "Numbers", "spread"]

_MOST_NOTED = 1 << 14
"""Missing numbers that one pass notes; more of them take another pass."""


class Numbers:
    """What one process knows of the registry's numbers.

    Parameters: tables, of the system, perhaps warm. If the system is
    `rota.explore.spark.worker.memo.Recalling`, its memory is bound to these numbers: facts travel too. One
    round of a partition at a time: `sync`, `begin`, `to_local` and `to_wire` as needed, `news`. local_layout:
    how the process packs states; wire_layout: how those are packed that leave in this round.
    """

    def __init__(self, tables: Tables) -> None:
        self._learned = tables.learned
        self.reader = Reader()
        """Knows the types of all values that came from elsewhere, and of those that `news` has told of."""
        self._local_pool, self._wire_pool = Pool(np.int32, UNKNOWN), Pool(np.int32, UNKNOWN)
        rules, messages = Interned("rules of outcomes"), self._learned.messages
        machines = [(table.interned, table.intern) for table in self._learned.machines]
        self._known = [
            Known(interned, intern, self._local_pool, self._wire_pool, self.reader)
            for interned, intern in (*machines, (messages, _giving(messages)), (rules, _giving(rules)))
        ]
        self._machines = self._known[: len(machines)]
        self._counts = [[0] * len(machines)]
        self._noted = np.empty((_MOST_NOTED, 2), np.int64)
        self._memory = tables.system.memory if isinstance(tables.system, Recalling) else None
        if self._memory:
            self._memory.bind(tables.learned, self._known)
        self.local_layout = Layout(self._own_counts())
        self.wire_layout = Layout(self.counts)
        self._wider: Layout | None = None
        self._header: tuple[Any, bytes] | None = None
        """The header of the last block, and what it was made of."""

    # ---- versions

    @property
    def version(self) -> int:
        """The registry's version that this process has."""
        return len(self._counts) - 1

    @property
    def counts(self) -> list[int]:
        """How many global numbers each machine's values have."""
        return self._counts[-1]

    def sync(self, deltas: Sequence[Any], kinds: frozenset[type]) -> None:
        """Take in what is new. A round must begin afterwards.

        Parameters: deltas, those of versions 1, 2 ... in order, each one or something whose `value` it is (a
        broadcast variable), which is taken only of those that are new here; kinds, the types of their values.
        Errors: ValueError if one has another version than its place says; NotShippable.
        """
        self.reader.learn(kinds)
        for version in range(self.version + 1, len(deltas) + 1):
            item = deltas[version - 1]
            delta = item if isinstance(item, Delta) else item.value
            if delta.version != version:
                raise ValueError(f"the delta in the place of version {version} makes version {delta.version}")
            for known, values in zip(self._known, delta.values, strict=True):
                known.begin()
                known.add(values)
            if self._memory:
                self._memory.add(delta.facts)
            self._counts.append([known.base for known in self._machines])

    def begin(self, layout: Layout | None = None) -> None:
        """A round begins: nothing is provisional. layout: of the round (None: what the counts give)."""
        for known in self._known:
            known.begin()
        self.wire_layout, self._wider, self._header = layout or Layout(self.counts), None, None

    def meet(self, share: int, shares: int) -> None:
        """Take in all values of one table in so many. Errors: UserError for two that only seem the same."""
        for known in self._known[share:-1:shares]:
            for number in range(known.base):
                known.local(number)

    # ---- states

    def fit(self) -> bool:
        """Make the local layout wide enough for all values known now; whether it was replaced."""
        counts = self._own_counts()
        if self.local_layout.fits(counts):
            return False
        self.local_layout = Layout(counts)
        return True

    def to_local(self, keys: Words, layout: Layout) -> Words:
        """States in global numbers packed by `layout` as states of this process, packed by `local_layout`.

        That may be replaced, see `fit`. Errors: ValueError for numbers that this version has not given.
        """
        while True:
            self.fit()
            known = [each.local_of for each in self._machines]
            out, missing = self._translated(keys, layout, self.local_layout, known, self._local_pool)
            if not missing:
                return out
            for position, number in missing:
                self._machines[position].local(number)

    def to_wire(self, keys: Words) -> Words | None:
        """States of this process packed by `wire_layout`; those of `route`, without owners."""
        parts = self.route(keys, 1, ())
        return parts[0] if parts else None

    def route(self, keys: Words, partitions: int, machines: Sequence[int]) -> list[Words] | None:
        """States of this process by partition, in wire numbers packed by `wire_layout`.

        Parameters: keys, packed by `local_layout`; partitions and machines as for `owners`. The parts are
        views of one array. None if the numbers outgrow `wire_layout`: what was packed by it must leave in
        blocks first; the same call then replaces it and answers.
        """
        if self._wider:
            self.wire_layout, self._wider = self._wider, None
        while True:
            for each in self._machines:
                each.cover()
            known = [each.wire_of for each in self._machines]
            out, missing = self._translated(keys, self.local_layout, self.wire_layout, known, self._wire_pool)
            if not missing:
                break
            for position, local in missing:
                self._machines[position].wire(local)
        counts = [each.count for each in self._machines]
        if not self.wire_layout.fits(counts):
            self._wider = Layout(counts)
            return None
        return self._dealt(out, self.owners(keys, partitions, machines), partitions)

    def owners(self, keys: Words, partitions: int, machines: Sequence[int]) -> Longs:
        """The partition of each state of this process, the same in every process.

        The hashes of the given machines' values decide (none: everything is the first partition's).
        """
        out = np.zeros(len(keys), np.int64)
        if partitions > 1:
            translate.owners(
                keys,
                Fields(*self.local_layout.fields()),
                arguments.lanes(self._learned),
                np.array(machines, np.int64),
                partitions,
                out,
            )
        return out

    # ---- blocks

    def header(self) -> bytes:
        """What a reader must know of states that `to_wire` or `route` gave in this round so far."""
        now = self.wire_layout, sum(len(known.provisional) for known in self._machines)
        if self._header is None or self._header[0] != now:
            digests = tuple(tuple(digest for digest, _ in known.news()) for known in self._machines)
            self._header = now, Header(self.version, self.wire_layout, digests).to_bytes()
        return self._header[1]

    def block(self, keys: Words) -> bytes:
        """States that `to_wire` or `route` gave, packed by the present `wire_layout`, for any process."""
        return blocks.pack(self.header(), keys)

    def read(self, block: bytes | memoryview, layout: Layout) -> Words:
        """The states of a block in global numbers, packed by `layout`.

        A view of the block where it says just that. Errors: BlockDamaged; ValueError if `layout` is narrow.
        """
        return self.resolve(*blocks.unpack(block), layout)

    def resolve(self, header: Header, keys: Words, layout: Layout) -> Words:
        """States with the header they were written under, as of `read`."""
        if header.version > self.version:
            raise BlockDamaged(f"a block of version {header.version} for a process that has {self.version}")
        same = all(np.array_equal(a, b) for a, b in zip(header.layout.fields(), layout.fields(), strict=True))
        if same and not any(header.digests):
            return keys
        if not layout.fits(self.counts):
            raise ValueError("the layout has no room for the values of this version")
        final = [self._final(known, each) for known, each in zip(self._machines, header.digests, strict=True)]
        size = np.array([len(each) for each in final], np.int64)
        out = np.empty((len(keys), layout.words), np.uint64)
        left = translate.renumber(
            _aligned(keys),
            Fields(*header.layout.fields()),
            Fields(*layout.fields()),
            np.array(self._counts[header.version], np.int64),
            np.concatenate([*final, np.zeros(1, np.int64)]),
            np.cumsum(size) - size,
            size,
            out,
        )
        if left == OUT_OF_RANGE:
            raise BlockDamaged("a block has a number that its header does not explain")
        return out

    def _final(self, known: Known, digests: Iterable[bytes]) -> Longs:
        numbers = [known.number_of(digest) for digest in digests]
        if -1 in numbers:
            raise BlockDamaged("a block names a value that the registry has not numbered")
        return np.array(numbers, np.int64)

    def news(self) -> News:
        """What this round found that has no global number, learned entries included. Errors: NotShippable."""
        facts = self._memory.news() if self._memory else b""
        self.reader.look_at(value for known in self._known for value in known.found())
        return News(self.version, tuple(known.news() for known in self._known), facts)

    # ---- within

    def _own_counts(self) -> list[int]:
        return [len(table.interned) for table in self._learned.machines]

    def _translated(
        self, keys: Words, source: Layout, target: Layout, known: Sequence[Any], pool: Pool
    ) -> tuple[Words, list[tuple[int, int]]]:
        """States with other numbers; (position, number) of those missing, if any, and then no states."""
        starts = np.array([region.start for region in known], np.int64)
        numbers = Map(pool.store, starts, np.array([region.size for region in known], np.int64))
        out = np.empty((len(keys), target.words), np.uint64)
        count = np.zeros(1, np.int64)
        fields = Fields(*source.fields()), Fields(*target.fields())
        left = translate.translate(_aligned(keys), *fields, numbers, out, self._noted, count)
        noted = self._noted[: count[0]]
        pool.store[starts[noted[:, 0]] + noted[:, 1]] = UNKNOWN
        if left == OUT_OF_RANGE:
            raise ValueError("a state has a number of a value that does not exist")
        return out, [(int(position), int(number)) for position, number in noted] if left else []

    def _dealt(self, keys: Words, whose: Longs, partitions: int) -> list[Words]:
        if partitions == 1:
            return [keys]
        out, ends = np.empty_like(keys), np.empty(partitions + 1, np.int64)
        translate.deal(keys, whose, ends, out)
        return [out[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def _giving(interned: Interned) -> Callable[[Any], int]:
    """Numbers of a table that is not a machine's."""

    def intern(value: Any) -> int:
        number = interned.number(value)
        return number if number >= 0 else interned.add(value)

    return intern


def _aligned(keys: Words) -> Words:
    """States as compiled code wants them; a copy only if they are not so."""
    return np.require(keys, np.uint64, ["C", "A"])
