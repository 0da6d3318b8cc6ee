"""Topics of the consumer protocol's members: made, grown, deleted, and seen by the coordinator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.failures import Deviation

Place = tuple[UUID, int]
"""A partition: the topic's id and the index."""

SEEN_SECONDS = 10.0
"""How long a coordinator may take to see that a topic was changed."""

PAUSE = 0.1
PROBED = "consumer.membership.heartbeat"


@dataclass(frozen=True)
class Topic:
    """A topic as the coordinator sees it."""

    name: str
    id: UUID
    partitions: int

    @property
    def places(self) -> frozenset[Place]:
        """Its partitions."""
        return frozenset((self.id, index) for index in range(self.partitions))


def by_topic(places: Iterable[Place]) -> list[dict[str, Any]]:
    """Partitions as a request has them."""
    found: dict[UUID, list[int]] = {}
    for id, index in sorted(places):
        found.setdefault(id, []).append(index)
    return [{"topic_id": id, "partitions": indexes} for id, indexes in found.items()]


def places_in(assignment: Any) -> frozenset[Place]:
    """Partitions as an answer has them."""
    topics = assignment["topic_partitions"]
    return frozenset((one["topic_id"], index) for one in topics for index in one["partitions"])


def topic(d: Dialogue, partitions: int) -> Topic:
    """The topic with so many partitions that all dialogues share; it is made where it is not there."""
    return named_topic(d, f"rota-consumer-{partitions}", partitions)


def own_topic(d: Dialogue, letter: str, partitions: int) -> Topic:
    """A topic of this dialogue alone."""
    return named_topic(d, own_name(d, letter), partitions)


def own_name(d: Dialogue, letter: str) -> str:
    """What a topic of this dialogue alone is called."""
    return f"{d.group_id}-{letter}"


def grow(d: Dialogue, subject: Topic, partitions: int) -> Topic:
    """The topic with more partitions."""
    asked = {"name": subject.name, "count": partitions, "assignments": None}
    with d.reaching("a topic with more partitions", PROBED):
        body = {"topics": [asked], "timeout_ms": 5000, "validate_only": False}
        _granted(d, d.member("maker").send_whole("CreatePartitions", body).answer()["results"].only())
        grown = Topic(subject.name, subject.id, partitions)
        _seen(d, grown)
    return grown


def delete(d: Dialogue, subject: Topic) -> None:
    """The topic is deleted, and the coordinator knows."""
    with d.reaching("a topic that is gone", PROBED):
        body = {"topics": [{"name": subject.name, "topic_id": UUID(int=0)}], "timeout_ms": 5000}
        _granted(d, d.member("maker").send_whole("DeleteTopics", body).answer()["responses"].only())
        _seen(d, Topic(subject.name, subject.id, 0))


def named_topic(d: Dialogue, name: str, partitions: int) -> Topic:
    """The topic of this name with so many partitions; it is made where it is not there."""
    wanted = {"name": name, "num_partitions": partitions, "replication_factor": 1}
    body = {"topics": [{**wanted, "assignments": [], "configs": []}], "timeout_ms": 5000}
    with d.reaching("a topic", PROBED):
        made = d.member("maker").send_whole("CreateTopics", {**body, "validate_only": False}).answer()
        _granted(d, made["topics"].only(), "TOPIC_ALREADY_EXISTS")
        found = Topic(name, _id(d, name), partitions)
        _seen(d, found)
    return found


def _granted(d: Dialogue, outcome: Any, *also: str) -> None:
    error = error_name(outcome["error_code"])
    d.require(error in ("NONE", *also), "the topic", error)


def _id(d: Dialogue, name: str) -> UUID:
    """The topic's id, as Metadata tells it, which may know of a new topic a moment later."""
    began = d.transcript.elapsed()
    asked = {"topics": [{"topic_id": UUID(int=0), "name": name}], "allow_auto_topic_creation": False}
    while True:
        found = d.member("maker").send_whole("Metadata", asked).answer()["topics"].only()
        if found["error_code"] == 0 or d.transcript.elapsed() - began > SEEN_SECONDS:
            d.require(found["error_code"] == 0, "the topic", error_name(found["error_code"]))
            id: UUID = found["topic_id"]
            d.transcript.topics[id] = name
            return id
        d.wait(PAUSE)


def _seen(d: Dialogue, subject: Topic) -> None:
    """Wait until the coordinator sees the topic like that: a group of its own is given all of it."""
    began, number = d.transcript.elapsed(), 0
    while True:
        number += 1
        given = _probed(d, subject.name, f"{d.group_id}-probe-{subject.partitions}-{number}")
        if given == subject.places:
            return
        if d.transcript.elapsed() - began > SEEN_SECONDS:
            told = f"it assigns {len(given)} partitions"
            raise Deviation(f"a coordinator that sees {subject.partitions} partitions", told)
        d.wait(PAUSE)


def _probed(d: Dialogue, name: str, group_id: str) -> frozenset[Place]:
    probe, maker = {"group_id": group_id, "member_id": "probe"}, d.member("maker")
    first = {"member_epoch": 0, "rebalance_timeout_ms": 1000, "topic_partitions": []}
    first |= {"subscribed_topic_names": [name]}
    reply = maker.send_whole("ConsumerGroupHeartbeat", {**probe, **first}).answer()
    d.expect(reply, error="NONE", rule=PROBED)
    last = {"member_epoch": -1, "rebalance_timeout_ms": -1}
    d.expect(maker.send_whole("ConsumerGroupHeartbeat", {**probe, **last}).answer(), error="NONE")
    return places_in(reply["assignment"] or {"topic_partitions": []})
