"""`rota trace --as dialogue` and `--play`: a run of the world in virtual time, and the spec on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from ticket_office import office

from harness.counterexamples import counterexample, run_of
from harness.thinned import some
from rota.cli.main import main
from rota.explore.reference import explore
from rota.spec import Group
from rota.stage.of_run import CannotTell, staged
from rota.trace import Run, dumps, record, replay

MUTANTS = (
    "barrier-ignores-pending",
    "size-unchecked",
    "session-without-rebalance",
    "only-the-leader-is-missed",
    "shares-swapped",
    "restart-always-rebalances",
    "absent-members-wait-for-ever",
    "late-answer-believed",
    "vote-by-union",
    "commit-never-answered",
    "reads-nothing",
    "fenced-member-takes-the-other-along",
    "rebalance-is-fatal",
)
"""With timers, leaves, static members, offsets, votes; of a raw client; of what a client does by itself."""

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["trace", *arguments])

    return run


def shape(group: Group | None) -> object:
    return group and (group.state, group.generation_id, len(group.members), len(group.pending))


@pytest.mark.parametrize("mutant", some(MUTANTS))
def test_the_stage_stands_where_the_world_stands(mutant: str) -> None:
    run = run_of(counterexample(mutant))
    told = staged(run)
    assert (told.end, told.until) == ("", len(run.path))
    groups = [state[0].group for state in run.states]
    for number, happening in zip(told.origins, told.stage.happenings, strict=True):
        last = max(at for at, origin in enumerate(told.origins) if origin == number)
        if told.stage.happenings[last] is happening:
            assert shape(happening.step.group) == shape(groups[number]), number


def test_what_the_stage_has_no_words_for_ends_the_dialogue() -> None:
    told = staged(run_of(counterexample("syncs-answered-twice")))
    assert told.end == "step 8, log stores the assignment of generation 1: r3 is answered twice"
    assert told.until == 7


@pytest.mark.parametrize("mutant", ["barrier-ignores-pending", "size-unchecked", "join-timer-lost"])
def test_a_mutants_dialogue_differs_on_the_spec(invoke: Invoke, mutant: str) -> None:
    trace = counterexample(mutant)
    Path("t.jsonl").write_text(dumps(trace), encoding="utf-8")
    assert invoke("t.jsonl", "--as", "dialogue", "--out", "d.txt").stdout == "dialogue: d.txt\n"
    played = invoke("d.txt", "--play")
    assert played.exit_code == 1
    lines = played.stdout.splitlines()
    assert lines[-1].startswith("differs: ")
    assert lines[0] == f"  {trace.property_name}"
    now = [line[2:] for line in lines[: lines.index("")] if line.startswith("+ ")]
    mended = "\n".join(line[2:] for line in lines[:-2] if not line.startswith("- ")) + "\n"
    if mutant == "barrier-ignores-pending":
        assert any("PreparingRebalance" in line for line in lines if line.startswith("+ "))
        Path("e.txt").write_text(mended, encoding="utf-8")
        again = invoke("e.txt", "--play")
        assert (again.exit_code, again.stdout.splitlines()[-1]) == (0, "same: 8 steps under kafka-4.x")
    assert now == []


def test_of_a_dialogue_one_is_told_where_it_cannot_go_on(invoke: Invoke) -> None:
    Path("t.jsonl").write_text(dumps(counterexample("syncs-answered-twice")), encoding="utf-8")
    text = invoke("t.jsonl", "--as", "dialogue").stdout
    assert text.endswith("r3 is answered twice --\n")
    Path("d.txt").write_text(text, encoding="utf-8")
    assert invoke("d.txt", "--play").exit_code == 0


def test_another_system_has_no_dialogue(invoke: Invoke) -> None:
    made = office(fault="deadlock")
    violation = explore(made).violation
    assert violation is not None
    trace = record(made, violation.name, violation.start, violation.path)
    run: Run = replay(trace, made)
    with pytest.raises(CannotTell, match="told of rota's own world, and this is ticket-office"):
        staged(run)
    Path("t.jsonl").write_text(dumps(trace), encoding="utf-8")
    refused = invoke("t.jsonl", "--as", "dialogue", "--system", "ticket_office:office")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "show it in another form, such as --as mermaid" in refused.stderr


@pytest.mark.parametrize(
    ("content", "arguments", "cause"),
    [
        (b"hello\n", (), "d.txt line 1: no step is here"),
        (b"\xff\n", (), "byte 0 is no UTF-8, so this is no dialogue"),
        (b"", ("--profile", "kafka-5"), "there is no profile 'kafka-5'"),
    ],
)
def test_what_cannot_be_played_is_told_in_one_line(
    invoke: Invoke, content: bytes, arguments: tuple[str, ...], cause: str
) -> None:
    Path("d.txt").write_bytes(content)
    result = invoke("d.txt", "--play", *arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert cause in result.stderr
