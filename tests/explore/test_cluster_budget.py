"""How memory is divided among Spark's processes, and that they are held to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import greedy
import numpy as np
import pytest
import toys
from hypothesis import example, given
from hypothesis import strategies as st

from harness.spark_here import Context
from rota.explore import Limits, reference
from rota.explore.spark import engine as spark
from rota.explore.spark import memory, session
from rota.explore.spark.memory import JAVA_BESIDE, MIB, STATES, WORKER, NoMemory, TooLittle, divide, heap
from rota.explore.spark.worker import round

WIDE = memory.MORE // 8 + MIB
"""Numbers of eight bytes that are more than a held process may add."""


@given(st.integers(1, 1 << 17), st.integers(1, 256), st.booleans())
@example(1 << 17, 1, True)
def test_the_shares_add_up_to_the_whole_at_most(mib: int, tasks: int, java: bool) -> None:
    whole = mib * MIB
    try:
        shares = divide(whole, tasks, java=java)
    except TooLittle as error:
        least = int(str(error).partition("give ")[2].split()[0])
        assert mib < least
        assert divide(least * MIB, tasks, java=java).states >= tasks * STATES  # type: ignore[operator]
        return
    assert shares.driver
    assert shares.worker
    taken = shares.driver + tasks * shares.worker + (heap(whole) + JAVA_BESIDE if java else 0)
    assert whole - tasks < taken <= whole
    assert shares.states == tasks * (shares.worker - WORKER)


@pytest.mark.parametrize(("mib", "heap_mib"), [(1, 512), (8192, 1024), (1 << 20, 4096)])
def test_the_heap_is_an_eighth_within_bounds(mib: int, heap_mib: int) -> None:
    assert heap(mib * MIB) == heap_mib * MIB


def test_java_is_told_its_share(tmp_path: Path) -> None:
    """As settings: a process that has Java already keeps the heap with which that began."""
    told, untold = session._quiet(tmp_path, False, 768 * MIB), session._quiet(tmp_path, False, None)
    assert told["spark.driver.memory"] == "768m"
    assert told["spark.driver.extraJavaOptions"].endswith(memory.JAVA_OPTIONS)
    sizes = [int(option.partition("=")[2].removesuffix("m")) for option in memory.JAVA_OPTIONS.split()]
    assert sum(sizes) * MIB < JAVA_BESIDE
    assert "spark.driver.memory" not in untold


def test_tables_that_grow_leave_less_for_states() -> None:
    now = memory._data()
    assert now > 0
    assert memory.room(512 * MIB, None) == 512 * MIB
    assert memory.room(512 * MIB, now + 3 * 1024 * MIB) == 512 * MIB
    assert 180 * MIB < memory.room(512 * MIB, now + 300 * MIB) <= 200 * MIB
    assert memory.room(512 * MIB, now - MIB) == STATES


def test_a_process_is_held_to_its_share_and_let_go() -> None:
    with pytest.raises(NoMemory, match="give more"), memory.held(1):
        np.empty(WIDE)
    assert np.empty(WIDE).size
    with memory.held(None):
        assert np.empty(WIDE).size


def test_a_limit_that_was_there_before_stays() -> None:
    code = (
        "import resource as r; r.setrlimit(r.RLIMIT_DATA, (3 << 30, r.getrlimit(r.RLIMIT_DATA)[1]))\n"
        "from rota.explore.spark.memory import held, hold\n"
        "with held(1 << 30): inside = r.getrlimit(r.RLIMIT_DATA)[0]\n"
        "hold(4 << 30)\n"
        "print(inside >> 30, r.getrlimit(r.RLIMIT_DATA)[0] >> 30)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "3"]


@pytest.mark.parametrize(
    ("master", "tasks"),
    [
        ("local", 1),
        ("local[3]", 3),
        ("local[12,4]", 12),
        ("local[*]", None),
        ("local-cluster[2,1,1024]", None),
    ],
)
def test_tasks_that_a_masters_name_tells(master: str, tasks: int | None) -> None:
    assert session.tasks_of(master) == tasks


@pytest.mark.parametrize(("folder", "go_on"), [(False, "at a time"), (True, "and go on with --resume")])
def test_a_task_without_memory_is_told_as_such(
    folder: bool, go_on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> Any:
        raise MemoryError

    limits = Limits(memory=MIB, checkpoint=tmp_path if folder else None)
    monkeypatch.setattr(round.Absorber, "finish", refused)
    with pytest.raises(NoMemory, match=f"a worker needs more than its share.*{go_on}$"):
        spark.explore(toys.counters(), limits, context=Context())


@pytest.mark.long
@pytest.mark.spark
def test_workers_are_held_to_their_share_and_let_go() -> None:
    system, memory = greedy.counters(1024), Limits(memory=64 * MIB)
    files = [str(Path(module.__file__)) for module in (toys, greedy)]
    with session.spark_context(py_files=files) as context:
        with pytest.raises(NoMemory, match=r"a worker needs more than its share of the memory \(700 MiB\)"):
            spark.explore(system, memory, context=context, ceiling=700 * MIB)
        roomy = spark.explore(system, memory, context=context, ceiling=2048 * MIB)
        assert roomy.answer == reference.explore(system).answer
        assert spark.explore(system, memory, context=context).answer == roomy.answer
