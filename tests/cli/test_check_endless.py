"""`rota check --liveness` and `--property`: what is judged, what is shown, what is left out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.thinned import some
from rota.cli import check_plan
from rota.cli.main import main
from rota.cli.options import Search, Selection
from rota.explore.liveness import engine as lasso
from rota.invariants import WEAKNESSES, endless
from rota.kernel import Liveness
from rota.mutants import MUTANTS, system
from rota.mutants.endless import ENDLESS_KILLS
from rota.scopes import Configuration, Scope, load

TOYS = Path(__file__).parents[1] / "systems"
CROSSING = ("--system", "traffic_light:crossing", "--liveness")

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(TOYS))
    monkeypatch.setenv("PYTHONPATH", "")

    def run(*arguments: str, verb: str = "check") -> Result:
        return CliRunner().invoke(main, [verb, *arguments])

    return run


def report(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((path / "rota-out" / "check.json").read_text(encoding="utf-8"))
    return content


def trace_text(path: Path, name: str) -> str:
    return (path / "rota-out" / f"trace-{name}.txt").read_text(encoding="utf-8")


# ---- a toy


TOLD = """\
car.crosses (liveness) is violated by a run that never ends: 1 step, then 2 more that repeat for ever
  A car that waits gets across.
  system crossing

start
     light  red
     car    far

  1  the car comes
     car      far -> waiting
     rules  car.comes

from here it repeats

  2  the light turns green
     light    red -> green

  3  the light turns red
     light    green -> red

and so on for ever: step 2 comes next again

what it took  without one of these changes it would not be so
  1  the car comes
     car      far -> waiting

why  A car that waits gets across. For ever, or again and again, it is otherwise:
     car    waiting
     the run keeps what is assumed: A machine that keeps offering moves which others do not refuse makes one.
     guarded by these rules: car.goes
     source: the highway code
