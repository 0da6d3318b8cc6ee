"""`rota trace --profile`, `--mutant`, `--without-mutant`, `--set`: the same actions in another system."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from ticket_office import office

from harness.counterexamples import counterexample
from rota.cli.main import main
from rota.designs.suites import load
from rota.designs.suites import system as design
from rota.explore.reference import explore
from rota.kernel import System
from rota.mutants import designs
from rota.mutants.registry import system
from rota.trace import Trace, dumps, reaching, record

TRUST = ("--system", "ticket_office:office")
Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "")

    def run(trace: Trace, *arguments: str) -> Result:
        Path("t.jsonl").write_text(dumps(trace), encoding="utf-8")
        return CliRunner().invoke(main, ["trace", "t.jsonl", *arguments])

    return run


def found(made: System) -> Trace:
    violation = explore(made).violation
    assert violation is not None
    return record(made, violation.name, violation.start, violation.path)


def test_what_the_spec_does_in_place_of_a_mutant(invoke: Invoke) -> None:
    result = invoke(counterexample("barrier-ignores-pending"), "--without-mutant")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "the same without the mutant for 12 steps"
    assert lines[2] == "step 13 in the trace: c2's JoinGroup reaches the coordinator"
    here = lines.index("without the mutant: c2's JoinGroup reaches the coordinator")
    assert (
        "     coordinator  group.state                        CompletingRebalance -> PreparingRebalance"
        in (lines[here:])
    )
    assert any("only in the trace: join.leader, join.protocol" in line for line in lines[here:])
    assert lines[-1] == "parts: at step 13, which leads elsewhere without the mutant"
    assert max(map(len, lines)) <= 110


def test_what_is_not_possible_names_what_is(invoke: Invoke) -> None:
    result = invoke(counterexample("fence-is-retried"), "--without-mutant")
    assert result.exit_code == 1
    assert "\nwithout the mutant: not possible here\n     client/c2 can begin: " in result.stdout
    assert result.stdout.endswith("parts: at step 5, which is not possible without the mutant\n")
    lost = invoke(counterexample("join-timer-lost"), "--without-mutant")
    assert "     coordinator can begin nothing\n" in lost.stdout


def test_where_the_trace_stops_and_the_spec_does_not(invoke: Invoke) -> None:
    result = invoke(counterexample("rebalance-kept-secret"), "--without-mutant")
    assert result.exit_code == 1
    assert "without the mutant, and not in the trace, what can be done then:\n     c2 heartbeats\n" in (
        result.stdout
    )
    assert result.stdout.endswith("parts: after step 13, where it can go on without the mutant\n")


def test_another_mutant_and_the_same(invoke: Invoke) -> None:
    trace = counterexample("barrier-ignores-pending")
    same = invoke(trace, "--mutant", "barrier-ignores-pending")
    assert (same.exit_code, same.stdout) == (
        0,
        "same: all of 13 steps with the mutant barrier-ignores-pending\n",
    )
    other = invoke(trace, "--mutant", "no-sync-timer")
    assert other.exit_code == 1
    assert other.stdout.endswith("at step 5, which leads elsewhere with the mutant no-sync-timer\n")


def test_another_line_of_brokers(invoke: Invoke) -> None:
    """Of a system that clears dead data, which under another profile is other data."""
    settings = {"profile": "kafka-2.1", "budget": (("fault", 1),)}
    trace = _reached(system(settings), "coordinator.group.state == 'Stable'")
    own = invoke(trace, "--profile", "kafka-2.1")
    assert (own.exit_code, own.stdout) == (0, f"same: all of {len(trace.steps)} steps under kafka-2.1\n")
    newer = invoke(trace, "--profile", "kafka-4.x")
    assert newer.exit_code == 1
    assert "only here: join.member-id-required\n" in newer.stdout


def _reached(made: System, text: str) -> Trace:
    return found(reaching(made, text))


def test_an_older_design_with_other_settings_and_mutants(invoke: Invoke) -> None:
    lag = load("watchers").configuration("lag")
    trace = found(design("watchers", lag.settings))
    assert invoke(trace, "--set", "servers=2").exit_code == 0
    other = invoke(trace, "--set", "servers=1")
    assert other.exit_code == 1
    assert other.stdout.endswith("parts: at the start, which is another one with servers=1\n")
    mutant = invoke(trace, "--mutant", "registers-unseen")
    assert mutant.exit_code == 1
    assert mutant.stdout.endswith("which leads elsewhere with the mutant registers-unseen\n")
    planted = found(
        designs.system("watchers", load("watchers").configuration("one-server").settings, "registers-unseen")
    )
    sound = invoke(planted, "--without-mutant")
    assert sound.exit_code == 1
    assert sound.stdout.endswith("which leads elsewhere without the mutant\n")


def test_somebody_elses_system_with_other_settings(invoke: Invoke) -> None:
    trace = found(office(fault="tickets.differ"))
    result = invoke(trace, "--set", "fault=", *TRUST)
    assert result.exit_code == 1
    assert result.stdout.endswith("parts: at step 2, which leads elsewhere with fault=\n")
    assert "     office     last         1 -> 2\n" in result.stdout
    assert invoke(trace, "--set", "fault=tickets.differ", *TRUST).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (("--mutant", "a", "--without-mutant"), "--mutant and --without-mutant are two systems"),
        (("--profile", "kafka-5"), "there is no profile 'kafka-5'"),
        (("--mutant", "barrier-ignores"), "did you mean barrier-ignores-pending?"),
        (("--set", "nothing=1"), "cannot build that system (SettingsError: no setting is called nothing"),
    ],
)
def test_what_is_not_there_is_told(invoke: Invoke, arguments: tuple[str, ...], cause: str) -> None:
    result = invoke(counterexample("barrier-ignores-pending"), *arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert cause in result.stderr


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (("--profile", "kafka-2.1"), "ticket_office:office has no profiles; leave --profile out"),
        (("--without-mutant",), "no mutants of rota's; leave --without-mutant out, or name another setting"),
        (("--set", "people=3"), "the other system has office, person/p1, person/p2, person/p3; leave out"),
        (("--set", "people=0"), "cannot build that system (ValueError: an office without people is closed)"),
    ],
)
def test_what_a_strangers_system_has_not_is_told(
    invoke: Invoke, arguments: tuple[str, ...], cause: str
) -> None:
    result = invoke(found(office(fault="tickets.differ")), *arguments, *TRUST)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert cause in result.stderr


def test_a_trace_without_a_mutant_has_none_to_leave_out(invoke: Invoke) -> None:
    trace = _reached(system({}), "coordinator.group.state == 'Empty'")
    result = invoke(trace, "--without-mutant")
    assert result.exit_code == 2
    assert "the trace is of no mutant; leave --without-mutant out" in result.stderr
