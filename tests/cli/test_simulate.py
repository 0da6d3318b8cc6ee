"""`rota simulate`: what is printed and written, exit codes, planted bugs that walks find."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.thinned import some
from rota.cli.main import main
from rota.mutants import MUTANTS
from rota.report.check_progress import Explorations, walked
from rota.report.live_line import LiveLine
from rota.trace import read, rebuild, replay

TOYS = Path(__file__).parents[1] / "systems"
SIMULATE = ("simulate", "--seed", "7")

FOUND = (
    "protocols-checked-once",
    "size-unchecked",
    "leader-not-replaced",
    "loaded-without-leader",
    "older-generations-commit",
    "claims-without-generation",
    "heartbeats-never-start",
)
"""Mutants of joining, the size limit, leaving, fail-over, offsets, cooperative clients and timers."""

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(TOYS))
    monkeypatch.setenv("PYTHONPATH", "")
    return lambda *arguments: CliRunner().invoke(main, arguments)


@pytest.mark.parametrize("name", some(FOUND))
def test_walks_find_planted_bugs_and_their_traces_replay(name: str, invoke: Invoke, tmp_path: Path) -> None:
    result = invoke(*SIMULATE, "--mutant", name, "--configuration", MUTANTS[name].configuration, "--json")
    assert result.exit_code == 1, result.output
    told = json.loads(result.stdout)
    assert told["verdict"] == "violated"
    violation = told["violation"]
    assert violation["property"] == MUTANTS[name].killer
    assert violation["seed"] == 7
    assert violation["steps"] <= violation["steps_walked"]
    trace = read((tmp_path / violation["trace"]).read_text(encoding="utf-8"))
    assert trace.property_name == MUTANTS[name].killer
    replay(trace, rebuild(trace))


def test_without_a_violation_nothing_is_proved(invoke: Invoke) -> None:
    result = invoke(*SIMULATE, "--scope", "tiny", "--configuration", "core", "--runs", "300")
    assert result.exit_code == 3, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "rota simulate: scope tiny, profile kafka-4.x, random walks with seed 7"
    assert lines[-1].startswith(
        "undecided: no violation in 300 walks, which is no proof (1 configuration, 5,"
    )
    assert "holds" not in result.stdout
    told = json.loads(Path("rota-out/simulate.json").read_text(encoding="utf-8"))
    assert told["verdict"] == "undecided"
    assert told["engine"] == "simulate"
    assert {one["verdict"] for one in told["properties"] if one["kind"] != "witness"} == {"undecided"}
    coverage = told["coverage"]
    assert coverage == {**coverage, "walks": 300, "distinct": 148, "distinct_is_exact": True}
    assert coverage["witnesses_reached"] == coverage["witnesses"] == 4
    assert coverage["rules_fired"] + len(told["not_fired"]) == coverage["rules"]
    assert told["runs"][0]["coverage"]["values"]["budget"] == 1


def test_a_witness_that_no_walk_meets_is_named_and_violates_nothing(invoke: Invoke) -> None:
    result = invoke(*SIMULATE, "--scope", "tiny", "--configuration", "core", "--runs", "3", "--depth", "4")
    assert result.exit_code == 3, result.output
    assert "witnesses and weaknesses never met: " in result.stdout


def test_a_system_of_ones_own(invoke: Invoke) -> None:
    result = invoke(*SIMULATE, "--system", "ticket_office:office", "--set", "fault=office.counts-up")
    assert result.exit_code == 1, result.output
    assert "there may be a shorter run. The same walks again: --seed 7 --depth 200" in " ".join(
        result.stdout.split()
    )


def test_the_same_seed_gives_the_same_bytes_in_any_process(tmp_path: Path, invoke: Invoke) -> None:
    wanted = (*SIMULATE, "--mutant", "leader-not-replaced", "--json", "--out", ".")

    def bytes_of(told: Any, folder: Path) -> tuple[bytes, Any]:
        trace = (folder / told["violation"]["trace"]).read_bytes()
        return trace, (told["coverage"], told["runs"][0]["digest"])

    def elsewhere(hash_seed: str) -> tuple[bytes, Any]:
        folder = tmp_path / hash_seed
        folder.mkdir()
        made = subprocess.run(
            [sys.executable, "-m", "rota", *wanted],
            cwd=folder,
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )
        assert made.returncode == 1, made.stderr
        return bytes_of(json.loads(made.stdout), folder)

    assert elsewhere("1") == bytes_of(json.loads(invoke(*wanted).stdout), tmp_path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("check", "--runs", "3"), "`rota check` has no --runs; random walks are `rota simulate`"),
        (("check", "--simulate"), "`rota check` has no --simulate; random walks are `rota simulate`"),
        (("check", "--seed=3", "--json"), "`rota check` has no --seed; random walks are `rota simulate`"),
        (("simulate", "--liveness"), "no such option '--liveness'"),
        (("simulate", "--max-states", "3"), "no such option '--max-states'"),
        (("simulate", "--engine", "fast"), "no such option '--engine'"),
        (("simulate", "--property", "join.pending-ids-end"), "walks do not judge endless runs, which join.p"),
        (("simulate", "--seconds", "0"), "--seconds cannot be 0.0; give a number in the range x>0"),
    ],
)
def test_options_of_other_verbs_and_impossible_ones(
    arguments: tuple[str, ...], words: str, invoke: Invoke
) -> None:
    made = invoke(*arguments)
    assert made.exit_code == 2
    assert made.stdout == ""
    assert words in made.stderr


def test_how_long_walks_still_take_is_known_where_a_time_was_given() -> None:
    sizes = {"core": 10.0, "leave": 10.0}
    clock = iter((0.0, 10.0))
    line = LiveLine(io.StringIO(), silent=True)
    progress = Explorations(
        line, "simulate", sizes, walked, lambda at: at.seconds, float, lambda: next(clock)
    )
    progress.begin("core")
    progress.level("core", depth=64, distinct=900, frontier=3_000, generated=0, seconds=5.0)
    assert progress.text() == (
        "simulate: 0 of 2 configurations, 10 s, about 30 s left; core: 64 walks, 900 states met, 3,000 steps"
    )
