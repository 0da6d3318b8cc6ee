"""Scopes too large for tests: they load, fit together, stand in the docs, and are not run by accident."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from rota.cli.check_plan import plan
from rota.cli.errors import NOTHING, UsageError
from rota.cli.options import Search, Selection
from rota.explore import Limits, Verdict
from rota.explore.fast import numpy_search, search
from rota.explore.tables.system import Tables
from rota.invariants.weaknesses import judged
from rota.mutants import MUTANTS, system
from rota.scopes import Configuration, load, names
from rota.spec import PROFILES

STATES, SOURCES = ("tiny", "small", "standard", "nightly"), ("standard", "nightly")
LARGE = [one for scope in SOURCES for one in load(scope).configurations]
PINNED = "moves-leave-commit"
"""A configuration of `standard` that is small enough to be explored here."""


@pytest.fixture(scope="module")
def page() -> Any:
    """The script that writes the tables of the page."""
    spec = importlib.util.spec_from_file_location("scopes_page", Path(__file__).parent / "scopes_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_name_is_one_configuration_in_all_scopes() -> None:
    seen: dict[str, Configuration] = {}
    for scope in STATES:
        for one in load(scope).configurations:
            assert seen.setdefault(one.name, one) == one


@pytest.mark.parametrize("one", LARGE, ids=lambda one: one.name)
def test_a_configuration_says_what_it_is_about_and_can_be_built(one: Configuration) -> None:
    everybody = {other.name for scope in STATES for other in load(scope).configurations}
    assert one.about.endswith(".")
    assert one.feature
    assert one.compared_with in everybody
    assert one.size is not None
    for profile in filter(one.is_for, PROFILES):
        made = system(one.settings_for(profile))
        (state,) = made.initial_states()
        assert any(True for _ in made.successors(state))


def test_no_two_configurations_are_the_same_world(page: Any) -> None:
    every = [one for scope in STATES for one in page.own(scope)]
    worlds = {repr(sorted((key, value) for key, value in one.settings.items())) for one in every}
    twins = len(every) - len(worlds)
    assert twins == 0


def test_standard_is_pinned_and_nightly_is_larger() -> None:
    standard, nightly = (load(scope).configurations for scope in SOURCES)
    assert [one.name for one in LARGE if not one.expected] == []
    assert all(30_000 <= (one.size or 0) <= 12_000_000 for one in standard)
    assert all(5_000_000 <= (one.size or 0) <= 250_000_000 for one in nightly)


def test_the_page_is_up_to_date(page: Any) -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.written(text) == text, "run python tests/scopes/scopes_page.py"
    for scope in names():
        assert f"<!-- scope: {scope} -->" in text
    assert all(f"| `{one.name}` |" in text for one in LARGE)


def test_nothing_explores_them_unasked() -> None:
    large = {one.name for one in LARGE}
    assert large.isdisjoint(mutant.configuration for mutant in MUTANTS.values())
    for what, how in (
        (Selection(), Search()),
        (Selection(), Search(liveness=True)),
        (Selection(mutant="loaded-without-leader"), Search()),
    ):
        assert large.isdisjoint(job.name for job in plan(what, how).jobs)
    with pytest.raises(UsageError, match="no configuration of scope nightly has so few states") as error:
        plan(Selection(scope="nightly"), Search(liveness=True))
    assert error.value.exit_code == NOTHING


@pytest.mark.parametrize("name", ["taken-for-dead-and-consuming", "stale-sync-debt"])
def test_some_weaknesses_take_two_clients_and_a_stranger_is_none(name: str) -> None:
    world = {"budget": (("fault", 1), ("odd", 1)), "clients": ("eager", "raw"), "instances": ("i1", "")}
    three = {"clients": ("eager", "eager", "raw"), "instances": ("i1", "", "")}
    other = {**world, **three, "protocols": (("range",),) * 3}
    found = [{weakness.name for weakness, there in judged(one) if there} for one in (world, other)]
    assert [f"weakness.{name}" in names for names in found] == [False, True]


@pytest.mark.long
def test_a_pinned_configuration_with_two_workers_and_in_numpy() -> None:
    one = load("standard").configuration(PINNED)
    world = system(one.settings_for("kafka-4.x"))
    learned = Tables(world)
    shared = search.explore(world, Limits(workers=2), tables=learned)
    for result in (shared, numpy_search.explore(world, tables=learned)):
        assert result.verdict is Verdict.HOLDS
        assert {name: getattr(result, name) for name in (one.expected or {})} == one.expected
