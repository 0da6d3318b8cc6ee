"""`rota check` with several processes: the same report, in order; workers that fail, die or are ended."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from ticket_office import office

from rota.cli import check_workers
from rota.cli.check_plan import sizes_of
from rota.cli.check_workers import MOST, WORTH, Explorers, order, processes
from rota.cli.checking import Checking
from rota.cli.main import main
from rota.cli.shortest import Shortest
from rota.explore import Limits
from rota.kernel import System, SystemRef
from rota.report.check_json import report_of
from rota.report.check_model import Job, Plan
from rota.report.check_progress import Explorations
from rota.report.check_text import lines, verdict_line
from rota.report.live_line import LiveLine
from rota.trace import dumps

FRAGILE = '''
"""Offices that only work where they are not in a worker process."""
import os, signal
from dataclasses import replace
from multiprocessing import parent_process
from rota.kernel import Kind, Property, SystemRef
from ticket_office import LAST, office

class Burnt(Exception):
    def __init__(self, what, where):
        super().__init__(f"{what} burnt down in {where}")

def fragile(how, people=2):
    if parent_process() is None:
        return office(people)
    if how == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "hangs":
        signal.alarm(30)  # so that a test that should end it fails, and does not hang
        signal.pause()
    if how == "is interrupted":
        os.kill(os.getpid(), signal.SIGINT)
        return office(people)
    if how == "goes-on":
        signal.alarm(60)  # as above
        return office(60)  # 2**60 states and more
    if how == "raises":
        raise ValueError("no office here")
    raise Burnt("the office", "town")

def closed(last):
    return last == 0

def twice():
    made = office(3, "tickets.differ")
    early = Property("nobody.served", Kind.SHAPE, "Nobody is served.", (LAST,), closed)
    return replace(made, properties=(*made.properties, early), ref=SystemRef("fragile_office:twice"))
'''


@pytest.fixture(autouse=True)
def nobody_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "fragile_office.py").write_text(FRAGILE, encoding="utf-8")
    yield
    assert multiprocessing.active_children() == []


def job(name: str, build: Callable[[], System], size: int | None = None) -> Job:
    return Job(name, build, size=size)


def fragile(how: str) -> Job:
    ref = SystemRef("fragile_office:fragile", (("how", how),))
    return job(how, lambda: replace(office(), ref=ref))


def plan(*jobs: Job, engine: str = "reference") -> Plan:
    return Plan("classic", "toy", engine, jobs, scope="toys", profile="p")


def checking(
    what: Plan, workers: int, stderr: io.StringIO | None = None, keep_going: bool = False
) -> tuple[Checking, list[str]]:
    said: list[str] = []
    out = Path(f"out-{workers}")
    out.mkdir()
    progress = Explorations(LiveLine(stderr or io.StringIO()), "check", sizes_of(what, None))
    return Checking(what, Limits(), out, said.append, progress, workers, None, keep_going), said


def crew(what: Plan, count: int = 2, lasting: bool = False) -> Explorers:
    progress = Explorations(LiveLine(io.StringIO()), "check", sizes_of(what, None))
    systems = [one.build() for one in what.jobs]
    return Explorers(what, systems, count, Limits(), Shortest(lasting), progress)


@pytest.mark.parametrize(
    "mutant", [(), pytest.param(("--mutant", "leader-not-replaced"), marks=pytest.mark.long)]
)
def test_two_workers_report_what_one_reports(
    tmp_path: Path, mutant: tuple[str, ...], timeless: Callable[[Any], Any]
) -> None:
    names = ("core", "leave", "tie", "static-poll-timeout")
    chosen = [word for name in names for word in ("--configuration", name)]
    reports = []
    for workers in ("1", "2"):
        done = CliRunner().invoke(main, ["check", "--scope", "tiny", *chosen, *mutant, "--workers", workers])
        assert done.exit_code == len(mutant) / 2, done.output
        assert ("with 2 workers" in done.output.splitlines()[-1]) == (workers == "2")
        content = timeless(json.loads((tmp_path / "rota-out" / "check.json").read_text(encoding="utf-8")))
        assert [run["configuration"] for run in content["runs"]] == list(names)
        traces = {path.name: path.read_bytes() for path in Path("rota-out").glob("trace-*")}
        rows = [line.split()[:4] for line in done.stdout.splitlines()[:6]]
        reports.append((content["violation"], traces) if mutant else (content, rows))
    assert reports[0] == reports[1]
    if mutant:
        violation, traces = reports[0]
        assert (violation["configuration"], violation["steps"]) == ("static-poll-timeout", 11)
        assert len(traces) == 2


def test_processes_share_the_memory() -> None:
    work, _ = checking(plan(job("one", lambda: office(2)), job("two", lambda: office(2))), 2)
    work.limits = Limits(memory=11)
    work.work()
    assert work.limits.memory == 5


SCOPE = (
    job("large", lambda: office(4), size=10**6),
    job("longer", lambda: office(2, "office.counts-up")),
    job("long", lambda: office(3, "tickets.differ"), size=10**5),
    job("first", lambda: office(3, "deadlock")),
    job("second", lambda: office(2, "deadlock")),
    job("last", lambda: office(2), size=10**6),
)
"""Violations after 3, 2, 1 and 1 steps."""


@pytest.mark.parametrize("seed", range(3))
def test_the_shortest_violation_of_all_is_reported_whoever_finds_one_first(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the two shortest the first in the plan; one worker keeps to the plan, two begin anywhere."""
    begun = random.Random(seed).sample(range(len(SCOPE)), len(SCOPE))
    monkeypatch.setattr(check_workers, "order", lambda plan: begun)
    traces = []
    for workers in (1, 2):
        work, said = checking(plan(*SCOPE), workers)
        work.work()
        report = work.report()
        assert [line.split()[0] for line in said[2:]] == [one.name for one in SCOPE]
        assert report.found
        found = report.found
        assert (found.violation.name, found.run.job.name, found.violation.steps) == ("deadlock", "first", 1)
        assert (report.verdict, report.workers) == ("violated", workers)
        assert [found.path for found in work.found] == [f"out-{workers}/trace-deadlock.jsonl"]
        traces.append(dumps(found.trace))
    assert traces[0] == traces[1]


