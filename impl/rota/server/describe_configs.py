"""DescribeConfigs and ListConfigResources, of topics, of groups and of the broker.

Source: KIP-133, KIP-226, KIP-569, KIP-1142; upstream's ConfigHelper, and a running Kafka 4.4.0. What a config
is for (`documentation`) is not told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rota.server.answers import LongAnswer, slices
from rota.server.broker_configs import (
    ALL,
    DEFAULT,
    OF_START,
    OF_TOPIC,
    STATIC,
    BrokerConfigs,
    Sourced,
    is_dynamic,
    named_broker,
)
from rota.server.config_kinds import BOOLEAN, INT, LIST, LONG, STRING
from rota.server.context import RequestContext
from rota.server.errors import ErrorCode, Refusal
from rota.server.group_configs import GroupConfigs
from rota.server.settings import KNOWN, NODE_ID, default
from rota.server.topic_configs import BY_BROKERS_NAME, DEFINITIONS
from rota.server.topics import Topic, Topics, name_problem

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
"""Kinds of resources, by their numbers."""

_AT_ONCE = 5
_MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was "
    "sent to an incompatible broker. See the broker logs for more details."
)
_LONGS = re.compile(
    r"(retention|connections\.max\.idle|check\.interval|backoff).*\.ms|.*(members|offsets|request|records)\.max\.bytes|queued.*"
)
_UNKNOWN_TYPE = 0

Body = Mapping[str, Any]


class DescribeConfigs:
    """The handler: a few resources at a time, since a request may name many topics with all their configs."""

    def __init__(self, topics: Topics, groups: GroupConfigs, listeners: Mapping[str, str]) -> None:
        """listeners: where the broker listens, as configs."""
        self._topics = topics
        self._groups = groups
        self._broker = topics.configs
        self._of_start = {"broker.id": str(NODE_ID), "node.id": str(NODE_ID), **listeners}

    def __call__(self, body: Body, context: RequestContext) -> Iterator[None]:
        """Each resource as often as it is asked for, as far as there is room; what has none is left out."""
        synonyms = body.get("include_synonyms", False)
        answer = LongAnswer(context, "results", {})
        for some in slices(body["resources"], _AT_ONCE):
            encoded = yield from answer.encoded_in_steps([self._result(each, synonyms) for each in some])
            if not answer.has_room(len(encoded)):
                break
            answer.add(encoded, len(some))
            yield
        answer.send()

    def _result(self, asked: Body, synonyms: bool) -> dict[str, Any]:
        kind, name = asked["resource_type"], asked["resource_name"]
        result = {"resource_type": kind, "resource_name": name}
        keys = set(asked["configuration_keys"] or ())
        try:
            told = [config for config in self._configs(kind, name) if not keys or config["name"] in keys]
        except Refusal as refusal:
            return result | {"error_code": refusal.error_code, "error_message": refusal.message}
        if not synonyms:
            told = [config | {"synonyms": []} for config in told]
        return result | {"configs": told}

    def _configs(self, kind: int, name: str) -> Iterator[dict[str, Any]]:
        if kind == TOPIC:
            return configs_of_topic(_found(self._topics, name), self._broker)
        if kind == GROUP:
            return (_told(*config) for config in self._groups.of_group(name))
        if kind != BROKER:
            raise Refusal(ErrorCode.INVALID_REQUEST, _MALFORMED)
        if name != ALL and not re.fullmatch(r"[+-]?[0-9]{1,9}", name):
            raise Refusal(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
        return self._of_broker(named_broker(name))

    def _of_broker(self, broker: str) -> Iterator[dict[str, Any]]:
        names: list[str] = sorted(self._broker.names(broker))
        for name in names:
            sources = [*self._broker.of_broker(name, broker)]
            known = name in KNOWN or name in BY_BROKERS_NAME
            yield _told(
                name, sources, _type(name), read_only=not (known and is_dynamic(name)), hidden=not known
            )
        if broker != ALL:
            for name, value in self._of_start.items():
                yield _told(name, [Sourced(name, value, STATIC)], OF_START[name], read_only=True)


def configs_of_topic(topic: Topic, broker: BrokerConfigs) -> Iterator[dict[str, Any]]:
    """All configs of a topic as DescribeConfigs tells them."""
    for name, definition in DEFINITIONS.items():
        own = (Sourced(name, topic.configs[name], OF_TOPIC),) if name in topic.configs else ()
        sources = [*own, *broker.of_topic(name)]
        told = _told(name, sources, definition.kind.number)
        if definition.of_broker is None or name == "retention.ms":
            # What no broker's config stands behind has no synonym; log.retention.ms is none unless it is set.
            told["synonyms"] = [each for each in told["synonyms"] if each["source"] != DEFAULT]
        yield told


def _found(topics: Topics, name: str) -> Topic:
    problem = name_problem(name)
    if problem:
        raise Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    try:
        return topics.named(name)
    except Refusal:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None) from None


def _told(
    name: str, sources: list[Sourced], kind: int, read_only: bool = False, hidden: bool = False
) -> dict[str, Any]:
    """A config, whose value is the first of these."""
    values = [
        {"name": each.name, "value": None if hidden else each.value, "source": each.source}
        for each in sources
    ]
    return {
        "name": name,
        "value": values[0]["value"],
        "read_only": read_only,
        "config_source": values[0]["source"],
        "is_sensitive": hidden,
        "synonyms": values,
        "config_type": kind,
    }


def _type(name: str) -> int:
    """The type of a broker's config."""
    if name in BY_BROKERS_NAME:
        return DEFINITIONS[BY_BROKERS_NAME[name]].kind.number
    if name not in KNOWN:
        return _UNKNOWN_TYPE
    value = default(name)
    if name == "group.consumer.assignors":
        return LIST
    if isinstance(value, bool | str):
        return BOOLEAN if isinstance(value, bool) else STRING
    return LONG if _LONGS.search(name) else INT


class ListConfigResources:
    """The handler: the names of what has configs."""

    def __init__(self, topics: Topics, groups: GroupConfigs) -> None:
        self._topics = topics
        self._groups = groups

    def __call__(self, body: Body, version: int) -> dict[str, Any]:
        """Version 0 asks for client metrics, of which there are none; no kinds are all kinds."""
        asked = body.get("resource_types", []) if version else [METRICS]
        kinds = (TOPIC, BROKER, LOGGER, METRICS, GROUP)
        if not {*asked} <= {*kinds}:
            return {"error_code": ErrorCode.UNSUPPORTED_VERSION}
        wanted = asked or kinds
        names = {
            TOPIC: [topic.name for topic in self._topics.all()],
            BROKER: [str(NODE_ID)],
            LOGGER: [str(NODE_ID)],
            GROUP: self._groups.names(),
        }
        found = [
            {"resource_name": name, "resource_type": kind}
            for kind in dict.fromkeys(wanted)
            for name in names.get(kind, ())
        ]
        return {"config_resources": found}
