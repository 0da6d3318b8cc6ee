"""Apache Kafka itself as a target: brokers from its jars, one for each set of settings that is asked for."""

from __future__ import annotations

import secrets
import shutil
import signal
import tempfile
import threading
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rota.conformance.connections.connection import Closed, Garbage, NotListening
from rota.conformance.dialogues.broker_settings import (
    CONSUMER_INTERVAL,
    CONSUMER_MIN_HEARTBEAT,
    CONSUMER_MIN_SESSION,
    INITIAL_DELAY,
    MAX_METADATA,
    MAX_SESSION,
    MIN_SESSION,
)
from rota.conformance.dialogues.failures import Deviation, Undecidable
from rota.conformance.dialogues.negotiation import wait_until_ready
from rota.conformance.dialogues.script import Signal
from rota.conformance.targets.guard import IN_GOOD_ORDER, guarded
from rota.conformance.targets.java import NoJava, find_java
from rota.conformance.targets.kafka_jars import NoJars, Release, fetched
from rota.conformance.targets.ports import free_ports, hold
from rota.conformance.targets.process import NotStarted, Process
from rota.conformance.targets.shared_classes import shared_classes

START_SECONDS = 180.0
"""How long a broker may take until it listens, its storage formatted; two to eight seconds are usual."""

END_SECONDS = 60.0
"""How long a broker may take to end in good order; one or two are usual."""

TRIES = 3
"""Choices of ports that others may take from a broker before it is given up."""

PATIENCE = 30.0
"""Seconds that a broker which has just started may take for one answer."""

R = TypeVar("R")

USUAL = {
    INITIAL_DELAY: 300,
    MIN_SESSION: 1000,
    MAX_SESSION: 1_800_000,
    MAX_METADATA: 4096,
    CONSUMER_MIN_SESSION: 1000,
    CONSUMER_MIN_HEARTBEAT: 100,
    CONSUMER_INTERVAL: 0,
}
"""Settings of a broker where nothing else is asked for. Sessions as short as a second spare waiting."""

_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""A small heap, and no compiler that first has to warm up: a broker lives for a minute here."""


_PROPERTIES = "server.properties"


@dataclass
class _Place:
    """Where the broker with some settings is or will be; `lock` is held while it is being started."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    broker: _Lent | None = None
    failed: NotStarted | None = None