def test_others_go_on_as_far_as_a_shorter_violation_could_be() -> None:
    work, said = checking(plan(*SCOPE), 1)
    work.work()
    verdicts = [(line.split()[1], run.result.depth) for line, run in zip(said[2:], work.runs, strict=True)]
    assert verdicts[0] == ("holds", work.runs[0].result.depth)
    assert verdicts[3:] == [("violated", 1), ("bounded", 0), ("bounded", 0)]
    report = work.report()
    assert "6 configurations, 2 of them bounded, " in verdict_line(report, quiet=False)
    assert list(report.reasons()) == ["deadlock after 1 step in first"]
    runs = report_of(report)["runs"]
    assert [run["bounded_to"] for run in runs] == [None, None, None, None, 0, 0]
    steps = [run["violation"] and (run["violation"]["steps"], run["violation"]["trace"]) for run in runs]
    assert steps == [None, (3, None), (2, None), (1, "out-1/trace-deadlock.jsonl"), None, None]


def test_a_violation_bounds_what_another_process_explores_meanwhile() -> None:
    """The other one would not come to an end by itself."""
    jobs = (fragile("goes-on"), job("violated", lambda: office(2, "deadlock")))
    stderr = io.StringIO()
    work, said = checking(plan(*jobs), 2, stderr)
    work.work()
    assert [line.split()[:2] for line in said[2:]] == [["goes-on", "bounded"], ["violated", "violated"]]
    assert "died" not in stderr.getvalue(), "nobody else ended it"


