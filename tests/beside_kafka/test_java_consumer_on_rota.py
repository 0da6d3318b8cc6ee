"""Java's consumer by the consumer protocol (`group.protocol=consumer`), unmodified, on `rota serve`.

The other member of its group is librdkafka's consumer, so that each client has to give way to the other.
"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from harness.java_programs import Compiled
from harness.kafka_on_disk import ask
from rota.coordinator.consumer import loading, membership, reconcile, timers
from rota.log import Fsync
from rota.server import running
from rota.server.storage import DataDir

kafka = pytest.importorskip("confluent_kafka")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(kafka.libversion()[1] < 0x020C0000, reason="librdkafka speaks it in full since 2.12"),
]

SESSION_S = 4.0
SETTINGS = {
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.session.timeout.ms": int(1000 * SESSION_S),
    "group.consumer.heartbeat.interval.ms": 200,
    "group.consumer.assignment.interval.ms": 0,
}
GROUP, TOPIC = "g", "orders"
Places = frozenset[int]


@dataclass
class JavaMember:
    """A consumer's process, and the lines that it has printed, with when they came (seconds)."""

    process: subprocess.Popen[str]
    lines: list[tuple[float, str]] = field(default_factory=list)

    def read(self) -> None:
        """Takes its lines until it ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.strip()))

    def when(self, what: str) -> list[float]:
        """When it has printed lines that begin so."""
        return [at for at, line in self.lines if line.startswith(what)]

    @property
    def uses(self) -> Places:
        """The partitions that it uses."""
        found = [line for _, line in self.lines if line.startswith("uses ")]
        return frozenset(map(int, re.findall(r"\d+", found[-1]))) if found else frozenset()


@dataclass
class Stage:
    """A server and two members. patience: seconds for one thing to happen."""

    command: tuple[str, ...]
    address: str
    patience: float
    stack: ExitStack
    librdkafka: Any = None

    def create(self, partitions: int) -> None:
        one = {"name": TOPIC, "num_partitions": partitions, "replication_factor": 1}
        (made,) = ask(self.address, "CreateTopics", 7, {"topics": [one], "timeout_ms": 1000})["topics"]
        assert made["error_code"] == 0, made

    def grow(self, partitions: int) -> None:
        one = {"name": TOPIC, "count": partitions, "assignments": None}
        (grown,) = ask(self.address, "CreatePartitions", 3, {"topics": [one], "timeout_ms": 1000})["results"]
        assert grown["error_code"] == 0, grown

    def java_joins(self, slow_ms: int = 0, **settings: object) -> JavaMember:
        given = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
        process = subprocess.Popen(
            [*self.command, self.address, GROUP, TOPIC, str(slow_ms), *given],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        member = JavaMember(process)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        Thread(target=member.read, daemon=True).start()
        return member

    def librdkafka_joins(self) -> None:
        named = {"bootstrap.servers": self.address, "group.id": GROUP, "group.protocol": "consumer"}
        self.librdkafka = kafka.Consumer({**named, "auto.offset.reset": "earliest"})
        self.stack.callback(self.librdkafka.close)
        self.librdkafka.subscribe([TOPIC])

    @property
    def others(self) -> Places:
        """What librdkafka's consumer uses."""
        return frozenset(place.partition for place in self.librdkafka.assignment())

    def until(self, happens: Callable[[], object], otherwise: str) -> None:
        """Polls until something is so. Errors: AssertionError."""
        deadline = time.monotonic() + self.patience
        while not happens():
            assert time.monotonic() < deadline, otherwise
            if self.librdkafka is None:
                time.sleep(0.02)
            else:
                self.librdkafka.poll(0.02)

    def until_shared(self, member: JavaMember, each: int) -> None:
        """Until both have so many partitions, and no one in common."""
        shares = lambda: (len(member.uses), len(self.others)) == (each, each)  # noqa: E731
        self.until(shares, f"they do not share {2 * each}: {member.lines}, {self.others}")
        assert not member.uses & self.others


@contextmanager
def stage(java: Compiled, patience: float) -> Iterator[Stage]:
    with running(SETTINGS) as address, ExitStack() as members:
        yield Stage(java("ConsumerMember"), address, patience, members)


def joins_and_grows(java: Compiled, folder: Path, patience: float) -> None:
    """One joins the other, their topic grows, and who closes leaves at once."""
    with stage(java, patience) as here:
        here.create(4)
        member = here.java_joins()
        here.until(lambda: len(member.uses) == 4, "Java's consumer is not given everything")
        here.librdkafka_joins()
        here.until_shared(member, 2)
        here.grow(6)
        here.until_shared(member, 3)
        producer = kafka.Producer({"bootstrap.servers": here.address})
        for number in range(60):
            producer.produce(TOPIC, str(number).encode(), partition=number % 6)
        assert producer.flush(patience) == 0
        here.until(lambda: len(member.when("read ")) >= 30, "it does not read its half")
        assert len(member.when("read ")) == 30
        began = time.monotonic()
        member.process.send_signal(signal.SIGTERM)
        here.until(lambda: len(here.others) == 6, "who leaves is not gone")
        assert time.monotonic() - began < SESSION_S, "it has not left but was waited for"


