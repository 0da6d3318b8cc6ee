"""Apache Kafka itself as a target: brokers from its jars, one for each set of settings that is asked for."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import threading
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rota.conformance.connections.connection import Closed, Garbage, NotListening
from rota.conformance.dialogues.broker_settings import (
    INITIAL_DELAY,
    MAX_METADATA,
    MAX_SESSION,
    MIN_SESSION,
)
from rota.conformance.dialogues.failures import Deviation, Undecidable
from rota.conformance.dialogues.negotiation import wait_until_ready
from rota.conformance.targets.guard import guarded
from rota.conformance.targets.java import NoJava, find_java
from rota.conformance.targets.kafka_jars import NoJars, Release, fetched
from rota.conformance.targets.ports import free_ports
from rota.conformance.targets.process import NotStarted, Process

START_SECONDS = 90.0
"""How long a broker may take until it listens, its storage formatted; two to eight seconds are usual."""

PATIENCE = 30.0
"""Seconds that a broker which has just started may take for one answer."""

USUAL = {INITIAL_DELAY: 300, MIN_SESSION: 1000, MAX_SESSION: 1_800_000, MAX_METADATA: 4096}
"""Settings of a broker where nothing else is asked for. Sessions as short as a second spare waiting."""

_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""A small heap, and no compiler that first has to warm up: a broker lives for a minute here."""


@dataclass
class _Place:
    """Where the broker with some settings is or will be; `lock` is held while it is being started."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    broker: Broker | None = None
    failed: NotStarted | None = None


class Brokers:
    """The running brokers of one release; each is shared by all who ask for the same settings."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._lock = threading.Lock()
        self._places: dict[frozenset[tuple[str, int]], _Place] = {}

    def start(self, settings: Mapping[str, int]) -> Broker:
        """The broker with these settings, which is started if there is none that lives.

        Errors: NotStarted, again and at once for settings with which it did not start before.
        """
        wanted = {**USUAL, **settings}
        with self._lock:
            place = self._places.setdefault(frozenset(wanted.items()), _Place())
        with place.lock:
            if place.failed is not None:
                raise place.failed
            if place.broker is not None and place.broker.post_mortem(0) is not None:
                place.broker.end()
                place.broker = None
            if place.broker is None:
                try:
                    place.broker = launch(self._release, wanted)
                except NotStarted as error:
                    place.failed = error
                    raise
            return place.broker

    def close(self) -> None:
        """End all brokers."""
        with self._lock:
            places = list(self._places.values())
            self._places.clear()
        for place in places:
            with place.lock:
                if place.broker is not None:
                    place.broker.end()


class Broker:
    """One broker on 127.0.0.1, in a folder of its own; the guard of its process removes both if we cannot."""

    def __init__(self, process: Process, folder: str, address: tuple[str, int]) -> None:
        self._process = process
        self._folder = folder
        self.address = address

    def post_mortem(self, grace: float) -> str | None:
        """As `Process.post_mortem`."""
        return self._process.post_mortem(grace)

    def stop(self) -> None:
        """Nothing: others use it too. It ends with `Brokers.close`."""

    def end(self) -> None:
        """End the process and remove its folder."""
        self._process.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def launch(release: Release, settings: Mapping[str, int], jvm_flags: Sequence[str] = _JVM) -> Broker:
    """Start a broker and wait until it coordinates groups. Errors: NotStarted."""
    try:
        java = find_java(release.java, f"Kafka {release.version}").path
        libs = fetched(release)
    except NoJars as error:
        raise NotStarted(str(error), error.remedy) from error
    except NoJava as error:
        raise NotStarted(str(error)) from error
    folder = tempfile.mkdtemp(prefix=f"rota-{release.name}-")
    process = None
    try:
        address, controller = (("127.0.0.1", port) for port in free_ports(2))
        _write(Path(folder), release, address[1], controller[1], settings)
        jvm = (java, *jvm_flags, release.log_flag, "-cp", f"{libs.resolve()}/*")
        cluster = urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
        # An id may begin with a hyphen, which must not look like an option.
        storage = ("kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", "server.properties")
        process = Process(guarded(folder, [(*jvm, *storage), (*jvm, "kafka.Kafka", "server.properties")]))
        process.listens(address, within=START_SECONDS)
        wait_until_ready(address, PATIENCE)
    except BaseException as error:
        if process is not None:
            process.stop()
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, Undecidable | Deviation | Closed | Garbage | NotListening):
            raise NotStarted(f"it listens, but {error}") from error
        raise
    return Broker(process, folder, address)


def _write(folder: Path, release: Release, port: int, controller: int, settings: Mapping[str, int]) -> None:
    """The broker's configuration: one node that is broker and controller, all replication factors 1."""
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(folder / "data"),
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "log.cleaner.dedupe.buffer.size": "2097152",
        **release.settings,
        **{name: str(value) for name, value in settings.items()},
    }
    lines = (f"{name}={value}\n" for name, value in properties.items())
    (folder / "server.properties").write_text("".join(lines), encoding="utf-8")
    name, text = release.log_file
    (folder / name).write_text(text, encoding="utf-8")
