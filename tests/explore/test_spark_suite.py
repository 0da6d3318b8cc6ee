"""Whole systems as tasks of Spark, without Spark: what a task answers, what the driver does, records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event, local
from typing import Any

import pytest
import toys

from harness.spark_here import Context
from harness.thinned import some
from rota.explore import CheckpointError, Limits, Result, Verdict, reference
from rota.explore.fast import search
from rota.explore.spark.finished import NAME, Finished
from rota.explore.spark.session import Cluster
from rota.explore.spark.suite import AHEAD, BYTES, PLAIN_BYTES, Answer, Lost, Tasks
from rota.explore.spark.worker import whole
from rota.explore.spark.worker.surroundings import NotRebuilt
from rota.explore.spark.worker.whole import TooLarge, Whole, explore_whole
from rota.kernel import System, SystemRef

HERE = Cluster(compiled=True, lasting=False)

ROOM = 100_000


def task(system: System, max_states: int | None = None, room: int = ROOM) -> Any:
    """What a task answers."""
    assert system.ref is not None
    (answer,) = explore_whole(Whole(system.ref, max_states, room))
    return answer


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker without numpy."""
    monkeypatch.setattr(whole, "find_spec", lambda name: None)


# ---- what a task answers


def toys_of(turn: int) -> pytest.MarkDecorator:
    """All toys, of which some are played in `make test`. turn: 0 or 1, others."""
    builds = [pytest.param(build, id=name) for name, build in toys.ALL.items()]
    return pytest.mark.parametrize("build", some(builds, 4, first=turn))


@toys_of(0)
def test_a_task_agrees_with_the_reference(build: Callable[[], System]) -> None:
    slow, answer = reference.explore(build()), task(build())
    assert (answer.answer, answer.violation) == (slow.answer, slow.violation)
    assert (answer.engine, answer.stats["whole"]) == ("spark", "fast")


@pytest.mark.usefixtures("bare")
@toys_of(1)
def test_so_does_a_worker_that_has_python_only(build: Callable[[], System]) -> None:
    slow, answer = reference.explore(build()), task(build())
    assert (answer.answer, answer.violation) == (slow.answer, slow.violation)
    assert (answer.engine, answer.stats["whole"]) == ("spark", "reference")


def test_a_system_that_does_not_fit() -> None:
    whole_ = task(toys.channel())
    assert isinstance(task(toys.channel(), room=whole_.distinct - 1), TooLarge)
    assert task(toys.channel(), room=whole_.distinct).answer == whole_.answer


def test_a_bound_that_was_asked_for_is_no_lack_of_room() -> None:
    bounded = reference.explore(toys.channel(), Limits(max_states=20))
    assert bounded.verdict is Verdict.UNDECIDED
    assert task(toys.channel(), max_states=20, room=20).answer == bounded.answer
    assert isinstance(task(toys.channel(), max_states=20, room=19), TooLarge)


def test_a_violation_before_the_room_is_full() -> None:
    short = reference.explore(toys.broken("initial"))
    assert task(toys.broken("initial"), room=1).violation == short.violation


def test_no_memory_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    def explore(*_: Any, **__: Any) -> Result:
        raise MemoryError

    monkeypatch.setattr(search, "explore", explore)
    assert isinstance(task(toys.ring()), TooLarge)


def test_errors_of_rota_are_answers_and_others_are_sparks() -> None:
    assert isinstance(task(replace(toys.ring(), ref=SystemRef("nowhere:ring"))), NotRebuilt)
    assert "machine m" in str(task(toys.ambiguous()))
    with pytest.raises(TypeError):
        task(replace(toys.ring(), ref=SystemRef("toys:ring", (("unknown", 1),))))


# ---- the driver


def given(tasks: Tasks, *systems: System) -> dict[int, Answer]:
    """The answers about systems, by their numbers."""
    for number, system in enumerate(systems):
        assert system.ref is not None
        tasks.give(number, system.name, system.ref, None)
    told = {}
    while tasks.busy:
        answer = tasks.answer()
        assert answer is not None
        told[answer[0]] = answer[1]
    return told


def test_answers_are_those_of_the_systems() -> None:
    systems = [toys.ring(), toys.broken("step"), toys.ambiguous()]
    with Tasks(Context(), HERE) as tasks:
        told = given(tasks, *systems)
    assert sorted(told) == [0, 1, 2]
    for number in (0, 1):
        slow, answer = reference.explore(systems[number]), told[number]
        assert isinstance(answer, Result)
        assert (answer.answer, answer.violation) == (slow.answer, slow.violation)
    assert "machine m" in str(told[2])


