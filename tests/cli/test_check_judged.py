"""`rota check` where a property is never judged, or its premise is never true: that is not `holds`.

Mistakes are planted in the systems, in the scopes and in the tables of an engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from rota.cli import check_plan, design
from rota.cli.main import main
from rota.designs import suites
from rota.explore.fast import numpy_search
from rota.explore.tables.properties import CheckGroup
from rota.kernel import System
from rota.report.check_model import Explored, Job, Plan, Report
from rota.report.check_text import lines
from rota.scopes import Configuration, NotClaimed, Scope, load

SYSTEMS = Path(__file__).parents[1] / "systems"
TINY = load("tiny")
ALONE = Configuration("alone", "One client.", "", None, {"protocols": (("range",),)}, None)
VANISH = "join.no-pile-up"
"""Says nothing where no connection breaks."""

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(SYSTEMS))
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda *arguments: CliRunner().invoke(main, ["check", *arguments])


def report(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((path / "rota-out" / "check.json").read_text(encoding="utf-8"))
    return content


def verdicts(path: Path) -> dict[str, str]:
    return {one["name"]: one["verdict"] for one in report(path)["properties"]}


# ---- a single system


@pytest.mark.parametrize("engine", ["reference", "numpy", "fast"])
def test_a_system_whose_premise_is_never_true_is_undecided(
    invoke: Invoke, tmp_path: Path, engine: str
) -> None:
    """Counters that are judged where they count down: the role is there, and no value meets the premise."""
    result = invoke("--system", "toys:supposing", "--engine", engine)
    assert result.exit_code == 3
    last = result.stdout.splitlines()[-1]
    assert last.startswith("undecided: the premise was never true: down (1 configuration, 64 states")
    assert verdicts(tmp_path)["down"] == "undecided"
    assert verdicts(tmp_path)["odd"] == verdicts(tmp_path)["up"] == "holds"
    row = next(line for line in result.stdout.splitlines() if line.startswith("  down "))
    assert row.split("configuration")[1] == ", its premise was never true"


def test_a_premise_that_is_true_somewhere_is_enough(invoke: Invoke) -> None:
    result = invoke("--system", "toys:supposing", "--property", "odd")
    assert result.exit_code == 0
    assert "undecided" not in result.stdout


def test_a_system_in_which_nothing_happens_judges_no_step(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("--system", "toys:counters", "--set", "bound=0", "--property", "up")
    assert result.exit_code == 3
    assert result.stdout.splitlines()[-1].startswith("undecided: never judged: up (")
    (up,) = report(tmp_path)["properties"]
    assert (up["verdict"], up["judged"], up["given"]) == ("undecided", 0, 0)


def test_a_violation_comes_first(invoke: Invoke) -> None:
    result = invoke("--system", "toys:supposing_broken")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1].startswith("violated: broken after 3 steps")


def test_how_often_is_counted_stands_in_the_report_of_every_run(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("--system", "toys:supposing", "--stats")
    told = report(tmp_path)
    for properties in (told["properties"], told["runs"][0]["properties"]):
        counts = {one["name"]: (one["judged"], one["given"]) for one in properties}
        assert counts == {
            "full": (None, None), "up": (7, 7), "odd": (4, 2), "down": (7, 0), "deadlock": (None, None),
        }  # fmt: skip
    rows = result.stdout.splitlines()
    head = next(number for number, line in enumerate(rows) if line.startswith("how often judged"))
    assert [line.split() for line in rows[head + 1 : head + 4]] == [
        ["down", "7", "0"],
        ["odd", "4", "2"],
        ["up", "7", "7"],
    ]


def test_a_run_that_ended_early_counts_nothing(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("--system", "toys:supposing", "--max-states", "10", "--stats")
    assert result.exit_code == 3
    assert {one["judged"] for one in report(tmp_path)["properties"]} == {None}
    assert "how often judged" not in result.stdout
    assert "never" not in result.stdout.splitlines()[-1]


def test_planted_bug_an_engine_that_judges_nothing(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its table says of every combination that all is well, and asks no property.

    Counts show it, and before them the states of the sample, which are judged without tables.
    """
    broken = ("--system", "toys:broken", "--set", "kind=safety", "--engine", "numpy")
    assert invoke(*broken).exit_code == 1
    fine = lambda group, a, b: [np.ones(len(a), np.bool_)] * len(group.checks)  # noqa: E731
    monkeypatch.setattr(CheckGroup, "_answers", fine)
    noticed = invoke(*broken)
    assert noticed.exit_code == 4
    assert "the tables and the property itself disagree on" in noticed.stderr
    monkeypatch.setattr(numpy_search, "states_again", lambda *_: 0)
    result = invoke(*broken)
    assert result.exit_code == 3
    assert result.stdout.splitlines()[-1].startswith("undecided: never judged: up, broken (")


# ---- a suite


