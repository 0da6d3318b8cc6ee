"""The two sides of `bench.server`: processes that listen on 127.0.0.1, and what they cost the processor."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rota.conformance.dialogues.broker_settings import INITIAL_DELAY
from rota.conformance.targets.kafka_broker import launch
from rota.conformance.targets.kafka_jars import RELEASES
from rota.conformance.targets.process import NotStarted

KAFKA = "kafka-4.4.0"
JVM = ("-Xms1g", "-Xmx1g")
"""A broker's own defaults, all compilers on: it is measured warm."""

_TICKS = os.sysconf("SC_CLK_TCK")
_LISTENS = "0A"


@dataclass(frozen=True)
class Side:
    """A coordinator: its name, HOST:PORT, and the process that listens there, if it is of this machine."""

    name: str
    address: str
    pid: int | None

    def cpu_seconds(self) -> float:
        """Processor time of the process so far, all its threads; 0 of one of another machine."""
        return 0.0 if self.pid is None else cpu_seconds(self.pid)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, from /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def listener(port: int) -> int | None:
    """The process of ours that listens on a port of this machine."""
    sockets = {f"socket:[{inode}]" for inode in _listening(port)}
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) in sockets:
                return int(link.parts[2])
        except OSError:
            continue
    return None


def _listening(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


def at(address: str, name: str) -> Side:
    """Whatever listens there."""
    return Side(name, address, listener(int(address.rpartition(":")[2])))


@contextmanager
def rota(*options: str) -> Iterator[Side]:
    """`rota serve` in a process of its own. Errors: NotStarted."""
    command = [sys.executable, "-m", "rota", "serve", "--set", f"{INITIAL_DELAY}=0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told = process.stdout.readline().split()
            if not told:
                raise NotStarted("rota serve ended without a word")
            yield Side("rota", told[-1], process.pid)
        finally:
            process.terminate()


@contextmanager
def kafka() -> Iterator[Side]:
    """Apache Kafka. Errors: NotStarted."""
    broker = launch(RELEASES[KAFKA], {INITIAL_DELAY: 0}, JVM)
    try:
        host, port = broker.address
        yield at(f"{host}:{port}", f"Kafka {RELEASES[KAFKA].version}")
    finally:
        broker.stop()
