"""DescribeTopicPartitions: the partitions of topics, so many at a time.

Source: KIP-966; upstream's DescribeTopicPartitionsRequestHandler and KRaftMetadataCache, and a running Kafka
4.4.0.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from rota.server.errors import ErrorCode
from rota.server.internal_topics import is_internal
from rota.server.partition import LEADER_EPOCH
from rota.server.topics import Topics, name_problem

MOST = 2_000
"""How many partitions are told in one answer; max.request.partition.size.limit of Kafka."""

ALLOWED_ON_A_TOPIC = 3_576
"""Everything that can be done to a topic, as bits of AclOperation: nothing is refused to anybody."""

Body = Mapping[str, Any]


class DescribeTopicPartitions:
    """The handler."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def __call__(self, body: Body, version: int) -> Generator[None, None, dict[str, Any]]:
        """Topics in order of name, all if none is named; a cursor says which partition comes next."""
        cursor = body["cursor"]
        first = cursor["topic_name"] if cursor else ""
        index = cursor["partition_index"] if cursor else 0
        asked = {each["name"] for each in body["topics"]} or {topic.name for topic in self._topics.all()}
        if index < 0 or (body["topics"] and cursor and first not in asked):
            wrong = {"error_code": ErrorCode.INVALID_REQUEST}
            return {"topics": [{"name": name, **wrong} for name in sorted(asked)]}
        room = min(max(body["response_partition_limit"], 1), MOST)
        told: list[dict[str, Any]] = []
        for name in sorted(name for name in asked if name >= first):
            yield
            begin = index if name == first else 0
            if not room:
                return {"topics": told, "next_cursor": {"topic_name": name, "partition_index": begin}}
            topic, left = self._topic(name, begin, room)
            told.append(topic)
            room -= len(topic["partitions"])
            if left:
                end = begin + len(topic["partitions"])
                return {"topics": told, "next_cursor": {"topic_name": name, "partition_index": end}}
        return {"topics": told, "next_cursor": None}

    def _topic(self, name: str, begin: int, room: int) -> tuple[dict[str, Any], bool]:
        """A topic with some of its partitions, and whether it has more."""
        told: dict[str, Any] = {
            "name": name,
            "topic_authorized_operations": ALLOWED_ON_A_TOPIC,
            "partitions": [],
        }
        count = self._topics.partition_count(name)
        if not count:
            code = (
                ErrorCode.INVALID_TOPIC_EXCEPTION
                if name_problem(name)
                else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            return told | {"error_code": code}, False
        end = min(begin + room, count)
        topic, placement = self._topics.named(name), self._topics.placement
        told["partitions"] = [
            _partition(index, placement.replicas(name, index, topic.replication_factor))
            for index in range(begin, end)
        ]
        return told | {"topic_id": topic.topic_id, "is_internal": is_internal(name)}, end < count


def _partition(index: int, nodes: list[int]) -> dict[str, Any]:
    return {
        "partition_index": index,
        "leader_id": nodes[0],
        "leader_epoch": LEADER_EPOCH,
        "replica_nodes": nodes,
        "isr_nodes": nodes,
        "eligible_leader_replicas": [],
        "last_known_elr": [],
        "offline_replicas": [],
    }
