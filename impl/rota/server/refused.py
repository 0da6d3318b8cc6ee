"""A request of any API of the server answered with an error, in the places where a broker puts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Body = Mapping[str, Any]


@dataclass(frozen=True)
class _Partitions:
    """What partitions are called in requests and responses of an API whose errors are theirs.

    asked: topics, their partitions and the index of each; answered: the same in the response.
    """

    asked: tuple[str, str, str]
    answered: tuple[str, str, str]


_ALIKE = ("topics", "partitions", "partition_index")

_BY_PARTITION = {
    "Fetch": _Partitions(
        ("topics", "partitions", "partition"), ("responses", "partitions", "partition_index")
    ),
    "AlterPartitionReassignments": _Partitions(_ALIKE, ("responses", "partitions", "partition_index")),
    "DeleteRecords": _Partitions(_ALIKE, _ALIKE),
    "ListOffsets": _Partitions(_ALIKE, _ALIKE),
    "OffsetForLeaderEpoch": _Partitions(
        ("topics", "partitions", "partition"), ("topics", "partitions", "partition")
    ),
    "OffsetCommit": _Partitions(_ALIKE, _ALIKE),
    "TxnOffsetCommit": _Partitions(_ALIKE, _ALIKE),
    "Produce": _Partitions(
        ("topic_data", "partition_data", "index"), ("responses", "partition_responses", "index")
    ),
}

_BY_NAME = {
    "ConsumerGroupDescribe": ("group_ids", "groups", "group_id"),
    "DeleteGroups": ("groups_names", "results", "group_id"),
    "DescribeGroups": ("groups", "groups", "group_id"),
    "FindCoordinator": ("coordinator_keys", "coordinators", "key"),
}
"""API -> the names in its request, the array in its response, and what a name is called there."""

_BY_RESOURCE = {
    "AlterConfigs": "responses", "DescribeConfigs": "results", "IncrementalAlterConfigs": "responses",
}  # fmt: skip
"""API -> the array in its response, of APIs whose requests have `resources`."""

_NOWHERE = {"node_id": -1, "host": "", "port": -1}
_BY_ID_SINCE = 6
"""First DeleteTopics version in which topics have ids."""

_NO_OFFSET = {"committed_offset": -1, "committed_leader_epoch": -1}


def refused(name: str, version: int, body: Body, error_code: int) -> dict[str, Any]:
    """The response to a request that nobody carries out. Its client sees the error wherever it looks."""
    if name in _BY_PARTITION:
        return _by_partition(_BY_PARTITION[name], body, {"error_code": error_code})
    if name in _BY_NAME and not (name == "FindCoordinator" and version < 4):
        return _by_name(name, body, error_code)
    if name == "FindCoordinator":
        return {"error_code": error_code, **_NOWHERE}
    if name == "OffsetFetch":
        return _offset_fetch(version, body, error_code)
    if name in _BY_RESOURCE:
        told = [{**_resource(each), "error_code": error_code} for each in body["resources"]]
        return {_BY_RESOURCE[name]: told}
    if name == "AddPartitionsToTxn":
        return _additions(version, body, error_code)
    if name == "DescribeProducers":
        return {
            "topics": [
                {"name": topic["name"], "partitions": [{"partition_index": index, "error_code": error_code}]}
                for topic in body["topics"]
                for index in topic["partition_indexes"]
            ]
        }
    if name == "AlterReplicaLogDirs":
        return {"results": [_unmoved(topic, error_code) for each in body["dirs"] for topic in each["topics"]]}
    if name == "DescribeTransactions":
        ids = body["transactional_ids"]
        return {"transaction_states": [{"transactional_id": each, "error_code": error_code} for each in ids]}
    if name == "ElectLeaders":
        return _elections(version, body, error_code)
    if name == "DescribeLogDirs":
        return {
            "results": [{"error_code": error_code}],
            **({"error_code": error_code} if version >= 3 else {}),
        }
    if name in ("CreateTopics", "DescribeTopicPartitions", "Metadata"):
        topics = body["topics"] or ()
        return {"topics": [{**_topic(topic), "error_code": error_code} for topic in topics]}
    if name == "CreatePartitions":
        return {"results": [{**_topic(topic), "error_code": error_code} for topic in body["topics"]]}
    if name == "DeleteTopics":
        asked = (
            body["topics"] if version >= _BY_ID_SINCE else [{"name": each} for each in body["topic_names"]]
        )
        return {"responses": [{**_topic(topic), "error_code": error_code} for topic in asked]}
    return {"error_code": error_code}


def _by_partition(words: _Partitions, body: Body, error: Body) -> dict[str, Any]:
    (topics, partitions, index), (answered, theirs, number) = words.asked, words.answered
    return {
        answered: [
            {**_topic(topic), theirs: [{number: each[index], **error} for each in topic[partitions]]}
            for topic in body[topics]
        ]
    }


def _by_name(name: str, body: Body, error_code: int) -> dict[str, Any]:
    asked, answered, key = _BY_NAME[name]
    nowhere = _NOWHERE if name == "FindCoordinator" else {}
    return {answered: [{key: each, "error_code": error_code, **nowhere} for each in body[asked]]}


def _offset_fetch(version: int, body: Body, error_code: int) -> dict[str, Any]:
    """A group's error from version 2 on; before, each partition has it."""
    if version >= 8:
        groups = [{"group_id": each["group_id"], "error_code": error_code} for each in body["groups"]]
        return {"groups": groups}
    if version >= 2:
        return {"error_code": error_code}
    error = {"error_code": error_code, **_NO_OFFSET}
    topics = [
        {
            "name": topic["name"],
            "partitions": [{"partition_index": index, **error} for index in topic["partition_indexes"]],
        }
        for topic in body["topics"]
    ]
    return {"topics": topics}


_BY_TRANSACTION_SINCE = 4
"""First AddPartitionsToTxn version with several transactions, and an error of the whole request."""


def _additions(version: int, body: Body, error_code: int) -> dict[str, Any]:
    """An error for each partition; from version 4 on for the whole."""
    if version >= _BY_TRANSACTION_SINCE:
        return {"error_code": error_code}
    topics = [
        {
            "name": topic["name"],
            "results_by_partition": [
                {"partition_index": index, "partition_error_code": error_code}
                for index in topic["partitions"]
            ],
        }
        for topic in body["v3_and_below_topics"]
    ]
    return {"results_by_topic_v3_and_below": topics}


def _elections(version: int, body: Body, error_code: int) -> dict[str, Any]:
    """An error for each partition that is named, and for the whole in versions that have that."""
    results = [
        {
            "topic": each["topic"],
            "partition_result": [
                {"partition_id": index, "error_code": error_code} for index in each["partitions"]
            ],
        }
        for each in body["topic_partitions"] or ()
    ]
    return {"replica_election_results": results} | ({"error_code": error_code} if version >= 1 else {})


def _unmoved(topic: Body, error_code: int) -> dict[str, Any]:
    """A topic of which no partition gets into another directory."""
    partitions = [{"partition_index": index, "error_code": error_code} for index in topic["partitions"]]
    return {"topic_name": topic["name"], "partitions": partitions}


def _resource(resource: Body) -> dict[str, Any]:
    """What names a resource."""
    return {word: resource[word] for word in ("resource_type", "resource_name")}


def _topic(topic: Body) -> dict[str, Any]:
    """What names a topic, in whichever way."""
    return {word: topic[word] for word in ("name", "topic", "topic_id") if word in topic}
