"""Tables learned from machines: each distinct (value, input) goes through the Python once.

Values, deliveries and queues of pending deliveries are interned to small integers; a table entry is a run of
outcomes, each (next value, what it sends, rules). `rota.explore.tables.successors` walks these tables for
whole arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from rota.explore.purity import Again, Noting, StandIn
from rota.explore.tables.arrays import Column, IntMap, Ints, Longs, Pool, Region, Words, mix, padded
from rota.explore.tables.kept import KeptValues
from rota.kernel import Outcome, State, System, encode, guarded
from rota.kernel.encoding import MASK64, Encoding, encoded_hash, lane_factors
from rota.kernel.twins import alike, refused, same, unfit

EMPTY = 0
"""The queue in which nothing is pending."""


class Interned:
    """Values of one kind numbered in order of appearance. what: for messages of errors."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.values: list[Any] = []
        self._ids: dict[Any, int] = {}
        self._by_id: dict[int, int] = {}
        """By identity, for values that were added here: they are kept, so nothing else can have it."""
        self._raws: list[bytes | None] = []
        """The encodings of values that were added here: a tenth of the values' size, and to be written."""
        self._kept: KeptValues | None = None

    def __len__(self) -> int:
        return len(self.values)

    def number(self, value: Any) -> int:
        """The number of a value, -1 if it is new. Errors: UserError."""
        here = self._by_id.get(id(value))
        if here is not None:
            return here
        try:
            known = self._ids.get(value, -1)
        except Exception as error:  # its __hash__ and __eq__ are the system's, too
            raise unfit(self.what, value, error) from error
        if known < 0 and self._kept is not None:
            return self._number_kept(value, self._kept)
        if known >= 0 and not same(self.values[known], value):
            raise refused(self.what, self.values[known], value)
        return known

    def add(self, value: Any, raw: bytes | None = None) -> int:
        """Number a value that is new. raw: its canonical encoding, where that is known."""
        self._raws.append(raw)
        self._ids[value] = self._by_id[id(value)] = len(self.values)
        self.values.append(value)
        return len(self.values) - 1

    def recall(self, kept: KeptValues) -> None:
        """Begin with the values of an earlier run, before there are others."""
        self.values = self._kept = kept

    def made(self) -> list[Any]:
        """The values that are there as values: all but those of an earlier run that nobody asked for."""
        kept = self.values
        if not isinstance(kept, KeptValues):
            return kept
        return [kept[number] for number in range(len(kept)) if not kept.unread(number)]

    def encoded(self) -> list[bytes]:
        """The canonical encodings of all values."""
        kept, first = self.values, len(self.values) - len(self._raws)
        before = [kept.raw(number) for number in range(first)] if isinstance(kept, KeptValues) else []
        raws = enumerate(self._raws, first)
        return [*before, *(encode(kept[number]) if raw is None else raw for number, raw in raws)]

    def _number_kept(self, value: Any, kept: KeptValues) -> int:
        """`number` for a value that no value made so far is equal to."""
        known = kept.find(value)
        if known < 0:
            # it is new: from here on it takes the values themselves to see that no other one equals it
            self._kept = None
            self._ids = {one: number for number, one in enumerate(kept)}
            return self.number(value)
        self._ids[kept[known]] = known
        return known


@dataclass(frozen=True)
class Pools:
    """Where the columns of all machines live: what is offered, and the two lanes of values' hashes."""

    actions: Pool = field(default_factory=lambda: Pool(np.int32, fill=-1))
    high: Pool = field(default_factory=lambda: Pool(np.uint64))
    low: Pool = field(default_factory=lambda: Pool(np.uint64))


class MachineTable:
    """What is known of one machine: its values, their hashes, the entries of what it offers.

    received: how many entries there are of what it receives.
    """

    def __init__(self, system: System, position: int, pools: Pools, again: Again, encoding: Encoding) -> None:
        machine, self._encoding = system.machines[position], encoding
        # who stands in for a machine notes what that one says
        self.machine = machine if isinstance(machine, StandIn) else Noting(machine, again)
        self.position = position
        self.interned = Interned(f"machine {self.machine.name}")
        self._factors = lane_factors(len(system.machines))[position]
        self.high = Region(pools.high)
        self.low = Region(pools.low)
        self.actions = Region(pools.actions)
        self.received = 0

    def intern(self, value: Any) -> int:
        """The number of a value; its hash is taken when it is new. Errors: UserError."""
        number = self.interned.number(value)
        if number >= 0:
            return number
        try:
            raw = self._encoding.encode(value)
        except Exception as error:  # what is in it may be anything
            raise unfit(self.interned.what, value, error) from error
        high, low = encoded_hash(raw)
        # already multiplied by the position's factors, so that a state's hash is a sum of entries
        self.high.append(high * self._factors[0] & MASK64)
        self.low.append(low * self._factors[1] & MASK64)
        number = self.interned.add(value, raw)
        self.actions.reserve(number + 1)
        if number & (number + 1) == 0:  # now and then, as there are twice as many
            self.check()
        return number

    def check(self) -> None:
        """Values that are not equal have different hashes. Errors: UserError."""
        high, low = self.high.data, self.low.data
        order = np.lexsort((low, high))
        twins = np.flatnonzero((high[order][1:] == high[order][:-1]) & (low[order][1:] == low[order][:-1]))
        for at in twins.tolist():
            one, other = (self.interned.values[number] for number in sorted(order[at : at + 2].tolist()))
            raise alike(self.interned.what, one, other)


