"""OffsetCommit, TxnOffsetCommit, OffsetFetch and OffsetDelete between the wire and the coordinator.

Here is what a broker does before and after its coordinator: which topics there are, and that the newest
versions name topics by id. Source: handleOffsetCommitRequest and its like in KafkaApis; the order of the
answers is that of a broker of Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from uuid import UUID

from rota.coordinator import (
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitTopic,
    OffsetDelete,
    OffsetDeleteTopic,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetFetchTopic,
    TxnOffsetCommit,
)
from rota.server.answers import slices
from rota.server.context import RequestContext
from rota.server.errors import ErrorCode, Refusal
from rota.wire import WireError
from rota.wire.consumer import decode_subscription

BY_ID_SINCE = 10
"""First version of OffsetCommit and OffsetFetch that has ids in place of names."""
TXN_BY_ID_SINCE = 6
"""The same of TxnOffsetCommit."""
BATCHED_SINCE = 8
"""First OffsetFetch version that asks for several groups."""

_NO_TOPIC_ID = UUID(int=0)

TOPICS_AT_ONCE = 1_000
"""How many topics of a request are looked up in one step."""

Body = Mapping[str, Any]
R = TypeVar("R")
Prepared = Generator[None, None, tuple[R, Callable[[Body], Body]]]
"""A request for the coordinator, and how its reply becomes the response: made in steps."""


class ResolvedTopic(Protocol):
    """A topic of the server, as far as offsets are concerned."""

    @property
    def name(self) -> str: ...
    @property
    def topic_id(self) -> UUID: ...
    @property
    def partitions(self) -> Sized: ...


class TopicResolver(Protocol):
    """Finds the server's topics. Errors of both: Refusal with the error code of the answer."""

    def named(self, name: str) -> ResolvedTopic:
        """The topic of that name."""

    def identified(self, topic_id: UUID) -> ResolvedTopic:
        """The topic with that id."""


@dataclass(frozen=True, slots=True)
class AnyTopic:
    """A topic that has every partition."""

    name: str
    topic_id: UUID = _NO_TOPIC_ID
    partitions: Sized = range(2**31)


class AnyTopics:
    """Stands in for a server's topics: every name is a topic, no id is."""

    def named(self, name: str) -> AnyTopic:
        return AnyTopic(name)

    def identified(self, topic_id: UUID) -> AnyTopic:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_ID, f"there is no topic with the id {topic_id}")


@dataclass(frozen=True, eq=False, slots=True)
class Amended:
    """A request whose response is made from the coordinator's reply; the token that the coordinator gets."""

    context: RequestContext
    amend: Callable[[Body], Body]

    def reply(self, body: Body) -> None:
        """Sends what the coordinator's reply becomes."""
        self.context.reply(self.amend(body))


@dataclass(slots=True)
class RequestedTopics:
    """The topics and partitions of a request, in which topics have names or ids.

    key_field: the field of a topic's name or id. refused: partitions that the coordinator is not asked about,
    in the response's form. keys: name or id, as in the request, of topics that it is asked about, by name.
    """

    key_field: str
    topics: TopicResolver
    refused: dict[str | UUID, list[Body]] = field(default_factory=dict)
    keys: dict[str, str | UUID] = field(default_factory=dict)

    def existing(self, topic: Body) -> tuple[str, list[Body]]:
        """A topic's name and those of the partitions asked for that there are; the others are refused."""
        key = topic[self.key_field]
        name, count, error = _look_up(self.topics, key)
        there = [each for each in topic["partitions"] if 0 <= each["partition_index"] < count]
        refused = [
            {"partition_index": each["partition_index"], "error_code": error}
            for each in topic["partitions"]
            if not 0 <= each["partition_index"] < count
        ]
        if refused or not count:
            self.refused.setdefault(key, []).extend(refused)
        self.keys[name] = key
        return name, there

    def response(self, body: Body) -> Body:
        """The response: what was refused comes first, the rest of a topic follows its refused partitions."""
        answered = [(self.keys[topic["name"]], topic["partitions"]) for topic in body["topics"]]
        if self.refused:
            joined = {key: [*partitions] for key, partitions in self.refused.items()}
            for key, partitions in answered:
                joined.setdefault(key, []).extend(partitions)
            answered = [*joined.items()]
        return {"topics": [{self.key_field: key, "partitions": partitions} for key, partitions in answered]}


def commit_request(body: Body, version: int, topics: TopicResolver) -> Prepared[OffsetCommit]:
    """An OffsetCommit for the coordinator, and how its reply becomes the response; in steps.

    Topics and partitions that there are not are left out. If nothing is left, a broker does not ask its
    coordinator.
    """
    asked = RequestedTopics("topic_id" if version >= BY_ID_SINCE else "name", topics)
    request = OffsetCommit(
        group_id=body["group_id"],
        topics=(yield from _committed(body, asked)),
        generation_id_or_member_epoch=body["generation_id_or_member_epoch"],
        member_id=body["member_id"],
        group_instance_id=body.get("group_instance_id"),
        retention_time_ms=body.get("retention_time_ms", -1),
    )
    return request, asked.response


def txn_commit_request(body: Body, version: int, topics: TopicResolver) -> Prepared[TxnOffsetCommit]:
    """The same of a TxnOffsetCommit."""
    asked = RequestedTopics("topic_id" if version >= TXN_BY_ID_SINCE else "name", topics)
    request = TxnOffsetCommit(
        transactional_id=body["transactional_id"],
        group_id=body["group_id"],
        producer_id=body["producer_id"],
        producer_epoch=body["producer_epoch"],
        topics=(yield from _committed(body, asked)),
        generation_id=body.get("generation_id_or_member_epoch", -1),
        member_id=body.get("member_id", ""),
        group_instance_id=body.get("group_instance_id"),
    )
    return request, asked.response


