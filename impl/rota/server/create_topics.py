"""CreateTopics: topics for this one broker, with configs of their own.

Source: KIP-4, KIP-464, KIP-525; upstream's ReplicationControlManager#createTopics and a running Kafka 4.4.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID

from rota.server.answers import slices
from rota.server.broker_configs import check_length
from rota.server.describe_configs import configs_of_topic
from rota.server.errors import ErrorCode, Refusal
from rota.server.settings import NODE_ID, Settings
from rota.server.topic_configs import Configs, check
from rota.server.topics import Topic, Topics

_DEFAULT = -1
_AT_ONCE = 10
_NO_ID = UUID(int=0)

Body = Mapping[str, Any]


class CreateTopics:
    """The handler; `settings` has the default number of partitions."""

    def __init__(self, topics: Topics, settings: Settings) -> None:
        self._topics = topics
        self._num_partitions = settings.num_partitions

    def __call__(self, body: Body, version: int) -> Generator[None, None, dict[str, Any]]:
        """Creates what can be created, or with `validate_only` says what could be; in steps."""
        counts = Counter(entry["name"] for entry in body["topics"])
        asked = {entry["name"]: entry for entry in body["topics"]}
        results: list[dict[str, Any]] = []
        for some in slices(asked.items(), _AT_ONCE):
            results += (self._result(entry, counts[name] > 1, body["validate_only"]) for name, entry in some)
            yield
        return {"topics": results}

    def _result(self, entry: Body, repeated: bool, validate_only: bool) -> dict[str, Any]:
        name = entry["name"]
        result: dict[str, Any] = {"name": name, "error_message": None, "configs": []}
        try:
            if repeated:
                raise Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            partitions, factor = self._partitions(entry), self._factor(entry)
            self._topics.check(name, partitions)
            configs = _configs(entry["configs"])
            check(configs, self._topics.configs.inherited())
            made = Topic(name, _NO_ID, (), configs)
            if not validate_only:
                made = self._topics.create(name, partitions, configs, factor)
        except Refusal as refusal:
            return result | {"error_code": refusal.error_code, "error_message": refusal.message}
        told = [_shared(tuple(config.items())) for config in _plain(made, self._topics)]
        return result | {
            "topic_id": made.topic_id, "num_partitions": partitions, "replication_factor": factor,
            "configs": told,
        }  # fmt: skip

    def _factor(self, entry: Body) -> int:
        """How many brokers are to have each partition. Errors: Refusal where there are not so many."""
        factor, brokers = int(entry["replication_factor"]), self._topics.placement.brokers
        if factor == _DEFAULT:
            return 1
        if not 1 <= factor <= brokers:
            there = "is one broker; give 1" if brokers == 1 else f"has {brokers} brokers; give 1 to {brokers}"
            text = f"replication factor {factor}: rota {there}, or -1 for the default"
            raise Refusal(ErrorCode.INVALID_REPLICATION_FACTOR, text)
        return factor

    def _partitions(self, entry: Body) -> int:
        """How many partitions are asked for. Errors: Refusal with what is wrong with that."""
        count, factor = entry["num_partitions"], entry["replication_factor"]
        if entry["assignments"]:
            return _assigned(entry["assignments"], count, factor, self._topics.placement.brokers)
        if count < 1 and count != _DEFAULT:
            text = f"{count} partitions; give at least 1, or -1 for the default"
            raise Refusal(ErrorCode.INVALID_PARTITIONS, text)
        return self._num_partitions if count == _DEFAULT else int(count)


def _assigned(assignments: list[Body], count: int, factor: int, brokers: int) -> int:
    """The number of partitions of a manual assignment. Errors: Refusal."""
    if (count, factor) != (_DEFAULT, _DEFAULT):
        text = "with a manual assignment the number of partitions and the replication factor have to be -1"
        raise Refusal(ErrorCode.INVALID_REQUEST, text)
    if sorted(item["partition_index"] for item in assignments) != list(range(len(assignments))):
        text = "the partitions of a manual assignment have to be 0, 1, 2 and so on"
        raise Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
    if brokers > 1:
        text = f"rota places partitions on its {brokers} brokers by itself; give their number"
        raise Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
    if any(item["broker_ids"] != [NODE_ID] for item in assignments):
        text = f"every partition has to be assigned to broker {NODE_ID}, the only one"
        raise Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
    return len(assignments)


def _configs(asked: list[Body]) -> Configs:
    """The configs of a new topic, of which no value may be null. Errors: Refusal with INVALID_CONFIG."""
    without = [item["name"] for item in asked if item["value"] is None]
    if without:
        text = f"Null value not supported for topic configs: {','.join(without)}"
        raise Refusal(ErrorCode.INVALID_CONFIG, text)
    configs = {item["name"]: item["value"] for item in asked}
    check_length(configs)
    return configs


def _plain(topic: Topic, topics: Topics) -> list[dict[str, Any]]:
    """The configs of a topic as a CreateTopics tells them."""
    names = ("name", "value", "read_only", "config_source", "is_sensitive")
    return [{name: config[name] for name in names} for config in configs_of_topic(topic, topics.configs)]


@lru_cache(1_000)
def _shared(items: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """One dict for all topics that are told alike: an answer may have thousands of them."""
    return dict(items)
