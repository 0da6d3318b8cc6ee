"""Records of consumer groups that rota's server has written, as Kafka 4.4.0's own coordinator reads them."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any
from uuid import UUID

import pytest

from harness.java_programs import Compiled, answers
from harness.kafka_on_disk import ask
from rota.coordinator import GroupCoordinator
from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.consumer.records import Place, by_topic
from rota.server import DataDir, running
from rota.wire.records import decode_batch, split

SETTINGS = {"offsets.topic.num.partitions": 1, "group.consumer.assignment.interval.ms": 0}
GROUP, TOPICS, MEMBER, TARGET, TARGET_OF, CURRENT_OF = range(3, 9)

Record = tuple[bytes, bytes | None]
State = dict[tuple[int, str, str], Any]
"""Type of a key, group and member -> the value that counts."""


@pytest.fixture(scope="module")
def kafka(java: Compiled) -> tuple[str, ...]:
    """The command that reads records."""
    return java("StoredRecords")


def beat(address: str, group: str, member: str, epoch: int, **said: Any) -> Any:
    """One heartbeat, which has to be granted."""
    body = {"group_id": group, "member_id": member, "member_epoch": epoch, "rebalance_timeout_ms": -1}
    found = ask(address, "ConsumerGroupHeartbeat", 1, {**body, **said})
    assert found["error_code"] == 0, found
    return found


def joins(address: str, group: str, member: str, *names: str, **said: Any) -> Any:
    """The first heartbeat of a member."""
    first = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": [*names], "topic_partitions": []}
    return beat(address, group, member, 0, **{**first, **said})


def fill(address: str) -> None:
    """Groups in every state, with members in every state, and groups that are gone."""
    for name, size in (("t", 3), ("u", 1)):
        made = {"name": name, "num_partitions": size, "replication_factor": 1}
        assert ask(address, "CreateTopics", 5, {"topics": [made]})["topics"][0]["error_code"] == 0
    joins(address, "alone", "a", "t", "u", rack_id="r", server_assignor="range")
    joins(address, "two", "a", "t")
    epoch = joins(address, "two", "b", "t", "nowhere")["member_epoch"]
    beat(address, "two", "a", epoch - 1)
    joins(address, "grüße", "世界", "nowhere")
    for group in ("left", "gone"):
        joins(address, group, "a", "t")
        beat(address, group, "a", -1)
    assert ask(address, "DeleteGroups", 1, {"groups_names": ["gone"]})["results"][0]["error_code"] == 0


def written(segment: Path) -> Iterator[Record]:
    """Key and value of every record."""
    for _, batch in split(segment.read_bytes()):
        yield from ((one.key, one.value) for one in decode_batch(batch))


def read(command: Sequence[str], records: Iterable[Record]) -> State:
    """What Kafka's coordinator has when it has read these records."""
    lines = [f"{_text(key)} {'-' if value is None else _text(value)}" for key, value in records]
    state: State = {}
    for line in answers(command, lines):
        kind, key, value = line.split("\t")
        named = json.loads(key)
        group = named.get("groupId") or named.get("group")
        place = int(kind), str(group), str(named.get("memberId", ""))
        state.pop(place, None)
        if (found := json.loads(value)) is not None:
            assert found.pop("classicMemberMetadata", None) is None, "a member of the classic protocol"
            state[place] = found
    return state


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def had(groups: Mapping[str, ConsumerGroup]) -> State:
    """The same of rota's coordinator, in Kafka's words; some of what is as by default is left out."""
    state: State = {}
    for group_id, group in groups.items():
        hashed = {"metadataHash": group.epoch.metadata_hash} if group.epoch.metadata_hash else {}
        state[GROUP, group_id, ""] = {"epoch": group.epoch.epoch, **hashed}
        target = group.target_epoch
        timed = {"assignmentTimestamp": target.timestamp_ms} if target.timestamp_ms else {}
        state[TARGET, group_id, ""] = {"assignmentEpoch": target.epoch, **timed}
        for member, told in group.members.items():
            state[MEMBER, group_id, member] = {
                "instanceId": told.instance_id,
                "rackId": told.rack_id,
                "clientId": told.client_id,
                "clientHost": told.client_host,
                "subscribedTopicNames": [*told.topics],
                "subscribedTopicRegex": told.regex,
                "rebalanceTimeoutMs": told.rebalance_timeout_ms,
                "serverAssignor": told.server_assignor,
            }
        for member, places in group.targets.items():
            state[TARGET_OF, group_id, member] = {"topicPartitions": [*map(_topic, by_topic(places))]}
        for member, now in group.current.items():
            state[CURRENT_OF, group_id, member] = {
                "memberEpoch": now.epoch,
                "previousMemberEpoch": now.previous_epoch,
                "state": int(now.state),
                "assignedPartitions": [*_since(now.assigned)],
                "partitionsPendingRevocation": [*_since(now.pending_revocation)],
            }
    return state


def _topic(one: tuple[UUID, Sequence[int]]) -> dict[str, Any]:
    topic_id = urlsafe_b64encode(one[0].bytes).decode().rstrip("=")
    return {"topicId": topic_id, "partitions": [*one[1]]}


def _since(places: Mapping[Place, int]) -> Iterator[dict[str, Any]]:
    for topic_id, indexes in by_topic(places):
        epochs = [places[topic_id, index] for index in indexes]
        yield {**_topic((topic_id, indexes)), "assignmentEpochs": epochs}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Record], State]:
    """What rota's server has written, and what its coordinator had then."""
    folder, made = tmp_path_factory.mktemp("ours"), list[GroupCoordinator]()

    def factory(*arguments: Any) -> GroupCoordinator:
        made.append(GroupCoordinator(*arguments))
        return made[0]

    with running(SETTINGS, coordinator=factory, data_dir=DataDir(str(folder / "data"))) as address:
        fill(address)
        state = had(made[0].consumer_groups)
    (segment,) = (folder / "data" / "__consumer_offsets-0").glob("*.log")
    return [*written(segment)], state


def test_kafka_reads_what_the_coordinator_has(
    kafka: tuple[str, ...], ours: tuple[list[Record], State]
) -> None:
    """Field by field: epochs, hashes and times, members, targets, what each has and is to give up."""
    records, state = ours
    assert {group for _, group, _ in state} == {"alone", "two", "grüße", "left"}
    assert state[CURRENT_OF, "two", "a"]["partitionsPendingRevocation"]
    assert any(value is None and key[1] == TOPICS for key, value in records), "an end of each kind"
    assert read(kafka, records) == state


def test_a_byte_that_is_wrong_shows(kafka: tuple[str, ...], ours: tuple[list[Record], State]) -> None:
    """An epoch that is one more than it was is read as that."""
    records, state = ours
    place = max(n for n, (key, _) in enumerate(records) if key[1] == GROUP and key.endswith(b"left"))
    key, value = records[place]
    assert value is not None
    changed = (key, value[:5] + bytes([value[5] + 1]) + value[6:])
    assert read(kafka, [*records[:place], changed, *records[place + 1 :]]) != state


def test_a_member_whose_last_field_is_none_of_kafkas_cannot_be_read(
    kafka: tuple[str, ...], ours: tuple[list[Record], State]
) -> None:
    """Such members rota once wrote: with -1 for what is null, where Kafka has 0."""
    key, value = next(one for one in ours[0] if one[0][1] == MEMBER and one[1] is not None)
    assert value is not None
    assert value.endswith(b"\1\0\1\0")
    with pytest.raises(CalledProcessError):
        read(kafka, [(key, value[:-1] + b"\xff")])