def test_room_is_what_the_memory_says() -> None:
    assert Tasks(Context(), HERE, BYTES * 7).room == 7
    assert Tasks(Context(), Cluster(compiled=False, lasting=False), PLAIN_BYTES * 7).room == 7
    with Tasks(Context(), HERE, BYTES * 7) as tasks:
        assert isinstance(given(tasks, toys.channel())[0], TooLarge)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Job aborted: Python worker exited unexpectedly (crashed)", Lost),
        ("PythonException: Traceback ...\nMemoryError", Lost),
        ("PythonException: Traceback ...\nTypeError: ring() got", RuntimeError),
    ],
)
def test_lost_workers_are_not_the_systems_errors(text: str, kind: type) -> None:
    class Failing(Context):
        def parallelize(self, items: Any, slices: int = 3) -> Any:
            raise RuntimeError(text)

    with Tasks(Failing(), HERE) as tasks:
        assert isinstance(given(tasks, toys.ring())[0], kind)


class Endless(Context):
    """Its jobs run until they are cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled: dict[str, Event] = {}
        self._mine = local()

    def setJobGroup(self, group: str, description: str) -> None:
        self.cancelled.setdefault(group, Event())
        self._mine.group = group

    def cancelJobGroup(self, group: str) -> None:
        self.cancelled.setdefault(group, Event()).set()

    def parallelize(self, items: Any, slices: int = 3) -> Any:
        assert self.cancelled[self._mine.group].wait(60)
        raise RuntimeError("cancelled")


def test_no_task_outlives_the_driver() -> None:
    context = Endless()
    ref = toys.ring().ref
    assert ref is not None
    with Tasks(context, HERE) as tasks:
        for number in range(context.defaultParallelism + AHEAD):
            assert tasks.free
            tasks.give(number, "ring", ref, None)
        assert not tasks.free
        assert tasks.answer(0.01) is None
        tasks.withdraw(1)
        assert tasks.busy == {0, 2, 3}
        threads = [*tasks._running.values(), *(thread for _, thread in tasks._withdrawn)]
    assert [thread.is_alive() for thread in threads] == [False] * 4
    assert all(event.is_set() for event in context.cancelled.values())


# ---- records


def record(folder: Path, system: System | None = None, resume: bool = True, **what: Any) -> Finished:
    return Finished(folder / "one", system or toys.broken("step"), Limits(resume=resume), what)


def test_a_finished_exploration_is_kept(tmp_path: Path) -> None:
    result = task(toys.broken("step"))
    assert record(tmp_path).read() is None
    record(tmp_path).write(result)
    assert record(tmp_path).read() == result
    assert [path.name for path in (tmp_path / "one").iterdir()] == [NAME]


def test_a_finished_exploration_says_how_often_it_judged(tmp_path: Path) -> None:
    system = toys.supposing()
    record(tmp_path, system).write(task(system))
    known = record(tmp_path, system).read()
    assert known is not None
    told = {one.name: (one.judged, one.given) for one in known.properties if one.judged is not None}
    assert told == {"up": (7, 7), "odd": (4, 2), "down": (7, 0)}


def test_one_that_a_bound_ended_is_not(tmp_path: Path) -> None:
    record(tmp_path).write(task(toys.channel(), max_states=20))
    assert record(tmp_path).read() is None


@pytest.mark.parametrize("at", [0, 40, 100, -1])
def test_a_damaged_record_is_none(tmp_path: Path, at: int) -> None:
    record(tmp_path).write(task(toys.broken("step")))
    path = tmp_path / "one" / NAME
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    assert record(tmp_path).read() is None
    path.write_bytes(bytes(content[:10]))
    assert record(tmp_path).read() is None


def test_a_record_of_something_else(tmp_path: Path) -> None:
    record(tmp_path).write(task(toys.broken("step")))
    with pytest.raises(CheckpointError, match="is of another search"):
        record(tmp_path, toys.broken("safety")).read()
    with pytest.raises(CheckpointError, match="its depths differs"):
        record(tmp_path, depths="none").read()
    with pytest.raises(CheckpointError, match="give --resume"):
        record(tmp_path, resume=False).read()