def test_to_keep_going_lists_every_property_that_breaks_with_its_shortest_run() -> None:
    jobs = (
        job("a", lambda: office(3, "tickets.differ")),
        job("twice", SystemRef("fragile_office:twice").build),
        job("b", office),
    )
    reports = []
    for workers in (1, 2):
        work, said = checking(plan(*jobs), workers, keep_going=True)
        work.work()
        assert [line.split()[:2] for line in said[2:]] == [
            ["a", "violated"],
            ["twice", "violated"],
            ["b", "holds"],
        ]
        report = work.report()
        assert report.found
        found = [(one.violation.name, one.violation.steps, one.run.job.name)
                 for one in (report.found, *report.further)]  # fmt: skip
        assert found == [("nobody.served", 1, "twice"), ("tickets.differ", 2, "a")]
        assert not report.bounded
        assert "nobody.served after 1 step in twice; tickets.differ after 2" in verdict_line(report, False)
        assert [Path(one.path).stem for one in work.found] == ["trace-nobody.served", "trace-tickets.differ"]
        assert "also violated\n  tickets.differ  after 2 steps in a" in "\n".join(lines(report, stats=False))
        content = report_of(report)
        assert [one["steps"] for one in content["violations"]] == [1, 2]
        broken = content["runs"][1]["properties"]
        assert {one["name"] for one in broken if one["verdict"] == "violated"} == {
            "nobody.served",
            "tickets.differ",
        }
        reports.append([run.result.distinct for run in work.runs])
    assert reports[0] == reports[1]


def test_of_endless_runs_the_first_in_the_plan_ends_the_search() -> None:
    jobs = (
        job("before", lambda: office(3), size=10**6),
        job("violated", lambda: office(2, "deadlock")),
        fragile("hangs"),
    )
    with crew(plan(*jobs), lasting=True) as workers:
        answered = []
        for number, _ in workers.answers():
            answered.append(number)
            assert len(multiprocessing.active_children()) == 1, "the one that hangs is still there"
        assert answered == [1, 0]


def test_a_configuration_whose_worker_died_is_explored_once_more() -> None:
    jobs = (job("a", office), fragile("dies"), job("b", lambda: office(3)))
    stderr = io.StringIO()
    work, said = checking(plan(*jobs), 2, stderr)
    work.work()
    assert [line.split()[:2] for line in said[2:]] == [["a", "holds"], ["dies", "holds"], ["b", "holds"]]
    assert work.report().verdict == "holds"
    assert stderr.getvalue() == "the process exploring dies died; exploring dies again\n"


def test_a_worker_leaves_ctrl_c_to_its_parent() -> None:
    stderr = io.StringIO()
    work, _ = checking(plan(fragile("is interrupted"), job("b", office)), 2, stderr)
    work.work()
    assert (work.report().verdict, stderr.getvalue()) == ("holds", "")


def test_every_worker_may_die() -> None:
    work, said = checking(plan(fragile("dies"), replace(fragile("dies"), name="too")), 2)
    work.work()
    assert [line.split()[:2] for line in said[2:]] == [["dies", "holds"], ["too", "holds"]]


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [
        ("raises", ValueError, "no office here"),
        ("burns", RuntimeError, "Burnt: the office burnt down in town"),
    ],
)
def test_an_error_in_a_worker_is_raised_in_its_turn(how: str, kind: type[Exception], words: str) -> None:
    work, said = checking(plan(job("a", office, 10**6), fragile(how), job("b", office)), 2)
    with pytest.raises(kind) as caught:
        work.work()
    assert str(caught.value) == words
    assert [line.split()[0] for line in said[2:]] == ["a"]
    assert any("in a worker process:" in note for note in caught.value.__notes__)


