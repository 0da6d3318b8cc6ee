"""What an expression is in every state along a run: the language is that of `rota.trace.expressions`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from rota.kernel import Machine
from rota.trace.expressions import NOTHING, Expression, ExpressionError, parse
from rota.trace.reach import Named, check_fields, names_of
from rota.trace.render import render
from rota.trace.replay import Run


@dataclass(frozen=True)
class Column:
    """An expression about one choice of machines.

    title: the expression, and the machines where it could have been others; values: one per state of the run,
    the start state's first; missing: what it reads that no state has, `nothing` being all that was seen.
    """

    title: str
    values: tuple[str, ...]
    missing: tuple[str, ...] = ()

    def changed(self, number: int) -> bool:
        """Whether the value in a state is another one than in the state before."""
        return number > 0 and self.values[number] != self.values[number - 1]


def along(run: Run, text: str) -> tuple[Column, ...]:
    """An expression along a run, for each choice of machines of the roles that it names.

    Errors: ExpressionError for what is no expression about this system, or cannot be worked out in a state.
    """
    system = run.system
    expression = parse(text, names_of(system))
    check_fields(system, expression)
    machines = [one.machine if isinstance(one, Named) else one for one in system.machines]
    choices = list(_choices(expression, machines, system.index))
    if not choices:
        named = ", ".join(name for name, _ in expression.reads)
        raise ExpressionError(f"{text!r} reads {named}; there are not that many machines of the role")
    return tuple(_column(run, expression, choice, machines, several=len(choices) > 1) for choice in choices)


def _choices(
    expression: Expression, machines: Sequence[Machine], index: Mapping[str, int]
) -> Iterator[tuple[int, ...]]:
    """Distinct machines for the names that an expression reads; of a role those that are not named."""
    own = {index[name] for name, _ in expression.reads if name in index}
    by_name = [
        [index[name]]
        if name in index
        else [number for number, one in enumerate(machines) if one.role == name and number not in own]
        for name, _ in expression.reads
    ]
    return (choice for choice in product(*by_name) if len(set(choice)) == len(choice))


def _column(
    run: Run, expression: Expression, choice: tuple[int, ...], machines: Sequence[Machine], several: bool
) -> Column:
    seen = [[expression.seen(number, state[at]) for number, at in enumerate(choice)] for state in run.states]
    title = expression.text
    if several:
        names = (machines[at].name for at in choice)
        title += f" ({', '.join(names)})"
    values = tuple(render(_settled(expression.evaluate(*each))) for each in seen)
    return Column(title, values, tuple(_missing(expression, seen)))


def _missing(expression: Expression, seen: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The paths of an expression that lead nowhere in all states."""
    for number, (name, paths) in enumerate(expression.reads):
        for place, path in enumerate(paths):
            if path and all(each[number][place] is NOTHING for each in seen):
                yield ".".join((name, *path))


def _settled(value: Any) -> Any:
    """What a comprehension, or a method of a mapping, gave as a value that stays."""
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, Iterator) or hasattr(value, "mapping"):
        return tuple(value)
    return tuple(value) if isinstance(value, list) else value
