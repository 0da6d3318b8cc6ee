"""`rota check --engine spark`: what the engine is given and what is told; a cluster on loopback."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rota.cli.main import main
from rota.explore import reference
from rota.explore.spark import engine as spark
from rota.explore.spark import session
from rota.explore.spark.answers import ExecutorsLost
from rota.explore.spark.memory import NoMemory
from rota.explore.spark.worker.surroundings import NotRebuilt

TOYS = Path(__file__).parents[1] / "systems"
OFFICE = ("--system", "ticket_office:office", "--engine", "spark")

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(TOYS))
    monkeypatch.setenv("PYTHONPATH", "")

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["check", *arguments])

    return run


class Planted:
    """Stands in for Spark: counts contexts, keeps what the engine is given, explores plainly."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began = self.ended = 0
        self.masters: list[str | None] = []
        self.heaps: list[int | None] = []
        self.given: list[dict[str, Any]] = []
        self.limits: list[Any] = []
        self.error: Exception | None = None
        monkeypatch.setattr(session, "spark_context", self.context)
        monkeypatch.setattr(spark, "explore", self.explore)

    @contextmanager
    def context(self, master: str | None = None, py_files: Any = (), **more: Any) -> Iterator[Any]:
        self.began += 1
        self.masters.append(master)
        self.heaps.append(more["memory"])
        try:
            yield SimpleNamespace(master="local[2,4]", version="4", defaultParallelism=2)
        finally:
            self.ended += 1

    def explore(self, system: Any, limits: Any, *, progress: Any, say: Any, **given: Any) -> Any:
        say("the workers are idle")
        self.given.append(given)
        self.limits.append(limits)
        if self.error:
            raise self.error
        result = reference.explore(system)
        levels = given["local_levels"]
        if levels == 1:
            return result
        witnesses = [p if p.depth is None else replace(p, depth=p.depth + 3) for p in result.properties]
        stats = {"local_levels": levels}
        return replace(result, depth=result.depth + 3, properties=tuple(witnesses), stats=stats)


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Planted:
    return Planted(monkeypatch)


def test_all_configurations_share_a_context(invoke: Invoke, planted: Planted) -> None:
    names = ("core", "no-handshake")
    chosen = [part for name in names for part in ("--configuration", name)]
    result = invoke("--engine", "spark", "--scope", "tiny", *chosen, "--by-level", "--partitions", "3")
    assert result.exit_code == 0, result.stderr
    assert (planted.began, planted.ended, len(planted.given)) == (1, 1, 2)
    assert {(given["partitions"], given["local_levels"]) for given in planted.given} == {(3, 1)}
    assert result.stderr.count("the workers are idle") == 1
    assert "Spark 4 on local[2,4]: 2 tasks at a time" in result.stderr
    assert "idle" not in result.stdout


def test_notes_stay_out_of_json(invoke: Invoke, planted: Planted) -> None:
    result = invoke(*OFFICE, "--json", "--master", "local[2]")
    assert json.loads(result.stdout)["verdict"] == "holds"
    assert "the workers are idle" in result.stderr
    assert planted.masters == ["local[2]"]
    assert invoke(*OFFICE, "--quiet").stderr == ""


def test_depths_are_told_as_bounds_where_only_the_verdict_was_asked_for(
    invoke: Invoke, planted: Planted
) -> None:
    core = ("--engine", "spark", "--scope", "tiny", "--configuration", "core", "--by-level")
    exact, result = invoke(*core), invoke(*core, "--verdict-only")
    assert [given["local_levels"] for given in planted.given] == [1, 4]
    assert result.exit_code == 0, "a depth that is a bound is not compared with the pinned one"
    assert ("verdict only: " in exact.stderr, "verdict only: " in result.stderr) == (False, True)
    assert (" <=23 " in exact.stdout, " <=23 " in result.stdout) == (False, True)
    assert ("first after at most" in exact.stdout, "first after at most" in result.stdout) == (False, True)


