"""Symbolic execution by path forking: unmodified Python on lists of symbolic names; truth tests branch.

A `Name` stands for any protocol of a world, a `Names` for any list of them up to a length. To ask whether two
names are equal gives a `Truth`, and its bool is a fork: the execution goes on with one answer that the path
condition allows, and is repeated with the other if that is satisfiable too. Z3 decides. So sets, dicts, `in`
and loops work as they are (all names have one hash, so that each comparison is asked for), and the paths
together cover all inputs. `sorted` works too, but does not fork: names are ordered by their first occurrence.
Code whose results depend on the order of the alphabet cannot be judged so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Generic, TypeVar, overload

import z3

from rota.proofs.obligations import Formula
from rota.proofs.vote.small_groups import World

T = TypeVar("T")


@dataclass(frozen=True)
class Path(Generic[T]):
    """A path through a function. Parameters: decisions, together the path condition; result."""

    decisions: tuple[Formula, ...]
    result: T

    @property
    def condition(self) -> Formula:
        """The path condition."""
        return z3.And(self.decisions)


@dataclass
class _Decision:
    """A truth test on the path. free: both answers were possible; other: the other one is still to come."""

    term: Formula
    answer: bool
    free: bool
    other: bool

    @property
    def fact(self) -> Formula:
        return self.term if self.answer else z3.Not(self.term)


class Forks:
    """Runs a function once for each way that the truth tests in it can go."""

    def __init__(self, given: Iterable[Formula] = ()) -> None:
        """given: what is known of the symbols."""
        self._solver = z3.SimpleSolver()
        self._solver.add(*given)
        self._path: list[_Decision] = []
        self._depth = 0
        self._model: z3.ModelRef | None = None

    def truth(self, term: Formula) -> bool:
        """The answer on this path; both answers are given sooner or later, if both are possible."""
        if self._depth == len(self._path):
            self._decide(term)
        self._depth += 1
        return self._path[self._depth - 1].answer

    def _decide(self, term: Formula) -> None:
        """The answer of one input that goes along the path so far, and whether another one's differs."""
        if self._model is None:
            self._solver.check()
            self._model = self._solver.model()
        answer = z3.is_true(self._model.eval(term, model_completion=True))
        free = self._solver.check(z3.Not(term) if answer else term) == z3.sat
        self._path.append(_Decision(term, answer, free, free))
        if free:
            self._push()

    def _push(self) -> None:
        self._solver.push()
        self._solver.add(self._path[-1].fact)

    def paths(self, run: Callable[[], T]) -> Iterator[Path[T]]:
        """All of them. run: is deterministic but for `truth`."""
        while True:
            self._depth = 0
            result = run()
            yield Path(tuple(decision.fact for decision in self._path if decision.free), result)
            while self._path and not self._path[-1].other:
                if self._path.pop().free:
                    self._solver.pop()
            if not self._path:
                return
            last = self._path[-1]
            last.answer, last.other = not last.answer, False
            self._solver.pop()
            self._push()
            self._model = None


class Truth:
    """A condition. Its bool forks."""

    __slots__ = ("_ask",)

    def __init__(self, ask: Callable[[], bool]) -> None:
        self._ask = ask

    def __bool__(self) -> bool:
        return self._ask()


class Name:
    """A protocol that is not known. Compares with other names of the same execution."""

    __slots__ = ("_execution", "number")

    def __init__(self, execution: Execution, number: int) -> None:
        self._execution, self.number = execution, number

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> Truth | bool:  # type: ignore[override]
        if not isinstance(other, Name):
            return NotImplemented
        return Truth(lambda: self._execution.equal(self.number, other.number))

    def __lt__(self, other: Name) -> bool:
        return self._execution.less(self.number, other.number)


class Names(Sequence[Name]):
    """A list of names of which the length is not known either, up to the names there are."""

    def __init__(self, execution: Execution, names: Sequence[Name], there: Sequence[Formula]) -> None:
        self._execution, self._names, self._there = execution, names, there

    def __iter__(self) -> Iterator[Name]:
        for name, there in zip(self._names, self._there, strict=True):
            if not self._execution.holds(there):
                return
            yield name

    def __contains__(self, name: object) -> bool:
        return any(one == name for one in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @overload
    def __getitem__(self, index: int) -> Name: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Name]: ...
    def __getitem__(self, index: int | slice) -> Name | Sequence[Name]:
        return tuple(self)[index]


