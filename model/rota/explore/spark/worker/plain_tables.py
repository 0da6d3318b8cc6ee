"""Values, machines and properties for rounds in plain Python: each value once, each question asked once.

Standard library and kernel only.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from rota.explore.cache.digest import DIGEST, digest_of
from rota.explore.purity import Again, Noting, StandIn, noted
from rota.explore.spark.combinations import Journal, Lanes, counted, key_of, lanes
from rota.explore.spark.protocol import Damaged
from rota.explore.spark.values import Reader
from rota.kernel import Kind, Machine, Message, Outcome, Property, State, System, View, encode
from rota.kernel.encoding import Encoding, component_hash, state_hash
from rota.kernel.twins import alike, refused, same, unfit

Key = tuple[int, ...]
"""A state as numbers of values; they mean something within one process."""


class Values:
    """The values of a process, each kept once, with its number."""

    def __init__(self, machines: int) -> None:
        self.all: list[Any] = []
        self.encoding = Encoding()
        self._lanes: list[tuple[int, int]] = []
        self._known: list[dict[Any, int]] = [{} for _ in range(machines)]
        self._coded: list[dict[tuple[int, int], Any]] = [{} for _ in range(machines)]
        self._numbers: dict[int, int] = {}
        self.again = Again()
        self._raws: dict[int, bytes] = {}
        """Encodings, of those that were written."""
        self._read: dict[bytes, int] = {}
        """Numbers by encoding, of those that were read."""
        self._looked_at = 0
        self.reader = Reader()

    @property
    def kinds(self) -> frozenset[type]:
        """The types that all values are made of. Errors: NotShippable."""
        self.reader.look_at(self.all[self._looked_at :])
        self._looked_at = len(self.all)
        return self.reader.kinds

    def number(self, position: int, value: Any) -> int:
        """The number of a machine's value. Errors: UserError."""
        number = self._known[position].get(value)
        if number is None:
            if id(value) not in self._numbers:  # else it is kept for another machine
                self._lanes.append(self._code(position, value))
                self._numbers[id(value)] = len(self.all)
                self.all.append(value)
            number = self._known[position][value] = self._numbers[id(value)]
        elif not same(self.all[number], value):
            raise refused(f"machine {position}", self.all[number], value)
        return number

    def _code(self, position: int, value: Any) -> tuple[int, int]:
        """The hash of a value that is new to a machine, as it must be. Errors: UserError."""
        try:
            code = component_hash(value, self.encoding)
        except Exception as error:  # what is in it may be anything
            raise unfit(f"machine {position}", value, error) from error
        twin = self._coded[position].setdefault(code, value)
        if twin is not value:
            raise alike(f"machine {position}", twin, value)
        return code

    def key(self, state: State) -> Key:
        """A state whose values are those kept here."""
        numbers = self._numbers
        return tuple([numbers[id(value)] for value in state])

    def state(self, key: Key) -> State:
        """The state of a key."""
        return tuple([self.all[number] for number in key])

    def code(self, key: Key) -> int:
        """The 128-bit hash of a state."""
        return state_hash([self._lanes[number] for number in key])

    def pack(self, keys: Sequence[Key]) -> bytes:
        """States for any process: of each machine the values that there are, encoded, and which is whose."""
        columns, tables = [], []
        for column in zip(*keys, strict=True):
            place = {number: i for i, number in enumerate(dict.fromkeys(column))}
            tables.append(tuple(map(self._raw, place)))
            columns.append(_bytes(array(_NUMBER, [place[number] for number in column])))
        content = encode((tuple(tables), tuple(columns)))
        return bytes.fromhex(digest_of(content)) + content

    def unpack(self, raw: bytes, what: str) -> list[Key]:
        """What `pack` gave. Errors: Damaged, which names `what`."""
        if bytes.fromhex(digest_of(raw[DIGEST:])) != raw[:DIGEST]:
            raise Damaged(f"{what} is not as it was written")
        try:
            tables, columns = _PLAIN.value(raw[DIGEST:])
            numbers = [[self._number(i, one) for one in table] for i, table in enumerate(tables)]
            places = [array(_NUMBER, _native(column)) for column in columns]
            rows = ([n[at] for at in column] for n, column in zip(numbers, places, strict=True))
            return list(zip(*rows, strict=True))
        except (Damaged, ValueError, TypeError, IndexError) as error:
            raise Damaged(f"{what} cannot be read: {error}") from error

    def _raw(self, number: int) -> bytes:
        raw = self._raws.get(number)
        if raw is None:
            raw = self._raws[number] = encode(self.all[number])
        return raw

    def _number(self, position: int, raw: bytes) -> int:
        """The number of a machine's value that another process has encoded."""
        known = self._read.get(raw)
        value = self.reader.value(raw) if known is None else self.all[known]
        number = self._read[raw] = self.number(position, value)
        return number