def crashes(java: Compiled, folder: Path, patience: float) -> None:
    """What a killed process had goes to the other when its session is over, and not before."""
    with stage(java, patience) as here:
        here.create(4)
        member = here.java_joins()
        here.until(lambda: len(member.uses) == 4, "Java's consumer is not given everything")
        here.librdkafka_joins()
        here.until_shared(member, 2)
        began = time.monotonic()
        member.process.kill()
        here.until(lambda: len(here.others) == 4, "the session of who was killed does not end")
        assert time.monotonic() - began > SESSION_S / 2, "it ends too early"


def is_slow(java: Compiled, folder: Path, patience: float) -> None:
    """Nobody has what a callback is still giving up; who takes too long loses everything, and comes back."""
    with stage(java, patience) as here:
        here.create(4)
        member = here.java_joins(1500)
        here.until(lambda: len(member.uses) == 4, "Java's consumer is not given everything")
        here.librdkafka_joins()
        here.until(lambda: len(here.others) == 2, "the other is not given its half")
        granted = time.monotonic()
        assert member.when("revoked "), "it was granted before it had been given up"
        assert granted >= member.when("revoked ")[0]
        here.until_shared(member, 2)
        member.process.kill()
        here.until(lambda: len(here.others) == 4, "the session of who was killed does not end")
        late = here.java_joins(6000, max_poll_interval_ms=2000)
        here.until_shared(late, 2)
        here.librdkafka.unsubscribe()
        here.until(lambda: len(late.uses) == 4, "it is not given everything")
        here.librdkafka.subscribe([TOPIC])
        here.until(lambda: late.when("revokes "), "it is not told to give up")
        here.until(lambda: len(here.others) == 4, "who is late is not removed")
        assert not late.when("revoked "), "it was not late"
        here.until(lambda: late.when("lost "), "it does not hear that it was removed")
        here.until_shared(late, 2)


def outlives_a_restart(java: Compiled, folder: Path, patience: float) -> None:
    """The server is started anew from its log: the same members go on, at the topic that is made anew."""
    data = DataDir(str(folder / "data"), Fsync.NEVER)
    with ExitStack() as members:
        with running(SETTINGS, data_dir=data) as address:
            here = Stage(java("ConsumerMember"), address, patience, members)
            here.create(2)
            member = here.java_joins()
            here.until(lambda: len(member.uses) == 2, "Java's consumer is not given everything")
            here.librdkafka_joins()
            here.until_shared(member, 1)
            before = ids(address)
        with running(SETTINGS, int(address.rpartition(":")[2]), data_dir=data):
            assert ids(address) == before, "the members are those that were there before"
            here.create(4)
            here.until_shared(member, 2)
            assert ids(address) == before, "somebody had to join anew"
            assert not member.when("lost ")
            members.close()


def ids(address: str) -> list[str]:
    """The group's members."""
    (found,) = ask(address, "ConsumerGroupDescribe", 1, {"group_ids": [GROUP]})["groups"]
    return sorted(each["member_id"] for each in found["members"])


STORIES = (joins_and_grows, crashes, is_slow, outlives_a_restart)


@pytest.mark.parametrize("story", STORIES, ids=lambda one: one.__name__)
def test_a_consumer_on_the_server(story: Callable[..., None], java: Compiled, tmp_path: Path) -> None:
    story(java, tmp_path, 90.0)


def granted_too_early(current: Any, goal: Any, owned: Any) -> Any:
    return reconcile.reconciled(current, replace(goal, is_free=lambda place: True), owned)


def never(*given: object) -> bool:
    return False


def nothing(*given: object, **more: object) -> None:
    """Nothing is done."""


def without_members(step: Any, hosted: Any, group_id: str, entries: Any) -> None:
    LOAD(step, hosted, group_id, [(key, value) for key, value in entries if not key.member_id])


LOAD = loading.load
PLANTED = {
    "what others own is granted": (is_slow, membership, "reconciled", granted_too_early),
    "topics that change are not seen": (joins_and_grows, membership.epochs, "topics_changed", never),
    "sessions never end": (crashes, timers, "watch", nothing),
    "nobody is late": (is_slow, timers, "is_late", never),
    "members are not loaded": (outlives_a_restart, loading, "load", without_members),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_show(bug: str, java: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story, owner, name, what = PLANTED[bug]
    monkeypatch.setattr(owner, name, what)
    with pytest.raises(AssertionError):
        story(java, tmp_path, 20.0)
