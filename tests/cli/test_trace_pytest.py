"""`rota trace --as pytest`: what is written passes on the spec, fails on the mutant, and knows its age."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from ticket_office import office

from harness.counterexamples import counterexample, run_of
from harness.thinned import but
from rota.cli.errors import UsageError
from rota.cli.main import main
from rota.cli.trace_pytest import literal
from rota.cli.trace_pytest import pytest as written
from rota.explore.reference import explore
from rota.kernel import System, SystemRef
from rota.trace import Run, Trace, dumps, reaching, record, replay
from rota.trace.regression import Outdated

MUTANTS = (
    "barrier-ignores-pending",
    "size-unchecked",
    "generation-announced-early",
    "shares-swapped",
    "join-timer-lost",
    "rebalance-kept-secret",
    "restart-is-a-newcomer",
    "former-id-leads",
    "commit-makes-the-group",
    "members-lose-their-group",
    "fence-is-retried",
    "heartbeats-never-start",
    "nothing-revoked",
    "no-second-round",
)
"""Of rules and clients, of all kinds of parting: at the first step, at the last one, after it; of which an
action is not possible on the spec, or goes elsewhere."""

Test = Callable[..., None]


def test_of(text: str) -> Test:
    names: dict[str, Any] = {}
    exec(compile(text, "<written>", "exec"), names)
    (found,) = (value for name, value in names.items() if name.startswith("test_"))
    assert callable(found)
    return found  # type: ignore[no-any-return]


test_of.__test__ = False  # type: ignore[attr-defined]


DEAR = ("members-lose-their-group", "no-second-round")
"""Those that take longest to be found; each parts from the spec as others do."""


@pytest.mark.parametrize("mutant", but(DEAR, MUTANTS))
def test_it_passes_on_the_spec_and_fails_on_the_mutant(mutant: str) -> None:
    trace = counterexample(mutant)
    text = written(trace, run_of(trace))
    judge = test_of(text)
    judge()
    assert trace.origin.factory is not None
    with pytest.raises(AssertionError) as failed:
        judge(SystemRef(trace.origin.factory, tuple(trace.origin.settings.items())))
    assert not isinstance(failed.value, Outdated)
    assert f"mutant {mutant}" in " ".join(text.split())


def test_a_step_that_cannot_be_followed_is_outdated() -> None:
    """Another mutant parts before: what the test is about is not seen there."""
    judge = test_of(written(*both("barrier-ignores-pending")))
    settings = dict(counterexample("barrier-ignores-pending").origin.settings)
    with pytest.raises(Outdated, match=r"outdated: step 5, 'the initial rebalance delay is over', is not"):
        judge(SystemRef("rota.mutants.registry:rebuild", (*{**settings, "mutant": "no-sync-timer"}.items(),)))
    with pytest.raises(Outdated, match="outdated: step 1, 'c2 sends JoinGroup'"):
        judge(SystemRef("ticket_office:office"))


def both(mutant: str) -> tuple[Trace, Run]:
    trace = counterexample(mutant)
    return trace, run_of(trace)


def test_pytest_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.jsonl").write_text(dumps(counterexample("barrier-ignores-pending")), encoding="utf-8")
    done = CliRunner().invoke(main, ["trace", "t.jsonl", "--as", "pytest", "--out", "test_barrier.py"])
    assert (done.exit_code, done.stdout) == (0, "pytest: test_barrier.py\n")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_barrier.py"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout


# ---- systems of which nobody knows what is right


def found(made: System) -> tuple[Trace, Run]:
    violation = explore(made).violation
    assert violation is not None
    trace = record(made, violation.name, violation.start, violation.path)
    return trace, replay(trace, made)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("tickets.differ", "assert [Did(machine="),
        ("office.counts-up", "assert [Did(machine="),
        ("deadlock", "assert set()"),
    ],
)
def test_without_a_mutant_the_property_must_hold_in_the_end(fault: str, why: str) -> None:
    judge = test_of(written(*found(office(fault=fault))))
    with pytest.raises(AssertionError) as failed:
        judge()
    assert not isinstance(failed.value, Outdated)
    judge(SystemRef("ticket_office:office"))
    with pytest.raises(Outdated):
        judge(SystemRef("ticket_office:office", (("fault", "can_hold_a_ticket"),)))


def test_what_contradicts_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="leads to a state that was searched for"):
        written(*found(reaching(office(), "office.last == 2")))
    trace, run = found(office(fault="tickets.differ"))
    with pytest.raises(UsageError, match="never ends, and nobody says what is right"):
        written(replace(trace, cycle=1), run)
    with pytest.raises(UsageError, match="there are none"):
        written(trace, None)


def test_what_strangers_wrote_stays_text() -> None:
    """Names, meanings and labels come from files; none of them becomes code."""
    bad = '"""\nraise SystemExit(3)\n"""\\'
    trace, run = found(office(fault="tickets.differ"))
    judge = test_of(written(replace(trace, property_name=bad, meaning=bad), run))
    with pytest.raises(KeyError):
        judge()


@pytest.mark.parametrize(
    "value",
    ["plain", 'a "quote"', "it's", "back\\slash", "two\nlines", "\u202e", 3, None, ("a",), {"k": ()}, True],
)
def test_a_setting_is_read_as_it_was(value: Any) -> None:
    assert eval(literal(value)) == value
