"""What other processes have learned, looked up before a machine's Python is run.

A system is wrapped: each machine looks among the shipped facts first, and remembers what it had to compute.
Without facts, and with any of them, it answers as the machine itself does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from rota.explore.compiled.primitives import find
from rota.explore.purity import MachineLine, StandIn
from rota.explore.spark import facts
from rota.explore.spark.facts import Facts
from rota.explore.spark.worker.value_table import Known
from rota.explore.tables.arrays import IntMap, Ints
from rota.explore.tables.machines import Interned, Learned
from rota.kernel import Machine, Message, Outcome, Send, State, System, Transition, Value, guarded

Asked = tuple[int, Any, int, Any]
"""Machine's position, value, 1 + the sender's position (0: what it offers), message (None: the same)."""


@dataclass(frozen=True)
class _Shipped:
    """The facts of one delta, and where the outcomes of each fact and what each outcome sends begin."""

    facts: Facts
    outcomes: Any
    sends: Any


class _Places:
    """The number of an object that is one of a table's values, by its identity: no value is hashed."""

    def __init__(self, interned: Interned) -> None:
        self._values = interned.values
        self._known: dict[int, int] = {}

    def of(self, value: Any) -> int:
        """-1 for an object that is none of them, though it may equal one."""
        known, values = self._known, self._values
        for number in range(len(known), len(values)):
            known[id(values[number])] = number
        return known.get(id(value), -1)


class Memory:
    """Facts of one process. Does nothing until it is bound to its tables.

    recalled, computed: how often a machine was answered for, and how often its Python had to run.
    """

    def __init__(self) -> None:
        self.recalled = self.computed = 0
        self._tables: Sequence[Known] = ()

    def bind(self, learned: Learned, tables: Sequence[Known]) -> None:
        """Start anew with what a process learns and its tables (machines, messages, rules)."""
        self._learned, self._tables = learned, tables
        self._lines: dict[int, MachineLine] = {}
        self._names = [machine.name for machine in learned.system.machines]
        self._places = [_Places(table.interned) for table in tables[:-1]]
        self._codes = IntMap()
        self._shipped: list[_Shipped] = []
        self._begins: list[int] = []
        self._found: dict[int, tuple[Asked, Sequence[Outcome]]] = {}

    def add(self, raw: bytes) -> None:
        """Take in the facts of a delta, whose values the tables have."""
        some = Facts.from_bytes(raw)
        codes = some.codes()
        if not len(codes):
            return
        begin = self._codes.size
        self._codes.put(codes, np.arange(begin, begin + len(codes), dtype=np.int32))
        ends = (np.cumsum(column) for column in (some.keys[:, facts.OUTCOMES], some.outcomes[:, facts.SENDS]))
        outcomes, sends = (np.concatenate([[0], column]) for column in ends)
        self._shipped.append(_Shipped(some, outcomes, sends))
        self._begins.append(begin)

    def answer(self, machine: Machine, asked: Asked) -> Sequence[Outcome]:
        """The outcomes of a machine, recalled or computed."""
        entry = self._learned.entries.size  # what is answered becomes this entry of the learned tables
        self._found.pop(entry, None)  # an answer that did not
        outcomes = self._recall(asked)
        if outcomes is not None:
            self.recalled += 1
            return outcomes
        _, value, sender, message = asked
        outcomes = (
            machine.receive(value, self._names[sender - 1], message) if sender else machine.actions(value)
        )
        self.computed += 1
        self._note(machine, asked, outcomes)
        self._found[entry] = (asked, outcomes)
        return outcomes

    def _note(self, machine: Machine, asked: Asked, outcomes: Sequence[Outcome]) -> None:
        position, value, sender, message = asked
        line = self._lines.get(position)
        if line is None:
            line = self._lines[position] = MachineLine(machine, self._learned.again)
        if sender:
            line.receive.note((value, self._names[sender - 1], message), tuple(outcomes))
        else:
            line.actions.note((value,), tuple(outcomes))

    @property
    def bound(self) -> bool:
        return bool(self._tables)

    def _recall(self, asked: Asked) -> Sequence[Outcome] | None:
        position, value, sender, message = asked
        if not self._shipped:
            return None
        value_number = self._given(position, value)
        message_number = self._given(len(self._names), message) if sender else 0
        if value_number < 0 or message_number < 0:
            return None
        code = facts.code(position, value_number, sender, message_number)
        at = find(*self._codes.arrays, code)
        return None if at < 0 else self._outcomes(position, at)

    def _given(self, table: int, value: Any) -> int:
        """A value's number; no fact has a provisional one."""
        local = self._places[table].of(value)
        return -1 if local < 0 else self._tables[table].given(local)

    def _outcomes(self, position: int, at: int) -> list[Outcome]:
        """The outcomes of the fact with a number."""
        place = bisect_right(self._begins, at) - 1
        shipped = self._shipped[place]
        first, end = shipped.outcomes[at - self._begins[place] :][:2].tolist()
        sends = shipped.facts.sends[shipped.sends[first] : shipped.sends[end]].tolist()
        values, messages, rules = self._tables[position], self._tables[-2], self._tables[-1]
        outcomes, used = [], 0
        for value, slugs, count in shipped.facts.outcomes[first:end].tolist():
            sent = tuple(
                Send(self._names[to], messages.value(what)) for to, what in sends[used : used + count]
            )
            used += count
            outcomes.append(Outcome(values.value(value), sent, rules=rules.value(slugs)))
        return outcomes

    def news(self) -> bytes:
        """What was computed since the last call, in wire numbers (the values get them now, if they must)."""
        found, self._found = self._found, {}
        learned, (*_, messages, rules) = self._learned, self._tables
        keys: list[int] = []
        outcomes: list[int] = []
        sends: list[int] = []
        for entry, ((position, value, sender, message), answers) in found.items():
            # A machine whose answer was refused has no entry.
            if entry == learned.entries.size:
                continue
            what = messages.own_number(message) if sender else 0
            keys += position, self._places[position].of(value), sender, what, len(answers)
            first = int(learned.entries.data[entry, 0])
            values = learned.outcomes.data[first : first + len(answers), 0].tolist()
            for outcome, number in zip(answers, values, strict=True):
                outcomes += number, rules.own_number(outcome.rules), len(outcome.sends)
                for send in outcome.sends:
                    sends += learned.system.index[send.to], messages.own_number(send.message)
        return Facts.of(keys, outcomes, sends).mapped(len(self._names), self._wire).to_bytes()

    def _wire(self, numbers: Ints, tables: Ints | int) -> Ints:
        out = np.empty_like(numbers)
        for table in np.unique(tables).tolist():
            here = np.broadcast_to(tables == np.int64(table), numbers.shape)
            out[here] = self._tables[table].wires(numbers[here])
        return out


