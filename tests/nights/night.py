"""One night: a group of real clients at a broker, all of it recorded, and what is left of it."""

from __future__ import annotations

import atexit
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from nights.brokers import Broker, broker, kept
from rota.clients.members import Member
from rota.clients.producers import Producers
from rota.clients.world import World
from rota.conformance.connections.connection import Answer, Connection, SentRequest
from rota.conformance.targets.java import NoJava, find_java
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched
from rota.wire.consumer import encode_subscription

LIBRDKAFKA, JAVA = "librdkafka", "java"
SESSION_MS, POLL_MS = 4000, 6000
PATIENCE = 180.0
LEFT = "night.json"


@dataclass(frozen=True)
class Night:
    """An incident. cause: names of causes that are right; less: those that are true and say less.

    settings: of the broker. own: whether it does something to the broker, which then is of no use to others.
    stored: whether the broker can store what it assigns.
    """

    name: str
    play: Callable[[Scene], None]
    cause: frozenset[str]
    less: frozenset[str] = frozenset()
    settings: Mapping[str, int] = field(default_factory=dict)
    own: bool = False
    stored: bool = True


@dataclass(frozen=True)
class Left:
    """What a night left, by source; from when to when the incident was, in seconds since 1970; late: seconds
    by which the machine was late at most."""

    group: str
    began: float
    ended: float
    sources: Mapping[str, tuple[Path, ...]]
    late: float = 0.0


class NotPlayable(Exception):
    """The broker cannot have this night; the text says why."""


class LoggedMember(Member):
    """A consumer whose standard error, on which librdkafka logs, is a file."""

    def __init__(self, folder: Path, name: str, *more: Any) -> None:
        self._log = folder / f"{name}.log"
        super().__init__(name, *more)

    def _overhear(self) -> None:
        with self._log.open("a", encoding="utf-8") as file:
            for line in self._stderr:
                file.write(line)
                file.flush()


class JavaMember(LoggedMember):
    """A consumer of Apache Kafka's own client."""

    def command(self, settings: str) -> list[str]:
        return [*java_consumer(), settings]


MEMBERS = {LIBRDKAFKA: LoggedMember, JAVA: JavaMember}


