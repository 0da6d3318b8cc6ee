"""What a broker of Kafka 4.4.0 knows of its groups after a crash, which no case can bring about.

Each test prepares a group of its own; then the broker is killed, once for all, and started on the same data.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from rota.conformance.dialogues.dialogue import Dialogue, Member, subscription
from rota.conformance.dialogues.negotiation import wait_until_ready
from rota.conformance.steps.administration import described
from rota.conformance.steps.group_formation import all_leave, lead_stable, stable
from rota.conformance.steps.membership import pending_member, static
from rota.conformance.steps.offsets import commit, expect_each, expect_fetched, topic
from rota.conformance.targets import kafka_broker
from rota.conformance.targets.guard import guarded
from rota.conformance.targets.java import NoJava, find_java
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched
from rota.conformance.targets.ports import free_ports
from rota.conformance.targets.process import Process

RELEASE = RELEASES["kafka-4.4.0"]
MEMBERSHIP = {"JoinGroup": 9, "SyncGroup": 5, "Heartbeat": 4, "LeaveGroup": 5}
VERSIONS = {**MEMBERSHIP, "Metadata": 7, "OffsetCommit": 9, "OffsetFetch": 9, "DescribeGroups": 5}
SOON_MISSED = {"broker.session.timeout.ms": 1000, "broker.heartbeat.interval.ms": 300}
"""Until a broker's former self is given up it is not let in again."""

BOTH = [("range", subscription()), ("roundrobin", subscription())]


class Server:
    """A broker whose data outlive it. It runs in a folder of its own, which its guard removes with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        port, controller = free_ports(2)
        self.address = ("127.0.0.1", port)
        kafka_broker._write(folder, RELEASE, port, controller, {**kafka_broker.USUAL, **SOON_MISSED})
        java = find_java(RELEASE.java, "Kafka").path
        jvm = (java, *kafka_broker._JVM, RELEASE.log_flag, "-cp", f"{fetched(RELEASE).resolve()}/*")
        storage = ("kafka.tools.StorageTool", "format", "--cluster-id=rotaRotaRotaRotaRotaRQ")
        self._broker = (*jvm, "kafka.Kafka", "server.properties")
        self._process = self._started((*jvm, *storage, "-c", "server.properties"), self._broker)

    def crash(self) -> None:
        """Kill it and start it anew."""
        self.stop()
        self._process = self._started(self._broker)

    def stop(self) -> None:
        """Kill it."""
        self._process.stop()

    def dialogue(self, group_id: str) -> Dialogue:
        return Dialogue(self.address, group_id, VERSIONS, 0.3, 10.0, threading.Event())

    def _started(self, *commands: Sequence[str]) -> Process:
        place = tempfile.mkdtemp(dir=self._folder)
        for name in ("server.properties", RELEASE.log_file[0]):
            shutil.copy(self._folder / name, place)
        process = Process(guarded(place, commands))
        process.listens(self.address, within=kafka_broker.START_SECONDS)
        wait_until_ready(self.address, kafka_broker.PATIENCE)
        return process


@dataclass
class Group:
    """A group as it was before the crash."""

    dialogue: Dialogue
    members: dict[str, Member]

    def again(self, name: str) -> Member:
        """The member on a new connection."""
        return self.members[name].second_connection()


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Group]]:
    """Group by name, prepared before the crash; the broker has been started anew since."""
    try:
        fetched(RELEASE)
        find_java(RELEASE.java, "Kafka")
    except (NoJars, NoJava) as cause:
        pytest.skip(f"{RELEASE.name}: {cause}")
    server = Server(tmp_path_factory.mktemp("failover"))
    try:
        made = {prepare.__name__: prepare(server.dialogue(prepare.__name__)) for prepare in PREPARED}
        time.sleep(0.5)
        server.crash()
        yield made
    finally:
        server.stop()


def _group(d: Dialogue, *members: Member) -> Group:
    return Group(d, {member.name: member for member in members})


def completing(d: Dialogue) -> Group:
    topic(d)
    a, b = (d.member(name, protocols=BOTH, session_timeout_ms=30_000) for name in "ab")
    lead_stable(d, a, b)
    expect_each(d, commit(a, 41), "NONE")
    joining = a.send_join()
    joining.silent(0.2)
    d.expect(b.join(), error="NONE")
    d.expect(joining.answer(), error="NONE")
    return _group(d, a, b)


def never_begun(d: Dialogue) -> Group:
    return _group(d, pending_member(d, "a"))


def left(d: Dialogue) -> Group:
    a = d.member("a")
    stable(d, a)
    all_leave(d, a)
    return _group(d, a)


def restarted(d: Dialogue) -> Group:
    a, again = (static(d, name, "one", protocols=BOTH, session_timeout_ms=30_000) for name in ("a", "again"))
    stable(d, a)
    d.expect(again.join(""), error="NONE")
    return _group(d, a, again)


def awaited(d: Dialogue) -> Group:
    a = d.member("a", protocols=BOTH, session_timeout_ms=30_000)
    stable(d, a)
    return _group(d, a, pending_member(d, "b"))


PREPARED = (completing, never_begun, left, restarted, awaited)


def test_a_generation_that_was_not_stored_is_given_out_twice(groups: dict[str, Group]) -> None:
    group = groups["completing"]
    d, a, b = group.dialogue, group.again("a"), group.again("b")
    lost = a.generation_id
    assert described(d)["group_state"] == "Stable"
    d.expect(a.heartbeat(), error="ILLEGAL_GENERATION")
    d.expect(a.heartbeat(generation_id=lost - 1), error="NONE")
    joining = a.send_join()
    joining.silent(0.2)
    d.expect(b.join(), error="NONE", generation_id=lost)
    d.expect(joining.answer(), error="NONE", generation_id=lost)
    expect_fetched(d, 41)


def test_a_group_without_a_generation_is_there_and_its_ids_are_forgotten(groups: dict[str, Group]) -> None:
    group = groups["never_begun"]
    assert described(group.dialogue)["group_state"] == "Empty"
    group.dialogue.expect(group.again("a").join(within=2.0), error="UNKNOWN_MEMBER_ID")


def test_an_empty_group_goes_on_counting(groups: dict[str, Group]) -> None:
    d = groups["left"].dialogue
    assert described(d)["protocol_type"] == "consumer"
    d.expect(d.member("b").enter().answer(), error="NONE", generation_id=3)


def test_a_static_restart_was_stored(groups: dict[str, Group]) -> None:
    group = groups["restarted"]
    a, again = group.again("a"), group.again("again")
    group.dialogue.expect(again.heartbeat(), error="NONE")
    group.dialogue.expect(a.heartbeat(), error="FENCED_INSTANCE_ID")


def test_members_are_known_with_the_elected_protocol_alone(groups: dict[str, Group]) -> None:
    group = groups["awaited"]
    d, a, b = group.dialogue, group.again("a"), group.again("b")
    d.expect(a.heartbeat(), error="NONE")
    d.expect(b.join(within=2.0), error="UNKNOWN_MEMBER_ID")
    newcomer = d.member("c", protocols=BOTH[1:])
    d.expect(newcomer.join("", within=2.0), error="INCONSISTENT_GROUP_PROTOCOL")