"""


def test_an_endless_run_is_told_as_stem_and_cycle(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke(*CROSSING)
    assert result.exit_code == 1
    assert trace_text(tmp_path, "car.crosses") == TOLD
    assert TOLD.rstrip("\n") in result.stdout
    assert result.stdout.splitlines()[-1].startswith(
        "violated: car.crosses by a run of 3 steps that never ends in crossing (1 configuration, 6 states, "
    )
    told = report(tmp_path)
    assert [(one["name"], one["kind"], one["verdict"]) for one in told["properties"]] == [
        ("car.crosses", "liveness", "violated"),
        ("car.comes", "liveness", "holds"),
    ]
    assert (told["violation"]["steps"], told["violation"]["cycle"], told["engine"]) == (3, 2, "lasso")


def test_every_property_is_told_beside_the_run(invoke: Invoke) -> None:
    lines = invoke(*CROSSING).stdout.splitlines()
    assert ["car.crosses", "violated", "liveness"] in [line.split()[:3] for line in lines]
    assert ["car.comes", "holds", "liveness"] in [line.split()[:3] for line in lines]


def test_a_fair_system_holds(invoke: Invoke) -> None:
    result = invoke(*CROSSING, "--set", "steady=true")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].startswith(
        "holds: 1 configuration, 5 states, engine lasso, 2 properties"
    )


def test_the_file_is_shown_and_replayed(invoke: Invoke, tmp_path: Path) -> None:
    again = report(tmp_path)["violation"]["replay"].split()[2:] if invoke(*CROSSING).exit_code else []
    assert invoke(again[0], verb="trace").stdout == trace_text(tmp_path, "car.crosses")
    replayed = invoke(*again, verb="trace")
    assert (replayed.exit_code, replayed.stdout) == (0, "reproduced: car.crosses after 3 steps\n")


@pytest.mark.parametrize(
    ("cycle", "assumed"), [(0, None), (1, None), (3, None), (2, [])], ids=["stays", "open", "all", "words"]
)
def test_a_replay_judges_the_run_by_itself(
    invoke: Invoke, tmp_path: Path, cycle: int, assumed: list[str] | None
) -> None:
    """It must close, be fair (at rest on red the light owes a change), and be told as it is."""
    invoke(*CROSSING)
    file = tmp_path / "rota-out" / "trace-car.crosses.jsonl"
    first, rest = file.read_text(encoding="utf-8").split("\n", 1)
    header = {**json.loads(first), "cycle": cycle}
    header |= {} if assumed is None else {"assumed": assumed}
    file.write_text(json.dumps(header) + "\n" + rest, encoding="utf-8")
    result = invoke(str(file), "--replay", "--system", "traffic_light:crossing", verb="trace")
    assert (result.exit_code, result.stdout[:8]) == (1, "differs:")


def test_a_cycle_that_cannot_be_is_told(invoke: Invoke, tmp_path: Path) -> None:
    invoke(*CROSSING)
    file = tmp_path / "rota-out" / "trace-car.crosses.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace('"cycle":2', '"cycle":7'), encoding="utf-8")
    result = invoke(str(file), verb="trace")
    assert (result.exit_code, "7 of 3 steps cannot be repeated" in result.stderr) == (2, True)


def test_a_property_alone(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke(*CROSSING, "--property", "car.comes").exit_code == 0
    assert [one["name"] for one in report(tmp_path)["properties"]] == ["car.comes"]
    assert invoke(*CROSSING[:2], "--property", "light.coloured").exit_code == 0
    assert [one["name"] for one in report(tmp_path)["properties"]] == ["light.coloured"]
    refused = invoke(*CROSSING, "--property", "car.flies")
    assert refused.exit_code == 2
    assert refused.stderr == (
        "rota: system crossing has no property 'car.flies'; it has light.coloured, car.crosses, car.comes\n"
    )


def test_the_missing_package_is_named_with_its_extra(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.explore.engines.find_spec", lambda name: None)
    result = invoke(*CROSSING)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == 'rota: engine lasso needs networkx; pip install "rota[liveness]"\n'


def test_so_is_one_that_turns_out_to_be_missing(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """An assumption that compiled code cannot tabulate takes the plain search."""
    monkeypatch.setattr("rota.explore.liveness.check._compiled", lambda: False)
    monkeypatch.setitem(sys.modules, "networkx", None)
    result = invoke(*CROSSING)
    assert result.exit_code == 2
    assert result.stderr == 'rota: liveness needs networkx; pip install "rota[liveness]"\n'


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--liveness", "--engine", "fast"], "--liveness is a search of its own; leave --engine fast out"),
        (["--liveness", "--symmetry"], "--symmetry is not for endless runs; leave it out"),
        (["--liveness", "--memory", "9"], "--memory is not for endless runs; leave it out"),
        (["--system", "ticket_office:office", "--liveness"], "says nothing of endless runs"),
        (["--property", "group.setles"], "there is no property 'group.setles'; did you mean group.settles?"),
        (
            ["--property", "weakness.replaced-request-waits", "--configuration", "core"],
            "no configuration asked for allows",
        ),
    ],
)
def test_bad_input_gets_one_line(invoke: Invoke, arguments: list[str], line: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code in (2, 5)
    assert (result.stdout, result.stderr.count("\n")) == ("", 1)
    assert line in result.stderr


# ---- the protocol


@pytest.fixture
def worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scope of four: one small, one large, one of which the size is not known, one with a raw client."""
    raw = {"clients": ("eager", "raw"), "budget": (("odd", 1),)}
    made = [
        Configuration(name, "", "", None, settings, expected)
        for name, settings, expected in (
            ("small", {}, {"distinct": 148}),
            ("large", {"budget": (("leave", 1),)}, {"distinct": 710}),
            ("unknown", {"join_version": 3}, None),
            ("strange", raw, {"distinct": 100}),
        )
    ]
    monkeypatch.setattr(check_plan, "load", lambda name: Scope(name, "planted", tuple(made)))