def test_an_interrupt_keeps_what_is_there_although_something_before_it_is_missing() -> None:
    class Interrupting(Explorations):
        def end(self, name: str, again: bool = False) -> None:
            super().end(name, again)
            if name == "third":
                raise KeyboardInterrupt

    what = plan(fragile("hangs"), job("second", office), job("third", office))
    work, said = checking(what, 2)
    work.progress = Interrupting(LiveLine(io.StringIO()), "check", sizes_of(what, None))
    with pytest.raises(KeyboardInterrupt):
        work.work()
    assert [line.split()[0] for line in said[2:]] == ["second"]
    assert work.report().verdict == "undecided"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("send", [os.kill, pytest.param(os.killpg, marks=pytest.mark.long)])
def test_an_interrupt_ends_the_workers(tmp_path: Path, send: Callable[[int, int], None]) -> None:
    names = ("core", "raw-offsets-two", "fault-leave-and-rejoin")
    chosen = [word for name in names for word in ("--configuration", name)]
    command = [sys.executable, "-m", "rota", "check", *chosen, "--workers", "2"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert running.stdout
        assert running.stderr
        while not running.stdout.readline().startswith("core "):
            assert running.poll() is None
        send(running.pid, signal.SIGINT)
        assert running.stdout.read() == ""
        *progress, last = running.stderr.read().splitlines()  # where the machine is slow, how far it got
        assert all(line.startswith("check: ") and " states/s" in line for line in progress), progress
        assert last == "rota: interrupted"
    assert running.returncode == 130
    told = json.loads((tmp_path / "rota-out" / "check.json").read_text(encoding="utf-8"))
    assert (told["verdict"], [run["configuration"] for run in told["runs"]]) == ("undecided", ["core"])
    deadline = time.monotonic() + 30
    while (left := _of_session(running.pid)) and time.monotonic() < deadline:
        time.sleep(0.01)  # multiprocessing's own helper ends when it notices that nobody is left
    assert left == []


def _of_session(leader: int) -> list[str]:
    """The processes of a session that have not ended."""
    there = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = path.read_text(encoding="utf-8").rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(session) == leader and state != "Z":
            there.append(path.parent.name)
    return there


def test_processes_are_started_where_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(*sizes: int | None, asked: int | None = None, engine: str = "auto", cores: int = 2) -> int:
        monkeypatch.setattr(check_workers, "cores", lambda: cores)
        what = plan(*(job(str(number), office, size) for number, size in enumerate(sizes)), engine=engine)
        return processes(what, [one.build() for one in what.jobs], asked)

    assert count(WORTH, None) == 2
    assert count(WORTH - 1, None) == 1
    assert count(WORTH) == 1
    assert count(WORTH, None, engine="spark", asked=2) == 1
    assert count(*[WORTH] * 20, cores=16) == MOST
    assert count(*[WORTH] * 20, asked=16) == 16
    assert count(WORTH, WORTH, cores=16) == 2
    assert count(1, 1, asked=2) == 2
    assert count(WORTH, WORTH, asked=1) == 1
    what = plan(job("a", office, WORTH), job("b", office, WORTH))
    assert processes(what, [office(), replace(office(), ref=None)], 2) == 1


def test_small_ones_go_first_then_the_largest() -> None:
    sizes = (30_000, 100, None, 90_000, 5_000, 60_000)
    jobs = tuple(job(str(number), office, size) for number, size in enumerate(sizes))
    assert order(plan(*jobs)) == [1, 2, 4, 3, 5, 0]
    assert order(replace(plan(*jobs), mutant="m")) == [0, 1, 2, 4, 3, 5]


def test_the_verdict_line_tells_the_time_that_passed() -> None:
    work, _ = checking(plan(job("a", office), job("b", office)), 2)
    work.work()
    report = replace(work.report(), seconds_exploring=12.34)
    assert verdict_line(report, quiet=True).endswith(", in 12.3 s with 2 workers, sources unknown")


def test_a_usage_error_of_workers() -> None:
    told = CliRunner().invoke(main, ["check", "--scope", "tiny", "--workers", "0"])
    assert (told.exit_code, told.stdout) == (2, "")
    assert "--workers" in told.stderr
