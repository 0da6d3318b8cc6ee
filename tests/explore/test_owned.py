"""The Spark engine's rounds without Spark: tasks run here, forgetful and repeated as the test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import toys
from rota.explore import learn, owned, reference, spark
from rota.explore.freight import Freight
from rota.explore.learn import AmbiguousValue
from rota.explore.level import EngineError, Tables
from rota.explore.result import Limits
from rota.kernel import System, SystemRef, Turn


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owned, "_PROCESS", owned._Process())


class Here:
    """What the engine uses of a SparkContext. forget: before each task; tries: of each, the last counts."""

    def __init__(self, forget: bool = False, tries: int = 1) -> None:
        self.defaultParallelism = 3
        self.forget, self.tries = forget, tries
        self._numbers: list[int] = []
        self._task: Callable[[int], Any] = lambda number: None

    def parallelize(self, numbers: Iterable[int], slices: int) -> Here:
        self._numbers = list(numbers)
        return self

    def map(self, task: Callable[[int], Any]) -> Here:
        self._task = task
        return self

    def collect(self) -> list[Any]:
        return [self._try(number) for number in self._numbers]

    def _try(self, number: int) -> Any:
        for _ in range(self.tries):
            if self.forget:
                owned._PROCESS = owned._Process()
            answer = self._task(number)
        return answer


def agree(system: System, context: Here, limits: Limits | None = None, partitions: int | None = None) -> bool:
    slow = reference.explore(system, limits)
    fast = spark.explore(system, limits, context=context, partitions=partitions)
    return slow.answer == fast.answer and slow.violation == fast.violation


@pytest.mark.parametrize("name", toys.ALL)
def test_rounds_agree_with_the_reference(name: str) -> None:
    assert agree(toys.ALL[name](), Here())


@pytest.mark.parametrize("name", ["channel", "broken-safety", "deadlock"])
def test_a_process_that_remembers_nothing_reads_the_files(name: str) -> None:
    assert agree(toys.ALL[name](), Here(forget=True))


@pytest.mark.parametrize("name", ["channel", "broken-step"])
def test_a_task_tried_again_in_a_new_process_changes_nothing(name: str) -> None:
    assert agree(toys.ALL[name](), Here(forget=True, tries=2))


def test_a_task_that_failed_half_way_is_tried_again_in_the_same_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = owned._write
    failed: list[str] = []

    def fails_once(path: Any, content: bytes) -> None:
        if path.name == "manifest.json" and str(path) not in failed:
            failed.append(str(path))
            raise OSError("no space left")
        original(path, content)

    class Stubborn(Here):
        def _try(self, number: int) -> Any:
            try:
                return self._task(number)
            except OSError:
                return self._task(number)

    monkeypatch.setattr(owned, "_write", fails_once)
    assert agree(toys.channel(), Stubborn())
    assert len(failed) > 9


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_any_number_of_partitions(partitions: int) -> None:
    assert agree(toys.two_phase(), Here(), partitions=partitions)


@pytest.mark.parametrize("most", [0, 1, 30, 287, 288])
def test_limits_stop_after_the_same_level(most: int) -> None:
    assert agree(toys.two_phase(), Here(), Limits(max_states=most))


def test_progress_is_that_of_the_reference() -> None:
    seen: list[list[Any]] = []
    for explore in (reference.explore, lambda *a, **k: spark.explore(*a, context=Here(), **k)):
        calls: list[Any] = []
        explore(toys.ring(), progress=lambda *a, calls=calls: calls.append(a[:4]))
        seen.append(calls)
    assert seen[0] == seen[1]


def test_errors_of_machines_come_back_as_they_are() -> None:
    with pytest.raises(AmbiguousValue):
        spark.explore(toys.ambiguous(), context=Here())


def test_the_sample_is_checked_in_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    enter = learn.Learned._enter
    monkeypatch.setattr(
        learn.Learned, "_enter", lambda self, table, turns: enter(self, table, list(turns)[:1])
    )
    with pytest.raises(EngineError):
        spark.explore(toys.channel(), context=Here(forget=True))


def test_a_system_without_ref_is_refused() -> None:
    with pytest.raises(spark.NotShippable, match="give it a SystemRef"):
        spark.explore(System("loose", (toys.Toy("m", "m", (0,), lambda value: [Turn(0)]),)), context=Here())


def test_a_factory_that_workers_cannot_import_is_named() -> None:
    lost = replace(toys.ring(), ref=SystemRef("elsewhere:ring"))
    with pytest.raises(
        owned.NotRebuilt, match=r"cannot build elsewhere:ring \(No module named 'elsewhere'\)"
    ):
        spark.explore(lost, context=Here())


def test_blocks_carry_values_between_processes_that_number_them_otherwise() -> None:
    system = toys.two_phase()
    here, there = Tables(system), Tables(system)
    states = [t.target for t in system.successors(system.initial_states()[0])]
    rows = np.array([here.learned.intern_state(s) for s in states], np.int32)
    for state in reversed(states):
        there.learned.intern_state(state)
    sent, received = Freight(here.learned), Freight(there.learned)
    moved = received.unpack(sent.pack(rows))
    assert moved.tolist() != rows.tolist()
    assert [there.learned.state(row) for row in moved] == states
    assert received.unpack(sent.pack(rows)).tolist() == moved.tolist()
    assert len(received.unpack(sent.pack(rows[:0]))) == 0