@cache
def java_consumer() -> tuple[str, ...]:
    """The command of such a consumer, which is compiled for it once. Errors: NotPlayable."""
    try:
        release = RELEASES["kafka-4.4.0"]
        jars = f"{fetched(release).resolve()}/*"
        java = Path(find_java(release.java, "a consumer in Java").path)
    except (NoJars, NoJava) as cause:
        raise NotPlayable(str(cause)) from cause
    place = Path(tempfile.mkdtemp(prefix="night-consumer-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    source = Path(__file__).with_name("NightConsumer.java")
    compiler = java.resolve().with_name("javac")
    if not compiler.exists():
        raise NotPlayable(f"there is no {compiler}; install a JDK")
    subprocess.run([compiler, "-nowarn", "-cp", jars, "-d", place, source], check=True, capture_output=True)
    (place / "log4j2.properties").write_text(
        "rootLogger.level = info\nrootLogger.appenderRef.x.ref = x\nappender.x.type = Console\n"
        "appender.x.name = x\nappender.x.target = SYSTEM_ERR\nappender.x.layout.type = PatternLayout\n"
        "appender.x.layout.pattern = [%d] %p %m (%c)%n\n",
        encoding="utf-8",
    )
    flags = ("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    return (str(java), *flags, "-cp", f"{place}:{jars}", "NightConsumer")


def lasting(session_ms: int) -> dict[str, int]:
    """Settings of a consumer with this session; librdkafka refuses a shorter time between polls."""
    return {"session.timeout.ms": session_ms, "max.poll.interval.ms": max(POLL_MS, session_ms)}


class Scene(World):
    """What a night is played with; `begins` says when the incident does."""

    def __init__(
        self, broker: Broker, through: str, producers: Producers, folder: Path, clients: str
    ) -> None:
        more: dict[str, Any] = {"debug": "cgrp"} if clients == LIBRDKAFKA else {}
        super().__init__(
            through,
            producers,
            (LIBRDKAFKA,),
            patience=PATIENCE,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=500,
        )
        self.broker = broker
        self.began = time.time()
        self._more, self._through, self._folder = more, through, folder
        self.made = partial(MEMBERS[clients], folder)
        self._libraries = itertools.cycle((clients,))
        self._raw: list[Raw] = []
        self._generation = -1

    def client(
        self, *topics: str, instance: str = "", pattern: str | None = None, session_ms: int = SESSION_MS
    ) -> Member:
        """Starts a consumer, static if it has an instance id."""
        more = self._more | lasting(session_ms)
        static = {"group.instance.id": instance} if instance else {}
        return self.member(*topics, pattern=pattern, more=more | static)

    def raw(self, topic: str) -> Raw:
        """A client of which every request is told."""
        self._raw.append(Raw(self._through, self.group_id, topic))
        return self._raw[-1]

    def begins(self) -> None:
        """What is before is how the group came to be."""
        time.sleep(1)
        views = [event for event in self.history.events() if event.kind == "view"]
        self._generation = max((view.generation for view in views), default=-1)
        self.began = time.time()

    def ends(self, member: Member) -> None:
        """Waits until a process has ended of itself or been killed."""
        self.history.wait(f"{member.name} has ended", lambda: bool(self.history.of(member.name, "ended")))

    def starts(self, member: Member, seconds: float) -> None:
        """Waits until a process consumes, which may take a JVM seconds, and so long after that."""
        self.history.wait(f"{member.name} has started", lambda: bool(self.history.of(member.name, "started")))
        time.sleep(seconds)

    def lone(self, *members: Member) -> None:
        """Waits until these alone are a generation, a later one than when the incident began or last time."""
        self._generation = self.settled(*members, beyond=self._generation)

    def end(self) -> None:
        for raw in self._raw:
            raw.close()
        super().end()


class Raw:
    """A client by hand: it does what it is told and nothing else."""

    def __init__(self, address: str, group: str, topic: str) -> None:
        host, _, port = address.rpartition(":")
        self._connection = Connection((host, int(port)), "by-hand")
        self._group, self._topic = group, topic
        self.member = ""
        self.generation = -1

    def start_join(self, session_ms: int = SESSION_MS, version: int = 5) -> SentRequest:
        """Sends JoinGroup."""
        subscription = encode_subscription({"topics": [self._topic], "user_data": None}, version=0)
        body = {
            "group_id": self._group,
            "session_timeout_ms": session_ms,
            "rebalance_timeout_ms": POLL_MS,
            "member_id": self.member,
            "group_instance_id": None,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": subscription}],
        }
        return self._connection.send("JoinGroup", version, body)

    def joined(self, sent: SentRequest) -> dict[str, Any]:
        """The answer to it."""
        body = self._answer(sent).body
        self.member, self.generation = body["member_id"], body["generation_id"]
        return body

    def join(self, session_ms: int = SESSION_MS) -> dict[str, Any]:
        """Joins, with the id that it is given."""
        body = self.joined(self.start_join(session_ms))
        return self.joined(self.start_join(session_ms)) if body["error_code"] == 79 else body

    def sync(self) -> int:
        """Fetches its assignment; the error code."""
        body = {
            "group_id": self._group,
            "generation_id": self.generation,
            "member_id": self.member,
            "group_instance_id": None,
            "assignments": [],
        }
        return int(self._answer(self._connection.send("SyncGroup", 3, body)).body["error_code"])

    def heartbeat(self) -> int:
        """One; the error code."""
        body = {
            "group_id": self._group,
            "generation_id": self.generation,
            "member_id": self.member,
            "group_instance_id": None,
        }
        return int(self._answer(self._connection.send("Heartbeat", 3, body)).body["error_code"])

    def heartbeats_until(self, wanted: int) -> None:
        """Heartbeats, four a second, until one is answered so."""
        deadline = time.monotonic() + PATIENCE
        while self.heartbeat() != wanted:
            assert time.monotonic() < deadline, f"no heartbeat is answered with {wanted}"
            time.sleep(0.25)

    def remove(self, member: str, reason: str) -> None:
        """As an administrator does."""
        removed = {"member_id": member, "group_instance_id": None, "reason": reason}
        body = {"group_id": self._group, "members": [removed]}
        assert self._answer(self._connection.send("LeaveGroup", 5, body)).body["error_code"] == 0

    def close(self) -> None:
        self._connection.close()

    def _answer(self, sent: SentRequest) -> Answer:
        answer = self._connection.receive(sent, PATIENCE)
        assert answer is not None, f"no answer to {sent.api}"
        return answer


@dataclass
class Recorder:
    """`rota record` between the clients and a broker."""

    target: str
    out: Path
    port_file: Path

    def __enter__(self) -> str:
        command = [sys.executable, "-m", "rota", "record", f"--target={self.target}", f"--out={self.out}"]
        self._process = subprocess.Popen(
            [*command, f"--port-file={self.port_file}", "--seconds=3600"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        deadline = time.monotonic() + PATIENCE
        while not self.port_file.exists() or not (text := self.port_file.read_text().strip()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise AssertionError(f"rota record: {self._process.communicate()[1].decode()}")
            time.sleep(0.05)
        return f"127.0.0.1:{text}"

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.communicate(timeout=30)


class Lateness:
    """How late a thread that sleeps is woken at most: by that much all that is timed may be late here."""

    def __init__(self) -> None:
        self.late = 0.0
        self._over = threading.Event()
        self._watching = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Lateness:
        self._watching.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._watching.join()

    def _watch(self) -> None:
        while not self._over.is_set():
            due = time.monotonic() + 0.1
            self._over.wait(0.1)
            self.late = max(self.late, time.monotonic() - due)


def played(night: Night, on: Broker, folder: Path, clients: str = LIBRDKAFKA) -> Left:
    """Plays a night on a broker that runs, into a folder. Errors: NotPlayable, AssertionError."""
    (folder / "clients").mkdir(parents=True)
    before = on.log.stat().st_size if on.log.exists() else 0
    recording = folder / "recording.jsonl"
    producers = Producers(on.address)
    with Lateness() as machine, Recorder(on.address, recording, folder / "port") as through:
        scene = Scene(on, through, producers, folder / "clients", clients)
        try:
            night.play(scene)
            time.sleep(1)
            ended = time.time()
            kept(on.data, folder / "data")
            log = on.log.read_bytes()[before:]
        finally:
            scene.end()
            producers.close()
    (folder / "server.log").write_bytes(log)
    (folder / "port").unlink(missing_ok=True)
    when = {"group": scene.group_id, "began": scene.began, "ended": ended, "late": round(machine.late, 3)}
    (folder / LEFT).write_text(json.dumps(when), encoding="utf-8")
    return left(folder)


def left(folder: Path) -> Left:
    """What a night left in a folder."""
    when = json.loads((folder / LEFT).read_text(encoding="utf-8"))
    sources = {
        "log": (folder / "server.log",),
        "clients": (folder / "clients",),
        "frames": (folder / "recording.jsonl",),
        "offsets": (folder / "data",),
    }
    return Left(when["group"], when["began"], when["ended"], sources, when.get("late", 0.0))


def new_broker(name: str, folder: Path, settings: Mapping[str, int]) -> Broker:
    """A broker that runs."""
    made = broker(name, folder, settings)
    made.start()
    return made