@dataclass
class Effort:
    """What learning cost. calls: of machines' functions; fills: batches of misses."""

    calls: int = 0
    fills: int = 0
    seconds: float = 0.0


class Learned:
    """Everything learned about one system. May be given to a further run, which then starts warm."""

    def __init__(self, system: System) -> None:
        self.system = system = guarded(system)
        self.pools, self.again, self.encoding = Pools(), Again(), Encoding()
        self.machines = tuple(
            MachineTable(system, i, self.pools, self.again, self.encoding)
            for i in range(len(system.machines))
        )
        # by (value of the receiver, delivery); the delivery says who receives
        self.receives = IntMap()
        self.width = padded(len(system.machines))
        self.effort = Effort()
        self.messages = Interned(f"messages of {system.name}")
        # a delivery is (sender, receiver, message), a queue a tuple of deliveries
        self._deliveries: dict[tuple[int, int, int], int] = {}
        self.delivery_list: list[tuple[int, int, int]] = []
        self.receiver = Column(np.int32)
        self._queues: dict[tuple[int, ...], int] = {(): EMPTY}
        self.queue_list: list[tuple[int, ...]] = [()]
        self.head = Column(np.int32)
        self.rest = Column(np.int32)
        self.head.append(-1)
        self.rest.append(EMPTY)
        self.joins = IntMap()
        # an entry is a run of outcomes: its first one and how many; an outcome is its value and what it sends
        self.entries = Column(np.int64, width=2)
        self.outcomes = Column(np.int32, width=2)
        self.outcome_rules: list[tuple[str, ...]] = []
        self.outcome_machine = Column(np.int32)

    @property
    def known(self) -> tuple[int, int]:
        """How many entries there are, and what else was learned: queues that were put together."""
        return self.entries.size, self.joins.size

    def intern_state(self, state: Sequence[Any]) -> list[int]:
        """A state as a row, padding included."""
        row = [table.intern(value) for table, value in zip(self.machines, state, strict=True)]
        return row + [0] * (self.width - len(row))

    def state(self, row: Ints) -> State:
        """A row as a state."""
        return tuple(table.interned.values[row[i]] for i, table in enumerate(self.machines))

    def hashes(self, rows: Ints) -> tuple[Words, Words]:
        """The two lanes of `state_hash` of each row."""
        high = np.zeros(len(rows), np.uint64)
        low = np.zeros(len(rows), np.uint64)
        for position, table in enumerate(self.machines):
            column = rows[:, position]
            high += table.high.data[column]
            low += table.low.data[column]
        low = mix(low ^ mix(high))
        return mix(high + low), low

    def offer_entries(self, position: int, values: Ints) -> Ints:
        """The entry of what a machine offers in each value; unknown ones are learned first."""
        table = self.machines[position]
        entries: Ints = table.actions.data[values]
        missing = entries < 0
        if missing.any():
            self.learn_offers(position, np.unique(values[missing]).tolist())
            entries = table.actions.data[values]
        return entries

    def learn_offers(self, position: int, values: Sequence[int]) -> None:
        """Ask a machine what it offers in values of which that is not known, each once."""
        table, started = self.machines[position], perf_counter()
        known, ask = table.interned.values, table.machine.actions
        table.actions.data[values] = [self._enter(table, ask(known[value])) for value in values]
        self._spent(started)

    def receive_entries(self, position: int, values: Ints, deliveries: Ints) -> Ints:
        """The entry of what becomes of each value on its delivery; unknown ones are learned first."""
        keys = values.astype(np.int64) << 32 | deliveries
        entries = self.receives.get(keys)
        missing = entries < 0
        if missing.any():
            self.learn_receives(position, np.unique(keys[missing]))
            entries = self.receives.get(keys)
        return entries

    def learn_receives(self, position: int, keys: Longs) -> None:
        """Ask a machine about (value, delivery) of which nothing is known, each once; two halves of a key."""
        table, started = self.machines[position], perf_counter()
        learned = [self._receive(table, key >> 32, key & 0xFFFFFFFF) for key in keys.tolist()]
        self.receives.put(keys, np.array(learned, np.int32))
        table.received += len(learned)
        self._spent(started)

    def joined(self, rest: Ints, sends: Ints) -> Ints:
        """The queue of what is still pending followed by what an outcome sends."""
        out = np.where(rest == EMPTY, sends, rest)
        both = np.flatnonzero((rest != EMPTY) & (sends != EMPTY))
        if both.size:
            keys = rest[both].astype(np.int64) << 32 | sends[both]
            queues = self.joins.get(keys)
            missing = queues < 0
            if missing.any():
                self.learn_joins(np.unique(keys[missing]))
                queues = self.joins.get(keys)
            out[both] = queues
        return out

    def learn_joins(self, keys: Longs) -> None:
        """Put queues together that were not yet, each pair once; two halves of a key."""
        pairs = [(self.queue_list[k >> 32], self.queue_list[k & 0xFFFFFFFF]) for k in keys.tolist()]
        self.joins.put(keys, np.array([self._queue(a + b) for a, b in pairs], np.int32))

    def _receive(self, table: MachineTable, value: int, delivery: int) -> int:
        sender, _, message = self.delivery_list[delivery]
        name = self.system.machines[sender].name
        outcomes = table.machine.receive(table.interned.values[value], name, self.messages.values[message])
        return self._enter(table, outcomes)

    def _enter(self, table: MachineTable, outcomes: Sequence[Outcome]) -> int:
        """A new entry of the given outcomes."""
        self.effort.calls += 1
        checked = [self._taken_in(table, outcome) for outcome in outcomes]
        start = len(self.outcome_rules)
        for value, sends, rules in checked:
            self.outcomes.append((value, sends))
            self.outcome_rules.append(rules)
            self.outcome_machine.append(table.position)
        self.entries.append((start, len(checked)))
        return self.entries.size - 1

    def _taken_in(self, table: MachineTable, outcome: Outcome) -> tuple[int, int, tuple[str, ...]]:
        sends = tuple([self._delivery(table, send.to, send.message) for send in outcome.sends])
        return table.intern(outcome.value), self._queue(sends), outcome.rules

    def _delivery(self, sender: MachineTable, to: str, message: Any) -> int:
        receiver = self.system.index[to]
        number = self.messages.number(message)
        if number < 0:
            try:
                raw = self.encoding.encode(message)
            except Exception as error:  # what is in it may be anything
                raise unfit(self.messages.what, message, error) from error
            number = self.messages.add(message, raw)
        return self._delivery_of((sender.position, receiver, number))

    def _delivery_of(self, key: tuple[int, int, int]) -> int:
        known = self._deliveries.get(key)
        if known is None:
            known = self._deliveries[key] = len(self.delivery_list)
            self.delivery_list.append(key)
            self.receiver.append(key[1])
        return known

    def recall(self, deliveries: Sequence[tuple[int, int, int]], queues: Sequence[tuple[int, ...]]) -> None:
        """Number deliveries and queues as an earlier run did, in its order, before there are others."""
        for delivery in deliveries:
            self._delivery_of(delivery)
        for queue in queues:
            self._queue(queue)

    def _queue(self, pending: tuple[int, ...]) -> int:
        known = self._queues.get(pending)
        if known is None:
            rest = self._queue(pending[1:])
            known = self._queues[pending] = len(self.queue_list)
            self.queue_list.append(pending)
            self.head.append(pending[0])
            self.rest.append(rest)
        return known

    def _spent(self, started: float) -> None:
        self.effort.fills += 1
        self.effort.seconds += perf_counter() - started

    def sizes(self) -> dict[str, Any]:
        """How large the tables are: values and entries per machine, messages, deliveries, queues,
        outcomes.
        """
        names = [table.machine.name for table in self.machines]
        return {
            "values": dict(zip(names, (len(t.interned) for t in self.machines), strict=True)),
            "offers": dict(
                zip(names, (int((t.actions.data >= 0).sum()) for t in self.machines), strict=True)
            ),
            "receives": dict(zip(names, (t.received for t in self.machines), strict=True)),
            "messages": len(self.messages),
            "deliveries": len(self.delivery_list),
            "queues": len(self.queue_list),
            "outcomes": len(self.outcome_rules),
        }
