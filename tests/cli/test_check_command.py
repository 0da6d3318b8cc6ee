"""`rota check` on rota's own scopes and on a toy: what is printed and written, and the exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import rota.cli.check_plan
from harness.thinned import but
from rota.cli.check_plan import claimed
from rota.cli.main import main
from rota.explore.reference import explore
from rota.mutants import MUTANTS, Mutant
from rota.mutants.consumer import BUGS
from rota.scopes import Configuration, NotClaimed, Scope, load
from rota.spec import PROFILES, RULES

TOYS = Path(__file__).parents[1] / "systems"
OFFICE = ("--system", "ticket_office:office")

Invoke = Callable[..., Result]
Pinned = Callable[..., Mapping[str, Any]]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(TOYS))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("PYTHONPATH", "")

    def run(*arguments: str, verb: str = "check", **options: Any) -> Result:
        engine = ("--engine", "reference") if verb == "check" and "--engine" not in arguments else ()
        return CliRunner().invoke(main, [verb, *arguments, *engine], **options)

    return run


@cache
def counts_of_core() -> Mapping[str, Any]:
    result = explore(rota.cli.check_plan.system(load("tiny").configuration("core").settings))
    return {name: getattr(result, name) for name in ("distinct", "generated", "depth", "digest")}


@pytest.fixture
def pinned(monkeypatch: pytest.MonkeyPatch) -> Pinned:
    """Plants a scope `tiny` of `core` and `no-handshake` with pinned counts; `core` with changed ones."""

    def plant(**changes: Any) -> Mapping[str, Any]:
        tiny = load("tiny")
        true = counts_of_core()
        core = replace(tiny.configuration("core"), expected={**true, **changes})
        other = replace(tiny.configuration("no-handshake"), expected=None)
        few = NotClaimed(tuple(sorted(claimed(core.settings))), "planted")
        scope = Scope("tiny", "planted", (core, other), (few,))
        monkeypatch.setattr(rota.cli.check_plan, "load", lambda name: scope)
        return true

    return plant


def report(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((path / "rota-out" / "check.json").read_text(encoding="utf-8"))
    return content


def test_a_scope_that_holds_shows_counts_features_properties_and_the_verdict_last(
    invoke: Invoke, pinned: Pinned
) -> None:
    true = pinned()
    result = invoke("--scope", "tiny")
    lines = result.stdout.splitlines()
    assert result.exit_code == 0, result.output
    assert lines[0] == "rota check: scope tiny, profile kafka-4.x, design classic, engine reference"
    core = next(line.split() for line in lines if line.startswith("core "))
    assert core[1:4] == ["holds", f"{true['distinct']:,}", f"{true['generated']:,}"]
    assert core[-2:] == [true["digest"][:8], "ok"]
    assert any(line.startswith("no-handshake ") and line.endswith(" none") for line in lines)
    assert any(
        "no handshake" in line and f"core {true['distinct']} -> no-handshake" in line for line in lines
    )
    assert any(line.split()[:3] == ["sync.one-owner", "holds", "safety"] for line in lines)
    assert any(line.split()[:5] == ["can_share", "holds", "first", "after", "12"] for line in lines)
    assert any(line.startswith("never fired: ") for line in lines)
    left_out = "; ".join(PROFILES["kafka-4.x"].omitted)
    assert f"not checked: {left_out}; " in " ".join(result.stdout.split())
    assert lines[-1].startswith("holds: 2 configurations, ")
    assert max(map(len, lines[:-1])) <= 110


def test_json_is_one_object_and_the_report(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("--scope", "tiny", "--configuration", "core", "--configuration", "leave", "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 0
    assert told == report(tmp_path)
    assert (told["schema"], told["verdict"], told["scope"], told["engine"]) == (
        1,
        "holds",
        "tiny",
        "reference",
    )
    assert [run["configuration"] for run in told["runs"]] == ["core", "leave"]
    assert told["distinct"] == sum(run["distinct"] for run in told["runs"])
    assert told["depth"] == max(run["depth"] for run in told["runs"])
    assert told["seconds_total"] >= told["seconds"] > 0
    assert told["violation"] is None
    assert {"name": "can_share", "depth": 16} in told["witnesses"]
    assert {one["verdict"] for one in told["properties"]} == {"holds", "known", "unjudged"}
    known = [one["name"] for one in told["properties"] if one["verdict"] == "known"]
    assert known == ["weakness.newcomer-remembered"]
    assert sum(told["runs"][0]["histogram"]) == told["runs"][0]["distinct"]


@pytest.mark.parametrize("name", but(("generated", "depth"), ["distinct", "generated", "depth"]))
def test_a_count_that_differs_from_the_pinned_one_is_a_failure(
    invoke: Invoke, tmp_path: Path, pinned: Pinned, name: str
) -> None:
    true = pinned(**{name: 7})
    result = invoke("--scope", "tiny")
    assert result.exit_code == 1
    assert f"DIFFERS core: {name} is {true[name]}, pinned is 7" in result.stdout
    assert result.stdout.splitlines()[-1].startswith(
        "violated: the counts of core differ from the pinned ones (2 configurations"
    )
    assert [run["pinned"] for run in report(tmp_path)["runs"]] == [False, None]


def test_pinned_counts_are_not_judged_where_settings_are_changed(invoke: Invoke, pinned: Pinned) -> None:
    pinned(distinct=7)
    result = invoke("--scope", "tiny", "--set", "join_version=9", "--engine", "fast")
    assert result.exit_code == 0, result.output


@pytest.fixture
def harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant that is the rule itself."""
    rule = RULES["join.leader"]
    mutant = Mutant("harmless", rule.slug, rule.function, "core", "nothing")
    monkeypatch.setitem(MUTANTS, "harmless", mutant)  # type: ignore[arg-type]  # a Mapping, yet a dict