class Brokers:
    """The running brokers of one release; each is shared by all who ask for the same settings."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._lock = threading.Lock()
        self._places: dict[frozenset[tuple[str, int]], _Place] = {}

    def start(self, settings: Mapping[str, int]) -> _Lent:
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
                place.broker.owned.stop()
                place.broker = None
            if place.broker is None:
                try:
                    place.broker = _Lent(launch(self._release, wanted))
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
                    place.broker.owned.stop()


class PortTaken(NotStarted):
    """Somebody took the port of a broker between its choice and its start."""


class Broker:
    """One broker on 127.0.0.1, in a folder of its own; the guard of its process removes both if we cannot.

    Its ports are held until it is stopped, also while it is down.
    """

    def __init__(self, jvm: Sequence[str], folder: str, node: Node, cluster: str) -> None:
        """Format its storage and start it. Errors: PortTaken; NotStarted, where not even a guard starts."""
        self._folder = folder
        self.address = node.address
        self._broker = (*jvm, "kafka.Kafka", _PROPERTIES)
        # An id may begin with a hyphen, which must not look like an option.
        storage = ("kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", _PROPERTIES)
        self._held = ExitStack()
        try:
            for port in (node.port, node.controllers[node.number]):
                self._held.enter_context(hold(port))
            self._process = Process(guarded(folder, [(*jvm, *storage), self._broker]))
        except BaseException as error:
            self._held.close()
            if isinstance(error, OSError):
                raise PortTaken(f"somebody has taken its port: {error}", "try again") from error
            raise

    @property
    def session(self) -> int:
        """As of `Process`."""
        return self._process.session

    def listens(self) -> None:
        """Wait until it listens. Errors: NotStarted."""
        self._process.listens(self.address, within=START_SECONDS)

    def post_mortem(self, grace: float) -> str | None:
        """As `Process.post_mortem`."""
        return self._process.post_mortem(grace)

    def end(self, _address: tuple[str, int], how: Signal) -> None:
        """End the broker, by SIGTERM in good order, and keep its folder. Errors: NotStarted."""
        if how is Signal.TERM:
            self._process.end(IN_GOOD_ORDER, within=END_SECONDS, alone=True)
        else:
            self._process.end(signal.SIGKILL, within=END_SECONDS)

    def start_again(self) -> None:
        """Start it with what its folder has. Errors: NotStarted."""
        self._process.stop()
        self._process = Process(guarded(self._folder, [self._broker]))
        self.listens()

    def add(self, settings: Mapping[str, int]) -> None:
        """Have these settings when it is started again: of two lines on one setting the last counts."""
        with (Path(self._folder) / _PROPERTIES).open("a", encoding="utf-8") as file:
            file.writelines(f"{name}={value}\n" for name, value in settings.items())

    def stop(self) -> None:
        """End the process and remove its folder."""
        self._process.stop()
        self._held.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class _Lent:
    """A broker that others use too, so it goes on; it ends with `Brokers.close`."""

    def __init__(self, broker: Broker) -> None:
        self.owned = broker
        self.address = broker.address

    @property
    def session(self) -> int:
        """As of `Process`."""
        return self.owned.session

    def post_mortem(self, grace: float) -> str | None:
        """As `Process.post_mortem`."""
        return self.owned.post_mortem(grace)

    def stop(self) -> None:
        """Nothing."""


def java_for(release: Release, jvm_flags: Sequence[str] = _JVM) -> tuple[str, ...]:
    """The command line of Java with the jars of a release, but for the class. Errors: NotStarted."""
    try:
        java = find_java(release.java, f"Kafka {release.version}")
        libs = fetched(release)
    except NoJars as error:
        raise NotStarted(str(error), error.remedy) from error
    except NoJava as error:
        raise NotStarted(str(error)) from error

    def command(*more: str) -> tuple[str, ...]:
        return (java.path, *jvm_flags, *more, release.log_flag, "-cp", f"{libs.resolve()}/*")

    return command(*shared_classes(java, libs, lambda *more: _started_and_ended(release, command(*more))))


def _started_and_ended(release: Release, jvm: Sequence[str]) -> None:
    """Have a broker start and end in good order. Errors: NotStarted."""
    broker = on_other_ports(lambda: _alone(release, USUAL, jvm))
    try:
        broker.end(broker.address, Signal.TERM)
    finally:
        broker.stop()


def new_cluster_id() -> str:
    """An id as StorageTool wants it."""
    return urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")


def launch(release: Release, settings: Mapping[str, int], jvm_flags: Sequence[str] = _JVM) -> Broker:
    """Start a broker and wait until it coordinates groups. Errors: NotStarted."""
    jvm = java_for(release, jvm_flags)
    return on_other_ports(lambda: _alone(release, settings, jvm))


def _alone(release: Release, settings: Mapping[str, int], jvm: Sequence[str]) -> Broker:
    """The broker of a cluster of one, on ports that are free. Errors: PortTaken; NotStarted."""
    port, controller = free_ports(2)
    return together([(jvm, Node(1, port, {1: controller}))], release, settings)[0]


def on_other_ports(start: Callable[[], R]) -> R:
    """What `start`, which chooses ports each time, comes to where nobody takes one of them meanwhile.

    Errors: PortTaken, where somebody did each time; what `start` raises.
    """
    for _ in range(TRIES - 1):
        try:
            return start()
        except PortTaken:
            continue
    return start()


def together(
    nodes: Sequence[tuple[Sequence[str], Node]], release: Release, settings: Mapping[str, object]
) -> list[Broker]:
    """Start the nodes of one cluster and wait until it coordinates groups. Errors: NotStarted."""
    cluster, brokers = new_cluster_id(), []
    folders: list[str] = []
    try:
        for jvm, node in nodes:
            folders.append(tempfile.mkdtemp(prefix=f"rota-{release.name}-"))
            node.write(Path(folders[-1]), release, settings)
            brokers.append(Broker(jvm, folders[-1], node, cluster))
        for broker in brokers:
            broker.listens()
        wait_until_ready(brokers[0].address, PATIENCE)
    except BaseException as error:
        for broker in brokers:
            broker.stop()
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, Undecidable | Deviation | Closed | Garbage | NotListening):
            raise NotStarted(f"it listens, but {error}") from error
        raise
    return brokers


@dataclass(frozen=True)
class Node:
    """One node of a cluster that is broker and controller: its number, its port, every node's for voting."""

    number: int
    port: int
    controllers: Mapping[int, int]

    @property
    def address(self) -> tuple[str, int]:
        """Where it serves clients."""
        return ("127.0.0.1", self.port)

    def write(self, folder: Path, release: Release, settings: Mapping[str, object]) -> None:
        """Its configuration, in which each topic has a replica on every node."""
        replicas = str(len(self.controllers))
        voters = (f"{number}@127.0.0.1:{port}" for number, port in self.controllers.items())
        listeners = f"PLAINTEXT://127.0.0.1:{self.port}"
        controller = f"CONTROLLER://127.0.0.1:{self.controllers[self.number]}"
        properties = {
            "process.roles": "broker,controller",
            "node.id": str(self.number),
            "controller.quorum.voters": ",".join(voters),
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{listeners},{controller}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(folder / "data"),
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": replicas,
            "default.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": "1",
            "log.cleaner.dedupe.buffer.size": "2097152",
            **release.settings,
            **{name: str(value) for name, value in settings.items()},
        }
        lines = (f"{name}={value}\n" for name, value in properties.items())
        (folder / _PROPERTIES).write_text("".join(lines), encoding="utf-8")
        name, text = release.log_file
        (folder / name).write_text(text, encoding="utf-8")