def _committed(body: Body, asked: RequestedTopics) -> Generator[None, None, tuple[OffsetCommitTopic, ...]]:
    """What is committed of topics that there are; in steps."""
    wanted: list[OffsetCommitTopic] = []
    for some in slices(body["topics"], TOPICS_AT_ONCE):
        known = [asked.existing(topic) for topic in some]
        wanted += [
            OffsetCommitTopic(name, tuple(_partition(each) for each in there))
            for name, there in known
            if there
        ]
        yield
    return tuple(wanted)


def _look_up(topics: TopicResolver, key: str | UUID) -> tuple[str, int, ErrorCode]:
    """A topic's name, how many partitions it has, and the error of all others; by name or by id."""
    try:
        found = topics.identified(key) if isinstance(key, UUID) else topics.named(key)
    except Refusal as refusal:
        return "", 0, refusal.error_code
    return found.name, len(found.partitions), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _partition(body: Body) -> OffsetCommitPartition:
    return OffsetCommitPartition(
        body["partition_index"],
        body["committed_offset"],
        body.get("committed_leader_epoch", -1),
        body["committed_metadata"],
    )


def delete_request(body: Body, topics: TopicResolver) -> Prepared[OffsetDelete]:
    """An OffsetDelete for the coordinator, and how its reply becomes the response; in steps.

    The coordinator is asked in any case; after an error for the whole request nothing is said of topics.
    """
    asked = RequestedTopics("name", topics)
    wanted: list[OffsetDeleteTopic] = []
    for some in slices(body["topics"], TOPICS_AT_ONCE):
        known = [asked.existing(topic) for topic in some]
        wanted += [
            OffsetDeleteTopic(name, tuple(each["partition_index"] for each in there))
            for name, there in known
            if there
        ]
        yield

    def response(reply: Body) -> Body:
        return reply if reply["error_code"] else {**reply, **asked.response(reply)}

    return OffsetDelete(body["group_id"], tuple(wanted)), response


def subscribed_topics(metadata: bytes) -> list[str] | None:
    """The topics in a consumer's metadata, None if they cannot be read.

    A broker reads all versions as version 0, with which they all begin.
    """
    try:
        topics: list[str] = decode_subscription(b"\0\0" + metadata[2:], trailing=True).body["topics"]
    except WireError:
        return None
    return topics


def fetch_request(body: Body, version: int, topics: TopicResolver) -> Prepared[OffsetFetch]:
    """An OffsetFetch for the coordinator, and how its reply becomes the response; in steps."""
    if version >= BY_ID_SINCE:
        return (yield from _fetch_by_id(body, topics))
    asked = []
    for each in body["groups"] if version >= BATCHED_SINCE else [body]:
        asked.append((yield from _group(each, each["topics"])))
    request = OffsetFetch(tuple(asked), body.get("require_stable", False))
    return request, _as_it_is if version >= BATCHED_SINCE else _single_group


def _as_it_is(reply: Body) -> Body:
    return reply


def _single_group(reply: Body) -> Body:
    (group,) = reply["groups"]
    return {"topics": group["topics"], "error_code": group["error_code"]}


def _fetch_by_id(body: Body, topics: TopicResolver) -> Prepared[OffsetFetch]:
    """Topics of unknown ids are left out, and answered after the others of their group."""
    groups, unknown = [], []
    for group in body["groups"]:
        asked = group["topics"]
        names: list[tuple[str, Body]] = []
        for some in slices(asked or (), TOPICS_AT_ONCE):
            names += [(_look_up(topics, topic["topic_id"])[0], topic) for topic in some]
            yield
        known = [{**topic, "name": name} for name, topic in names if name]
        groups.append((yield from _group(group, None if asked is None else known)))
        unknown.append([_unknown(topic) for name, topic in names if not name])

    def response(reply: Body) -> Body:
        answered = zip(reply["groups"], unknown, strict=True)
        return {
            "groups": [
                {**group, "topics": [*_identified(group["topics"], topics), *strangers]}
                for group, strangers in answered
            ]
        }

    return OffsetFetch(tuple(groups), body.get("require_stable", False)), response


def _group(group: Body, asked: Sequence[Body] | None) -> Generator[None, None, OffsetFetchGroup]:
    who = group.get("member_id"), group.get("member_epoch", -1)
    if asked is None:
        return OffsetFetchGroup(group["group_id"], None, *who)
    wanted: list[OffsetFetchTopic] = []
    for some in slices(asked, TOPICS_AT_ONCE):
        wanted += [OffsetFetchTopic(topic["name"], tuple(topic["partition_indexes"])) for topic in some]
        yield
    return OffsetFetchGroup(group["group_id"], tuple(wanted), *who)


def _identified(answered: Sequence[Body], topics: TopicResolver) -> Iterator[Body]:
    """The topics by id; one that has gone since its offset was committed is left out."""
    for topic in answered:
        with suppress(Refusal):
            yield {"topic_id": topics.named(topic["name"]).topic_id, "partitions": topic["partitions"]}


def _unknown(topic: Body) -> Body:
    none = {"committed_offset": -1, "metadata": "", "error_code": ErrorCode.UNKNOWN_TOPIC_ID}
    partitions = [{"partition_index": index, **none} for index in topic["partition_indexes"]]
    return {"topic_id": topic["topic_id"], "partitions": partitions}
