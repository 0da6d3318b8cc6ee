"""The offsets topic of Apache Kafka from its files and over the wire: what was made on the broker is told."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.kafka_on_disk import METADATA, KafkaOnDisk, ask, commit, lead
from harness.offsets_logs import State, state_of
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched
from rota.conformance.targets.process import NotStarted
from rota.history import Event, Kind
from rota.offsets_topic import partition_folders
from rota.reading import Tally, read
from rota.wire.records import split

pytestmark = pytest.mark.long

SETTINGS = {"group.initial.rebalance.delay.ms": 100, "offsets.topic.num.partitions": 5}
COMPRESSIONS = ("gzip", "snappy", "lz4", "zstd")
"""By their numbers in `offsets.topic.compression.codec`, from 1 on."""

SUBSCRIPTION = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"
"""To topic t. Groups of 3.x never end a rebalance with one that says it is longer than it is."""

BROKERS = ("kafka-4.4.0", "kafka-3.9.2 gzip", "kafka-3.4.1", *(f"kafka-4.4.0 {how}" for how in COMPRESSIONS))
"""A release, and how it packs its offsets topic."""


@dataclass
class Seen:
    """What was made on a broker, and its offsets topic in both ways."""

    members: dict[str, str]
    over_the_wire: list[Event]
    from_files: list[Event]
    tally: Tally
    how: str
    without: Tally

    @property
    def state(self) -> State:
        return state_of(self.from_files)


@pytest.fixture(scope="module", params=BROKERS)
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    name, _, how = request.param.partition(" ")
    release = RELEASES[name]
    more = {"offsets.topic.compression.codec": 1 + COMPRESSIONS.index(how)} if how else {}
    try:
        fetched(release)
        kafka = KafkaOnDisk(tmp_path_factory.mktemp("kafka"), SETTINGS | more, release)
    except (NoJars, NotStarted) as cause:
        pytest.skip(f"{release.name}: {cause}")
    try:
        kafka.start()
        members = make_groups(kafka.address)
        transactions(kafka.address)
        if name == "kafka-4.4.0":
            newer_group(kafka.address)
        over_the_wire = [*read([f"kafka://{kafka.address}"])]
        while_it_runs = [*read([str(kafka.data)])]
        kafka.stop()
        tally = Tally()
        from_files = [*read([str(kafka.data)], tally=tally)]
        assert state_of(while_it_runs) == state_of(from_files)
        assert compressions(kafka.data) - {"none"} == ({how} if how else set())
        yield Seen(members, over_the_wire, from_files, tally, how, without_the_library(kafka.data))
    finally:
        kafka.stop()
        shutil.rmtree(kafka.data, ignore_errors=True)


def compressions(data: Path) -> set[str]:
    """How the batches of the offsets topic are packed on the disk; markers of transactions never are."""
    segments = (segment for folder in partition_folders(data) for segment in folder.glob("*.log"))
    return {info.compression for segment in segments for info, _ in split(segment.read_bytes())}


def without_the_library(data: Path) -> Tally:
    """What is told of the files where nothing is installed that unpacks snappy, lz4 and zstd."""
    tally = Tally()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cramjam", None)
        for _ in read([str(data)], tally=tally):
            pass
    return tally


def make_groups(address: str) -> dict[str, str]:
    """Groups of each kind; the ids of the members that are still there."""
    topic = {"name": "t", "num_partitions": 1, "replication_factor": 1}
    ask(address, "CreateTopics", 5, {"topics": [topic]})
    names = {"dynamic": None, "left": None, "grüße": None, "static": "instance"}
    members = {name: lead(address, name, instance, SUBSCRIPTION) for name, instance in names.items()}
    for name, member in members.items():
        commit(address, name, 41, generation_id_or_member_epoch=1, member_id=member)
        commit(address, name, 42, generation_id_or_member_epoch=1, member_id=member)
    commit(address, "simple", 7)
    left = {"group_id": "left", "member_id": members.pop("left")}
    assert ask(address, "LeaveGroup", 2, left)["error_code"] == 0
    commit(address, "gone", 1)
    assert ask(address, "DeleteGroups", 1, {"groups_names": ["gone"]})["results"][0]["error_code"] == 0
    return members


def transactions(address: str) -> None:
    """Offsets in transactions: committed, aborted, and one that goes on."""
    kafka = pytest.importorskip("confluent_kafka")
    for offset, end in ((101, "commit_transaction"), (102, "abort_transaction"), (103, None)):
        settings = {"bootstrap.servers": address, "transactional.id": f"t-{offset}"}
        producer = kafka.Producer(settings)
        producer.init_transactions(30)
        producer.begin_transaction()
        reader = kafka.Consumer({"bootstrap.servers": address, "group.id": "transactional"})
        place = kafka.TopicPartition("t", 0, offset)
        producer.send_offsets_to_transaction([place], reader.consumer_group_metadata(), 30)
        if end is not None:
            getattr(producer, end)(30)
        reader.close()


def newer_group(address: str) -> None:
    """A member by the protocol of KIP-848."""
    kafka = pytest.importorskip("confluent_kafka")
    settings = {"bootstrap.servers": address, "group.id": "newer", "group.protocol": "consumer"}
    consumer = kafka.Consumer(settings)
    consumer.subscribe(["t"])
    for _ in range(100):
        consumer.poll(0.1)
        if consumer.assignment():
            break
    consumer.close()


def test_files_and_wire_tell_the_same(seen: Seen) -> None:
    assert state_of(seen.over_the_wire) == seen.state
    told = [(event.origin, event.kind, event.group) for event in seen.over_the_wire]
    assert sorted(told) == sorted((event.origin, event.kind, event.group) for event in seen.from_files)


def test_nothing_is_broken_and_every_record_is_known(seen: Seen) -> None:
    assert (seen.tally.unread, seen.tally.broken) == (0, 0)
    types = {event.data["type"] for event in seen.from_files if event.kind is Kind.OTHER_RECORD}
    assert not {name for name in types if name.startswith("version ")}


def test_what_cannot_be_unpacked_is_counted_with_what_helps(seen: Seen) -> None:
    told = {reason: one.number for reason, one in seen.without.quarantined.items()}
    if seen.how in ("", "gzip"):
        assert told == {}
        return
    ((reason, number),) = told.items()
    assert reason.endswith(f"compressed with {seen.how}: pip install 'rota[compression]'")
    assert number == seen.without.unread > 5


def test_what_the_groups_are(seen: Seen) -> None:
    state = seen.state
    for name, member in seen.members.items():
        assert state[name,] == (1, "range", member, (member,))
        assert state[name, "t", 0] == (42, METADATA)
    assert state["left",][1:] == (None, "", ())
    assert state["left", "t", 0] == (42, METADATA)
    assert state["simple", "t", 0] == (7, METADATA)
    assert not [key for key in state if key[0] == "gone"]
    gone = [event.kind for event in seen.from_files if event.group == "gone"]
    assert gone[0] is Kind.OFFSET_STORED
    assert {*gone[1:]} <= {Kind.OFFSET_REMOVED, Kind.GROUP_REMOVED}


def test_what_is_in_transactions(seen: Seen) -> None:
    assert seen.state["transactional", "t", 0][0] == 101
    told = [
        event for event in seen.from_files if event.group == "transactional" and "committed" in event.data
    ]
    types = {event.data["committed"]: event.data.get("type") for event in told}
    assert types == {101: None, 102: "aborted-offset", 103: "open-offset"}


def test_a_group_of_the_newer_protocol_is_counted_and_its_offsets_are_read(seen: Seen) -> None:
    newer = [event for event in seen.from_files if event.group == "newer"]
    if not newer:
        pytest.skip("the broker has no such groups")
    types = {event.data["type"] for event in newer if event.kind is Kind.OTHER_RECORD}
    assert {"ConsumerGroupMetadata", "ConsumerGroupMemberMetadata"} <= types
    assert ("newer",) not in seen.state
