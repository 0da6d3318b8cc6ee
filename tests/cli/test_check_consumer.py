"""`rota check --protocol consumer`: the same verb, for the other protocol."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rota.cli.main import main


def rota(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments])


PAIR = ("check", "--protocol", "consumer", "--configuration", "pair")


def test_a_configuration_holds_with_its_pinned_counts(tmp_path: Path) -> None:
    result = rota(*PAIR, "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "check.json").read_text(encoding="utf-8"))
    assert (report["design"], report["scope"], report["verdict"]) == ("consumer", "small", "holds")
    (run,) = report["runs"]
    assert run["distinct"] == 1828


def test_a_mutant_is_found_and_its_trace_is_read_and_replayed(tmp_path: Path) -> None:
    result = rota(*PAIR, "--mutant", "told-the-target", "--out", str(tmp_path))
    assert result.exit_code == 1, result.output
    assert "consumer.used-is-held" in result.output
    trace = tmp_path / "trace-consumer.used-is-held.jsonl"
    assert "c1 sends a join" in rota("trace", str(trace)).output
    assert rota("trace", str(trace), "--replay").exit_code == 0
    sound = rota("trace", str(trace), "--without-mutant")
    assert "parts: at step 4, which leads elsewhere without the mutant" in sound.output


@pytest.mark.long
def test_endless_runs_are_judged_where_something_is_said_of_them(tmp_path: Path) -> None:
    result = rota("check", "--protocol", "consumer", "--liveness", "--max-states", "5")
    assert result.exit_code == 5
    assert "raise --max-states" in result.output
    few = ("--protocol", "consumer", "--liveness", "--max-states", "600")
    result = rota("check", *few, "--out", str(tmp_path))
    assert result.exit_code == 3, result.output  # where nothing removes who lives, one premise is never true
    assert "endless runs of configurations with more than 600 states (pair" in " ".join(result.output.split())
    report = json.loads((tmp_path / "check.json").read_text(encoding="utf-8"))
    assert [run["configuration"] for run in report["runs"]] == ["alone"]
    assert [one["name"] for one in report["known_weaknesses"]] == ["weakness.consumer-uses-its-part"]


def test_bugs_that_can_be_planted_are_those_of_the_protocol() -> None:
    told = rota("check", "--protocol", "consumer", "--list-mutants").output
    assert "told-the-target" in told
    assert "barrier-ignores-pending" not in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--protocol", "consumr"), "did you mean consumer"),
        (("--protocol", "consumer", "--scope", "tiny"), "has the scopes small, standard, nightly; say one"),
        (("--protocol", "consumer", "--profile", "kafka-3.x"), "leave --profile out"),
        (("--protocol", "consumer", "--mutant", "told-the-targe"), "did you mean told-the-target"),
        (("--protocol", "consumer", "--configuration", "pear"), "did you mean pair"),
        (
            ("--protocol", "consumer", "--configuration", "move-crash"),
            "not in scope small; say --scope standard",
        ),
        (("--protocol", "consumer", "--property", "consumer.one-ownr"), "did you mean consumer.one-owner"),
        (("--protocol", "consumer", "--set", "clients=many"), "check --set"),
        (("--protocol", "consumer", "--set", "members=2"), "no setting is called members"),
        (("--protocol", "consumer", "--liveness", "--engine", "fast"), "leave --engine fast out"),
        (("--protocol", "consumer", "--system", "a:b"), "leave --protocol out"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_remedy(arguments: tuple[str, ...], said: str) -> None:
    result = rota("check", *arguments)
    assert result.exit_code == 2
    assert said in result.output
