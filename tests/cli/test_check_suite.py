"""`rota check --engine spark` for several configurations: whole as tasks, by levels what does not fit."""

from __future__ import annotations

import io
import json
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.spark_here import Context
from rota.cli import check_suite
from rota.cli.check_plan import plan
from rota.cli.main import main
from rota.cli.options import Selection
from rota.explore import Limits, reference
from rota.explore.manifest import SearchFolder
from rota.explore.spark import engine as spark
from rota.explore.spark import session
from rota.explore.spark import suite as driver
from rota.explore.spark.finished import NAME
from rota.explore.spark.memory import MEMORY
from rota.explore.spark.worker import whole
from rota.explore.spark.worker.surroundings import NotRebuilt
from rota.mutants import MUTANTS
from rota.report.check_progress import Explorations
from rota.report.live_line import LiveLine

Invoke = Callable[..., Result]

FEW = ("core", "no-handshake", "tie")
TINY = plan(Selection(scope="tiny"))
CHEAP = [job.name for job in TINY.jobs if job.size is not None and job.size < 400]
CHOSEN = ("--scope", "tiny", *(part for name in FEW for part in ("--configuration", name)))


class Planted(Context):
    """Stands in for Spark: tasks one after the other, levels by the reference engine."""

    version = "4"

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(master="local[2,4]")
        self.defaultParallelism = 1
        self.tasks: list[str] = []
        self.levels: list[str] = []
        self.ended = 0
        monkeypatch.setattr(session, "spark_context", self.context)
        monkeypatch.setattr(spark, "explore", self.explore)
        monkeypatch.setattr(driver, "AHEAD", 0)

    @contextmanager
    def context(self, *_: Any, **__: Any) -> Iterator[Any]:
        try:
            yield self
        finally:
            self.ended += 1

    def setJobGroup(self, group: str, description: str) -> None:
        self.tasks.append(description)

    def explore(self, system: Any, limits: Any, **_: Any) -> Any:
        self.levels.append(system.name)
        return reference.explore(system, limits)


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Planted:
    return Planted(monkeypatch)


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, engine: str = "spark") -> Result:
        return CliRunner().invoke(main, ["check", "--engine", engine, *arguments])

    return run


def runs(result: Result) -> list[dict[str, Any]]:
    """What was told of each configuration, in order."""
    assert result.exit_code == 0, result.stderr
    told: list[dict[str, Any]] = json.loads(result.stdout)["runs"]
    return told


def test_whole_and_by_level_and_fast_are_the_same(
    invoke: Invoke, planted: Planted, timeless: Callable[[Any], Any]
) -> None:
    ways = [
        runs(invoke(*CHOSEN, "--json")),
        runs(invoke(*CHOSEN, "--json", "--by-level")),
        runs(invoke(*CHOSEN, "--json", engine="fast")),
    ]
    bare = [[{**run, "stats": None, "engine": None} for run in way] for way in ways]
    assert timeless(bare[0]) == timeless(bare[1]) == timeless(bare[2])
    assert [(run["configuration"], run["pinned"]) for run in ways[0]] == [(name, True) for name in FEW]
    assert (sorted(planted.tasks), len(planted.levels)) == (sorted(FEW), 3)
    assert planted.ended == 2


def test_the_dearest_is_first_and_what_is_told_is_in_the_scopes_order(
    invoke: Invoke, planted: Planted
) -> None:
    names = CHEAP[::4]
    chosen = [part for name in names for part in ("--configuration", name)]
    told = runs(invoke("--scope", "tiny", *chosen, "--json"))
    sizes = {run["configuration"]: run["distinct"] for run in told}
    assert list(sizes) == names
    assert [sizes[name] for name in planted.tasks] == sorted(sizes.values(), reverse=True)
    assert (len(planted.tasks), planted.levels) == (len(names), [])


def test_what_is_not_known_may_be_dearer_still_and_a_mutant_dies_first() -> None:
    jobs = tuple(replace(job, size=size) for job, size in zip(TINY.jobs, (3, None, 5), strict=False))
    assert check_suite.order(replace(TINY, jobs=jobs)) == [1, 2, 0]
    assert check_suite.order(replace(TINY, jobs=jobs, mutant="any")) == [0, 1, 2]


def test_a_configuration_alone(invoke: Invoke, planted: Planted) -> None:
    """Whole if it is known to fit, and by levels if each of them is to be kept."""
    alone = ("--scope", "tiny", "--configuration", "core", "--json")
    assert [run["pinned"] for run in runs(invoke(*alone))] == [True]
    assert (planted.tasks, planted.levels) == (["core"], [])
    runs(invoke(*alone, "--checkpoint", "kept"))
    assert (len(planted.tasks), len(planted.levels)) == (1, 1)


# ---- what does not fit


