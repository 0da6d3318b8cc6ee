"""Brokers of Apache Kafka as a target: shared, replaced when dead, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rota.conformance.connections.connection import Connection
from rota.conformance.dialogues.broker_settings import INITIAL_DELAY, MIN_SESSION
from rota.conformance.targets.kafka_broker import Brokers, java_for
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched

KAFKA = "kafka-4.4.0"


@pytest.fixture
def brokers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Brokers]:
    there()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with closing(Brokers(RELEASES[KAFKA])) as pool:
        yield pool
    assert gone(tmp_path)


def there() -> None:
    try:
        fetched(RELEASES[KAFKA])
    except NoJars as cause:
        pytest.skip(f"{KAFKA}: {cause}")


def of(folder: Path) -> list[int]:
    """The processes that say the folder in their command lines, and the JVMs that work in it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = process.joinpath("cmdline").read_bytes()
            where = os.readlink(process / "cwd")
        except OSError:
            continue
        guard = b"rota.conformance.targets.guard" in line and str(folder).encode() in line
        if where.startswith(f"{folder}/") or guard:
            found.append(int(process.name))
    return found


def gone(folder: Path) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if not of(folder) and not list(folder.glob("rota-kafka-*")):
            return True
        time.sleep(0.05)
    return False


def test_its_classes_come_from_an_archive() -> None:
    there()
    jvm = java_for(RELEASES[KAFKA])
    tool = ("kafka.tools.StorageTool", "random-uuid")
    loaded = subprocess.run(
        (*jvm[:-2], "-Xlog:class+load", *jvm[-2:], *tool),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    classes = [line for line in loaded.splitlines() if " source: " in line]
    assert sum(" source: shared objects file" in line for line in classes) > len(classes) * 0.9
    assert any(" org.apache.kafka." in line and line.endswith("(top)") for line in classes)
    quiet = subprocess.run((*jvm, *tool), capture_output=True, text=True, check=True, timeout=60)
    assert "[warning]" not in quiet.stdout + quiet.stderr


def test_shared_by_equal_settings_and_replaced_when_dead(brokers: Brokers, tmp_path: Path) -> None:
    first = brokers.start({INITIAL_DELAY: 300})
    assert brokers.start({INITIAL_DELAY: 300, MIN_SESSION: 1000}) is first
    first.stop()
    assert first.post_mortem(0) is None
    with closing(Connection(first.address, "test")) as connection:
        assert connection.receive(connection.send("ApiVersions", 0, {}), 10) is not None

    for process in of(tmp_path):
        os.kill(process, signal.SIGKILL)
    assert "SIGKILL" in (first.post_mortem(5) or "")
    second = brokers.start({INITIAL_DELAY: 300})
    assert second is not first
    assert second.post_mortem(0) is None


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_no_broker_outlives_a_run(tmp_path: Path, number: signal.Signals) -> None:
    there()
    command = [sys.executable, "-m", "rota", "conform", "--target", KAFKA, "--out", str(tmp_path)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([*command, "leave"], env=environment, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline().startswith(b"rota conform: target kafka-4.4.0")
        assert len(of(tmp_path)) >= 2
        run.send_signal(number)
        run.communicate(timeout=30)
    assert gone(tmp_path)
