"""`rota check --reach`: what it says and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rota.cli.main import main

TOYS = Path(__file__).parents[1] / "systems"
Reach = Callable[..., Result]


@pytest.fixture
def reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reach:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(TOYS))

    def run(expression: str, *options: str, of: str = "ticket_office:office") -> Result:
        system = ("--system", of) if of else ("--scope", "tiny")
        return CliRunner().invoke(
            main, ["check", *system, "--reach", expression, "--engine", "fast", *options]
        )

    return run


def last(result: Result) -> str:
    return result.stdout.splitlines()[-1]


def test_a_state_is_reached_and_the_run_replays(reach: Reach) -> None:
    result = reach("office.last > 1")
    assert result.exit_code == 0
    assert last(result).startswith("reached: after 2 steps in office (1 configuration")
    assert "why  A state in which office.last > 1. The last state is one:" in result.stdout
    assert "violated" not in result.stdout
    again = CliRunner().invoke(
        main, ["trace", "rota-out/trace-reach.jsonl", "--replay", "--system", "ticket_office:office"]
    )
    assert (again.exit_code, again.stdout) == (0, "reproduced: reach after 2 steps\n")


def test_a_run_that_ends_elsewhere_is_not_reproduced(reach: Reach, tmp_path: Path) -> None:
    reach("office.last > 1")
    path = tmp_path / "rota-out" / "trace-reach.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("office.last > 1", "office.last > 2"))
    again = CliRunner().invoke(main, ["trace", str(path), "--replay", "--system", "ticket_office:office"])
    assert again.exit_code == 1
    assert "the last state is not one in which office.last > 2" in again.stdout


def test_no_such_state(reach: Reach) -> None:
    result = reach("office.last > 2")
    assert result.exit_code == 1
    assert last(result).startswith("not reached: no state is one in which office.last > 2 (1 configuration")


def test_a_run_that_was_given_up_is_undecided(reach: Reach) -> None:
    result = reach("office.last > 2", "--max-states", "2")
    assert result.exit_code == 3
    assert last(result).startswith("undecided: office was given up after")


def test_the_shortest_of_a_scope(reach: Reach) -> None:
    named = 'coordinator.group.state == "Stable" and coordinator.group.generation_id == 2'
    result = reach(named, "--configuration", "core", "--configuration", "raw-static", of="")
    assert result.exit_code == 0
    assert last(result).startswith("reached: after 7 steps in raw-static (2 configurations")


def test_configurations_of_which_nothing_can_be_asked_are_named(reach: Reach) -> None:
    some = ("--configuration", "core", "--configuration", "three")
    result = reach("client/c3.leads", *some, of="")
    assert result.exit_code == 0
    assert "configurations that the expression cannot speak of (core)" in result.stdout
    alone = reach("client/c3.leads", "--configuration", "core", of="")
    assert alone.exit_code == 2
    assert "/ is for names of machines; there are budget, client, client/c1, client/c2" in alone.stderr


def test_a_misspelt_field_is_named(reach: Reach) -> None:
    assert "office has no lst; it has last, holders, late" in reach("office.lst > 1").stderr
    hidden = reach("coordinator.group.generation == 1", "--configuration", "core", of="")
    assert hidden.exit_code == 1
    assert last(hidden).startswith("not reached: no state has coordinator.group.generation; no state is one")


def test_what_cannot_be_worked_out_is_the_users_mistake(reach: Reach) -> None:
    result = reach('office.last < "a"')
    assert result.exit_code == 2
    assert "office.last < \"a\": '<' not supported" in result.stderr


@pytest.mark.parametrize("option", [("--property", "tickets.differ"), ("--keep-going",), ("--liveness",)])
def test_what_does_not_go_together(reach: Reach, option: tuple[str, ...]) -> None:
    result = CliRunner().invoke(
        main, ["check", "--system", "ticket_office:office", "--reach", "office.last > 1", *option]
    )
    assert result.exit_code == 2


def test_programs_are_told_too(reach: Reach) -> None:
    told: dict[str, Any] = json.loads(reach("office.last > 1", "--json").stdout)
    assert (told["verdict"], told["reach"]) == ("holds", "office.last > 1")
    assert (told["violation"]["property"], told["violation"]["steps"]) == ("reach", 2)
    assert [run["verdict"] for run in told["runs"]] == ["holds"]
    missed = json.loads(reach("office.last > 2", "--json").stdout)
    assert (missed["verdict"], missed["violation"]) == ("violated", None)
    assert [run["verdict"] for run in missed["runs"]] == ["violated"]


def test_nothing_is_kept_of_an_expression(reach: Reach) -> None:
    assert json.loads(reach("office.last > 1", "--json").stdout)["identity"]["cache"] is None
