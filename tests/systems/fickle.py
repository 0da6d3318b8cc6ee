"""Machines that are no functions, each in its way, and one that is; importable as `fickle` in any process."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import toys

from rota.kernel import Kind, Outcome, Property, System, View

NAMES = frozenset(f"name-{number}" for number in range(9))
LAST = 40
CALLS: list[int] = []


def _machine(moves: Callable[[Any], Sequence[Outcome]], start: Any = (0, 0)) -> System:
    fine = Property("fine", Kind.SAFETY, "It is fine.", (View("fickle", toys.whole),), lambda value: True)
    return System("fickle", (toys.Toy("fickle", "fickle", (start,), moves),), (fine,))


def _counting(value: tuple[int, int], odd: int) -> list[Outcome]:
    at, _ = value
    return [Outcome(((at + 1) % LAST, odd), label="goes on")]


def honest() -> System:
    """Two numbers that depend on the first."""
    return _machine(lambda value: _counting(value, value[0] % 2))


def calls() -> System:
    """It counts how often it is asked."""

    def moves(value: tuple[int, int]) -> list[Outcome]:
        CALLS.append(1)
        return _counting(value, len(CALLS) // 2 % 2)

    return _machine(moves)


def once() -> System:
    """A global remembers that it was asked before."""
    seen: set[Any] = set()

    def moves(value: tuple[int, int]) -> list[Outcome]:
        known = value in seen
        seen.add(value)
        return _counting(value, int(known))

    return _machine(moves)


def clock() -> System:
    """It looks at a clock."""
    return _machine(lambda value: _counting(value, time.perf_counter_ns() // 64 % 5))


def chance() -> System:
    """It draws lots."""
    return _machine(lambda value: _counting(value, random.randrange(5)))


def address() -> System:
    """It looks where a value is."""
    return _machine(lambda value: _counting(value, id(value) // 16 % 7))


def hashes() -> System:
    """It takes the first one of a set of texts."""

    def moves(value: frozenset[str]) -> list[Outcome]:
        first = next(iter(value), None)
        return [] if first is None else [Outcome(value - {first}, label="takes one")]

    return _machine(moves, NAMES)


def disordered() -> System:
    """A function: its outcomes come in the order of a set, which says nothing."""

    def moves(value: frozenset[str]) -> list[Outcome]:
        return [Outcome(value - {name}, label=f"takes {name}") for name in value]

    return _machine(moves, frozenset(sorted(NAMES)[:5]))


def opinion() -> System:
    """Its machine is a function, what is claimed of it is none."""
    seen: set[Any] = set()

    def test(value: Any) -> bool:
        known = value in seen
        seen.add(value)
        return not known

    fine = Property("moody", Kind.SAFETY, "It is fine.", (View("fickle", toys.whole),), test)
    return System("fickle", honest().machines, (fine,))


IMPURE = ("calls", "once", "clock", "chance", "address")
"""What asking twice in one process shows."""

PURE = ("honest", "disordered")


def promising() -> System:
    """It declares two rules, of which one never fires."""

    def moves(value: int) -> list[Outcome]:
        going = [Outcome(value + 1, rules=("fickle.goes-on",))] if value < LAST else []
        return [*going, *([Outcome(0, rules=("fickle.stops",))] if value > LAST else [])]

    base = _machine(moves, 0)
    return System(base.name, base.machines, base.properties, rules=("fickle.goes-on", "fickle.stops"))