@pytest.mark.usefixtures("harmless")
def test_a_mutant_with_the_pinned_counts_survives(invoke: Invoke, tmp_path: Path, pinned: Pinned) -> None:
    pinned()
    result = invoke("--scope", "tiny", "--mutant", "harmless", "--engine", "fast")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].startswith("holds: mutant harmless survives; 2 configurations")
    told = report(tmp_path)
    assert (told["noticed_by"], told["noticed_counts"]) == (None, None)


@pytest.mark.usefixtures("harmless")
def test_a_mutant_that_breaks_nothing_is_noticed_by_its_counts(
    invoke: Invoke, tmp_path: Path, pinned: Pinned
) -> None:
    """The pins stand in for a mutant that makes other states."""
    true = pinned(distinct=7)
    result = invoke("--scope", "tiny", "--mutant", "harmless", "--engine", "fast")
    assert result.exit_code == 1, result.output
    assert f"DIFFERS core: distinct is {true['distinct']}, pinned is 7" in result.stdout
    last = (
        "violated: mutant harmless breaks no property, but the counts of core differ from the pinned ones ("
    )
    assert result.stdout.splitlines()[-1].startswith(last)
    told = report(tmp_path)
    assert told["noticed_by"] == "counts"
    counts = {"distinct": {"got": true["distinct"], "pinned": 7}}
    assert told["noticed_counts"] == {"configuration": "core", "counts": counts}
    one = ("--property", "sync.one-owner", "--json")
    of_one = invoke("--scope", "tiny", "--mutant", "harmless", "--engine", "fast", *one)
    assert json.loads(of_one.stdout)["noticed_by"] is None, "one property was asked about, not the counts"


