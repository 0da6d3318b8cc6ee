"""DeleteTopics and CreatePartitions.

Source: KIP-4, KIP-195, KIP-516; upstream's ReplicationControlManager#deleteTopics and #createPartitions, and
handleDeleteTopicsRequest in ControllerApis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

from rota.server.errors import ErrorCode, Refusal
from rota.server.settings import NODE_ID
from rota.server.topics import Topic, Topics

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
        return {"responses": [self._deleted(each) for each in asked]}

    def _deleted(self, asked: Body) -> dict[str, Any]:
        topic_id = asked.get("topic_id", _NO_TOPIC_ID)
        try:
            topic = self._found(asked["name"], topic_id)
        except Refusal as refusal:
            told = {"error_code": refusal.error_code, "error_message": refusal.message}
            return {"name": asked["name"], "topic_id": topic_id, **told}
        self._topics.delete(topic)
        self._gone(topic.name)
        return {"name": topic.name, "topic_id": topic.topic_id, "error_code": ErrorCode.NONE}

    def _found(self, name: str | None, topic_id: UUID) -> Topic:
        """The topic that is meant. Errors: Refusal."""
        if (name is None) == (topic_id == _NO_TOPIC_ID):
            raise Refusal(ErrorCode.INVALID_REQUEST, "give either the name or the id of a topic")
        return self._topics.identified(topic_id) if name is None else self._topics.named(name)


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
            text = f"topic {name!r} is in the request more than once"
            yield Refusal(ErrorCode.INVALID_REQUEST, text)
        now = len(self._topics.named(name).partitions)
        if count <= now:
            text = f"topic {name!r} has {now} partitions; give more than that"
            yield Refusal(ErrorCode.INVALID_PARTITIONS, text)
        if assignments is not None and len(assignments) != count - now:
            text = f"give an assignment for each of the {count - now} new partitions, or none"
            yield Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
        if any(each["broker_ids"] != [NODE_ID] for each in assignments or ()):
            text = f"every partition has to be assigned to broker {NODE_ID}, the only one"
            yield Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
        self._topics.check_room(count - now)
