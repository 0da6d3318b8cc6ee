"""What a broker answers without its group coordinator and its logs: Metadata and FindCoordinator.

The cluster is this one server, which may be several brokers, each at ports of its own: one leads a partition
and coordinates a group, the others say that they do not (`placement`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any
from uuid import UUID

from rota.server.answers import LongAnswer, slices
from rota.server.api_ranges import CLUSTER_ID
from rota.server.context import RequestContext
from rota.server.endpoints import Endpoint, Endpoints
from rota.server.errors import ErrorCode, Refusal
from rota.server.internal_topics import ensure_offsets, is_internal
from rota.server.partition import LEADER_EPOCH
from rota.server.placement import OFFSETS
from rota.server.settings import MAX_PARTITIONS, NODE_ID, Settings
from rota.server.topics import Topic, Topics

ELEMENTS_AT_ONCE = 100
"""How many topics or coordinators of an answer are made in one step."""

_BEHIND_TOPICS = {8: 4, 9: 4, 10: 4, 13: 2}
"""How many bytes of a Metadata response are behind its topics: the operations allowed, or an error."""

_NO_TOPIC_ID = UUID(int=0)
_GROUP, _TRANSACTION = 0, 1

Body = Mapping[str, Any]


class Cluster:
    """The brokers at their `endpoints` with their topics, which Metadata may create.

    Who leads and coordinates is the topics' placement. `loop` is where topics are made a moment after a
    Metadata has asked for them. Whoever asks is told of everybody's place at the listener by which he came.
    """

    def __init__(
        self, settings: Settings, topics: Topics, endpoints: Endpoints, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._loop = loop
        self._coming: dict[str, asyncio.TimerHandle] = {}
        self._settings = settings
        self._topics = topics
        self._endpoints = endpoints
        self._placement = topics.placement

    def find_coordinators(self, body: Body, context: RequestContext) -> Iterator[None] | None:
        """FindCoordinator: this broker, for groups and for transactions; all else gets INVALID_REQUEST."""
        key_type, listener = body.get("key_type", _GROUP), context.endpoint.listener
        if context.version < 4:
            found = self._coordinator(key_type, body["key"], listener)
            context.reply({name: value for name, value in found.items() if name != "key"})
            return None
        found_all = (self._coordinator(key_type, key, listener) for key in body["coordinator_keys"])
        return _in_steps(LongAnswer(context, "coordinators", {}), found_all)

    def _coordinator(self, key_type: int, key: str, listener: str) -> dict[str, Any]:
        nowhere = {"key": key, "node_id": -1, "host": "", "port": -1}
        if key_type == _GROUP:
            ensure_offsets(self._topics, self._settings)
            if not self._placement.is_loaded:
                return nowhere | {"error_code": ErrorCode.COORDINATOR_NOT_AVAILABLE}
            return {"key": key, **self._place(self._placement.of_group(key), listener)}
        if key_type == _TRANSACTION:
            return {"key": key, **self._place(self._placement.of_transaction(key), listener)}
        return nowhere | {"error_code": ErrorCode.INVALID_REQUEST}

    def describe(self, body: Body, context: RequestContext) -> Iterator[None]:
        """Metadata: the broker and the topics asked for: all for null (in version 0: for none), by name, or
        by id."""
        version, asked = context.version, body["topics"]
        if asked is None or (version == 0 and not asked):
            topics: Iterator[dict[str, Any]] = (self._described(topic) for topic in self._topics.all())
        elif 10 <= version < 12 and any(_by_id(topic) for topic in asked):
            topics = (
                {**topic, "name": topic["name"] or "", "error_code": ErrorCode.INVALID_REQUEST}
                for topic in asked
            )
        else:
            topics = self._asked(asked, body.get("allow_auto_topic_creation", True))
        rest = {
            "brokers": self.nodes(context.endpoint.listener),
            "cluster_id": CLUSTER_ID,
            "controller_id": NODE_ID,
        }
        return _in_steps(LongAnswer(context, "topics", rest, _BEHIND_TOPICS.get(version, 0)), topics)

    def nodes(self, listener: str) -> list[dict[str, Any]]:
        """The brokers: their ids, and hosts and ports at a listener."""
        return [_node(each) for each in self._endpoints.of_listener(listener)]

    def _place(self, node_id: int, listener: str) -> dict[str, Any]:
        return _node(self._endpoints.of_node(node_id, listener))

    def _asked(self, asked: list[dict[str, Any]], allow_creation: bool) -> Iterator[dict[str, Any]]:
        """Topics by id if the request has any id (names are ignored then, as a broker does), else by name."""
        ids = dict.fromkeys(topic["topic_id"] for topic in asked if topic.get("topic_id", _NO_TOPIC_ID).int)
        if ids:
            return (self._identified(topic_id) for topic_id in ids)
        names = dict.fromkeys(topic["name"] for topic in asked)
        return (self._named(name, allow_creation) for name in names)

    def _identified(self, topic_id: UUID) -> dict[str, Any]:
        try:
            return self._described(self._topics.identified(topic_id))
        except Refusal as refusal:
            return {"name": None, "topic_id": topic_id, "error_code": refusal.error_code}

    def _named(self, name: str | None, allow_creation: bool) -> dict[str, Any]:
        """A topic that is there, or else one that is made or refused."""
        wanted = name or ""
        try:
            if self._topics.partition_count(wanted):
                return self._described(self._topics.named(wanted))
            self._topics.check(wanted, 0)
            if allow_creation and self._settings.auto_create_topics_enable:
                if not self._settings.auto_create_topics_delay_ms:
                    return self._described(self._created(wanted))
                self._create_soon(wanted)
        except Refusal as refusal:
            return {"name": wanted, "error_code": refusal.error_code}
        return {"name": wanted, "error_code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}

    def _described(self, topic: Topic) -> dict[str, Any]:
        count, placement = len(topic.partitions), self._placement
        if placement.is_one:
            partitions = _partitions(count)
        else:
            factor = topic.replication_factor
            partitions = [_led(each, placement.replicas(topic.name, each, factor)) for each in range(count)]
        told = {"name": topic.name, "topic_id": topic.topic_id, "partitions": partitions}
        return told | {"is_internal": is_internal(topic.name)}

    def _create_soon(self, name: str) -> None:
        """The topic is there a moment later: its controller has to make it, as in Kafka."""
        if name not in self._coming and len(self._coming) < MAX_PARTITIONS:
            seconds = self._settings.auto_create_topics_delay_ms / 1000
            self._coming[name] = self._loop.call_later(seconds, self._create_now, name)

    def _create_now(self, name: str) -> None:
        del self._coming[name]
        with suppress(Refusal):  # somebody else has made it meanwhile, or has taken the room
            self._created(name)

    def _created(self, name: str) -> Topic:
        if name == OFFSETS:
            ensure_offsets(self._topics, self._settings)
            return self._topics.named(name)
        return self._topics.create(name, self._settings.num_partitions)


def _node(endpoint: Endpoint) -> dict[str, Any]:
    return {"node_id": endpoint.node_id, "host": endpoint.host, "port": endpoint.port}


def _in_steps(answer: LongAnswer, elements: Iterator[dict[str, Any]]) -> Iterator[None]:
    """Answers with these elements, made and encoded a few at a time."""
    for some in slices(elements, ELEMENTS_AT_ONCE):
        answer.add((yield from answer.encoded_in_steps(some)), len(some))
        yield
    answer.send()


@lru_cache(16)
def _partitions(count: int) -> list[dict[str, Any]]:
    """So many partitions; where there is one broker those of all topics are led alike."""
    return [_led(index, [NODE_ID]) for index in range(count)]


def _led(index: int, nodes: list[int]) -> dict[str, Any]:
    led = {"leader_id": nodes[0], "leader_epoch": LEADER_EPOCH, "replica_nodes": nodes, "isr_nodes": nodes}
    return {"partition_index": index, **led}


def _by_id(topic: Body) -> bool:
    return topic["name"] is None or topic["topic_id"] != _NO_TOPIC_ID
