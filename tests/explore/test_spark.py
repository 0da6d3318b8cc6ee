"""The Spark engine on Spark: one context for all tests, small systems, a worker that is killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toys
from rota.explore import reference, session, spark
from rota.explore.engines import MissingExtra
from rota.explore.learn import AmbiguousValue
from rota.kernel import System


@pytest.fixture(scope="module")
def context() -> Iterator[Any]:
    with session.spark_context(py_files=[str(Path(toys.__file__))]) as running:
        yield running


def agree(system: System, context: Any, partitions: int | None = None) -> bool:
    slow = reference.explore(system)
    fast = spark.explore(system, context=context, partitions=partitions)
    return slow.answer == fast.answer and slow.violation == fast.violation


@pytest.mark.spark
@pytest.mark.parametrize("name", ["two-phase", "channel", "scatter", "die-hard", "broken-step", "deadlock"])
def test_spark_agrees_with_the_reference(context: Any, name: str) -> None:
    assert agree(toys.ALL[name](), context)


@pytest.mark.spark
def test_more_partitions_than_workers(context: Any) -> None:
    assert agree(toys.ring(), context, partitions=5)


@pytest.mark.spark
def test_a_killed_worker_changes_nothing(context: Any, tmp_path: Path) -> None:
    flag = tmp_path / "killed"
    system = toys.assassin(str(flag), os.getpid())
    result = spark.explore(system, context=context)
    assert flag.exists()
    assert result.answer == reference.explore(system).answer
    assert result.distinct == 5**3


@pytest.mark.spark
def test_errors_of_machines_are_not_buried_in_javas(context: Any) -> None:
    with pytest.raises(AmbiguousValue, match="machine m"):
        spark.explore(toys.ambiguous(), context=context)


@pytest.mark.spark
def test_workers_import_rota_from_the_archive(context: Any) -> None:
    def where(_: int) -> str:
        from rota.explore import owned

        return str(owned.__file__)

    assert all("packages.zip" in file for file in context.parallelize(range(2), 2).map(where).collect())


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