def test_a_checkpoint_is_named_so_that_every_worker_finds_it(
    invoke: Invoke, planted: Planted, tmp_path: Path
) -> None:
    assert invoke(*OFFICE, "--checkpoint", "kept", "--resume-if-any").exit_code == 0
    (limits,) = planted.limits
    assert (limits.checkpoint, limits.resume, limits.memory) == (tmp_path / "kept" / "office", True, None)


def test_memory_is_divided_among_java_driver_and_workers(invoke: Invoke, planted: Planted) -> None:
    assert invoke(*OFFICE).exit_code == 0
    assert invoke(*OFFICE, "--master", "local[2]", "--memory", "4096").exit_code == 0
    driver = 256 + (4096 - 1744) // 16
    worker = ((4096 - 512 - 400 - driver) << 20) // 2
    assert planted.heaps == [None, 512 << 20]
    assert [given["ceiling"] for given in planted.given] == [None, worker]
    assert [limits.memory for limits in planted.limits] == [None, 2 * (worker - (256 << 20))]


@pytest.mark.parametrize(("master", "contexts"), [("local[2]", 0), ("local[2,4]", 0), ("local[*]", 1)])
def test_memory_that_is_less_than_workers_begin_with(
    master: str, contexts: int, invoke: Invoke, planted: Planted
) -> None:
    """Refused before Spark starts, where the master's name tells how many tasks there will be."""
    result = invoke(*OFFICE, "--master", master, "--memory", "1743")
    assert (result.exit_code, planted.given, planted.began, planted.ended) == (2, [], contexts, contexts)
    assert "give 1744 at least, or have fewer tasks, as --master 'local[1]'" in result.stderr.splitlines()[-1]
    assert invoke(*OFFICE, "--master", master, "--memory", "1744").exit_code == 0


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (spark.NotShippable("cannot be rebuilt; give it a SystemRef"), 2, "give it a SystemRef"),
        (NotRebuilt("a worker cannot build x; name its file in py_files"), 2, "its file with --py-files"),
        (spark.NoSpace("no space is left; make room"), 2, "make room"),
        (ExecutorsLost("executors were lost; name a --checkpoint DIR"), 3, "name a --checkpoint DIR"),
        (NoMemory("a worker needs more; give more"), 2, "give more"),
    ],
)
def test_errors_are_told_in_one_line_and_the_context_is_stopped(
    invoke: Invoke, planted: Planted, error: Exception, code: int, line: str
) -> None:
    planted.error = error
    result = invoke(*OFFICE, "--json")
    assert (result.exit_code, result.stdout, planted.ended) == (code, "", 1)
    assert line in result.stderr.splitlines()[-1]


def test_what_spark_gives_up_is_no_internal_error(invoke: Invoke, planted: Planted) -> None:
    raised = type("Py4JJavaError", (Exception,), {"__module__": "py4j.protocol"})
    planted.error = raised("An error occurred\n: org.apache.SparkException: Job aborted\n\tat somewhere")
    result = invoke(*OFFICE)
    assert result.exit_code == 3
    assert result.stderr.splitlines()[-1].startswith("rota: Spark gave up (org.apache.SparkException: Job ab")


def test_an_interrupt_is_one_whatever_pyspark_makes_of_it(
    invoke: Invoke, planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            raise UnboundLocalError("sockfile")

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(spark, "explore", interrupted)
    result = invoke(*OFFICE)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (130, "rota: interrupted")
    assert planted.ended == 1
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--master", "local[2]"], "--master is for Spark; add --engine spark"),
        (["--engine", "fast", "--verdict-only"], "--verdict-only is for Spark; add"),
        ([*OFFICE, "--workers", "2"], "--workers is not for engine spark; say --master 'local[N]'"),
        ([*OFFICE, "--symmetry"], "--symmetry is not for engine spark; use --engine fast"),
        ([*OFFICE, "--resume"], "--resume needs the folder to go on with"),
        ([*OFFICE, "--py-files", "nowhere.py"], "nowhere.py"),
        ([*OFFICE, "--master", "spark://here"], "cannot read the master spark://here; write --master spark:"),
        (
            [*OFFICE, "--master", "here"],
            "there is no Spark master 'here'; name one as local[2], spark://HOST",
        ),
    ],
)
def test_bad_input_gets_one_line_and_exit_2(
    invoke: Invoke, planted: Planted, arguments: list[str], line: str
) -> None:
    result = invoke(*arguments)
    assert (result.exit_code, planted.began) == (2, 0)
    assert result.stderr.startswith("rota: ")
    assert line in result.stderr


