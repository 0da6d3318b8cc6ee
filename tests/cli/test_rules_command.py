"""`rota rules`: the index, a part, one rule in full, JSON, the kill matrix, a slug that is not there."""

from __future__ import annotations

import inspect
import json

import pytest
from click.testing import CliRunner, Result

from rota.cli.main import main
from rota.conformance.catalogue import all_cases, cases_by_name
from rota.conformance.rules import BY_NAME, part_of_consumer
from rota.mutants import MUTANTS, ODD_REQUESTS
from rota.mutants.consumer import BUGS as CONSUMER_MUTANTS
from rota.mutants.core import consumer_bugs
from rota.mutants.endless import ENDLESS_KILLS
from rota.spec import RULES
from rota.spec.consumer.handlers import CONSUMER_RULES

OF_RULES = [mutant for mutant in MUTANTS.values() if mutant.slug in RULES]
OF_CONSUMER_RULES = [mutant for mutant in CONSUMER_MUTANTS.values() if mutant.slug in CONSUMER_RULES]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["rules", *arguments])


def test_the_index_has_every_rule_with_title_and_source_within_the_width() -> None:
    result = invoke()
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert {line.strip() for line in lines} >= set(BY_NAME)
    words = " ".join(result.stdout.split())
    assert all(" ".join(rule.title.split()) in words for rule in BY_NAME.values())
    assert all(mutant.name in words for mutant in OF_RULES)
    assert max(map(len, lines)) <= 110
    headings = [line for line in lines if line and not line.startswith(" ")][:-2]
    parts = {part_of_consumer(name) or rule.part for name, rule in BY_NAME.items()}
    assert len(headings) == len(set(headings))
    assert set(headings) == parts


def test_a_part_selects_its_rules() -> None:
    result = invoke("voting", "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (told["schema"], told["verdict"]) == (1, "ok")
    assert {rule["slug"] for rule in told["rules"]} == {slug for slug in RULES if slug.startswith("voting.")}


def test_json_says_who_checks_a_rule() -> None:
    told = {rule["slug"]: rule for rule in json.loads(invoke("--json").stdout)["rules"]}
    assert set(told) == set(BY_NAME)
    for mutant in OF_RULES:
        assert mutant.name in told[mutant.slug]["mutants"]
    for mutant in OF_CONSUMER_RULES:
        assert mutant.name in told[f"consumer.{mutant.slug}"]["mutants"]
    assert "join.barrier-waits-for-pending" in told["join.barrier"]["properties"]
    for case in all_cases():
        if case.rule in told:
            assert (case.family or case.id) in told[case.rule]["cases"]
    assert told["join.member-id-required"]["cases"]
    assert told["join.member-id-required"]["versions"] == RULES["join.member-id-required"].since


@pytest.mark.parametrize("slug", ["join.member-id-required", "voting.tally", "timers.sync-timeout"])
def test_one_rule_is_shown_in_full(slug: str) -> None:
    result = invoke(slug)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{slug}\n")
    for line in inspect.cleandoc(RULES[slug].function.__doc__ or "").splitlines():
        assert line in result.stdout


def test_the_consumer_protocols_rules_and_parts_are_named_as_its_cases_are() -> None:
    """`leave` is a part of the classic protocol alone, `consumer.leave` one of the other."""
    told = json.loads(invoke("consumer", "--json").stdout)["rules"]
    assert [rule["slug"] for rule in told] == [f"consumer.{slug}" for slug in CONSUMER_RULES]
    parts = {rule["part"] for rule in told}
    assert parts == {f"consumer.{rule.part}" for rule in CONSUMER_RULES.values()}
    some = json.loads(invoke("consumer.leave", "--json").stdout)["rules"]
    assert some == [rule for rule in told if rule["part"] == "consumer.leave"]
    classic = json.loads(invoke("leave", "--json").stdout)["rules"]
    assert {rule["part"] for rule in classic} == {"leave"}


def test_a_rule_of_the_consumer_protocol_is_shown_with_who_checks_it() -> None:
    shown = invoke("consumer.membership.led").stdout
    words = " ".join(shown.split())
    assert shown.startswith("consumer.membership.led\n")
    assert CONSUMER_MUTANTS["nobody-waits"].name in words
    assert consumer_bugs()["previous-epoch-stays"].name in words
    assert "consumer.membership.led.waits-for-the-owner" in words
    assert "weakness.consumer-two-users" in words


def test_the_matrix_of_the_consumer_protocol_names_what_no_property_finds() -> None:
    """A rule with a mutant is guarded; the world leaves fetches out, so no property sees those rules."""
    result = invoke("consumer", "--matrix", "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["verdict"]) == (1, "gaps")
    guarded = {row["slug"] for row in told["matrix"] if row["guarded"]}
    assert guarded == {f"consumer.{one.slug}" for one in OF_CONSUMER_RULES}
    assert "consumer.offsets.fetch" in told["without_killer"]


def test_a_slug_that_is_not_there_gets_the_nearest() -> None:
    result = invoke("join.member-id-require")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "rota: there is no rule 'join.member-id-require'; did you mean join.member-id-required? "
        "`rota rules` lists them all\n"
    )


def test_the_matrix_says_who_finds_a_mistake_in_each_rule() -> None:
    result = invoke("--matrix")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 110
    told = json.loads(invoke("--matrix", "--json").stdout)
    assert (told["schema"], told["verdict"], told["without_killer"]) == (1, "ok", [])
    rows = {row["slug"]: row for row in told["matrix"]}
    assert set(rows) == set(RULES)
    for mutant in OF_RULES:
        (one,) = [one for one in rows[mutant.slug]["spec_mutants"] if one["name"] == mutant.name]
        assert (one["killer"], one["configuration"]) == (mutant.killer, mutant.configuration)
        assert mutant.killer in result.stdout
    assert rows["leave.unknown-group"]["spec_mutants"] == []
    assert rows["leave.unknown-group"]["odd_request"] == ODD_REQUESTS["leave.unknown-group"]
    assert {bug["name"] for bug in rows["leave.unknown-group"]["coordinator_bugs"]}
    assert {id for row in rows.values() for id in row["cases"]} <= cases_by_name().keys()


def test_the_matrix_has_what_endless_runs_and_clients_show() -> None:
    shown = " ".join(invoke("--matrix").stdout.split())
    told = json.loads(invoke("--matrix", "--json").stdout)
    rows = {row["slug"]: row for row in told["matrix"]}
    for one in ENDLESS_KILLS:
        assert vars(one) in rows[MUTANTS[one.mutant].slug]["endless_kills"]
        assert f"{one.by} {one.configuration}, endless" in shown
    of_clients = [mutant.name for mutant in MUTANTS.values() if mutant not in OF_RULES]
    assert [mutant["name"] for mutant in told["client_mutants"]] == of_clients
    assert all(name in shown for name in of_clients)
    assert sum(told["kills"].values()) == len(MUTANTS)


def test_the_matrix_of_a_part() -> None:
    told = json.loads(invoke("voting", "--matrix", "--json").stdout)
    assert {row["part"] for row in told["matrix"]} == {"voting"}


def test_a_gap_in_the_matrix_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.report.matrix.MUTANTS", {})
    result = invoke("voting", "--matrix")
    assert result.exit_code == 1
    assert result.stdout.endswith(":\n    voting.candidates, voting.tally, voting.supports\n")
    assert invoke("voting.tally", "--matrix").stdout.count("NO KILLER") == 1
