"""The coordinator's records of consumer groups as those of the offsets topic, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from rota.coordinator.consumer.records import (
    CurrentAssignment,
    Entry,
    GroupEpoch,
    Key,
    Kind,
    MemberMetadata,
    MemberState,
    Place,
    TargetAssignment,
    TargetEpoch,
    Value,
    by_topic,
)
from rota.log import consumer_records as stored
from rota.log.consumer_records import ConsumerRecord

_VERSIONS: Mapping[Kind, int] = {
    "group": stored.GROUP,
    "topics": stored.TOPICS,
    "member": stored.MEMBER,
    "target": stored.TARGET,
    "target of": stored.TARGET_OF,
    "current of": stored.CURRENT_OF,
}
_KINDS = {version: kind for kind, version in _VERSIONS.items()}

ENDED: tuple[Key, ...] = (Key("target"), Key("topics"), Key("group"))
"""What is ended with a group, whose members have gone before."""

Body = Mapping[str, Any]


def record_of(group_id: str, key: Key, value: Value | None) -> ConsumerRecord:
    """A record as it is stored. Not of a classic group's."""
    body = None if value is None else _body(value)
    return ConsumerRecord(_VERSIONS[key.kind], group_id, key.member_id, body)


def entries_of_group(records: Iterable[ConsumerRecord]) -> Iterator[Entry]:
    """What the coordinator takes of stored records; topics are of older brokers, and not needed."""
    for version, _, member_id, body in records:
        if version != stored.TOPICS and body is not None:
            yield Key(_KINDS[version], member_id), _value(version, body)


def _body(value: Value) -> Body:
    if isinstance(value, GroupEpoch):
        return {"epoch": value.epoch, "metadata_hash": value.metadata_hash}
    if isinstance(value, TargetEpoch):
        return {"assignment_epoch": value.epoch, "assignment_timestamp": value.timestamp_ms}
    if isinstance(value, MemberMetadata):
        return {
            "instance_id": value.instance_id,
            "rack_id": value.rack_id,
            "client_id": value.client_id,
            "client_host": value.client_host,
            "subscribed_topic_names": list(value.topics),
            "subscribed_topic_regex": value.regex,
            "rebalance_timeout_ms": value.rebalance_timeout_ms,
            "server_assignor": value.server_assignor,
        }
    if isinstance(value, TargetAssignment):
        return {"topic_partitions": [_topic(*each) for each in by_topic(value.places)]}
    return {
        "member_epoch": value.epoch,
        "previous_member_epoch": value.previous_epoch,
        "state": int(value.state),
        "assigned_partitions": _with_epochs(value.assigned),
        "partitions_pending_revocation": _with_epochs(value.pending_revocation),
    }


def _topic(topic_id: object, indexes: Iterable[int]) -> dict[str, Any]:
    return {"topic_id": topic_id, "partitions": list(indexes)}


def _with_epochs(places: Mapping[Place, int]) -> list[dict[str, Any]]:
    return [
        {
            **_topic(topic_id, indexes),
            "assignment_epochs": [places[topic_id, index] for index in indexes],
        }
        for topic_id, indexes in by_topic(places)
    ]


def _value(version: int, body: Body) -> Value:
    if version == stored.GROUP:
        return GroupEpoch(body["epoch"], body["metadata_hash"])
    if version == stored.TARGET:
        return TargetEpoch(body["assignment_epoch"], body["assignment_timestamp"])
    if version == stored.MEMBER:
        return _member(body)
    if version == stored.TARGET_OF:
        return TargetAssignment(frozenset(_places(body["topic_partitions"])))
    epoch = cast(int, body["member_epoch"])
    known = body["state"] in tuple(MemberState)
    return CurrentAssignment(
        epoch,
        body["previous_member_epoch"],
        MemberState(body["state"]) if known else MemberState.UNRELEASED,
        dict(_epochs(body["assigned_partitions"], epoch)),
        dict(_epochs(body["partitions_pending_revocation"], epoch)),
    )


def _member(body: Body) -> MemberMetadata:
    return MemberMetadata(
        client_id=body["client_id"],
        client_host=body["client_host"],
        rebalance_timeout_ms=body["rebalance_timeout_ms"],
        topics=tuple(sorted(set(body["subscribed_topic_names"] or ()))),
        server_assignor=body["server_assignor"],
        rack_id=body["rack_id"],
        instance_id=body["instance_id"],
        regex=body["subscribed_topic_regex"] or "",
    )


def _places(topics: Iterable[Body]) -> Iterator[Place]:
    for topic in topics:
        for index in topic["partitions"]:
            yield topic["topic_id"], index


def _epochs(topics: Iterable[Body], epoch: int) -> Iterator[tuple[Place, int]]:
    """Each partition with its epoch; that of the member where older brokers wrote none."""
    for topic in topics:
        indexes, epochs = topic["partitions"], topic["assignment_epochs"]
        for number, index in enumerate(indexes):
            known = epochs[number] if number < len(epochs) else epoch
            yield (topic["topic_id"], index), known