@pytest.fixture
def scope(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Plants a scope of configurations of tiny."""

    def plant(*names: str, claims: str) -> None:
        """claims: the only property that it claims."""
        chosen = tuple(ALONE if name == "alone" else TINY.configuration(name) for name in names)
        others = set[str]().union(*(check_plan.claimed(one.settings) for one in chosen)) - {claims}
        planted = Scope("tiny", "planted", chosen, (NotClaimed(tuple(sorted(others)), "planted"),))
        monkeypatch.setattr(check_plan, "load", lambda name: planted)

    return plant


def test_a_suite_that_gives_a_property_nothing_to_judge_is_undecided(
    invoke: Invoke, tmp_path: Path, scope: Callable[..., None]
) -> None:
    scope("core", "no-handshake", claims=VANISH)
    result = invoke("--scope", "tiny")
    assert result.exit_code == 3
    last = result.stdout.splitlines()[-1]
    assert last.startswith(f"undecided: the premise was never true: {VANISH} (2 configurations")
    assert verdicts(tmp_path)[VANISH] == "undecided"
    assert report(tmp_path)["reasons"] == [f"the premise was never true: {VANISH}"]
    runs = [one for run in report(tmp_path)["runs"] for one in run["properties"] if one["name"] == VANISH]
    assert [(one["verdict"], one["given"]) for one in runs] == [("unjudged", 0)] * 2


def test_one_configuration_that_judges_it_is_enough(
    invoke: Invoke, tmp_path: Path, scope: Callable[..., None]
) -> None:
    """No id is handed out where newcomers are admitted at once."""
    handed = "join.pending-are-no-members"
    scope("no-handshake", claims=handed)
    assert invoke("--scope", "tiny").exit_code == 3
    scope("no-handshake", "core", claims=handed)
    assert invoke("--scope", "tiny").exit_code == 0
    (told,) = (one for one in report(tmp_path)["properties"] if one["name"] == handed)
    assert told["judged"] > told["given"] > 0


def test_a_sentence_about_two_is_never_judged_of_one(invoke: Invoke, scope: Callable[..., None]) -> None:
    scope("alone", claims="sync.one-owner")
    result = invoke("--scope", "tiny")
    assert result.exit_code == 3
    assert result.stdout.splitlines()[-1].startswith("undecided: never judged: sync.one-owner (")


def test_what_a_scope_does_not_claim_is_named(invoke: Invoke, tmp_path: Path) -> None:
    scope_of_one = replace(TINY, configurations=(TINY.configuration("core"),))
    declared = {**scope_of_one.unclaimed("kafka-4.x")}
    assert set(declared) == {VANISH}
    report_of_one = _planned("core", unclaimed=declared)
    assert f"{VANISH} ({declared[VANISH]})" in list(report_of_one.not_checked())
    assert VANISH in " ".join(" ".join(lines(report_of_one, stats=False)).split("not checked: ")[1:])


def test_configurations_that_somebody_chose_need_not_judge_everything(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("--scope", "tiny", "--configuration", "core", "--engine", "numpy")
    assert result.exit_code == 0
    told = {name for name, verdict in verdicts(tmp_path).items() if verdict == "unjudged"}
    assert {VANISH, "client.fence-is-final", "static.one-member-per-instance"} <= told
    named, because = report(tmp_path)["not_checked"][-2:]
    assert named.endswith(" (what is explored gives them nothing to judge)")
    assert because == f"{VANISH} (no connection breaks in this scope)"
    assert all(name in named for name in told - {VANISH})
    held = [line.split()[0] for line in result.stdout.splitlines() if line[:2] == "  " and " holds " in line]
    assert not told & set(held)
    assert result.stdout.splitlines()[-1].startswith("holds: 1 configuration, ")


@pytest.mark.parametrize(("name", "code"), [(VANISH, 3), ("sync.as-stored", 0)])
def test_but_a_property_that_somebody_chose_must_be_judged(
    invoke: Invoke, tmp_path: Path, name: str, code: int
) -> None:
    result = invoke("--scope", "tiny", "--configuration", "core", "--property", name)
    assert result.exit_code == code
    assert verdicts(tmp_path) == {name: "undecided" if code else "holds"}


def _planned(configuration: str, **more: object) -> Report:
    one = TINY.configuration(configuration)

    def build() -> System:
        return check_plan.system(one.settings)

    job = Job(one.name, build)
    plan = Plan("classic", "classic", "numpy", (job,), scope="tiny", profile="kafka-4.x")
    run = Explored(job, numpy_search.explore(build()))
    return Report(replace(plan, **more), (run,), None, 1.0)  # type: ignore[arg-type]


def test_a_design_is_a_suite_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where both members ask for the same strategy nothing is judged of two."""
    monkeypatch.chdir(tmp_path)
    whole = suites.load("server-side")
    alike = next(one for one in whole.configurations if len(set(one.settings.get("wishes", ("range",)))) == 1)
    few = replace(whole, configurations=(alike,))
    monkeypatch.setattr(design.suites, "load", lambda name: few)
    result = CliRunner().invoke(main, ["design", "server-side"])
    assert result.exit_code == 3
    assert "server-side.one-strategy" in result.stdout.splitlines()[-1]
    chosen = CliRunner().invoke(main, ["design", "server-side", "--configuration", alike.name])
    assert chosen.exit_code == 0
    assert "server-side.one-strategy (" in " ".join(chosen.stdout.split())
