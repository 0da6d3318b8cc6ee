"""What a broker makes of requests before it asks the coordinator of a group.

- FindCoordinator is about no group's state, and a commit of nothing is answered without the group (seen on
  Kafka 4.4.0, 3.9.2 and 3.4.1: it is no sign of life either).
- Brokers with the older coordinator make maps of what OffsetCommit, OffsetFetch and OffsetDelete ask for
  (seen on 3.9.2 and 3.4.1): a topic or partition that is named twice is asked for once, the last time counts.
  And upon a LeaveGroup with an empty group id below version 3 they do not agree: 3.9.2 says INVALID_GROUP_ID,
  3.4.1 UNSUPPORTED_VERSION, as its answer has no place for an error without a member.

Source: upstream KafkaApis#handleOffsetCommitRequest, #handleOffsetFetchRequest, #handleOffsetDeleteRequest,
LeaveGroupResponse (constructor).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from rota.kernel import replace
from rota.linearise.history import Answered, Event, Sent
from rota.spec import Call, FindCoordinatorRequest, LeaveGroupRequest, Profile
from rota.spec.messages import Request
from rota.spec.offset_messages import (
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TopicPartitions,
)
from rota.spec.profiles import KAFKA_2_1, KAFKA_3

OLDER = frozenset((KAFKA_3.name, KAFKA_2_1.name))
"""Profiles of brokers with the older coordinator."""

BATCHES_SINCE = 3
"""The first version of LeaveGroup whose answer has errors of members."""

R = TypeVar("R", bound=Request)


class Asked:
    """Events as a coordinator meets them, one after the other. profile: of the broker."""

    def __init__(self, profile: Profile) -> None:
        self._older = profile.name in OLDER
        self._apart: set[int] = set()

    def __len__(self) -> int:
        """Requests under way that are about no group's state."""
        return len(self._apart)

    def of(self, events: Iterable[Event]) -> list[Event]:
        """Those that are about a group's state."""
        return list(self._of(events))

    def _of(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, Sent) and self._is_apart(event.call):
                self._apart.add(event.number)
            elif isinstance(event, Answered) and event.number in self._apart:
                self._apart.remove(event.number)
            elif isinstance(event, Sent) and self._older:
                yield replace(event, call=replace(event.call, request=named_once(event.call.request)))
            else:
                yield event

    def _is_apart(self, call: Call) -> bool:
        request = call.request
        if isinstance(request, OffsetCommitRequest):
            return not request.topics
        if isinstance(request, LeaveGroupRequest) and self._older:
            return not request.group_id and call.version < BATCHES_SINCE
        return isinstance(request, FindCoordinatorRequest)


def named_once(request: R) -> R:
    """The request with each topic and each partition named once, as it was named last."""
    found: Any = request
    if isinstance(request, OffsetCommitRequest):
        found = replace(request, topics=_commits_once(request.topics))
    elif isinstance(request, OffsetDeleteRequest | OffsetFetchRequest) and request.topics is not None:
        found = replace(request, topics=_names_once(request.topics))
    return found  # type: ignore[no-any-return]


def _commits_once(topics: Iterable[OffsetCommitTopic]) -> tuple[OffsetCommitTopic, ...]:
    found: dict[str, dict[int, Any]] = {}
    for topic in topics:
        found.setdefault(topic.name, {}).update((one.partition_index, one) for one in topic.partitions)
    return tuple(OffsetCommitTopic(name, tuple(each.values())) for name, each in found.items())


def _names_once(topics: Iterable[TopicPartitions]) -> tuple[TopicPartitions, ...]:
    found: dict[str, dict[int, None]] = {}
    for topic in topics:
        found.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
    return tuple(TopicPartitions(name, tuple(each)) for name, each in found.items())
