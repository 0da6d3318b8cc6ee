"""CreateTopics: topics for this one broker, without configs of their own.

Source: KIP-4, KIP-464; upstream's ReplicationControlManager#createTopics and a running Kafka 4.4.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rota.server.errors import ErrorCode, Refusal
from rota.server.settings import NODE_ID, Settings
from rota.server.topics import Topics

_DEFAULT = -1

_TRUE_CONFIGS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "message.timestamp.type": "CreateTime",
    "min.insync.replicas": "1",
    "retention.ms": "-1",
}
"""Configs that may be asked for because every topic is so already."""

Body = Mapping[str, Any]


class CreateTopics:
    """The handler; `settings` has the default number of partitions."""

    def __init__(self, topics: Topics, settings: Settings) -> None:
        self._topics = topics
        self._num_partitions = settings.num_partitions

    def __call__(self, body: Body, version: int) -> dict[str, Any]:
        """Creates what can be created, or with `validate_only` says what could be."""
        counts = Counter(entry["name"] for entry in body["topics"])
        asked = {entry["name"]: entry for entry in body["topics"]}
        results = [
            self._result(entry, counts[name] > 1, body["validate_only"]) for name, entry in asked.items()
        ]
        return {"topics": results}

    def _result(self, entry: Body, repeated: bool, validate_only: bool) -> dict[str, Any]:
        name = entry["name"]
        result: dict[str, Any] = {"name": name, "error_message": None, "configs": []}
        try:
            if repeated:
                raise Refusal(ErrorCode.INVALID_REQUEST, f"topic {name!r} is in the request more than once")
            partitions = self._partitions(entry)
            self._topics.check(name, partitions)
            _check_configs(entry["configs"])
            if not validate_only:
                result["topic_id"] = self._topics.create(name, partitions).topic_id
        except Refusal as refusal:
            return result | {"error_code": refusal.error_code, "error_message": refusal.message}
        return result | {"num_partitions": partitions, "replication_factor": 1}

    def _partitions(self, entry: Body) -> int:
        """How many partitions are asked for. Errors: Refusal with what is wrong with that."""
        count, factor = entry["num_partitions"], entry["replication_factor"]
        if entry["assignments"]:
            return _assigned(entry["assignments"], count, factor)
        if factor not in (_DEFAULT, 1):
            text = f"replication factor {factor}: rota is one broker; give 1, or -1 for the default"
            raise Refusal(ErrorCode.INVALID_REPLICATION_FACTOR, text)
        if count < 1 and count != _DEFAULT:
            text = f"{count} partitions; give at least 1, or -1 for the default"
            raise Refusal(ErrorCode.INVALID_PARTITIONS, text)
        return self._num_partitions if count == _DEFAULT else int(count)


def _assigned(assignments: list[Body], count: int, factor: int) -> int:
    """The number of partitions of a manual assignment. Errors: Refusal."""
    if (count, factor) != (_DEFAULT, _DEFAULT):
        text = "with a manual assignment the number of partitions and the replication factor have to be -1"
        raise Refusal(ErrorCode.INVALID_REQUEST, text)
    if sorted(item["partition_index"] for item in assignments) != list(range(len(assignments))):
        text = "the partitions of a manual assignment have to be 0, 1, 2 and so on"
        raise Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
    if any(item["broker_ids"] != [NODE_ID] for item in assignments):
        text = f"every partition has to be assigned to broker {NODE_ID}, the only one"
        raise Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
    return len(assignments)


def _check_configs(configs: list[Body]) -> None:
    for item in configs:
        if _TRUE_CONFIGS.get(item["name"]) != item["value"] or item["value"] is None:
            able = ", ".join(f"{name}={value}" for name, value in _TRUE_CONFIGS.items())
            text = f"rota cannot do {item['name']}={item['value']}; it can do {able}"
            raise Refusal(ErrorCode.INVALID_CONFIG, text)
