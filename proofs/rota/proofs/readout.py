"""A model as it comes, for claims that nobody wrote an explanation for: constants, relations, functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import z3

MANY = 24
"""Values that are shown of one relation or function."""


@dataclass(frozen=True)
class Valuation:
    """A model, by name.

    Parameters: values, constant and what it is; relations, name and the arguments for which it holds;
    functions, name and (arguments, value). At most `MANY` each.
    """

    values: tuple[tuple[str, str], ...]
    relations: tuple[tuple[str, tuple[str, ...]], ...]
    functions: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]

    def as_lines(self) -> Iterator[str]:
        """For people."""
        if self.values:
            yield ", ".join(f"{name} = {value}" for name, value in self.values)
        for name, members in self.relations:
            yield ", ".join(f"{name}({arguments})" for arguments in members) or f"{name}: nowhere"
        for name, table in self.functions:
            yield ", ".join(f"{name}({arguments}) = {value}" for arguments, value in table)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "values": dict(self.values),
            "relations": {name: list(members) for name, members in self.relations},
            "functions": {name: dict(table) for name, table in self.functions},
        }


def read(model: Any) -> Valuation:
    """The model's constants, and its relations and functions over the elements of uninterpreted sorts."""
    return _Reading(model).valuation()


def _name(declaration: Any) -> str:
    return str(declaration.name())


class _Reading:
    """Reads one model. Elements are called after a constant that denotes them, `member ann` for short ann."""

    def __init__(self, model: Any) -> None:
        self._model = model
        made_by_z3 = (d for d in model.decls() if "!" in _name(d) or _name(d).startswith("array-ext"))
        hidden = {_name(declaration) for declaration in made_by_z3}
        self._declared = sorted((d for d in model.decls() if _name(d) not in hidden), key=_name)
        self._elements = [element for sort in model.sorts() for element in model.get_universe(sort) or ()]
        self._names: dict[str, str] = {}
        for declaration in (d for d in self._declared if d.arity() == 0 and d.range() in model.sorts()):
            name = _name(declaration).removeprefix(self._prefix(declaration))
            self._names.setdefault(str(model[declaration]), name)
        for element in self._elements:
            sort, _, number = str(element).partition("!val!")
            self._names.setdefault(str(element), f"{sort.lower()}{number}")

    def _prefix(self, declaration: Any) -> str:
        return f"{declaration.range().name().lower()} "

    def valuation(self) -> Valuation:
        """All of it."""
        values, relations, functions = [], [], []
        for declaration in self._declared:
            name = _name(declaration)
            if declaration.arity() == 0:
                if not name.startswith(self._prefix(declaration)):
                    values.append((name, self._answered(self._model[declaration])))
                continue
            table = list(self._table(declaration))
            if declaration.range() == z3.BoolSort():
                relations.append((name, tuple(place for place, value in table if value == "True")[:MANY]))
            elif table:
                functions.append((name, tuple(table[:MANY])))
        telling = ((name, value) for name, value in values if name != value)
        return Valuation(tuple(telling), tuple(relations), tuple(functions))

    def _table(self, declaration: Any) -> Iterator[tuple[str, str]]:
        """Over all elements where the arguments are of uninterpreted sorts, else where Z3 names a value."""
        sorts = [declaration.domain(i) for i in range(declaration.arity())]
        if all(sort in self._model.sorts() for sort in sorts):
            places: Iterable[Any] = product(*(self._model.get_universe(sort) for sort in sorts))
        else:
            places = (entry[:-1] for entry in self._model[declaration].as_list()[:-1])
        for place in places:
            value = self._model.eval(declaration(*place), model_completion=True)
            yield ", ".join(self._answered(argument) for argument in place), self._answered(value)

    def _answered(self, value: Any) -> str:
        """An element by its name, a set by its members, a number as a numeral."""
        if z3.is_array(value) and value.sort().range() == z3.BoolSort():
            everyone = self._model.get_universe(value.sort().domain()) or ()
            inside = (e for e in everyone if z3.is_true(self._model.eval(value[e], model_completion=True)))
            return "{" + ", ".join(sorted(self._answered(element) for element in inside)) + "}"
        if z3.is_int(value) and not z3.is_int_value(value):
            value = self._number(value)
        return self._names.get(str(value), str(value))

    def _number(self, term: Any) -> Any:
        """What a term over elements comes to. Simplifiers would not use that elements differ."""
        solver, number = z3.SimpleSolver(), z3.Int("number")
        by_sort = [self._model.get_universe(sort) for sort in self._model.sorts()]
        solver.add(*(z3.Distinct(elements) for elements in by_sort if elements), number == term)
        return solver.model()[number] if solver.check() == z3.sat else term