@dataclass(frozen=True)
class _Recalling(StandIn):
    """A machine that is asked only what the memory does not know."""

    machine: Machine
    position: int
    senders: dict[str, int]
    memory: Memory

    @property
    def name(self) -> str:
        return self.machine.name

    @property
    def role(self) -> str:
        return self.machine.role

    def initial(self) -> Sequence[Value]:
        return self.machine.initial()

    def actions(self, value: Any) -> Sequence[Outcome]:
        if not self.memory.bound:
            return self.machine.actions(value)
        return self.memory.answer(self.machine, (self.position, value, 0, None))

    def receive(self, value: Any, sender: str, message: Message) -> Sequence[Outcome]:
        if not self.memory.bound:
            return self.machine.receive(value, sender, message)
        return self.memory.answer(self.machine, (self.position, value, 1 + self.senders[sender], message))


@dataclass(frozen=True, eq=False)
class Recalling(System):
    """A system whose machines recall. Its successors are those of the real one: checks stay checks."""

    real: System | None = None
    memory: Memory = field(default_factory=Memory)

    def begun_by(self, position: int, state: State) -> Iterator[Transition]:
        """As the real system says."""
        assert self.real is not None
        return self.real.begun_by(position, state)


def recalling(system: System) -> Recalling:
    """A system that recalls; its memory begins to work when `rota.explore.spark.worker.numbers.Numbers` takes
    it.
    """
    system, memory = guarded(system), Memory()
    machines = tuple(
        _Recalling(machine, position, system.index, memory)
        for position, machine in enumerate(system.machines)
    )
    given = {one.name: getattr(system, one.name) for one in fields(system) if one.name != "machines"}
    return Recalling(machines=machines, real=system, memory=memory, **given)
