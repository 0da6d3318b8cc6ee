"""Families of tests of which `make test` runs some, and `make test-long` the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import pytest

Parameters = type(pytest.param())
"""What `pytest.param` makes."""


def name_of(case: Any) -> str:
    """A case's id, its name, or what it is. Errors: TypeError if that is another in each process."""
    if isinstance(case, Parameters):
        return str(case.id) if case.id else name_of(case.values)
    if isinstance(case, tuple | list):
        return " ".join(map(name_of, case))
    if isinstance(case, str | int | float | None):
        return str(case)
    for attribute in ("slug", "name", "id", "__name__"):
        if isinstance(named := getattr(case, attribute, None), str):
            return named
    raise TypeError(f"{case!r} has no name")


def some(
    cases: Iterable[Any],
    one_in: int = 3,
    always: Collection[str] = (),
    kind: Callable[[Any], object] = lambda _: None,
    first: int = 0,
    name: Callable[[Any], str] = name_of,
) -> list[Any]:
    """All cases, for `parametrize`; those that are not chosen are marked long.

    Of each kind every so many-th is chosen in the order of their names. So the choice is spread evenly, no
    kind is without one, and it is the same in whatever order cases are found.

    Parameters: cases, each a value, a tuple of values or a `pytest.param`, with names that differ; one_in,
    how many there are to each that is chosen; always, names of those that are chosen besides; kind, what
    cases have in common of which one at least is chosen; first, the place of the first that is chosen, which
    is another for tests that deal out the same cases; name, of a case.
    Errors: ValueError if two cases have the same name, or none has one of `always`.
    """
    named = _named(cases, always, name)
    kinds = defaultdict(list)
    for one in sorted(named):
        kinds[kind(named[one])].append(one)
    chosen = {one for names in kinds.values() for one in names[first % len(names) :: one_in]} | set(always)
    return [case if one in chosen else long(case) for one, case in named.items()]


def but(dear: Collection[str], cases: Iterable[Any], name: Callable[[Any], str] = name_of) -> list[Any]:
    """All cases, for `parametrize`; those whose names are in `dear` are marked long. Errors: as of `some`."""
    return [long(case) if one in dear else case for one, case in _named(cases, dear, name).items()]


def long(case: Any) -> Any:
    """A case that only `make test-long` runs."""
    given = case if isinstance(case, Parameters) else pytest.param(*_values(case))
    return pytest.param(*given.values, marks=[*given.marks, pytest.mark.long], id=given.id)


def _named(cases: Iterable[Any], known: Collection[str], name: Callable[[Any], str]) -> Mapping[str, Any]:
    """Cases by name. known: names that there must be."""
    given = list(cases)
    named = {name(case): case for case in given}
    if len(named) < len(given):
        raise ValueError("two cases have the same name")
    if strangers := set(known) - named.keys():
        raise ValueError(f"no case is called {', '.join(sorted(strangers))}")
    return named


def _values(case: Any) -> tuple[Any, ...]:
    """A tuple is that of several arguments, as in `parametrize`."""
    return case if type(case) is tuple else (case,)