def test_what_is_known_not_to_fit_goes_by_levels(
    invoke: Invoke, planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = {job.name: job.size or 0 for job in TINY.jobs}
    monkeypatch.setattr(driver, "BYTES", MEMORY // size["core"])
    result = invoke(*CHOSEN, "--json")
    assert [run["pinned"] for run in runs(result)] == [True] * 3
    fitting = [name for name in FEW if size[name] <= size["core"]]
    assert (sorted(planted.tasks), len(planted.levels)) == (sorted(fitting), 3 - len(fitting))
    assert 0 < len(fitting) < 3
    assert result.stderr.count("goes by levels: it does not fit into a worker") == 3 - len(fitting)
    few = invoke(*CHOSEN, "--max-states", "10", "--json")
    assert (few.exit_code, len(planted.levels)) == (3, 3 - len(fitting)), "the bound is below the room"


@pytest.mark.long
def test_what_turns_out_not_to_fit_goes_by_levels(
    invoke: Invoke, planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "_explored", lambda task: whole.TooLarge())
    result = invoke(*CHOSEN, "--json")
    assert [run["pinned"] for run in runs(result)] == [True] * 3
    assert (len(planted.tasks), len(planted.levels)) == (3, 3)
    assert "core goes by levels: it does not fit into a worker" in result.stderr


def test_what_was_lost_goes_by_levels(
    invoke: Invoke, planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crashed(task: Any) -> Any:
        raise RuntimeError("Python worker exited unexpectedly (crashed)\n\tat somewhere")

    monkeypatch.setattr(whole, "_explored", crashed)
    result = invoke(*CHOSEN, "--json")
    assert [run["pinned"] for run in runs(result)] == [True] * 3
    line = "core goes by levels: the task exploring it was lost (Python worker exited unexpectedly (crashed))"
    assert line in result.stderr.splitlines()


# ---- what ends a run


def test_a_violation_has_the_same_trace_and_bounds_the_others(invoke: Invoke, planted: Planted) -> None:
    mutant = MUTANTS["sync-timeout-forgives"]
    names = dict.fromkeys((mutant.configuration, *FEW))
    what = ["--scope", "tiny", "--mutant", mutant.name, "--json"]
    what += [part for name in names for part in ("--configuration", name)]
    result, fast = invoke(*what), invoke(*what, "--out", "other", engine="fast")
    assert (result.exit_code, fast.exit_code) == (1, 1), result.stderr
    found, other = (json.loads(one.stdout)["violation"] for one in (result, fast))
    assert (found["property"], found["steps"]) == (other["property"], other["steps"])
    assert Path(found["trace"]).read_text() == Path(other["trace"]).read_text()
    assert planted.tasks[0] == mutant.configuration
    depths = [run["depth"] for run in json.loads(result.stdout)["runs"] if run["violation"] is None]
    assert depths
    assert max(depths) <= found["steps"] + 1, "what is deeper is not judged"


def test_an_error_is_told_when_its_turn_comes(
    invoke: Invoke, planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless(ref: Any) -> Any:
        raise NotRebuilt("a worker cannot build x; name its file in py_files")

    monkeypatch.setattr(whole, "built", homeless)
    result = invoke(*CHOSEN, "--json")
    assert (result.exit_code, planted.levels, planted.ended) == (2, [], 1)
    assert "its file with --py-files" in result.stderr.splitlines()[-1]


def test_an_interrupt_ends_the_job_and_keeps_what_is_known(
    invoke: Invoke, planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, main_thread = planted.setJobGroup, threading.get_ident()

    def interrupts(group: str, description: str) -> None:
        real(group, description)
        if len(planted.tasks) == 3:
            signal.pthread_kill(main_thread, signal.SIGINT)

    monkeypatch.setattr(planted, "setJobGroup", interrupts)
    chosen = [part for name in CHEAP for part in ("--configuration", name)]
    result = invoke("--scope", "tiny", *chosen, "--json")
    assert (result.exit_code, planted.ended) == (130, 1)
    assert len(planted.tasks) < 6
    names = [run["configuration"] for run in json.loads(Path("rota-out", "check.json").read_text())["runs"]]
    assert sorted(names) == sorted(planted.tasks[: len(names)])
    assert len(names) >= 2


# ---- records


def test_what_is_finished_is_not_done_again(invoke: Invoke, planted: Planted) -> None:
    first = runs(invoke(*CHOSEN, "--json", "--checkpoint", "kept"))
    assert sorted(planted.tasks) == sorted(FEW)
    again = runs(invoke(*CHOSEN, "--json", "--checkpoint", "kept", "--resume"))
    assert (len(planted.tasks), planted.levels) == (3, [])
    assert again == first, "seconds too are those of then"
    refused = invoke(*CHOSEN, "--json", "--checkpoint", "kept")
    assert (refused.exit_code, len(planted.tasks)) == (2, 3)
    assert "give --resume, or an empty folder" in refused.stderr


def test_a_damaged_record_is_done_again(invoke: Invoke, planted: Planted) -> None:
    first = runs(invoke(*CHOSEN, "--json", "--checkpoint", "kept"))
    record = Path("kept", FEW[1], NAME)
    record.write_bytes(record.read_bytes()[:-1])
    again = runs(invoke(*CHOSEN, "--json", "--checkpoint", "kept", "--resume"))
    assert planted.tasks[3:] == [FEW[1]]
    assert [run["digest"] for run in again] == [run["digest"] for run in first]


def test_levels_that_are_there_are_gone_on_with_and_their_end_is_kept(
    invoke: Invoke, planted: Planted
) -> None:
    SearchFolder(Path("kept", "core"), {}, Limits()).commit(3, 20, {})
    for _ in range(2):
        runs(invoke(*CHOSEN, "--json", "--checkpoint", "kept", "--resume"))
        assert (sorted(planted.tasks), len(planted.levels)) == (sorted(FEW[1:]), 1)


# ---- progress


def test_progress_tells_how_many_are_finished() -> None:
    seconds, stream = iter(range(0, 1000, 11)), io.StringIO()

    def clock() -> float:
        return float(next(seconds))

    sizes = dict.fromkeys(("tie", "core", "leave", "three"), 100)
    progress = Explorations(LiveLine(stream, clock=clock), "check", sizes, clock=clock)
    for name in ("tie", "core", "leave"):
        progress.begin(name)
    progress.end("tie")
    progress.waiting()
    assert re.fullmatch(
        r"check: 1 of 4 configurations, \d+ s, about [\dmin s]+ left; exploring core, leave\n",
        stream.getvalue(),
    )
