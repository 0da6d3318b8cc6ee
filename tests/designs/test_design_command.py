"""`rota design`: verdicts, traces that can be replayed, all designs side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rota.cli.check_plan import plan
from rota.cli.main import main
from rota.cli.options import Search, Selection
from rota.designs import suites
from rota.explore import engines
from rota.report.check_model import Plan

Invoke = Callable[..., Result]


@pytest.fixture(scope="module", autouse=True)
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same designs are asked for many times: what is learned of them is kept for the next test here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROTA_TABLES", str(tmp_path_factory.mktemp("tables")))
        yield


@pytest.fixture
def invoke(tmp_path: Path) -> Invoke:
    def call(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["design", *arguments, "--out", str(tmp_path)])

    return call


def test_watchers_are_violated_in_both_ways(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("watchers")
    assert result.exit_code == 1
    assert "watchers.no-gap (safety) is violated after 18 steps" in result.stdout
    assert "watchers.no-double-fetch (safety) is violated after 10 steps" in result.stdout
    assert "  it holds in one-server, leave," in result.stdout
    assert "not checked: committed offsets" in result.stdout
    assert "DIFFERS" not in result.stdout
    assert result.stdout.splitlines()[-1].startswith("violated: watchers.no-gap in 4 configurations")
    for name in ("lag", "session-end"):
        path = str(tmp_path / f"trace-watchers-{name}.jsonl")
        replayed = CliRunner().invoke(main, ["trace", path, "--replay"])
        assert replayed.exit_code == 0, replayed.output


def test_server_side_holds(invoke: Invoke) -> None:
    result = invoke("server-side")
    assert result.exit_code == 0
    words = " ".join(result.stdout.split())
    assert "A member is served by a strategy that it did not ask for." in words
    assert result.stdout.splitlines()[-1].startswith("holds: design server-side, 14 configurations")


def test_json_of_one(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("watchers", "--configuration", "lag", "--configuration", "three", "--json")
    told = json.loads(result.stdout)
    assert told == json.loads((tmp_path / "design.json").read_text())
    assert (told["verdict"], told["design"]) == ("violated", "watchers")
    assert [run["configuration"] for run in told["runs"]] == ["lag", "three"]
    (violation,) = told["violations"]
    assert violation["property"] == told["violation"]["property"] == "watchers.no-gap"
    assert violation["cause"] == "a server that lags"
    assert told["differing"] == []


def test_all_side_by_side(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The classic protocol is the larger part of it; one configuration stands for it here."""
    monkeypatch.setattr("rota.cli.design.plan", first_of)
    result = invoke("all")
    assert result.exit_code == 1
    rows = result.stdout.splitlines()
    head = next(number for number, line in enumerate(rows) if line.startswith("design  "))
    assert [line.split()[:2] for line in rows[head + 1 :] if line[:1] in "wsc"][:3] == [
        ["watchers", "violated"],
        ["server-side", "holds"],
        ["classic", "holds"],
    ]
    assert "one more joins; a group of 2 when it is over" in result.stdout
    assert rows[-1] == "violated: watchers violated, server-side holds, classic holds"
    told = json.loads((tmp_path / "design.json").read_text())
    assert [one["design"] for one in told["designs"]] == ["watchers", "server-side", "classic"]
    assert told["distinct"] == sum(one["distinct"] for one in told["designs"])
    assert told["violation"]["configuration"] == "lag"
    costs = told["cost_of_a_change"]
    assert costs["watchers"]["leave"]["watches"] == [2, 2]
    assert costs["server-side"]["leave"]["watches"] == [0, 0]
    assert costs["classic"]["leave"]["rebalances"] == [1, 1]


def first_of(selection: Selection, search: Search) -> Plan:
    """`plan`, but for the first configuration alone, and without its pinned counts."""
    what = plan(selection, search)
    return replace(what, jobs=(replace(what.jobs[0], expected=None),), suite=False)


