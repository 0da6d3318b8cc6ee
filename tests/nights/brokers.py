"""What nights are played on: brokers in processes of their own that write a log and keep their groups."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from harness.kafka_on_disk import KafkaOnDisk, lead
from rota.conformance.dialogues.negotiation import wait_until_ready
from rota.conformance.targets.kafka_jars import RELEASES, Release
from rota.conformance.targets.ports import free_ports

USUAL = {
    "group.initial.rebalance.delay.ms": 300,
    "group.min.session.timeout.ms": 1000,
    "offsets.topic.num.partitions": 1,
}
"""A group in a second, and all groups in one partition."""

_LIFE = 3600
"""Seconds after which a broker that nobody ended is ended."""

_PATTERN = "[%d] %p %m (%c)%n"


class Broker(Protocol):
    """One that can be ended and started again on what it keeps."""

    address: str
    log: Path
    data: Path

    def start(self) -> None:
        """Starts it and waits until it coordinates."""

    def stop(self) -> None:
        """Ends it by force."""

    def fill_disk(self) -> bool:
        """Has every write to what it keeps fail from now on; False where that cannot be done."""


class Rota:
    """`rota serve` with a folder."""

    def __init__(self, folder: Path, settings: Mapping[str, int]) -> None:
        (port,) = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        self.log, self.data = folder / "server.log", folder / "data"
        self._settings = {**USUAL, **settings}
        self._process: subprocess.Popen[bytes] | None = None
        self._copying: threading.Thread | None = None

    def start(self) -> None:
        port = self.address.rpartition(":")[2]
        settings = [f"--set={name}={value}" for name, value in self._settings.items()]
        command = [sys.executable, "-m", "rota", "serve", f"--port={port}", f"--data-dir={self.data}"]
        self._process = subprocess.Popen(
            ["timeout", "--signal=KILL", str(_LIFE), *command, "--log-level=info", *settings],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._copying = threading.Thread(target=self._copy, args=(self._process,), daemon=True)
        self._copying.start()
        _ready(self.address)

    def _copy(self, process: subprocess.Popen[bytes]) -> None:
        """By way of a pipe, so that a limit on what the server writes does not meet its log."""
        assert process.stderr is not None
        with self.log.open("ab", buffering=0) as file:
            for line in process.stderr:
                file.write(line)

    def stop(self) -> None:
        if self._process is not None:
            _kill_group(self._process)
            assert self._copying is not None
            self._copying.join(10)
            self._process = None

    def fill_disk(self) -> bool:
        assert self._process is not None
        for process in _below(self._process.pid):
            resource.prlimit(process, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        return True


class Kafka:
    """A release of Apache Kafka whose log has what the group coordinator says.

    Of its two disks the one with the group may fail; the one with the cluster's metadata goes on.
    """

    def __init__(self, release: str, folder: Path, settings: Mapping[str, int]) -> None:
        self.log, self.data = folder / "server.log", folder / "data"
        folder.mkdir(parents=True, exist_ok=True)
        self._disks = [self.data / name for name in _DISKS] if release in TWO_DISKS else []
        places = {"log.dirs": ",".join(map(str, self._disks)), "metadata.log.dir": folder / "metadata"}
        several = places if self._disks else {}
        self._kafka = KafkaOnDisk(
            folder, {**USUAL, **settings, **several}, _logging(RELEASES[release], self.log)
        )
        self.address = self._kafka.address

    def start(self) -> None:
        self._kafka.start()

    def stop(self) -> None:
        self._kafka.stop()

    def fill_disk(self) -> bool:
        """No file of it may be longer than that of the group is now, which is the longest for what is stored
        before. A Kafka whose only disk fails ends itself; that is another night."""
        if not self._disks:
            return False
        for number in range(3):
            lead(self.address, f"large-{number}", subscription=bytes(_LARGE))
        (segment,) = self.data.glob("*/__consumer_offsets-*/*.log")
        for process in _below(self._kafka.session):
            resource.prlimit(process, resource.RLIMIT_FSIZE, (segment.stat().st_size, resource.RLIM_INFINITY))
        return True


TWO_DISKS = ("kafka-4.4.0", "kafka-4.0.2", "kafka-3.9.2")
"""Releases that go on without one of their disks where they keep the cluster's metadata themselves."""

_DISKS = ("one", "other")
_LARGE = 900_000
"""Bytes of a subscription, so that neither the broker's log nor the cluster's metadata is as long."""


def broker(name: str, folder: Path, settings: Mapping[str, int]) -> Broker:
    """A broker by the name that a target has; it is not started yet."""
    folder.mkdir(parents=True, exist_ok=True)
    return Rota(folder, settings) if name == "rota" else Kafka(name, folder, settings)


def _logging(release: Release, log: Path) -> Release:
    name, _ = release.log_file
    if name == "log4j2.properties":
        text = (
            "rootLogger.level = info\nrootLogger.appenderRef.x.ref = file\n"
            f"appender.x.type = File\nappender.x.name = file\nappender.x.fileName = {log}\n"
            f"appender.x.layout.type = PatternLayout\nappender.x.layout.pattern = {_PATTERN}\n"
        )
    else:
        text = (
            f"log4j.rootLogger=INFO, x\nlog4j.appender.x=org.apache.log4j.FileAppender\n"
            f"log4j.appender.x.File={log}\nlog4j.appender.x.layout=org.apache.log4j.PatternLayout\n"
            f"log4j.appender.x.layout.ConversionPattern={_PATTERN}\n"
        )
    return replace(release, log_file=(name, text))


def _ready(address: str) -> None:
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + 60
    while True:
        try:
            wait_until_ready((host, int(port)), 30)
            return
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _below(pid: int) -> list[int]:
    """A process and those that it started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in _below(int(child)))]


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)


def kept(data: Path, to: Path) -> None:
    """A copy of the offsets topic's partitions, as they are on the disk now."""
    for folder in sorted(data.rglob("__consumer_offsets-*")):
        shutil.copytree(folder, to / folder.name, ignore=shutil.ignore_patterns("rota-*"))
