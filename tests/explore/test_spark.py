"""The Spark engine on Spark: one context for all tests, small systems, workers that are killed or bare."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mistakes
import pytest
import toys
import twin

from rota.explore import Limits, Result, reference
from rota.explore.result import MissingExtra
from rota.explore.spark import archive, memory, session
from rota.explore.spark import engine as spark
from rota.explore.spark.suite import Answer, Lost, Tasks
from rota.explore.spark.worker.whole import TooLarge
from rota.kernel import System, UserError


@pytest.fixture(scope="module")
def context() -> Iterator[Any]:
    with session.spark_context(py_files=[one.__file__ for one in (toys, mistakes, twin)]) as running:
        yield running


def agree(system: System, context: Any, limits: Limits | None = None, **how: Any) -> bool:
    slow = reference.explore(system)
    fast = spark.explore(system, limits, context=context, **how)
    return slow.answer == fast.answer and slow.violation == fast.violation


@pytest.mark.long
@pytest.mark.spark
def test_spark_agrees_with_the_reference_with_more_partitions_than_cores(context: Any) -> None:
    assert agree(toys.channel(), context, partitions=5)


@pytest.mark.spark
def test_spark_agrees_with_the_reference_by_files(context: Any, tmp_path: Path) -> None:
    assert agree(toys.broken("step"), context, Limits(checkpoint=tmp_path))


@pytest.mark.spark
def test_a_killed_worker_changes_nothing(context: Any, tmp_path: Path) -> None:
    flag = tmp_path / "killed"
    assert agree(toys.assassin(str(flag), os.getpid()), context)
    assert flag.exists()


@pytest.mark.spark
def test_errors_of_machines_are_not_buried_in_javas(context: Any) -> None:
    with pytest.raises(UserError, match="machine m"):
        spark.explore(toys.ambiguous(), context=context)


@pytest.mark.spark
@pytest.mark.parametrize("pair", [("token", "twin"), ("number", "truth")])
def test_values_of_different_processes_are_told_apart(context: Any, pair: tuple[str, str]) -> None:
    with pytest.raises(UserError) as error:
        spark.explore(mistakes.parting(*pair), context=context, partitions=3)
    with pytest.raises(UserError) as slow:
        reference.explore(mistakes.parting(*pair))
    assert str(error.value) == str(slow.value)
    assert len(error.value.path or ()) == 1


@pytest.fixture
def bare(context: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers have Python, Spark's own modules and rota's archive; no packages."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setattr(context, "pythonExec", str(python))
    context.addPyFile(str(archive.write(tmp_path / "rota-bare.zip")))


@pytest.mark.spark
@pytest.mark.usefixtures("bare")
def test_workers_with_nothing_but_the_archive(context: Any) -> None:
    said: list[str] = []
    system = toys.channel()
    result = spark.explore(system, context=context, say=said.append)
    assert result.answer == reference.explore(system).answer
    assert result.stats["compiled"] is False
    assert any("the workers have no numba: plain Python" in line for line in said)


# ---- whole systems, a task each


def wholes(context: Any, *systems: System, ceiling: int | None = None) -> list[Answer]:
    """The answers about systems, in their order."""
    told = {}
    with Tasks(context, session.look_at(context, lambda line: None), ceiling=ceiling) as tasks:
        for number, system in enumerate(systems):
            assert system.ref is not None
            tasks.give(number, system.name, system.ref, None)
        while tasks.busy:
            answer = tasks.answer()
            assert answer is not None
            told[answer[0]] = answer[1]
    return [answer for _, answer in sorted(told.items())]


def same(system: System, answer: Answer, by: str) -> bool:
    """Whether an answer is the reference's, by an engine of that name in the worker."""
    slow = reference.explore(system)
    assert isinstance(answer, Result)
    assert (answer.engine, answer.stats["whole"]) == ("spark", by)
    return slow.answer == answer.answer and slow.violation == answer.violation


@pytest.mark.spark
def test_many_systems_each_by_a_task(context: Any) -> None:
    systems = [build() for build in toys.ALL.values()]
    told = wholes(context, *systems, toys.ambiguous())
    for system, answer in zip(systems, told[:-1], strict=True):
        assert same(system, answer, "fast"), system.name
    assert isinstance(told[-1], UserError)


@pytest.mark.spark
def test_a_task_whose_worker_is_killed_is_done_again(context: Any, tmp_path: Path) -> None:
    flag = tmp_path / "killed"
    system = toys.assassin(str(flag), os.getpid())
    (answer,) = wholes(context, system)
    assert same(system, answer, "fast")
    assert flag.exists()


@pytest.mark.long
@pytest.mark.spark
def test_a_task_whose_workers_are_all_killed_is_lost(context: Any) -> None:
    answer, other = wholes(context, toys.assassin("", os.getpid()), toys.ring())
    assert isinstance(answer, Lost)
    assert same(toys.ring(), other, "fast")


@pytest.mark.spark
def test_a_task_has_no_more_memory_than_its_share(context: Any) -> None:
    """Four million states; they would fit if there was no share."""
    (answer,) = wholes(context, toys.counters(4, 44), ceiling=memory.WORKER * 3 // 4)
    assert isinstance(answer, TooLarge)


@pytest.mark.spark
@pytest.mark.usefixtures("bare")
def test_workers_without_packages_explore_by_the_reference_engine(context: Any) -> None:
    (answer,) = wholes(context, toys.broken("step"))
    assert same(toys.broken("step"), answer, "reference")


def test_missing_pyspark_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "rota\[spark\]"'), session.spark_context():
        pass


def test_missing_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(session.MissingJava, match="needs Java, and there is none"), session.spark_context():
        pass


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "Java 11, too old"),
        ('java version "1.8.0_292"', "Java 8, too old"),
        ("what?", "Java of unknown version"),
    ],
)
def test_old_java_is_named(
    answer: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(session.MissingJava, match=message), session.spark_context():
        pass
