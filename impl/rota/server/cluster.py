"""What a broker answers without its group coordinator and its logs: ApiVersions, Metadata, FindCoordinator.

The cluster is this one broker: it leads every partition and coordinates every group. Under another node's id
and port it may be the coordinator as well, for tests of clients whose coordinator moves.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any
from uuid import UUID

from rota.server.answers import LongAnswer, slices
from rota.server.context import RequestContext
from rota.server.errors import ErrorCode, Refusal
from rota.server.features import features
from rota.server.internal_topics import OFFSETS, ensure_offsets, is_internal
from rota.server.partition import LEADER_EPOCH
from rota.server.settings import MAX_PARTITIONS, NODE_ID, Settings
from rota.server.topics import Topic, Topics
from rota.wire import advertised, api

CLUSTER_ID = "rota"

ELEMENTS_AT_ONCE = 100
"""How many topics or coordinators of an answer are made in one step."""

_BEHIND_TOPICS = {8: 4, 9: 4, 10: 4, 13: 2}
"""How many bytes of a Metadata response are behind its topics: the operations allowed, or an error."""

_NO_TOPIC_ID = UUID(int=0)
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_GROUP, _TRANSACTION = 0, 1
_REFUSED_BELOW = {"Produce": 3}
"""First versions served where older ones are advertised, as Kafka does for librdkafka (KAFKA-18659)."""

Body = Mapping[str, Any]


class ApiRanges:
    """The APIs of a server, in the versions that a broker of Kafka 4.x has and the codec can do.

    nodes: the ids under which clients may look for it.
    """

    def __init__(self, names: frozenset[str], nodes: Container[int] = (NODE_ID,)) -> None:
        self._nodes = nodes
        self._ranges = {
            api(name).key: (first, min(last, api(name).max_version))
            for name, (first, last) in advertised().items()
            if name in names
        }
        self._served = dict(self._ranges)
        for name, first in _REFUSED_BELOW.items():
            if name in names:
                self._served[api(name).key] = (first, self._ranges[api(name).key][1])

    def serves(self, key: int, version: int) -> bool:
        """Whether a request of that API and version is answered."""
        first, last = self._served.get(key, (0, -1))
        return first <= version <= last

    def api_versions(self, body: Body, version: int) -> dict[str, Any]:
        """All APIs. From version 3 on, a client that names itself oddly gets INVALID_REQUEST; from 5 on, one
        that looks for another broker gets REBOOTSTRAP_REQUIRED (KIP-1242)."""
        software = (body["client_software_name"], body["client_software_version"]) if version >= 3 else ()
        if not all(_SOFTWARE.fullmatch(text) for text in software):
            return {"error_code": ErrorCode.INVALID_REQUEST}
        if error := self._addressee_error(body):
            return {"error_code": error}
        return {"api_keys": [self._range(key) for key in self._ranges], **features(version)}

    def out_of_range(self) -> dict[str, Any]:
        """The answer, in version 0, to an ApiVersions of a version that is not served (KIP-511)."""
        key = api("ApiVersions").key
        return {"error_code": ErrorCode.UNSUPPORTED_VERSION, "api_keys": [self._range(key)]}

    def _range(self, key: int) -> dict[str, int]:
        first, last = self._ranges[key]
        return {"api_key": key, "min_version": first, "max_version": last}

    def _addressee_error(self, body: Body) -> int:
        """What is wrong with whom a client looks for: cluster and node are named both or neither."""
        cluster_id, node_id = body.get("cluster_id"), body.get("node_id", -1)
        if (cluster_id is None) != (node_id == -1):
            return ErrorCode.INVALID_REQUEST
        if cluster_id is not None and (cluster_id != CLUSTER_ID or node_id not in self._nodes):
            return ErrorCode.REBOOTSTRAP_REQUIRED
        return ErrorCode.NONE


class Cluster:
    """The one broker at `host`:`port` with its topics, which Metadata may create.

    ports: of its nodes, by id; `coordinator` is the node that FindCoordinator names. `loop` is where topics
    are made a moment after a Metadata has asked for them.
    """

    def __init__(
        self, settings: Settings, topics: Topics, host: str, port: int, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._loop = loop
        self._coming: dict[str, asyncio.TimerHandle] = {}
        self._settings = settings
        self._topics = topics
        self._host = host
        self.ports = {NODE_ID: port}
        self.coordinator = NODE_ID

    def find_coordinators(self, body: Body, context: RequestContext) -> Iterator[None] | None:
        """FindCoordinator: this broker, for groups and for transactions; all else gets INVALID_REQUEST."""
        key_type = body.get("key_type", _GROUP)
        if context.version < 4:
            found = self._coordinator(key_type, body["key"])
            context.reply({name: value for name, value in found.items() if name != "key"})
            return None
        found_all = (self._coordinator(key_type, key) for key in body["coordinator_keys"])
        return _in_steps(LongAnswer(context, "coordinators", {}), found_all)

    def _coordinator(self, key_type: int, key: str) -> dict[str, Any]:
        if key_type == _GROUP:
            ensure_offsets(self._topics, self._settings)
            return {"key": key, **self._node(self.coordinator)}
        if key_type == _TRANSACTION:
            return {"key": key, **self._node(NODE_ID)}
        nowhere = {"key": key, "node_id": -1, "host": "", "port": -1}
        return nowhere | {"error_code": ErrorCode.INVALID_REQUEST}

    def describe(self, body: Body, context: RequestContext) -> Iterator[None]:
        """Metadata: the broker and the topics asked for: all for null (in version 0: for none), by name, or
        by id."""
        version, asked = context.version, body["topics"]
        if asked is None or (version == 0 and not asked):
            topics: Iterator[dict[str, Any]] = (_described(topic) for topic in self._topics.all())
        elif 10 <= version < 12 and any(_by_id(topic) for topic in asked):
            topics = (
                {**topic, "name": topic["name"] or "", "error_code": ErrorCode.INVALID_REQUEST}
                for topic in asked
            )
        else:
            topics = self._asked(asked, body.get("allow_auto_topic_creation", True))
        rest = {
            "brokers": self.nodes(),
            "cluster_id": CLUSTER_ID,
            "controller_id": NODE_ID,
        }
        return _in_steps(LongAnswer(context, "topics", rest, _BEHIND_TOPICS.get(version, 0)), topics)

    def nodes(self) -> list[dict[str, Any]]:
        """The brokers: their ids, hosts and ports."""
        return [self._node(node_id) for node_id in self.ports]

    def _node(self, node_id: int) -> dict[str, Any]:
        return {"node_id": node_id, "host": self._host, "port": self.ports[node_id]}

    def _asked(self, asked: list[dict[str, Any]], allow_creation: bool) -> Iterator[dict[str, Any]]:
        """Topics by id if the request has any id (names are ignored then, as a broker does), else by name."""
        ids = dict.fromkeys(topic["topic_id"] for topic in asked if topic.get("topic_id", _NO_TOPIC_ID).int)
        if ids:
            return (self._identified(topic_id) for topic_id in ids)
        names = dict.fromkeys(topic["name"] for topic in asked)
        return (self._named(name, allow_creation) for name in names)

    def _identified(self, topic_id: UUID) -> dict[str, Any]:
        try:
            return _described(self._topics.identified(topic_id))
        except Refusal as refusal:
            return {"name": None, "topic_id": topic_id, "error_code": refusal.error_code}

    def _named(self, name: str | None, allow_creation: bool) -> dict[str, Any]:
        """A topic that is there, or else one that is made or refused."""
        wanted = name or ""
        try:
            if self._topics.partition_count(wanted):
                return _described(self._topics.named(wanted))
            self._topics.check(wanted, 0)
            if allow_creation and self._settings.auto_create_topics_enable:
                if not self._settings.auto_create_topics_delay_ms:
                    return _described(self._created(wanted))
                self._create_soon(wanted)
        except Refusal as refusal:
            return {"name": wanted, "error_code": refusal.error_code}
        return {"name": wanted, "error_code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}

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


def _in_steps(answer: LongAnswer, elements: Iterator[dict[str, Any]]) -> Iterator[None]:
    """Answers with these elements, made and encoded a few at a time."""
    for some in slices(elements, ELEMENTS_AT_ONCE):
        answer.add((yield from answer.encoded_in_steps(some)), len(some))
        yield
    answer.send()


def _described(topic: Topic) -> dict[str, Any]:
    partitions = _partitions(len(topic.partitions))
    told = {"name": topic.name, "topic_id": topic.topic_id, "partitions": partitions}
    return told | {"is_internal": is_internal(topic.name)}


@lru_cache(16)
def _partitions(count: int) -> list[dict[str, Any]]:
    """So many partitions; those of all topics are led alike."""
    nodes = [NODE_ID]
    same = {"leader_id": NODE_ID, "leader_epoch": LEADER_EPOCH, "replica_nodes": nodes, "isr_nodes": nodes}
    return [{"partition_index": index, **same} for index in range(count)]


def _by_id(topic: Body) -> bool:
    return topic["name"] is None or topic["topic_id"] != _NO_TOPIC_ID
