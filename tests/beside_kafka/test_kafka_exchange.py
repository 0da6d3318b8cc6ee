"""Partition folders of the offsets topic, exchanged between a stopped Kafka 4.4.0 and rota's server.

Groups are made in each; then each goes on with the other's folders, and answers as the other did.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.kafka_on_disk import DUMPS, RELEASE, KafkaOnDisk, ask, commit, dumped, lead, tools_api
from rota.conformance.targets.java import NoJava, find_java
from rota.conformance.targets.kafka_jars import NoJars, fetched
from rota.log import Disk
from rota.log.data_folder import open_folder
from rota.log.group_records import (
    GroupKey,
    Key,
    OffsetKey,
    OffsetValue,
    UnknownValue,
    Value,
    decode_key,
    decode_value,
)
from rota.server import DataDir, running
from rota.wire.records import decode_batch, split

PARTITIONS = 3
SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": PARTITIONS,
    "broker.session.timeout.ms": 1000,
    "broker.heartbeat.interval.ms": 300,
}
OURS = {name: value for name, value in SETTINGS.items() if not name.startswith("broker")}
GROUPS = ("dynamic", "static", "left", "simple", "empty-and-old", "grüße")


@dataclass
class Asked:
    """What a broker said of its groups."""

    members: dict[str, str]
    answers: dict[str, Any]


def make_groups(address: str) -> Asked:
    """Groups of each kind, and what the broker says of them."""
    ask(address, "CreateTopics", 5, {"topics": [{"name": "t", "num_partitions": 1, "replication_factor": 1}]})
    members = {name: lead(address, name) for name in ("dynamic", "left", "grüße")}
    members["static"] = lead(address, "static", "instance")
    for name, member in members.items():
        commit(address, name, 41, generation_id_or_member_epoch=1, member_id=member)
        commit(address, name, 42, generation_id_or_member_epoch=1, member_id=member)
    commit(address, "simple", 7)
    for name in ("left", "empty-and-old"):
        member = members[name] if name in members else lead(address, name)
        assert ask(address, "LeaveGroup", 2, {"group_id": name, "member_id": member})["error_code"] == 0
    commit(address, "gone", 1)
    assert ask(address, "DeleteGroups", 1, {"groups_names": ["gone"]})["results"][0]["error_code"] == 0
    del members["left"]
    return Asked(members, answers(address, members))


def answers(address: str, members: dict[str, str]) -> dict[str, Any]:
    """What a broker says of all groups."""
    found: dict[str, Any] = {}
    described = ask(address, "DescribeGroups", 5, {"groups": [*GROUPS, "gone"]})["groups"]
    for group in described:
        del group["authorized_operations"]
        found[f"describe {group['group_id']}"] = group
    for name in (*GROUPS, "gone"):
        found[f"offsets {name}"] = ask(address, "OffsetFetch", 7, {"group_id": name, "topics": None})
    for name, member in members.items():
        for generation in (1, 2):
            body = {"group_id": name, "generation_id": generation, "member_id": member}
            found[f"heartbeat {name} {generation}"] = ask(address, "Heartbeat", 3, body)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        fetched(RELEASE)
        find_java(RELEASE.java, "Kafka")
    except (NoJars, NoJava) as cause:
        pytest.skip(f"{RELEASE.name}: {cause}")
    return tmp_path_factory.mktemp("exchange")


@pytest.fixture(scope="module")
def exchanged(folder: Path) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """By direction: what the one said of its groups, and what the other says of them."""
    kafka = KafkaOnDisk(folder, SETTINGS)
    try:
        kafka.start()
        kafkas = make_groups(kafka.address)
        kafka.stop()
        with ours(folder / "ours") as address:
            rotas = make_groups(address)
        from_kafka = exchange(kafka.data, folder / "ours", folder / "of-kafka")
        with ours(from_kafka) as address:
            said_by_rota = answers(address, kafkas.members)
        kafka.start()
        said_by_kafka = answers(kafka.address, rotas.members)
    finally:
        kafka.stop()
    return {"to rota": (kafkas.answers, said_by_rota), "to kafka": (rotas.answers, said_by_kafka)}


@contextmanager
def ours(path: Path) -> Iterator[str]:
    with running(OURS, data_dir=DataDir(str(path))) as address:
        yield address


def exchange(kafka: Path, rota: Path, copy: Path) -> Path:
    """Kafka gets rota's partitions; a new folder of rota's, `copy`, gets what Kafka had.

    Kafka's partitions keep the topic's id, which its metadata know.
    """
    copy.mkdir()
    open_folder(Disk(), str(copy), PARTITIONS)
    for partition in range(PARTITIONS):
        name = f"__consumer_offsets-{partition}"
        shutil.move(kafka / name, copy / name)
        if (rota / name).exists():
            shutil.copytree(rota / name, kafka / name, ignore=shutil.ignore_patterns("rota-*"))
        else:
            (kafka / name).mkdir()
        shutil.copy(copy / name / "partition.metadata", kafka / name)
    return copy


@pytest.mark.parametrize("direction", ["to rota", "to kafka"])
def test_groups_move_between_brokers_that_share_nothing_but_folders(
    direction: str, exchanged: dict[str, tuple[dict[str, Any], dict[str, Any]]]
) -> None:
    before, after = exchanged[direction]
    assert after == before
    assert before["describe dynamic"]["group_state"] == "Stable"
    assert before["heartbeat dynamic 1"]["error_code"] == 0
    assert before["heartbeat static 2"]["error_code"] == 22
    assert before["offsets left"]["topics"][0]["partitions"][0]["committed_offset"] == 42
    assert before["offsets gone"]["topics"] == []


def test_we_read_kafkas_files_as_its_own_tool_does(folder: Path, exchanged: object) -> None:
    try:
        fetched(DUMPS)
        tools_api()
    except (NoJars, OSError, subprocess.SubprocessError) as cause:
        pytest.skip(f"{DUMPS.name}: {cause}")
    segments = sorted((folder / "of-kafka").glob("*/*.log"))
    found = [plain(*entry) for segment in segments for entry in entries(segment)]
    assert found == list(dumped(segments))
    assert len(found) > 20


def entries(segment: Path) -> Iterator[tuple[Key, Value | None]]:
    """Every record as our codec reads it."""
    for _, batch in split(segment.read_bytes()):
        for record in decode_batch(batch):
            key = decode_key(record.key)
            yield key, decode_value(key, record.value)


def plain(key: Key, value: Value | None) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """A record as the tool prints it: without what its version does not have, and without the topic id."""
    assert isinstance(key, OffsetKey | GroupKey)
    kind = "1" if isinstance(key, OffsetKey) else "2"
    names = ("group", "topic", "partition")
    printed_key = {"type": kind, "data": {name: getattr(key, name) for name in names if hasattr(key, name)}}
    if value is None:
        return printed_key, None
    assert not isinstance(value, UnknownValue)
    if isinstance(value, OffsetValue):
        data = value._asdict()
        del data["expire_timestamp" if value.version != 1 else "leader_epoch"], data["topic_id"]
    else:
        data = asdict(value)
        for member in data["members"]:
            del member["tags"]
    del data["version"], data["tags"]
    return printed_key, {"version": str(value.version), "data": camel(data)}


def camel(value: Any) -> Any:
    """With Kafka's names, bytes as the tool prints them."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, list | tuple):
        return [camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {re.sub("_(.)", lambda found: found[1].upper(), name): camel(each) for name, each in value.items()}
