"""Of a family that is thinned each case runs in `make test` or in `make test-long`, and never in both."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from harness.thinned import but, long, name_of, some

CONFTEST = Path(__file__).with_name("conftest.py")
NAMES = [f"{part}.{number:02}" for part in ("join", "leave", "sync") for number in range(20)]


def is_long(case: Any) -> bool:
    return any(mark.name == "long" for mark in getattr(case, "marks", ()))


def chosen(cases: list[Any]) -> set[str]:
    return {name_of(case) for case in cases if not is_long(case)}


@pytest.mark.parametrize("one_in", [1, 2, 3, 7, 100])
def test_each_case_is_there_once_and_so_many_are_chosen_from_all_over(one_in: int) -> None:
    cases = some(NAMES, one_in)
    assert [name_of(case) for case in cases] == NAMES
    ranks = [NAMES.index(name) for name in sorted(chosen(cases))]
    assert ranks == list(range(0, len(NAMES), one_in))


def test_the_choice_does_not_depend_on_the_order_of_cases() -> None:
    other = Random(1).sample(NAMES, len(NAMES))
    assert [name_of(case) for case in some(other)] == other
    assert chosen(some(other)) == chosen(some(NAMES))


def test_each_kind_has_one_that_is_chosen() -> None:
    def part(name: str) -> str:
        return name.partition(".")[0]

    assert {part(name) for name in chosen(some(NAMES, 60, kind=part))} == {"join", "leave", "sync"}
    assert chosen(some(NAMES, 60)) == {"join.00"}
    assert chosen(some(NAMES, 60, always=("sync.07",))) == {"join.00", "sync.07"}


def test_tests_that_deal_out_cases_leave_none_for_the_long_ones_alone() -> None:
    dealt = [chosen(some(NAMES, 3, first=turn)) for turn in range(3)]
    assert set.union(*dealt) == {*NAMES}
    assert sum(map(len, dealt)) == len(NAMES)
    assert chosen(some(["a", "b"], 3, first=2)) == {"a"}, "one of each kind at any rate"


def test_cases_can_be_named() -> None:
    numbers = {"one": 1, "two": 2}
    told = but(["two"], numbers.values(), name=lambda number: ("one", "two")[number - 1])
    assert [is_long(case) for case in told] == [False, True]


def test_what_is_dear_is_long_and_nothing_else() -> None:
    assert chosen(but({"sync.07"}, NAMES)) == {*NAMES} - {"sync.07"}
    assert chosen(but((), NAMES)) == {*NAMES}


def test_what_is_long_is_otherwise_the_same() -> None:
    marked = pytest.param("a", 2, id="x", marks=pytest.mark.spark)
    for given, values in (("ab", ("ab",)), (("a", 2), ("a", 2)), (marked, ("a", 2))):
        case = long(given)
        assert is_long(case)
        assert (case.values, name_of(case)) == (values, name_of(given))
    assert [mark.name for mark in long(marked).marks] == ["spark", "long"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: some(["a", "a"]), "the same name"),
        (lambda: some(["a"], always=("b",)), "no case is called b"),
        (lambda: but(("b",), ["a"]), "no case is called b"),
    ],
)
def test_names_that_tell_nothing_are_refused(call: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


def test_a_name_is_not_what_differs_from_process_to_process() -> None:
    assert name_of(SimpleNamespace(slug="join")) == "join"
    with pytest.raises(TypeError, match="has no name"):
        name_of(object())


def test_each_case_runs_in_one_of_the_two(pytestconfig: pytest.Config) -> None:
    """As tests are selected here: pytest itself leaves those that `-m long` names."""
    manager = pytestconfig.pluginmanager
    ours = next(one for one in manager.get_plugins() if getattr(one, "__file__", "") == str(CONFTEST))

    def run(markexpr: str) -> list[str]:
        items: list[Any] = [
            SimpleNamespace(name=name_of(case), get_closest_marker=partial(closest, case)) for case in cases
        ]
        ours.pytest_collection_modifyitems(Mock(option=Mock(markexpr=markexpr)), items)
        return [item.name for item in items]

    def closest(case: Any, mark: str) -> bool:
        return mark == "long" and is_long(case)

    cases = some(NAMES)
    asked = {name_of(case) for case in cases if is_long(case)}
    assert run("long") == NAMES
    assert {*run("")} == {*NAMES} - asked
    assert len(run("")) == len(NAMES) / 3
