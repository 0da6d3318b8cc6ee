"""Requests as the spec is asked them, what is answered before it is asked, and the offsets beside it.

Source: upstream KafkaApis#handleOffsetCommitRequest, #handleOffsetDeleteRequest (topics that are not there);
OffsetMetadataManager#validateOffsetCommit, ClassicGroup#validateOffsetCommit (groups that no member was ever
in); OffsetMetadataManager#onPartitionsDeleted.
"""

from __future__ import annotations

from typing import Any

from rota.kernel import FrozenMap
from rota.linearise.answers import AnyAnswer
from rota.linearise.consumer.requests import (
    Changed,
    ChangeTopic,
    Commit,
    Committed,
    DeleteOffsets,
    Fetch,
    Fetched,
    Offset,
)
from rota.linearise.consumer.states import ConsumerState, Offsets
from rota.spec.consumer.group import ClassicGroup, ConsumerGroup
from rota.spec.consumer.messages import (
    ClassicRequest,
    ConsumerGroupDescribeRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ErrorReply,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    Topics,
)
from rota.spec.consumer.state import Partition
from rota.spec.consumer.step import Step
from rota.spec.consumer.vocabulary import ErrorCode

UNKNOWN_TOPIC = 3
"""UNKNOWN_TOPIC_OR_PARTITION, which a broker says before it asks the coordinator."""

UNSURE = AnyAnswer()
"""Stands for an offset of which nobody knows whether it is there: its topic was deleted."""

READERS = (ConsumerGroupDescribeRequest, DescribeGroupsRequest, ListGroupsRequest, Fetch)


def reads(request: Any) -> bool:
    """Whether a request only reads."""
    return isinstance(request, READERS)


def apart(state: ConsumerState, request: Any, version: int) -> Any:
    """The answer to what is not asked of a group of this protocol, None for all else."""
    group = state.group
    if isinstance(request, Commit):
        if not any(_there(one, state.topics) for one in request.offsets):
            return Committed(ErrorCode.NONE, _outcomes(request, state.topics, ErrorCode.NONE))
        if isinstance(group, ClassicGroup) and request.member_epoch >= 0:
            told = ErrorCode.UNKNOWN_MEMBER_ID
            return Committed(ErrorCode.NONE, _outcomes(request, state.topics, told))
    if isinstance(request, DeleteOffsets):
        if group is None:
            return Committed(ErrorCode.GROUP_ID_NOT_FOUND)
        if not _partitions(request, state.topics):
            return Committed(ErrorCode.NONE, _deletions(request, state.topics, ErrorCode.NONE))
    # Whoever joins says an id that nobody has: without members it is the classic protocol's to refuse.
    nobody = not isinstance(group, ConsumerGroup) or not group.members
    described = isinstance(request, DescribeGroupsRequest) and isinstance(group, ClassicGroup)
    return UNSURE if (_joins(request) and nobody) or described else None


def full(state: ConsumerState, request: Any, most: int) -> Any:
    """The answer to a classic member that joins a group of so many members, None for all else.

    Where groups are migrated it is told so; where they are not, of which kind the group is.
    """
    crowded = isinstance(state.group, ConsumerGroup) and len(state.group.members) >= max(most, 1)
    return ErrorReply(ErrorCode.GROUP_MAX_SIZE_REACHED) if _joins(request) and crowded else None


def deletes_simple(state: ConsumerState, request: Any) -> bool:
    """Whether a group goes that has offsets and never had a member."""
    return isinstance(request, DeleteGroupsRequest) and isinstance(state.group, ClassicGroup)


def gives_way(state: ConsumerState, request: Any) -> bool:
    """Whether a group that nobody is in may give way to one of the classic protocol, which refuses who joins:
    Kafka 4.4.0 does so before it looks at the member id, rota after.
    """
    return _joins(request) and isinstance(state.group, ConsumerGroup) and not state.group.members


def _joins(request: Any) -> bool:
    """Whether somebody joins by the classic protocol."""
    return isinstance(request, ClassicRequest) and request.api == "JoinGroup"


def spec_request(request: Any, topics: Topics) -> Any:
    """A request in the spec's words, given the topics that the coordinator sees."""
    if isinstance(request, Commit):
        some = (one for one in request.offsets if _there(one, topics))
        partitions = tuple(Partition(topics[one.topic].topic_id, one.index) for one in some)
        return OffsetCommitRequest(request.group_id, request.member_id, request.member_epoch, partitions)
    if isinstance(request, Fetch):
        return OffsetFetchRequest(request.group_id, request.member_id, request.member_epoch)
    if isinstance(request, DeleteOffsets):
        return OffsetDeleteRequest(request.group_id, request.topic)
    if isinstance(request, ListGroupsRequest):
        states, types = (
            frozenset(one.lower() for one in some) for some in (request.states_filter, request.types_filter)
        )
        return ListGroupsRequest(request.group_id, states, types)
    return request


def told(request: Any, step: Step | None, state: ConsumerState) -> Any:
    """The answer to a request, from the spec's; None for none."""
    if isinstance(request, ChangeTopic):
        return Changed(0)
    if step is None or not step.replies:
        return None
    message: Any = step.replies[0].message
    if isinstance(request, Commit):
        return Committed(ErrorCode.NONE, _outcomes(request, state.topics, message.error_code))
    if isinstance(request, DeleteOffsets):
        return Committed(ErrorCode.NONE, _deletions(request, state.topics, message.error_code))
    if isinstance(request, Fetch):
        if message.error_code is not ErrorCode.NONE:
            return Fetched(message.error_code)
        offsets = state.now.offsets
        each: Any = (offsets.get(one, Offset(*one, -1)) for one in request.partitions)
        return Fetched(ErrorCode.NONE, tuple(each))
    return message


def _outcomes(request: Commit, topics: Topics, error: ErrorCode) -> tuple[tuple[str, int, int], ...]:
    return tuple(
        (one.topic, one.index, error.value if _there(one, topics) else UNKNOWN_TOPIC)
        for one in request.offsets
    )


def _partitions(request: DeleteOffsets, topics: Topics) -> tuple[int, ...]:
    """Those that there are."""
    size = topics[request.topic].partitions if request.topic in topics else 0
    return tuple(index for index in request.indexes if 0 <= index < size)


def _deletions(request: DeleteOffsets, topics: Topics, error: ErrorCode) -> tuple[tuple[str, int, int], ...]:
    there = _partitions(request, topics)
    return tuple(
        (request.topic, index, error.value if index in there else UNKNOWN_TOPIC) for index in request.indexes
    )


def _there(one: Offset, topics: Topics) -> bool:
    """Whether there is such a partition."""
    return one.topic in topics and 0 <= one.index < topics[one.topic].partitions


def offsets_after(request: Any, step: Step, state: ConsumerState) -> Offsets:
    """The offsets after a step of a request."""
    found = state.now.offsets
    if isinstance(request, Commit) and step.stores:
        for one in request.offsets:
            if _there(one, state.topics):
                found = found.set((one.topic, one.index), one)
    if isinstance(request, DeleteOffsets) and step.forgets:
        gone = _partitions(request, state.topics)
        return found.without(*((request.topic, index) for index in gone))
    return FrozenMap() if step.forgets == "" else found


def without_topic(offsets: Offsets, name: str) -> Offsets:
    """Offsets, of which those of a topic may be there or not."""
    return FrozenMap((key, UNSURE if key[0] == name else value) for key, value in offsets.items())
