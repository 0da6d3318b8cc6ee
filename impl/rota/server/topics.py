"""The topics of a server: names, ids and partitions. None outlives the server."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

from rota.server.errors import ErrorCode, Refusal
from rota.server.partition import Memory, PartitionLog
from rota.server.settings import MAX_PARTITIONS, Settings

MEMORY_BYTES = 512 << 20
"""What the records of all topics together may take."""

_NAME = re.compile(r"(?!\.\.?$)[a-zA-Z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True, eq=False)
class Topic:
    """One topic; a partition's index is its index in `partitions`."""

    name: str
    topic_id: UUID
    partitions: tuple[PartitionLog, ...]

    def partition(self, index: int) -> PartitionLog:
        """Errors: Refusal with UNKNOWN_TOPIC_OR_PARTITION."""
        if not 0 <= index < len(self.partitions):
            text = f"topic {self.name} has no partition {index}, but {len(self.partitions)}"
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        return self.partitions[index]


class Topics:
    """All topics, in order of creation. `memory_bytes` bounds what all their records may take.

    `version` is one more after each change; `new_id` gives the next topic its id.
    """

    def __init__(self, settings: Settings, memory_bytes: int = MEMORY_BYTES) -> None:
        self.memory = Memory(memory_bytes)
        self._retention_bytes = settings.log_retention_bytes
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[UUID, Topic] = {}
        self._metric_names: dict[str, str] = {}
        self._partitions = 0
        self.version = 0
        self.new_id: Callable[[], UUID] = uuid4

    def all(self) -> tuple[Topic, ...]:
        """Every topic."""
        return tuple(self._by_name.values())

    def named(self, name: str) -> Topic:
        """The topic of that name. Errors: Refusal with UNKNOWN_TOPIC_OR_PARTITION."""
        topic = self._by_name.get(name)
        if topic is None:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
        return topic

    def identified(self, topic_id: UUID) -> Topic:
        """The topic with that id. Errors: Refusal with UNKNOWN_TOPIC_ID."""
        topic = self._by_id.get(topic_id)
        if topic is None:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_ID, f"there is no topic with the id {topic_id}")
        return topic

    def partition_count(self, name: str) -> int:
        """How many partitions the topic has, 0 if there is no such topic."""
        topic = self._by_name.get(name)
        return len(topic.partitions) if topic else 0

    def id_of(self, name: str) -> UUID | None:
        """The topic's id, None if there is no such topic."""
        topic = self._by_name.get(name)
        return topic.topic_id if topic else None

    def name_of(self, topic_id: UUID) -> str | None:
        """The topic's name, None if there is no topic of this id."""
        topic = self._by_id.get(topic_id)
        return topic.name if topic else None

    def check(self, name: str, partitions: int) -> None:
        """Whether `create` can.

        Errors: Refusal with INVALID_TOPIC_EXCEPTION (also for a name that differs from another one only in
        dots for underscores, as in Kafka), TOPIC_ALREADY_EXISTS, or POLICY_VIOLATION for too many partitions.
        """
        if not _NAME.fullmatch(name):
            text = (
                f"topic name {name!r}: give 1 to 249 ASCII letters, digits, '.', '_' and '-', not '.' or '..'"
            )
            raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, text)
        if name in self._by_name:
            raise Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name!r} already exists")
        other = self._metric_names.get(_metric_name(name))
        if other is not None:
            text = f"topic name {name!r} collides with {other!r}: dots and underscores count as the same"
            raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, text)
        self.check_room(partitions)

    def check_room(self, partitions: int) -> None:
        """Whether there can be so many partitions more. Errors: Refusal with POLICY_VIOLATION."""
        if self._partitions + partitions > MAX_PARTITIONS:
            text = f"rota has at most {MAX_PARTITIONS} partitions, {self._partitions} are there already"
            raise Refusal(ErrorCode.POLICY_VIOLATION, text)

    def create(self, name: str, partitions: int) -> Topic:
        """A new topic with so many partitions. Errors: as of `check`."""
        self.check(name, partitions)
        self._metric_names[_metric_name(name)] = name
        return self._put(Topic(name, self.new_id(), self._logs(partitions)))

    def grow(self, name: str, partitions: int) -> Topic:
        """The topic with so many partitions, which are more than it has. Errors: as of `named`."""
        topic = self.named(name)
        more = self._logs(partitions - len(topic.partitions))
        return self._put(Topic(name, topic.topic_id, (*topic.partitions, *more)))

    def delete(self, topic: Topic) -> None:
        """The topic is gone, and so are its records."""
        del self._by_name[topic.name], self._by_id[topic.topic_id]
        del self._metric_names[_metric_name(topic.name)]
        self._partitions -= len(topic.partitions)
        self.version += 1
        for log in topic.partitions:
            log.clear()

    def _logs(self, partitions: int) -> tuple[PartitionLog, ...]:
        self._partitions += partitions
        return tuple(PartitionLog(self._retention_bytes, self.memory) for _ in range(partitions))

    def _put(self, topic: Topic) -> Topic:
        self._by_name[topic.name] = self._by_id[topic.topic_id] = topic
        self.version += 1
        return topic


def _metric_name(name: str) -> str:
    return name.replace(".", "_")
