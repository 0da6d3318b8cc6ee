"""The Spark engine on two executors: what they are sent, what they share, one is killed. `make test-long`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import toys

from harness import spark_cluster
from harness.spark_cluster import cluster
from rota.explore import Limits, Result, reference
from rota.explore.spark import engine as spark
from rota.explore.spark import session
from rota.explore.spark.suite import Tasks
from rota.kernel import System

pytestmark = [pytest.mark.spark, pytest.mark.long]

SYSTEMS = str(Path(toys.__file__).parent)


@pytest.fixture(scope="module")
def context() -> Iterator[Any]:
    with cluster(toys) as running:
        yield running


def agreed(system: System, context: Any, limits: Limits | None = None, **how: Any) -> dict[str, Any]:
    """What the engine says of its run, if the answer is the reference's."""
    slow = reference.explore(system)
    fast = spark.explore(system, limits, context=context, partitions=3, **how)
    assert fast.answer == slow.answer
    assert fast.violation == slow.violation
    return dict(fast.stats)


def test_executors_without_a_checkpoints_folder(context: Any) -> None:
    stats = agreed(toys.broken("safety"), context)
    assert (stats["exchange"], stats["rounds_repeated"]) == ("shuffle", 0)


def test_an_executor_is_killed(context: Any, tmp_path: Path) -> None:
    """Blocks that it had are fetched from the other one; its files are still on the host."""
    flag = tmp_path / "killed"
    agreed(toys.assassin(str(flag), os.getpid(), generations=2), context)
    assert flag.exists()


@pytest.fixture
def bare(context: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers have Python and Spark's own modules; no packages, and no rota."""
    monkeypatch.setattr(context, "pythonExec", spark_cluster.bare(tmp_path / "bare"))


@pytest.mark.usefixtures("bare")
def test_workers_without_rota_are_sent_its_archive(context: Any) -> None:
    assert agreed(toys.die_hard(9), context)["compiled"] is False


@pytest.mark.usefixtures("bare")
def test_whole_systems_for_workers_without_rota(context: Any) -> None:
    assert explored_whole(toys.die_hard(9), context).stats["whole"] == "reference"


def explored_whole(system: System, context: Any) -> Result:
    """What one task makes of a system, if that is the reference's answer."""
    assert system.ref is not None
    with Tasks(context, session.look_at(context, lambda line: None)) as tasks:
        tasks.give(0, system.name, system.ref, None)
        told = tasks.answer()
    assert told is not None
    slow, result = reference.explore(system), told[1]
    assert isinstance(result, Result)
    assert (result.answer, result.violation) == (slow.answer, slow.violation)
    return result


# ---- what is killed


def test_an_executor_is_killed_that_explores_a_whole_system(context: Any, tmp_path: Path) -> None:
    flag = tmp_path / "killed"
    explored_whole(toys.assassin(str(flag), os.getpid(), generations=2), context)
    assert flag.exists()


def test_an_executor_is_killed_and_there_is_a_checkpoint(context: Any, tmp_path: Path) -> None:
    flag = tmp_path / "killed"
    system = toys.assassin(str(flag), os.getpid(), generations=2)
    agreed(system, context, Limits(checkpoint=tmp_path / "run"))
    assert flag.exists()


CHILD = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import toys
from rota.explore import Limits
from rota.explore.spark import engine as spark

def progress(depth, *_):
    if depth == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

limits = Limits(checkpoint=Path(sys.argv[2]), resume=True)
spark.explore(toys.channel(), limits, partitions=2, py_files=[toys.__file__], progress=progress)
"""


def test_the_driver_is_killed_and_a_cluster_goes_on(context: Any, tmp_path: Path) -> None:
    for depth in (2, 5):
        given = [sys.executable, "-c", CHILD, SYSTEMS, str(tmp_path), str(depth)]
        assert subprocess.run(given).returncode == -signal.SIGKILL
    agreed(toys.channel(), context, Limits(checkpoint=tmp_path, resume=True))


def test_copies_of_slow_tasks(context: Any, tmp_path: Path) -> None:
    context.stop()  # there is one context at a time; this test is the last
    eager = {
        "spark_speculation": "true",
        "spark_speculation_interval": "20ms",
        "spark_speculation_multiplier": "1.01",
        "spark_speculation_quantile": "0.1",
    }
    with cluster(toys, **eager) as running:
        with pytest.raises(spark.NotSupported, match=r"spark\.speculation is on"):
            spark.explore(toys.ring(), context=running)
        for name in ("channel", "broken-safety"):
            agreed(toys.ALL[name](), running, Limits(checkpoint=tmp_path / name))