@pytest.mark.usefixtures("worlds")
def test_small_configurations_are_judged_and_others_named(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_plan, "LASSO_STATES", 200)
    result = invoke("--liveness", "--protocol", "classic")
    told = report(tmp_path)
    assert [run["configuration"] for run in told["runs"]] == ["small", "unknown"]
    assert {one["verdict"] for one in told["properties"]} == {"holds"}
    assert told["not_checked"][-2:] == [
        "endless runs of configurations with more than 200 states (large)",
        "endless runs beside a raw client, which owes nothing (strange)",
    ]
    assert "more than 200 states (large)" in " ".join(result.stdout.split())


def test_a_configuration_that_is_named_is_judged_whatever_its_size(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_plan, "LASSO_STATES", 10)
    invoke("--liveness", "--scope", "tiny", "--configuration", "core")
    assert [run["configuration"] for run in report(tmp_path)["runs"]] == ["core"]
    bounded = invoke("--liveness", "--scope", "tiny", "--configuration", "core", "--max-states", "100")
    assert bounded.exit_code == 3
    assert bounded.stdout.splitlines()[-1].startswith("undecided: core was given up after 100 states")


def test_the_scope_for_endless_runs_is_the_default() -> None:
    plan = check_plan.plan(Selection(), Search(liveness=True))
    assert plan.scope == "endless"
    assert {"core", "alone-crash", "fault"} <= {job.name for job in plan.jobs}
    assert "two-faults" not in {job.name for job in plan.jobs}


def test_a_mutant_that_lets_a_group_wait_is_found_by_its_run(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("--liveness", "--mutant", "initial-timer-lost")
    assert result.exit_code == 1
    told = report(tmp_path)
    assert (told["violation"]["property"], told["violation"]["cycle"]) == ("join.phase-ends", 0)
    shown = trace_text(tmp_path, "join.phase-ends")
    assert "is violated by a run that never ends: 9 steps, then nothing more for ever\n" in shown
    assert "\nhere it stays: nothing that must happen in the end is possible\n" in shown
    assert invoke(*told["violation"]["replay"].split()[2:], verb="trace").exit_code == 0


def test_a_known_weakness_is_found_anew_and_shown_when_it_is_named(invoke: Invoke, tmp_path: Path) -> None:
    invoke("--liveness", "--configuration", "alone-two-faults")
    told = report(tmp_path)
    (weak,) = told["known_weaknesses"]
    assert (weak["name"], weak["configuration"]) == ("weakness.replaced-request-waits", "alone-two-faults")
    assert weak["source"]
    assert weak["depth"] > 0
    shown = invoke("--property", "weakness.replaced-request-waits", "--configuration", "alone-two-faults",
                   "--scope", "endless")  # fmt: skip
    assert shown.exit_code == 1
    assert report(tmp_path)["violation"]["steps"] == weak["depth"]


@pytest.mark.long
def test_processes_report_what_one_reports(
    invoke: Invoke, tmp_path: Path, timeless: Callable[[Any], Any]
) -> None:
    """Beside what was explored, a run that was found too."""
    arguments = ("--liveness", "--scope", "tiny", "--configuration", "core", "--configuration", "rejoin")
    told = []
    for workers in ("1", "2"):
        result = invoke(*arguments, "--workers", workers, "--mutant", "change-without-rebalance")
        told.append((result.exit_code, timeless(report(tmp_path))))
    assert told[0] == told[1]


def killed(kill: Any) -> str:
    return f"{kill.by}-{kill.mutant}"


@pytest.mark.parametrize("kill", some(ENDLESS_KILLS, 3, kind=attrgetter("by"), name=killed), ids=killed)
def test_what_a_sentence_is_said_to_kill_it_kills(kill: Any) -> None:
    settings = load("endless").configuration(kill.configuration).settings
    result = lasso.explore(system(settings, kill.mutant, only=kill.by))
    assert result.violation is not None
    assert result.violation.name == kill.by
    assert lasso.explore(system(settings, only=kill.by)).violation is None


def test_every_sentence_about_endless_runs_kills_a_mutant() -> None:
    weak = {one.name for one in WEAKNESSES if isinstance(one.sentence, Liveness)}
    assert {one.by for one in ENDLESS_KILLS} == {one.name for one in endless({})} - weak
    assert {one.mutant for one in ENDLESS_KILLS} <= set(MUTANTS)
