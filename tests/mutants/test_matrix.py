"""The kill matrix: each rule is in it with a killer, what it names exists, and a gap is named."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rota.explore.result import DEADLOCK
from rota.invariants import classic
from rota.mutants import MUTANTS, ODD_REQUESTS
from rota.report.matrix import as_json, kills, mutants_of_clients, rows_of_the_spec, unguarded
from rota.report.matrix_text import lines
from rota.scopes import load
from rota.spec import RULES

SCOPES = Path(__file__).parents[1] / "scopes" / "test_scopes.py"


def never_fired() -> set[str]:
    """What the test of the scopes says that no configuration makes fire."""
    for node in ast.parse(SCOPES.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "NEEDS_ODD_REQUESTS":
            return set(ast.literal_eval(node.value))
    raise AssertionError(f"{SCOPES} has no NEEDS_ODD_REQUESTS")


def test_every_rule_is_there_with_a_killer() -> None:
    rows = rows_of_the_spec()
    assert rows.keys() == RULES.keys()
    assert all(slug == row.rule.slug for slug, row in rows.items())
    assert unguarded(list(rows.values())) == []


def test_rules_that_need_odd_requests_have_bugs_of_the_coordinator_only() -> None:
    rows = rows_of_the_spec()
    assert {slug for slug in ODD_REQUESTS if RULES[slug].part != "static"} == never_fired()
    assert {slug for slug in RULES if RULES[slug].part == "static"} <= ODD_REQUESTS.keys()
    for slug, row in rows.items():
        assert bool(row.odd) == (slug in ODD_REQUESTS) == (not row.mutants)
        assert row.bugs


def test_what_it_names_exists() -> None:
    small = load("small")
    for mutant in MUTANTS.values():
        there = classic(small.configuration(mutant.configuration).settings)
        assert mutant.killer in {DEADLOCK, *(prop.name for prop in there)}, mutant.name
        assert mutant.meaning.endswith(".")


def test_everything_is_shown_within_the_width() -> None:
    rows, clients = list(rows_of_the_spec().values()), mutants_of_clients()
    shown = list(lines(rows, clients))
    words = set(" ".join(shown).replace(",", " ").split())
    assert max(map(len, "\n".join(shown).split("\n"))) <= 110
    assert words >= {*RULES, *MUTANTS, *(bug.name for row in rows for bug in row.bugs), *kills(rows, clients)}
    assert shown[-1] == "rules without a killer: none"
    assert sum(kills(rows, clients).values()) == len(MUTANTS)


@pytest.mark.parametrize("lost", ["join.barrier", "join.invalid-group-id"])
def test_a_rule_without_a_killer_is_named(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {name: mutant for name, mutant in MUTANTS.items() if mutant.slug != lost}
    monkeypatch.setattr("rota.report.matrix.MUTANTS", kept)
    if lost in ODD_REQUESTS:
        monkeypatch.setattr("rota.report.matrix.core_bugs", dict)
    rows = rows_of_the_spec()
    chosen = [rows[lost], rows["join.leader"]]
    assert unguarded(chosen) == [lost]
    assert f"  {lost}   NO KILLER" in list(lines(chosen))
    assert list(lines(chosen))[-2:] == ["rules without a killer:", f"    {lost}"]
    assert as_json(chosen)["without_killer"] == [lost]
    assert as_json(chosen)["verdict"] == "gaps"
