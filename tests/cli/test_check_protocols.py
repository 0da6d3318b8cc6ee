"""`rota check` without `--protocol`: both protocols in one plan, or the one that is meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rota.cli import check_protocols
from rota.cli.check_protocols import plan
from rota.cli.main import main
from rota.cli.options import Search, Selection
from rota.scopes import consumer, load


def names(selection: Selection, search: Search | None = None) -> list[str]:
    return [job.name for job in plan(selection, search or Search()).jobs]


def rota(tmp_path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments, "--out", str(tmp_path)])


@pytest.mark.parametrize("scope", ["small", "standard", "nightly"])
def test_a_scope_is_of_both_protocols(scope: str) -> None:
    classic = [one.name for one in load(scope).configurations if one.is_for("kafka-4.x")]
    assert names(Selection(scope=scope)) == [
        *classic,
        *(f"consumer/{one.name}" for one in consumer(scope).configurations),
    ]


def test_what_nobody_chose_is_the_scope_small_of_both() -> None:
    made = plan(Selection())
    assert len({job.name for job in made.jobs}) == len(made.jobs)
    assert (made.design, made.scope) == ("classic+consumer", "small")
    assert {"join.accept", "consumer.membership.heartbeat"} & set(made.rules)
    ends = plan(Selection(), Search(liveness=True))
    assert ends.scope == "endless+small"
    assert any(job.name == "consumer/pair" for job in ends.jobs)


@pytest.mark.parametrize(
    ("selection", "design"),
    [
        (Selection(profile="kafka-3.x"), "classic"),
        (Selection(scope="tiny"), "classic"),
        (Selection(mutant="vote-by-union"), "classic"),
        (Selection(mutant="told-the-target"), "consumer"),
        (Selection(only="join.no-pile-up"), "classic"),
        (Selection(only="weakness.consumer-two-users"), "consumer"),
        (Selection(only="consumer.settles"), "consumer"),
        (Selection(only="deadlock"), "classic+consumer"),
        (Selection(settings=("grown=2",)), "consumer"),
        (Selection(settings=("partitions=1",)), "classic+consumer"),
        (Selection(configurations=("core",)), "classic"),
        (Selection(configurations=("pair",)), "consumer"),
        (Selection(configurations=("move",)), "classic"),
        (Selection(configurations=("consumer/move",)), "consumer"),
        (Selection(configurations=("break",)), "consumer"),
        (Selection(configurations=("consumer/move", "move")), "classic+consumer"),
        (Selection(mutant="told-the-target", configurations=("move",)), "consumer"),
        (Selection(protocol="classic"), "classic"),
        (Selection(protocol="consumer", configurations=("consumer/move",)), "consumer"),
    ],
)
def test_what_is_asked_for_says_which_protocol_is_meant(selection: Selection, design: str) -> None:
    assert plan(selection).design == design


def test_both_are_explored_judged_and_counted_together(tmp_path: Path) -> None:
    chosen = ("--configuration", "core", "--configuration", "leave", "--configuration", "consumer/pair")
    result = rota(tmp_path, *chosen)
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "check.json").read_text(encoding="utf-8"))
    runs = {run["configuration"]: run["pinned"] for run in report["runs"]}
    assert runs == {"core": True, "leave": True, "consumer/pair": True}
    assert {"join.no-pile-up", "consumer.one-owner"} <= {one["name"] for one in report["properties"]}
    fired = set(plan(Selection()).rules) - set(report["not_fired"])
    # both protocols have a rule of this name, and only the classic one's had a request
    assert "leave.unknown-member" not in fired or "consumer.leave.unknown-member" not in fired
    assert "consumer.membership.heartbeat" in fired


def test_a_violation_bounds_how_deep_the_other_protocol_is_explored(tmp_path: Path) -> None:
    result = rota(tmp_path, "--configuration", "core", "--configuration", "pair", "--strict")
    assert result.exit_code == 1
    report = json.loads((tmp_path / "check.json").read_text(encoding="utf-8"))
    classic, of_consumer = report["runs"]
    assert report["violation"]["configuration"] == classic["configuration"] == "core"
    assert (of_consumer["configuration"], of_consumer["bounded_to"]) == ("consumer/pair", 8)


def test_rules_of_the_consumer_protocol_are_shown_by_their_names(tmp_path: Path) -> None:
    result = rota(tmp_path, "--mutant", "told-the-target", "--configuration", "pair")
    assert result.exit_code == 1
    assert "consumer.membership.led " in result.output
    assert "(replaced by the mutant told-the-target)" in " ".join(result.output.split())


def test_a_state_of_one_protocol_is_looked_for_there(tmp_path: Path) -> None:
    both = ("--configuration", "core", "--configuration", "pair")
    result = rota(tmp_path, *both, "--reach", "coordinator.shard.group.epoch == 2", "--quiet")
    assert result.exit_code == 0, result.output
    assert "in consumer/pair" in result.output


def test_a_plan_that_loses_a_protocol_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_protocols, "_together", lambda classic, _: classic)
    with pytest.raises(AssertionError):
        test_what_nobody_chose_is_the_scope_small_of_both()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--mutant", "told-the-targe"), "did you mean told-the-target"),
        (("--mutant", "vote-by-unio"), "did you mean vote-by-union"),
        (("--property", "consumer.one-ownr"), "did you mean consumer.one-owner"),
        (("--property", "join.no-pile"), "did you mean join.no-pile-up"),
        (("--configuration", "pear"), "did you mean pair"),
        (("--configuration", "cor"), "did you mean core"),
        (("--configuration", "three-move"), "say --scope standard"),
        (
            ("--configuration", "move-grows"),
            "is not in scope small; say --scope standard",
        ),
        (("--configuration", "move-grows-crash"), "say --scope nightly"),
        (("--mutant", "told-the-target", "--scope", "tiny"), "or leave --scope out"),
        (("--mutant", "told-the-target", "--profile", "kafka-3.x"), "leave --profile out"),
        (("--scope", "consumer"), "there are tiny, small, standard, nightly, endless"),
    ],
)
def test_slips_are_told_with_what_was_meant(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    result = rota(tmp_path, *arguments)
    assert result.exit_code == 2
    assert said in result.output