def test_a_mutant_is_found_and_its_trace_replayed(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("server-side", "--mutant", "by-wishes")
    assert result.exit_code == 1
    assert "mutant by-wishes (it replaces server-side.assign)" in result.stdout
    path = str(tmp_path / "trace-server-side-wishes.jsonl")
    assert CliRunner().invoke(main, ["trace", path, "--replay"]).exit_code == 0


def test_the_mutants_of_a_design_are_listed(invoke: Invoke) -> None:
    listed = invoke("server-side", "--list-mutants")
    assert listed.exit_code == 0
    assert "by-wishes" in listed.stdout
    assert "replaces server-side.assign; dies in wishes by server-side.one-owner" in listed.stdout
    assert "vote-by-union" not in listed.stdout


LARGE = "everything"
"""Two thirds of all states of the design on the server."""

QUICK = [one.name for one in suites.load("server-side").configurations if one.name != LARGE]


@pytest.mark.parametrize(
    ("design", "names"),
    [
        ("server-side", QUICK[::3]),
        pytest.param("server-side", QUICK, marks=pytest.mark.long),
        pytest.param("server-side", [LARGE], marks=pytest.mark.long),
        pytest.param("watchers", ["lag"], marks=pytest.mark.long),
    ],
)
def test_in_the_end_all_is_quiet(invoke: Invoke, design: str, names: list[str]) -> None:
    """The watchers, too, come to an end: where there is a gap it stays."""
    chosen = [word for name in names for word in ("--configuration", name)]
    result = invoke(design, "--liveness", *chosen)
    assert result.exit_code == 0
    assert f"holds: design {design}, {len(names)} configuration" in result.stdout.splitlines()[-1]


def test_an_endless_run_is_shown_and_replayed(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("server-side", "--liveness", "--mutant", "names-the-first-coordinator")
    assert result.exit_code == 1
    assert "server-side.settles (liveness) is violated by a run that never ends" in result.stdout
    path = str(tmp_path / "trace-server-side-move.jsonl")
    assert CliRunner().invoke(main, ["trace", path, "--replay"]).exit_code == 0


def test_a_result_that_is_not_as_pinned(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that should hold, with a bug in it; one that should be violated, mended."""
    design = suites.DESIGNS["watchers"]

    def otherwise(name: str) -> suites.Suite:
        return suites.Suite(
            design,
            "",
            tuple(
                replace(one, settings={**one.settings, "retries": {"one-try": 2, "one-server": 1}[one.name]})
                for one in loaded.configurations
                if one.name in ("one-try", "one-server")
            ),
        )

    loaded = suites.load("watchers")
    monkeypatch.setattr("rota.cli.design.suites.load", otherwise)
    result = invoke("watchers")
    assert result.exit_code == 1
    words = " ".join(result.stdout.split())
    assert "DIFFERS one-server: verdict is violated, pinned is holds; property is watchers.no-gap" in words
    assert "DIFFERS one-try: verdict is holds, pinned is violated" in words
    assert "2 configurations not as pinned" in result.stdout.splitlines()[-1]


def test_a_bound_leaves_it_undecided(invoke: Invoke) -> None:
    result = invoke("server-side", "--max-states", "20", "--quiet")
    assert result.exit_code == 3
    assert result.stdout.startswith("undecided: ")


def test_other_settings(invoke: Invoke) -> None:
    result = invoke("watchers", "--configuration", "one-try", "--set", "retries=3", "--quiet")
    assert result.exit_code == 0
    assert result.stdout.startswith("holds: ")


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (("watchrs",), "there is no design 'watchrs'; did you mean watchers?"),
        (("all", "--liveness"), "--liveness does not go with all; leave it out"),
        (("watchers", "--liveness", "--engine", "numpy"), "--liveness is a search of its own; leave"),
        (("watchers", "--scope", "tiny"), "--scope does not go with watchers; leave it out"),
        (("all", "--configuration", "lag"), "--configuration does not go with all; leave it out"),
        (("all", "--set", "a=1"), "--set does not go with all; leave it out"),
        (("all", "--mutant", "by-wishes"), "--mutant does not go with all; leave it out"),
        (("all", "--list-mutants"), "--list-mutants does not go with all; leave it out"),
        (("watchers", "--property", "x"), "no such option '--property'"),
        (("classic",), "the classic protocol is what `rota check` explores"),
        (("watchers", "--configuration", "lagg"), "no configuration of watchers called 'lagg'"),
        (("server-side", "--mutant", "by-wish"), "there is no mutant 'by-wish'; did you mean by-wishes?"),
        (("server-side", "--set", "fuel=1"), "no setting is called fuel; there are wishes,"),
        (("server-side", "--engine", "warp"), "there is no engine 'warp'"),
    ],
)
def test_what_does_not_go_together(invoke: Invoke, arguments: tuple[str, ...], cause: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert cause in result.stderr


def test_check_names_the_verb_that_has_the_designs() -> None:
    result = CliRunner().invoke(main, ["check", "--design", "watchers"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "rota: `rota check` has no --design; the older designs are `rota design NAME`\n"


def test_without_an_extra(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    result = invoke("watchers", "--engine", "fast")
    assert result.exit_code == 2
    assert 'pip install "rota[fast]"' in result.stderr
