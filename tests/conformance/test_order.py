"""Dialogues that take long, or that start something which others share, begin early."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rota.conformance import order
from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.script import Case, Signal
from rota.conformance.order import START_SECONDS, in_order
from rota.conformance.targets.grammar import parse_target

SHARED = parse_target("kafka-4.4.0")
FRESH = parse_target("rota")
SIZE = "group.max.size"

PLAIN = replace(
    all_cases()[0], seconds=1.0, spare=0, settings={}, restarts=None, brokers=1, settings_after={}
)


def case(name: str, **about: Any) -> Case:
    return replace(PLAIN, id=f"{PLAIN.rule}.{name}", **about)


LONG = case("long", seconds=2 * START_SECONDS)
SHORT = [case(f"short-{number}") for number in range(30)]
STARTERS = [
    case("settings", settings={SIZE: 3}),
    case("restarts", restarts=Signal.KILL),
    case("brokers", brokers=3),
    case("settings-after", restarts=Signal.KILL, settings_after={SIZE: 2}),
]


def test_the_longest_begin_first_and_of_equals_those_with_most_members() -> None:
    several, middle = case("several", spare=2), case("middle", seconds=2.0)
    for target in (SHARED, FRESH):
        found = in_order([*SHORT, several, middle, LONG], target, 1)
        assert [one for one in found if one not in SHORT] == [LONG, middle, several]


def test_what_starts_something_that_others_share_is_not_last() -> None:
    """Nor is the first of those that share what all the others do."""
    found = in_order([*SHORT, *STARTERS, LONG], SHARED, 1)
    assert found[0] == LONG
    assert {one.id for one in STARTERS} < {one.id for one in found[1:6]}


def test_of_those_that_share_it_one_comes_early() -> None:
    alike = [case(f"alike-{number}", settings={SIZE: 3}) for number in range(30)]
    found = in_order([*SHORT, *alike], SHARED, 1)
    assert sorted(one in alike for one in found[:2]) == [False, True]
    assert {one in alike for one in found[2:40]} == {False, True}


def test_equals_are_in_an_order_of_the_seed() -> None:
    assert in_order(SHORT, FRESH, 1) == in_order(SHORT, FRESH, 1) != in_order(SHORT, FRESH, 2)


def test_a_start_that_takes_no_time_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "START_SECONDS", 0.0)
    with pytest.raises(AssertionError):
        test_what_starts_something_that_others_share_is_not_last()