def test_settings_change_the_system(invoke: Invoke) -> None:
    told = [
        json.loads(invoke("--scope", "tiny", "--json", "--engine", "fast", *more).stdout)["runs"][0]["digest"]
        for more in (
            ("--configuration", "core", "--set", "join_version=3"),
            ("--configuration", "no-handshake"),
            ("--configuration", "core"),
            ("--configuration", "core", "--set", "budget={leave = 1}"),
            ("--configuration", "leave"),
        )
    ]
    assert told[0] == told[1] != told[2]
    assert told[3] == told[4] != told[2]


def test_a_mutant_is_found_and_its_trace_replays(invoke: Invoke, tmp_path: Path) -> None:
    three = [part for name in ("leave", "raw-static", "raw") for part in ("--configuration", name)]
    result = invoke("--scope", "tiny", *three, "--mutant", "leader-not-replaced")
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert "mutant leader-not-replaced (it replaces leave.remove-member)" in " ".join(
        "".join(lines[:2]).split()
    )
    assert [line.split()[1] for line in lines if line.startswith("leave ")] == ["violated"]
    assert [line.split()[1] for line in lines if line.startswith("raw ")] == ["bounded"]
    assert any(line.startswith("join.leader-is-a-member (shape) is violated after") for line in lines)
    assert "(replaced by the mutant leader-not-replaced)" in " ".join(result.stdout.split())
    assert lines[-1].startswith(
        "violated: join.leader-is-a-member after 5 steps in raw-static (3 configurations, "
    )
    assert "bounded: explored as deep as a violation could still be the shortest" in result.stdout
    (leave,) = (run for run in report(tmp_path)["runs"] if run["configuration"] == "leave")
    assert (leave["violation"]["steps"], leave["violation"]["trace"]) == (15, None)
    violation = report(tmp_path)["violation"]
    assert violation["trace"] == "rota-out/trace-join.leader-is-a-member.jsonl"
    assert f"replay: {violation['replay']}" in lines
    again = invoke(*violation["replay"].split()[2:], verb="trace")
    assert (again.exit_code, again.stdout) == (0, "reproduced: join.leader-is-a-member after 5 steps\n")
    text = (tmp_path / violation["trace"]).with_suffix(".txt").read_text(encoding="utf-8")
    assert text.rstrip("\n") in result.stdout
    assert max(map(len, lines[:-1])) <= 110


@pytest.mark.long
def test_a_mutant_whose_configuration_another_scope_has_is_run_there_first(
    invoke: Invoke, tmp_path: Path
) -> None:
    result = invoke("--scope", "tiny", "--mutant", "parked-join-forgotten")
    assert MUTANTS["parked-join-forgotten"].configuration == "fault"
    assert result.exit_code == 1
    assert "  system classic, scope small, configuration fault, " in result.stdout
    assert report(tmp_path)["runs"][0]["configuration"] == "fault"