def test_a_master_that_is_not_there_is_told_at_once(invoke: Invoke, planted: Planted) -> None:
    result = invoke(*OFFICE, "--json", "--master", f"spark://127.0.0.1:{free_port()}")
    assert (result.exit_code, planted.began, result.stderr.count("\n")) == (2, 0, 1)
    assert "no Spark master answers at" in result.stderr


# ---- a cluster


HOSTS = ("127.0.0.1", "127.0.0.2")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """A standalone master, and two workers with addresses and folders of their own: two hosts to Spark."""
    import pyspark

    home = Path(pyspark.__file__).parent
    port = free_port()
    environment = {**os.environ, "SPARK_HOME": str(home)}
    environment.pop("PYTHONPATH", None)
    url = f"spark://127.0.0.1:{port}"
    started = []

    def start(kind: str, host: str, *more: str) -> None:
        here = tmp_path / host
        here.mkdir(exist_ok=True)
        command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", "--host", host, *more]
        own = {**environment, "SPARK_LOCAL_IP": host, "SPARK_LOCAL_DIRS": str(here)}
        with (here / f"{kind}.log").open("wb") as log:
            started.append(subprocess.Popen([*command, "--webui-port", "0"], env=own, stdout=log, stderr=log,
                                            start_new_session=True))  # fmt: skip

    try:
        start("master.Master", HOSTS[0], "--port", str(port))
        wait_until(lambda: answers(port))
        for host in HOSTS:
            work = ["--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / host / "apps")]
            start("worker.Worker", host, *work, url)
        logs = [tmp_path / host / "worker.Worker.log" for host in HOSTS]
        wait_until(lambda: all("registered with master" in log.read_text() for log in logs))
        yield url
    finally:
        for process in reversed(started):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(20)


def wait_until(ready: Callable[[], bool]) -> None:
    for _ in range(600):
        if ready():
            return
        time.sleep(0.1)
    raise AssertionError("the cluster does not start")


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOSTS[0], port)) == 0


@pytest.mark.long
@pytest.mark.spark
def test_on_a_standalone_cluster(cluster: str, tmp_path: Path) -> None:
    """By levels two searches, for only in the second one tasks were drawn away from their files."""
    toy = TOYS / "ticket_office.py"

    def runs(*more: str) -> list[dict[str, Any]]:
        what = ["--engine", "spark", "--scope", "tiny", "--configuration", "core", "--configuration", "leave"]
        command = [sys.executable, "-m", "rota", "check", *what, "--master", cluster, *more]
        done = subprocess.run(
            [*command, "--py-files", str(toy), "--json", "--stats"], cwd=tmp_path, capture_output=True,
            env={**os.environ, "SPARK_LOCAL_IP": HOSTS[0]}, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "Spark's web interface: http" in done.stderr
        told: list[dict[str, Any]] = json.loads(done.stdout)["runs"]
        assert [run["pinned"] for run in told] == [True, True]
        return told

    by_level = runs("--by-level")
    assert [run["stats"]["rounds_repeated"] for run in by_level] == [0, 0], "tasks stay with their files"
    for host in HOSTS:
        assert list(tmp_path.glob(f"{host}/apps/app-*/*/ticket_office.py")), "the executor got the module"
    assert [run["stats"]["whole"] for run in runs()] == ["fast", "fast"]