class Execution:
    """One execution: which names are known to be equal, and which to differ. Z3 decides the rest."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._answers: dict[int, bool] = {}
        self._first = list(range(inputs.size))
        self._differ = set(inputs.differ)

    def holds(self, term: Formula) -> bool:
        """Ask, once per execution. (The terms are those of the inputs, and stay.)"""
        key = id(term)
        if key not in self._answers:
            self._answers[key] = self._inputs.forks.truth(term)
        return self._answers[key]

    def equal(self, one: int, other: int) -> bool:
        """Whether two names are the same protocol."""
        one, other = sorted((self._first[one], self._first[other]))
        if one == other:
            return True
        if (one, other) in self._differ:
            return False
        if not self.holds(self._inputs.equal[one, other]):
            self._differ.add((one, other))
            return False
        self._first = [one if first == other else first for first in self._first]
        pairs = ((self._first[a], self._first[b]) for a, b in self._differ)
        self._differ = {(min(pair), max(pair)) for pair in pairs}
        return True

    def less(self, one: int, other: int) -> bool:
        """Whether one comes before the other."""
        return self._first[one] < self._first[other]


class Inputs:
    """One list per member of a world, of any length up to `length`, of any of its protocols.

    Fields: size, how many names there are in all lists; equal, by numbers of names, the smaller one first;
    differ, pairs of names in one list, where none may be there twice; known, what is so of all these symbols.
    """

    def __init__(self, world: World, length: int, repeats: bool = False) -> None:
        """repeats: whether a list may name a protocol twice."""
        self.world, self.length, self.size = world, length, len(world.members) * length
        self._is = [[z3.Bool(f"name {n} is {p}") for p in world.protocols] for n in range(self.size)]
        self._there = [[z3.Bool(f"{m} has {i}") for i in range(length)] for m in world.members]
        pairs = list(combinations(range(self.size), 2))
        self.equal = {pair: z3.Bool(f"name {pair[0]} = name {pair[1]}") for pair in pairs}
        self.differ = {
            (one, other) for one, other in pairs if one // length == other // length and not repeats
        }
        self.known = list(self._known())
        self.forks = Forks(self.known)

    def _known(self) -> Iterator[Formula]:
        """A name is one protocol; a list has no gaps; what equal means; what differs."""
        for bits in self._is:
            yield z3.PbEq([(bit, 1) for bit in bits], 1)
        for there in self._there:
            yield from (z3.Implies(later, earlier) for earlier, later in pairwise(there))
        for (one, other), equal in self.equal.items():
            here, there = self._is[one], self._is[other]
            yield equal == z3.Or([z3.And(bits) for bits in zip(here, there, strict=True)])
        yield from (z3.Not(self.equal[pair]) for pair in self.differ)

    def paths(self, function: Callable[[list[Names]], T]) -> Iterator[Path[T]]:
        """All paths of the function through all lists."""
        return self.forks.paths(lambda: function(self._lists()))

    def _lists(self) -> list[Names]:
        execution = Execution(self)
        names = [Name(execution, number) for number in range(self.size)]
        starts = range(0, self.size, self.length)
        return [
            Names(execution, names[start : start + self.length], there)
            for start, there in zip(starts, self._there, strict=True)
        ]

    def among(self, protocol: str, names: Iterable[Name]) -> Formula:
        """Whether one of the names is this protocol."""
        place = self.world.protocols.index(protocol)
        return z3.Or([self._is[name.number][place] for name in names])

    def entry(self, member: str, protocol: str) -> list[Formula]:
        """For each place of the member's list whether the protocol is there."""
        m, p = self.world.members.index(member), self.world.protocols.index(protocol)
        return [z3.And(there, self._is[m * self.length + i][p]) for i, there in enumerate(self._there[m])]
