"""DeleteTopics and CreatePartitions.

Source: KIP-4, KIP-195, KIP-516; upstream's ReplicationControlManager#deleteTopics and #createPartitions, and
handleDeleteTopicsRequest in ControllerApis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from rota.server.errors import ErrorCode, Refusal
from rota.server.internal_topics import is_internal
from rota.server.settings import NODE_ID
from rota.server.topics import Topic, Topics

_NOT_HOSTED = {
    ErrorCode.UNKNOWN_TOPIC_ID: "This server does not host this topic ID.",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
}
_NO_TOPIC_ID = UUID(int=0)
_BY_ID_SINCE = 6

Body = Mapping[str, Any]


class DeleteTopics:
    """The handler; `gone` is called with the name of each topic that has been deleted."""

    def __init__(self, topics: Topics, gone: Callable[[str], None]) -> None:
        self._topics = topics
        self._gone = gone

    def __call__(self, body: Body, version: int) -> dict[str, Any]:
        """Deletes what there is, by name or from version 6 on by id, too."""
        by_id = version >= _BY_ID_SINCE
        asked = body["topics"] if by_id else [{"name": name} for name in body["topic_names"]]
        pairs = [(each["name"], each.get("topic_id", _NO_TOPIC_ID)) for each in asked]
        counts = Counter(pairs)
        ids = {topic_id for name, topic_id in pairs if name is None}
        by_both = {self._topics.id_of(name) for name, topic_id in pairs if name is not None} & ids
        return {
            "responses": [
                self._deleted(*each, counts[each] > 1, by_both)
                for each in counts
                if each[0] is not None or each[1] not in by_both
            ]
        }

    def _deleted(
        self, name: str | None, topic_id: UUID, repeated: bool, by_both: set[UUID | None]
    ) -> dict[str, Any]:
        try:
            topic = self._found(name, topic_id, repeated, by_both)
        except Refusal as refusal:
            told = {"error_code": refusal.error_code, "error_message": refusal.message}
            known = self._topics.id_of(name or "")
            return {"name": name, "topic_id": known if known in by_both else topic_id, **told}
        self._topics.delete(topic)
        self._gone(topic.name)
        return {"name": topic.name, "topic_id": topic.topic_id, "error_code": ErrorCode.NONE}

    def _found(self, name: str | None, topic_id: UUID, repeated: bool, by_both: set[UUID | None]) -> Topic:
        """The topic that is meant, unless it is named by its id as well. Errors: Refusal."""
        if name is None and topic_id == _NO_TOPIC_ID:
            raise Refusal(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
        if name is not None and topic_id != _NO_TOPIC_ID:
            raise Refusal(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
        if repeated:
            text = "Duplicate topic id." if name is None else "Duplicate topic name."
            raise Refusal(ErrorCode.INVALID_REQUEST, text)
        if name is not None and self._topics.id_of(name) in by_both:
            text = "The provided topic name maps to an ID that was already supplied."
            raise Refusal(ErrorCode.INVALID_REQUEST, text)
        if name is not None and is_internal(name):
            text = f"rota keeps {name}, which stands for its groups; delete groups with DeleteGroups"
            raise Refusal(ErrorCode.POLICY_VIOLATION, text)
        try:
            return self._topics.identified(topic_id) if name is None else self._topics.named(name)
        except Refusal as refusal:
            raise Refusal(refusal.error_code, _NOT_HOSTED.get(refusal.error_code)) from None


class CreatePartitions:
    """The handler."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def __call__(self, body: Body, version: int) -> dict[str, Any]:
        """Lets topics grow, or with `validate_only` says whether they could."""
        counts = Counter(each["name"] for each in body["topics"])
        asked = {each["name"]: each for each in body["topics"]}
        return {
            "results": [
                self._grown(each, counts[name] > 1, body["validate_only"]) for name, each in asked.items()
            ]
        }

    def _grown(self, asked: Body, repeated: bool, validate_only: bool) -> dict[str, Any]:
        name = asked["name"]
        try:
            for refusal in self._problems(asked, repeated):
                raise refusal
            if not validate_only:
                self._topics.grow(name, asked["count"])
        except Refusal as refusal:
            return {"name": name, "error_code": refusal.error_code, "error_message": refusal.message}
        return {"name": name, "error_code": ErrorCode.NONE}

    def _problems(self, asked: Body, repeated: bool) -> Iterator[Refusal]:
        name, count, assignments = asked["name"], asked["count"], asked["assignments"]
        if repeated:
            yield Refusal(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        now = self._topics.partition_count(name)
        if not now:
            yield Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
        if count == now:
            yield Refusal(ErrorCode.INVALID_PARTITIONS, f"Topic already has {now} partition(s).")
        if count < now:
            text = f"The topic {name} currently has {now} partition(s); {count} would not be an increase."
            yield Refusal(ErrorCode.INVALID_PARTITIONS, text)
        if assignments is not None and len(assignments) != count - now:
            text = f"Attempted to add {count - now} additional partition(s), but only {len(assignments)} "
            yield Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{text}assignment(s) were specified.")
        for each in assignments or ():
            if problem := replicas_problem(each["broker_ids"]):
                yield Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
        self._topics.check_room(count - now)


def replicas_problem(brokers: Sequence[int]) -> str:
    """What is wrong with the replicas of a partition, in Kafka's words; an empty text if nothing is.

    Source: ReplicationControlManager#validateManualPartitionAssignment.
    """
    start = "The manual partition assignment includes"
    if not brokers:
        return f"{start} an empty replica list."
    last = None
    for broker in sorted(brokers):
        if broker == last:
            return f"{start} the broker {broker} more than once."
        if broker != NODE_ID:
            return f"{start} broker {broker}, but no such broker is registered."
        last = broker
    return ""