_NUMBER = "I"
"""Places of values, as arrays have them: 32 bits."""

_PLAIN = Reader()


def _bytes(numbers: array[int]) -> bytes:
    """Little-endian on every machine."""
    return _native(numbers.tobytes())


def _native(raw: bytes) -> bytes:
    if sys.byteorder == "little":
        return raw
    numbers = array(_NUMBER, raw)
    numbers.byteswap()
    return numbers.tobytes()


class Remembering(StandIn):
    """A machine that is asked once about each value and message that are kept; its answers are kept, too."""

    def __init__(self, machine: Machine, position: int, values: Values) -> None:
        self.machine, self.name, self.role = Noting(machine, values.again), machine.name, machine.role
        self._position, self._values = position, values
        self._answers: dict[tuple[int, str, int], list[Outcome]] = {}

    def initial(self) -> Sequence[Any]:
        return [self._kept(value) for value in self.machine.initial()]

    def actions(self, value: Any) -> Sequence[Outcome]:
        key = (id(value), "", 0)
        if key not in self._answers:
            self._answers[key] = self._learn(self.machine.actions(value))
        return self._answers[key]

    def receive(self, value: Any, sender: str, message: Message) -> Sequence[Outcome]:
        key = (id(value), sender, id(message))
        if key not in self._answers:
            self._answers[key] = self._learn(self.machine.receive(value, sender, message))
        return self._answers[key]

    @property
    def asked(self) -> int:
        """How often the machine's own code has run."""
        return len(self._answers)

    def _learn(self, moves: Iterable[Outcome]) -> list[Outcome]:
        return [replace(move, value=self._kept(move.value)) for move in moves]

    def _kept(self, value: Any) -> Any:
        return self._values.all[self._values.number(self._position, value)]


class Judge:
    """The properties of a system. What is counted gets into the journal."""

    def __init__(self, system: System, values: Values, journal: Journal) -> None:
        self.system, self.values, self.journal = system, values, journal
        self.ranks = {prop: rank for rank, prop in enumerate(counted(system))}
        self._seen: dict[View, _Seen] = {}

    def checks(self, *kinds: Kind) -> list[Check]:
        """The checks of some kinds, ranked among themselves."""
        return [Check(self, rank, prop) for rank, prop in enumerate(self.system.select(*kinds))]

    def seen(self, view: View) -> _Seen:
        """What a view sees, for all properties that have it."""
        return self._seen.setdefault(view, _Seen(view, self.values))


class _Seen:
    """What a view sees in each value, and its hash."""

    def __init__(self, view: View, values: Values) -> None:
        self._view, self._values = view, values
        self._known: dict[int, Any] = {}
        self._hashes: dict[int, Lanes] = {}

    def of(self, number: int) -> Any:
        if number not in self._known:
            self._known[number] = self._view.of(self._values.all[number])
        return self._known[number]

    def hash(self, number: int) -> Lanes:
        if number not in self._hashes:
            self._hashes[number] = lanes(self.of(number))
        return self._hashes[number]


class Check:
    """A property over keys; its predicates are called once per combination of what its views see."""

    def __init__(self, judge: Judge, rank: int, prop: Property) -> None:
        self.rank, self.prop = rank, prop
        self._choices = judge.system.positions(prop)
        self._views = [judge.seen(view) for view in prop.views * (2 if prop.kind is Kind.STEP else 1)]
        self._counted, self._journal = judge.ranks.get(prop), judge.journal
        self._holds = noted(f"property {prop.name}", prop.holds, judge.values.again)
        self._known: dict[Key, bool] = {}
        self._judged: dict[tuple[Lanes, ...], bool] = {}

    def holds(self, key: Key) -> bool:
        """Whether a state property holds, as `System.holds`."""
        answers = (self._answer(tuple([key[i] for i in choice])) for choice in self._choices)
        return all(answers) if self.prop.universal else any(answers)

    def step_holds(self, before: Key, after: Key) -> bool:
        """Whether a step property holds, as `System.step_holds`."""
        return all(self._answer((before[i], after[i])) for (i,) in self._choices)

    def _answer(self, numbers: Key) -> bool:
        known = self._known.get(numbers)
        if known is None:
            known = self._known[numbers] = self._judge(numbers)
        return known

    def _judge(self, numbers: Key) -> bool:
        seen = [view.of(number) for view, number in zip(self._views, numbers, strict=True)]
        if self._counted is None:
            return bool(self._holds(*seen))
        hashes = tuple([view.hash(number) for view, number in zip(self._views, numbers, strict=True)])
        if hashes not in self._judged:
            self._judged[hashes] = self._holds(*seen)
            self._journal.note(key_of(hashes, self._counted, self.prop.premise(*seen)))
        return self._judged[hashes]
