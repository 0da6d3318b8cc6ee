"""What Kafka's own DumpLogSegments prints of a log of rota's is what the coordinator has, field by field."""

from __future__ import annotations

import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from harness.kafka_on_disk import DUMPS, ask, commit, dumped, lead, tools_api
from rota.conformance.targets.java import NoJava, find_java
from rota.conformance.targets.kafka_jars import NoJars, fetched
from rota.coordinator import (
    Append,
    CoordinatorConfig,
    GroupCoordinator,
    GroupRecord,
    OffsetBatch,
    OffsetRecord,
    TransactionMarker,
)
from rota.log import LogOptions
from rota.server import DataDir, running
from rota.server.storage import Storage
from rota.server.stored_records import group_record, offset_record

SETTINGS = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": 1}


@pytest.fixture(autouse=True)
def tool() -> None:
    try:
        fetched(DUMPS)
        find_java(DUMPS.java, "Kafka")
        tools_api()
    except (NoJars, NoJava, OSError, subprocess.SubprocessError) as cause:
        pytest.skip(f"{DUMPS.name}: {cause}")


def fill(address: str) -> None:
    """Groups and offsets of every kind."""
    topics = [{"name": "t"}]
    ask(address, "Metadata", 9, {"topics": topics, "allow_auto_topic_creation": True})
    lead(address, "dynamic")
    lead(address, "static", "instance")
    member = lead(address, "left")
    commit(address, "left", 1, generation_id_or_member_epoch=1, member_id=member)
    assert ask(address, "LeaveGroup", 2, {"group_id": "left", "member_id": member})["error_code"] == 0
    commit(address, "simple", 5)
    commit(address, "simple", 6)
    commit(address, "expiring", 2**62, version=4, retention_time_ms=90_000_000)
    commit(address, "deleted", 9)
    deleted = ask(address, "DeleteGroups", 1, {"groups_names": ["deleted"]})["results"]
    assert deleted == [{"group_id": "deleted", "error_code": 0}]


def state_of(coordinator: GroupCoordinator) -> dict[str, Any]:
    """The groups' records and offsets as they are in the coordinator, under Kafka's names."""
    state: dict[str, Any] = {}
    for group_id, group in coordinator.groups.items():
        if group.protocol_type is not None:
            record = group.record({member.member_id: member.assignment for member in group.members.values()})
            state[f"group {group_id}"] = kafka_group(record)
    for group_id, topics in coordinator._offsets.committed.items():
        for topic, partitions in topics.items():
            state |= {
                f"offset {group_id} {topic} {index}": kafka_offset(one) for index, one in partitions.items()
            }
    return state


def kafka_group(record: GroupRecord) -> dict[str, Any]:
    return {
        "protocolType": record.protocol_type or "",
        "generation": record.generation_id,
        "protocol": record.protocol_name,
        "leader": record.leader,
        "currentStateTimestamp": record.state_timestamp_ms,
        "members": [
            {
                "memberId": member.member_id,
                "groupInstanceId": member.group_instance_id,
                "clientId": member.client_id,
                "clientHost": member.client_host,
                "rebalanceTimeout": member.rebalance_timeout_ms,
                "sessionTimeout": member.session_timeout_ms,
                "subscription": b64encode(member.subscription).decode(),
                "assignment": b64encode(member.assignment).decode(),
            }
            for member in record.members
        ],
    }


def kafka_offset(record: OffsetRecord) -> dict[str, Any]:
    found = {
        "offset": record.committed_offset,
        "metadata": record.metadata,
        "commitTimestamp": record.commit_timestamp_ms,
    }
    if record.expire_timestamp_ms == -1:
        return {**found, "leaderEpoch": record.committed_leader_epoch}
    return {**found, "expireTimestamp": record.expire_timestamp_ms}


def state_of_dump(segment: Path) -> dict[str, Any]:
    """What is left when the records that Kafka prints have been read in order."""
    state: dict[str, Any] = {}
    for key, payload in dumped([segment]):
        assert key is not None
        data = key["data"]
        kind = {"1": "offset {group} {topic} {partition}", "2": "group {group}"}[key["type"]]
        name = kind.format(**data)
        state.pop(name, None)
        if payload is not None:
            state[name] = payload["data"]
    return state


class NoChoices:
    """Nothing is left open when a log is loaded."""


def loaded(data_dir: DataDir) -> GroupCoordinator:
    """A coordinator that has read the log."""
    coordinator = GroupCoordinator(CoordinatorConfig(), NoChoices())
    storage = Storage.open(data_dir, 1, LogOptions())
    for group in storage.groups():
        record = None if group.value is None else group_record(group.value)
        coordinator.load(group.group_id, record, [offset_record(*each) for each in group.offsets])
    storage.close()
    return coordinator


def test_what_kafka_prints_is_what_the_coordinator_has(tmp_path: Path) -> None:
    data_dir = DataDir(str(tmp_path / "data"))
    made: list[GroupCoordinator] = []

    def factory(*arguments: Any) -> GroupCoordinator:
        made.append(GroupCoordinator(*arguments))
        return made[0]

    with running(SETTINGS, coordinator=factory, data_dir=data_dir) as address:
        fill(address)
        state = state_of(made[0])
    (segment,) = (tmp_path / "data" / "__consumer_offsets-0").glob("*.log")
    printed = state_of_dump(segment)
    by_member = printed["group dynamic"].pop("currentStateTimestamp")
    assert by_member <= state["group dynamic"].pop("currentStateTimestamp")
    printed["group static"].pop("currentStateTimestamp")
    state["group static"].pop("currentStateTimestamp")
    groups = {"group dynamic", "group static", "group left"}
    assert set(state) == groups | {f"offset {name} t 0" for name in ("left", "simple", "expiring")}
    assert printed == state
    again = state_of(loaded(data_dir))
    assert again["group dynamic"].pop("currentStateTimestamp") == by_member
    again["group static"].pop("currentStateTimestamp")
    assert again == state


def test_kafka_reads_transactions_and_their_ends(tmp_path: Path) -> None:
    storage = Storage.open(DataDir(str(tmp_path / "data")), 1, LogOptions())
    offset = OffsetRecord("t", 0, 5, -1, "", 1_700_000_000_000)
    appends = [
        Append(1, "g", OffsetBatch((offset,), producer_id=8)),
        Append(2, "", TransactionMarker(8, is_commit=True)),
        Append(3, "g", OffsetBatch((offset,), producer_id=9)),
    ]
    assert [storage.write([each]) for each in appends] == [[0], [0], [0]]
    storage.close()
    (segment,) = (tmp_path / "data" / "__consumer_offsets-0").glob("*.log")
    value = {"version": "3", "data": kafka_offset(offset)}
    key = {"type": "1", "data": {"group": "g", "topic": "t", "partition": 0}}
    assert list(dumped([segment])) == [(key, value), (None, None), (key, value)]
