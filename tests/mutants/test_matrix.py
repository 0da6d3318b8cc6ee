"""The kill matrix: each rule is in it with a killer, what it names exists, and a gap is named."""

from __future__ import annotations

import pytest
from click import unstyle

from rota.explore.result import DEADLOCK
from rota.invariants import classic
from rota.mutants import FOUND_BY_DIALOGUES, MUTANTS, ODD_REQUESTS
from rota.report.matrix import as_json, kills, mutants_of_clients, rows_of_the_spec, unguarded
from rota.report.matrix_text import lines
from rota.scopes import load
from rota.spec import RULES


def test_every_rule_is_there_with_a_killer() -> None:
    rows = rows_of_the_spec()
    assert rows.keys() == RULES.keys()
    assert all(slug == row.rule.slug for slug, row in rows.items())
    assert unguarded(list(rows.values())) == []


def test_what_a_stranger_must_ask_is_found_by_dialogues_only() -> None:
    for slug, row in rows_of_the_spec().items():
        assert bool(row.odd) == (slug in ODD_REQUESTS)
        assert not (row.odd and row.mutants)


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
    assert words >= {
        *RULES,
        *MUTANTS,
        *FOUND_BY_DIALOGUES,
        *(bug.name for row in rows for bug in row.bugs),
        *kills(rows, clients),
    }
    assert shown[-1] == "rules without a killer: none"
    assert sum(kills(rows, clients).values()) == len(MUTANTS)


@pytest.mark.parametrize("lost", ["join.barrier", "join.invalid-group-id"])
def test_a_rule_without_a_killer_is_named(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, table in (("MUTANTS", MUTANTS), ("FOUND_BY_DIALOGUES", FOUND_BY_DIALOGUES)):
        kept = {key: mutant for key, mutant in table.items() if mutant.slug != lost}
        monkeypatch.setattr(f"rota.report.matrix.{name}", kept)
    rows = rows_of_the_spec()
    chosen = [rows[lost], rows["join.leader"]]
    assert unguarded(chosen) == [lost]
    assert f"  {lost}   NO KILLER" in list(map(unstyle, lines(chosen)))
    assert list(lines(chosen))[-2:] == ["rules without a killer:", f"    {lost}"]
    assert as_json(chosen)["without_killer"] == [lost]
    assert as_json(chosen)["verdict"] == "gaps"