def test_deadlock_is_a_property_that_can_be_named(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("--scope", "tiny", "--configuration", "core", "--property", "deadlock").exit_code == 0
    assert [one["name"] for one in report(tmp_path)["properties"]] == ["deadlock"]
    mutant = next(one for one in MUTANTS.values() if (one.killer, one.configuration) == ("deadlock", "core"))
    core = ("--scope", "tiny", "--configuration", "core")
    stuck = invoke(*core, "--mutant", mutant.name, "--property", "deadlock")
    assert (stuck.exit_code, report(tmp_path)["violation"]["property"]) == (1, "deadlock")
    assert invoke(*OFFICE, "--set", "fault=deadlock", "--property", "deadlock").exit_code == 1
    assert invoke(*OFFICE, "--set", "fault=deadlock", "--property", "tickets.differ").exit_code == 0


@pytest.mark.long
def test_the_same_run_writes_the_same_bytes(invoke: Invoke, tmp_path: Path) -> None:
    for out in ("one", "two"):
        what = ("--scope", "tiny", "--configuration", "raw-static", "--mutant", "leader-not-replaced")
        assert invoke(*what, "--out", out).exit_code == 1
    names = sorted(path.name for path in (tmp_path / "one").glob("trace-*"))
    assert len(names) == 2
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize(
    ("fault", "steps"), [("tickets.differ", 2), ("office.counts-up", 3), ("deadlock", 1)]
)
def test_a_foreign_system_is_checked_and_its_trace_replays(
    invoke: Invoke, tmp_path: Path, fault: str, steps: int
) -> None:
    result = invoke(*OFFICE, "--set", "people=2", "--set", f"fault={fault}")
    assert result.exit_code == 1
    told = report(tmp_path)
    assert (told["system"], told["scope"]) == ("ticket_office:office", None)
    assert (told["violation"]["property"], told["violation"]["steps"]) == (fault, steps)
    arguments = told["violation"]["replay"].split()[2:]
    assert invoke(*arguments, verb="trace").exit_code == 0
    refused = invoke(*arguments[:-2], verb="trace")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "which is not part of rota; allow that with --system ticket_office:office" in refused.stderr


def test_a_foreign_system_without_a_reference_gets_one(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("--system", "ticket_office:office_without_ref", "--set", "fault=deadlock").exit_code == 1
    again = report(tmp_path)["violation"]["replay"]
    assert again.endswith("--system ticket_office:office_without_ref")
    assert invoke(*again.split()[2:], verb="trace").exit_code == 0


def test_a_module_of_the_current_directory_comes_first(invoke: Invoke, tmp_path: Path) -> None:
    toy = (TOYS / "ticket_office.py").read_text(encoding="utf-8")
    (tmp_path / "own_ticket_office.py").write_text(toy, encoding="utf-8")
    result = invoke("--system", "own_ticket_office:office", "--set", "people=3")
    assert (result.exit_code, result.stdout.splitlines()[-1][:6]) == (0, "holds:")


def test_a_witness_that_is_never_reached_is_a_failure_without_a_trace(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke(*OFFICE, "--set", "fault=can_hold_a_ticket")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1].startswith(
        "violated: can_hold_a_ticket was never reached in office"
    )
    assert report(tmp_path)["violation"] is None
    assert not list((tmp_path / "rota-out").glob("trace-*"))


def test_a_bound_leaves_it_undecided(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("--scope", "tiny", "--configuration", "leave", "--max-states", "100")
    assert result.exit_code == 3
    assert result.stdout.splitlines()[-1].startswith("undecided: leave was given up after 1")
    assert report(tmp_path)["verdict"] == "undecided"


def test_quiet_leaves_one_line_that_names_the_replay(invoke: Invoke) -> None:
    holds = invoke(*OFFICE, "--quiet")
    assert (holds.stdout.count("\n"), holds.stdout[:6], holds.stderr) == (1, "holds:", "")
    violated = invoke(*OFFICE, "--set", "fault=deadlock", "--quiet")
    assert violated.stdout.count("\n") == 1
    assert "; rota trace rota-out/trace-deadlock.jsonl --replay --system" in violated.stdout


def test_stats_are_printed_when_asked_for(invoke: Invoke) -> None:
    assert "engine statistics" not in invoke(*OFFICE).stdout
    assert "engine statistics\n  office\n" in invoke(*OFFICE, "--stats").stdout
    told = invoke(*OFFICE, "--stats", "--engine", "fast").stdout
    assert "    values    office 5, person/p1 3, person/p2 3\n" in told


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["--scope", "tinny"],
            "there is no scope 'tinny'; did you mean tiny? there are tiny, small, standard, nightly, endless",
        ),
        (["--engine", "warp"], "there is no engine 'warp'; there are auto, reference, fast, numpy, spark"),
        (["--profile", "kafka-4"], "there is no profile 'kafka-4'; did you mean kafka-4.x?"),
        (["--mutant", "leader-not-repaced"], "did you mean leader-not-replaced? `rota check --list-mutants`"),
        (["--scope", "tiny", "--configuration", "cor"], "called 'cor'; did you mean core? there are core,"),
        (["--scope", "tiny", "--set", "join_versio=3"], "no setting is called join_versio; there are"),
        (["--scope", "tiny", "--set", "protocols=3"], "cannot build core with these settings (TypeError"),
        (["--set", "speed"], "cannot read the setting 'speed'; write --set NAME=VALUE"),
        (["--max-states", "0"], "--max-states"),
        (["--system", "ticket_office"], "cannot read the system 'ticket_office'; write --system MODULE:NAME"),
        (["--system", "no_such_module:f"], "there is no module no_such_module; it is looked for in the curr"),
        (["--system", "ticket_office:f"], "module ticket_office has no function f; name one that returns"),
        (["--system", "ticket_office:no_system"], "returned int; let it return a rota.kernel.System"),
        (["--system", "ticket_office:nameless"], "failed (OSError: the office burnt down, at "),
        ([*OFFICE, "--set", "peple=3"], "does not take these settings (got an unexpected keyword argument"),
        ([*OFFICE, "--set", "people=0"], "an office without people is closed"),
        ([*OFFICE, "--mutant", "x"], "--mutant is for rota's own system; leave it out with --system"),
        (["--keep-going", "--checkpoint", "c"], "--keep-going does not go with --checkpoint, which is one"),
        (["--keep-going", "--engine", "spark"], "--keep-going does not go with --engine spark, which is one"),
        ([*OFFICE, "--scope", "tiny"], "--scope is for rota's own system; leave it out with --system"),
    ],
)
def test_bad_input_gets_one_line_and_exit_2(
    invoke: Invoke, tmp_path: Path, arguments: list[str], line: str
) -> None:
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith("rota: ")
    assert line in result.stderr
    assert not (tmp_path / "rota-out" / "check.json").exists()


