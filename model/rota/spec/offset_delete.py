"""OffsetDelete (KIP-496): offsets that nobody needs are deleted, and who is subscribed to what.

What happens when the log has answered stands in `rota.spec.offset_log`.
"""

from __future__ import annotations

import struct

from rota.kernel.rules import rule
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState
from rota.spec.context import Spec, only, request_of
from rota.spec.effects import Reply
from rota.spec.messages import Call
from rota.spec.offset_messages import (
    OffsetDeleteReply,
    OffsetDeleteRequest,
    PartitionOutcome,
    TopicOutcome,
    TopicPartitions,
)
from rota.spec.offset_state import BEFORE_ALL, Expire, OffsetBatch, OffsetTombstone
from rota.spec.offsets import OMM, refuse
from rota.spec.vocabulary import ErrorCode

HANDLER = (
    "hosting.inactive",
    "offsets.delete-invalid-group-id",
    "hosting.loading",
    "hosting.elsewhere",
    "offsets.delete-unknown-group",
    "offsets.delete-non-empty-group",
    "offsets.delete",
)

CONSUMER = "consumer"
"""The protocol type whose subscriptions the coordinator reads."""


def _delete(call: Call) -> OffsetDeleteRequest:
    return request_of(call, OffsetDeleteRequest)


@rule("offsets.delete-invalid-group-id", source="KIP-496; upstream GroupCoordinatorService#deleteOffsets")
def delete_invalid_group_id(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The empty group id can commit and fetch, but not have its offsets deleted.

    Nothing is left out: GroupCoordinatorService#deleteOffsets tests the id alone, and the answer has the
    error at the top and no topics.
    """
    return () if _delete(call).group_id else refuse(group, call, _delete(call), ErrorCode.INVALID_GROUP_ID)


@rule("offsets.delete-unknown-group", source="KIP-496; " + OMM + "validateOffsetDelete")
def delete_unknown_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """OffsetDelete of a group that does not exist is told GROUP_ID_NOT_FOUND.

    Left out: topics that KafkaApis has taken out before, because they do not exist or may not be read.
    With the error for the whole request no topic is listed.
    """
    return () if group is not None else refuse(group, call, _delete(call), ErrorCode.GROUP_ID_NOT_FOUND)


@rule("offsets.delete-non-empty-group", source="KIP-496; upstream ClassicGroup#validateOffsetDelete")
def delete_non_empty_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """What members of another type than consumers use is not known, so nothing is deleted under them.

    Nothing is left out: in Empty anything may be deleted whatever the type was, in every other state the
    type alone decides, as in ClassicGroup#validateOffsetDelete.
    """
    if group is None or group.state is GroupState.EMPTY or group.protocol_type == CONSUMER:
        return ()
    return refuse(group, call, _delete(call), ErrorCode.NON_EMPTY_GROUP)


@rule(
    "offsets.delete",
    source="KIP-496; " + OMM + "deleteOffsets; ClassicGroup#isSubscribedToTopic; "
    "GroupMetadataManager#cleanupGroupMetadata (3.x)",
)
def delete(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Offsets of topics that nobody is subscribed to are deleted; to have had none is no error.

    Subscriptions that are not known (before the first generation, or one that cannot be read) may be to
    anything; an Empty group has none. The Scala coordinator deletes as it expires: an Empty group that has no
    offset then, be it that it never had one, is removed at once, and the next generation is 1.

    Left out: topics by id and the check that a topic exists. To the coordinator a topic is a name under
    which offsets are stored. Also that in 3.9.2 an open transaction of which everything was deleted still
    holds an Empty group until it ends (GroupMetadata#removeOffsets, #hasOffsets).
    """
    if group is None:
        return ()
    known = frozenset[str]() if group.state is GroupState.EMPTY else subscribed(spec, group)
    topics = _delete(call).topics
    free = frozenset(topic.name for topic in topics if known is not None and topic.name not in known)
    message = OffsetDeleteReply(
        ErrorCode.NONE, tuple(_outcome(topic, topic.name in free) for topic in topics)
    )
    tombstones = tuple(
        OffsetTombstone(topic.name, index)
        for topic in topics
        if topic.name in free
        for index in topic.partition_indexes
    )
    if not tombstones:
        return only(Step(group).answer(call.to, message))
    step = Step(group).tell_offsets(OffsetBatch(tombstones, Reply(call.to, message)))
    if spec.profile.deletion_ends_unused and group.state is GroupState.EMPTY:
        step = step.tell_offsets(Expire(BEFORE_ALL, None, removable=True))
    return only(step)


def _outcome(topic: TopicPartitions, free: bool) -> TopicOutcome:
    error = ErrorCode.NONE if free else ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    return TopicOutcome(
        topic.name, tuple(PartitionOutcome(index, error) for index in topic.partition_indexes)
    )


def subscribed(spec: Spec, group: Group) -> frozenset[str] | None:
    """The topics that the current generation is subscribed to; None where they are not known."""
    if group.protocol_type != CONSUMER or group.subscriptions is None:
        return None
    each = [spec.ask("offsets.topics-of", metadata) for metadata in group.subscriptions]
    return None if None in each else frozenset().union(*each)


@rule(
    "offsets.topics-of",
    source="upstream ClassicGroup#computeSubscribedTopics; ConsumerProtocol",
    decides=True,
)
def topics_of(metadata: bytes) -> frozenset[str] | None:
    """The topics in a consumer's metadata, None if it cannot be read.

    Read as version 0 whatever version it says: a version, an array of names, user data that may be null;
    what follows belongs to later versions.

    Left out: bytes on which upstream's parser throws another exception than the one that is caught (a
    null list of topics, for instance). No client writes them; here they are metadata that cannot be read,
    like any other.
    """
    try:
        (_, count), at, names = struct.unpack_from(">hi", metadata), 6, []
        for _ in range(count):
            (size,) = struct.unpack_from(">h", metadata, at)
            (name,) = struct.unpack_from(f">{size}s", metadata, at + 2)
            names.append(name.decode("utf-8", "replace"))
            at += 2 + size
        (size,) = struct.unpack_from(">i", metadata, at)
        struct.unpack_from(f">{max(size, 0)}s", metadata, at + 4)
    except struct.error:
        return None
    return frozenset(names) if count >= 0 else None
