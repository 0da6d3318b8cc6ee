"""The topics of a server: names, ids and partitions. None outlives the server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

from rota.server.broker_configs import BrokerConfigs
from rota.server.errors import ErrorCode, Refusal
from rota.server.partition import Memory, PartitionLog
from rota.server.placement import Placement
from rota.server.settings import MAX_PARTITIONS, Settings
from rota.server.timers import wall_clock_ms
from rota.server.topic_configs import Configs, log_config

_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_LONGEST = 249
_AT_ONCE = 20


@dataclass(frozen=True, slots=True, eq=False)
class Topic:
    """One topic; a partition's index is its index in `partitions`. `configs` are its own."""

    name: str
    topic_id: UUID
    partitions: tuple[PartitionLog, ...]
    configs: Configs = field(default_factory=dict)
    replication_factor: int = 1

    def partition(self, index: int) -> PartitionLog:
        """Errors: Refusal with UNKNOWN_TOPIC_OR_PARTITION."""
        if not 0 <= index < len(self.partitions):
            text = f"topic {self.name} has no partition {index}, but {len(self.partitions)}"
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        return self.partitions[index]


class Topics:
    """All topics, in order of creation, and what they have from their broker, `configs`.

    `version` is one more after each change of names or partitions; `new_id` gives the next topic its id.
    `clock` tells milliseconds, for times that the broker gives. `placement`: who leads them.
    """

    def __init__(self, settings: Settings, clock: Callable[[], int] = wall_clock_ms) -> None:
        self.memory = Memory(settings.records_max_bytes)
        self.configs = BrokerConfigs(settings)
        self.clock = clock
        self._inherited = self.configs.inherited()
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[UUID, Topic] = {}
        self._metric_names: dict[str, str] = {}
        self._partitions = 0
        self.version = 0
        self.new_id: Callable[[str], UUID] = lambda name: uuid4()
        self.placement = Placement(1, lambda group_id: 0)

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

    def led(self, topic: Topic, index: int, node_id: int) -> PartitionLog:
        """A partition of which something is asked that only its leader does.

        Errors: Refusal with UNKNOWN_TOPIC_OR_PARTITION, or with NOT_LEADER_OR_FOLLOWER for another node.
        """
        log = topic.partition(index)
        if self.placement.leader(topic.name, index) != node_id:
            text = f"{topic.name}-{index} is led by another broker than {node_id}"
            raise Refusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, text)
        return log

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
        problem = name_problem(name)
        if problem:
            raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        if name in self._by_name:
            raise Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        other = self._metric_names.get(_metric_name(name))
        if other is not None:
            text = f"Topic '{name}' collides with existing topic: {other}"
            raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, text)
        self.check_room(partitions)

    def check_room(self, partitions: int) -> None:
        """Whether there can be so many partitions more. Errors: Refusal with POLICY_VIOLATION."""
        if self._partitions + partitions > MAX_PARTITIONS:
            text = f"rota has at most {MAX_PARTITIONS} partitions, {self._partitions} are there already"
            raise Refusal(ErrorCode.POLICY_VIOLATION, text)

    def create(
        self, name: str, partitions: int, configs: Configs | None = None, replication_factor: int = 1
    ) -> Topic:
        """A new topic with so many partitions and configs of its own, which are right.

        Errors: as of `check`.
        """
        self.check(name, partitions)
        self._metric_names[_metric_name(name)] = name
        own = dict(configs or {})
        logs = self._logs(name, range(partitions), own)
        return self._put(Topic(name, self.new_id(name), logs, own, replication_factor))

    def grow(self, name: str, partitions: int) -> Topic:
        """The topic with so many partitions, which are more than it has. Errors: as of `named`."""
        topic = self.named(name)
        more = self._logs(name, range(len(topic.partitions), partitions), topic.configs)
        return self._put(replace(topic, partitions=(*topic.partitions, *more)))

    def configure(self, name: str, configs: Configs) -> None:
        """From now on these are the topic's own configs, which are right. Errors: as of `named`."""
        topic = replace(self.named(name), configs=dict(configs))
        self._by_name[name] = self._by_id[topic.topic_id] = topic
        config = log_config({**self._inherited, **topic.configs})
        for log in topic.partitions:
            log.config = config

    def effective(self, name: str) -> Mapping[str, str]:
        """All configs that the topic has, its own or those of all. Errors: as of `named`."""
        return {**self._inherited, **self.named(name).configs}

    def inherit(self) -> Iterator[None]:
        """The broker's configs have been altered: every topic takes them over, some in each step."""
        self._inherited = self.configs.inherited()
        for number, name in enumerate([*self._by_name], 1):
            if name in self._by_name:
                self.configure(name, self._by_name[name].configs)
            if number % _AT_ONCE == 0:
                yield

    def delete(self, topic: Topic) -> None:
        """The topic is gone, and so are its records."""
        del self._by_name[topic.name], self._by_id[topic.topic_id]
        del self._metric_names[_metric_name(topic.name)]
        self._partitions -= len(topic.partitions)
        self.version += 1
        for log in topic.partitions:
            log.clear()

    def _logs(self, name: str, indexes: range, configs: Configs) -> tuple[PartitionLog, ...]:
        self._partitions += len(indexes)
        config = log_config(self._inherited | {**configs})
        return tuple(PartitionLog(config, self.memory, self.clock, f"{name}-{index}") for index in indexes)

    def _put(self, topic: Topic) -> Topic:
        self._by_name[topic.name] = self._by_id[topic.topic_id] = topic
        self.version += 1
        return topic


def name_problem(name: str) -> str:
    """What is wrong with a topic's name, in Kafka's words; an empty text if nothing is.

    Source: Topic#validate.
    """
    if not name:
        wrong = "the empty string is not allowed"
    elif name in (".", ".."):
        wrong = f"'{name}' is not allowed"
    elif len(name) > _LONGEST:
        wrong = f"the length of '{name[:20]}...' is longer than the max allowed length {_LONGEST}"
    elif not _NAME.fullmatch(name):
        wrong = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return ""
    return f"Topic name is invalid: {wrong}"


def _metric_name(name: str) -> str:
    return name.replace(".", "_")