def test_a_broken_module_is_told_in_one_line(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "broken_toy.py").write_text("def f(:\n", encoding="utf-8")
    result = invoke("--system", "broken_toy:f")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "module broken_toy cannot be imported (SyntaxError" in result.stderr


def test_a_file_in_the_place_of_the_folder_is_told(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "rota-out").write_text("", encoding="utf-8")
    result = invoke(*OFFICE)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "rota-out" in result.stderr


def test_an_interrupt_keeps_what_was_found(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def interrupted(system: Any, limits: Any, *, progress: Any) -> Any:
        calls.append(system)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return explore(system, limits, progress=progress)

    monkeypatch.setattr("rota.explore.engines.choose", lambda name: interrupted)
    result = invoke("--scope", "tiny")
    assert result.exit_code == 130
    assert (report(tmp_path)["verdict"], len(report(tmp_path)["runs"])) == ("undecided", 1)


def test_list_mutants_names_each_with_its_rule(invoke: Invoke) -> None:
    shown = invoke("--list-mutants")
    assert shown.exit_code == 0
    assert all(name in shown.stdout for name in MUTANTS)
    told = json.loads(invoke("--list-mutants", "--json").stdout)
    assert [one["name"] for one in told["mutants"]] == [*MUTANTS, *BUGS]
    alone = json.loads(invoke("--list-mutants", "--protocol", "classic", "--json").stdout)
    assert [one["name"] for one in alone["mutants"]] == list(MUTANTS)


def test_colours_are_for_terminals_without_no_color(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" not in invoke(*OFFICE).stdout
    assert "\x1b[32m" in invoke(*OFFICE, color=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in invoke(*OFFICE, color=True).stdout


def test_every_mutant_names_a_configuration_that_exists() -> None:
    there = {one.name for scope in ("tiny", "small") for one in load(scope).configurations}
    assert {mutant.configuration for mutant in MUTANTS.values()} <= there


def test_scopes_have_distinct_names() -> None:
    names: list[Configuration] = list(load("small").configurations)
    assert len({one.name for one in names}) == len(names)
