"""What is so in every group, as the spec's `shape` says it: each of its sentences by itself."""

from __future__ import annotations

from functools import partial
from operator import not_

from rota.environment.consumer.coordinator import Coordinator
from rota.kernel import Kind, Property, View
from rota.spec.consumer.group import ConsumerGroup, shape


def _wrong(one: Coordinator) -> frozenset[str]:
    """The sentences of what is wrong with the group."""
    group = one.shard.group
    return frozenset(shape(group)) if isinstance(group, ConsumerGroup) else frozenset()


def _lacks(sentence: str, wrong: frozenset[str]) -> bool:
    return sentence not in wrong


def _property(slug: str, sentence: str, meaning: str, *rules: str) -> Property:
    views = (View("coordinator", _wrong),)
    test = partial(_lacks, sentence)
    return Property(f"consumer.{slug}", Kind.SHAPE, meaning, views, test, source="KIP-848", rules=rules)


def _unsubscribed(one: Coordinator) -> bool:
    """Whether a member is assigned something of a topic that it does not subscribe to."""
    group = one.shard.group
    return isinstance(group, ConsumerGroup) and any(
        held.partition.topic not in group.members[name].subscribed_topic_names
        for name, now in group.current.items()
        if name in group.members
        for held in now.assigned
    )


def _left_behind(one: Coordinator) -> bool:
    """Whether an empty group's target is older than the group."""
    group = one.shard.group
    return isinstance(group, ConsumerGroup) and not group.members and group.target_epoch != group.epoch


SHAPE = (
    _property(
        "one-owner",
        "a partition has two owners",
        "No partition is held by two members, by the coordinator's records.",
        "membership.led",
    ),
    _property(
        "map-is-what-is-held",
        "the map of partitions is not what members hold",
        "The map of partitions says what members hold, and since which of their epochs.",
        "membership.led",
        "leave.removal",
    ),
    _property(
        "target-not-above-group",
        "the target's epoch is above the group's",
        "The assignment epoch is not above the group's.",
        "target.written",
    ),
    _property(
        "member-not-above-target",
        "a member's epoch is above the target's",
        "No member's epoch is above the assignment epoch.",
        "membership.led",
    ),
    _property(
        "previous-not-above-member",
        "a previous epoch is above the member's",
        "A member's previous epoch is not above its epoch.",
        "membership.led",
    ),
    _property(
        "held-since-its-epochs",
        "a partition is held since an epoch above its member's",
        "What is assigned to a member is so since an epoch that it has reached.",
        "membership.led",
    ),
    _property(
        "pending-is-waited-for",
        "who has something to give up is not waited for",
        "A member in state Stable has nothing to give up.",
        "membership.led",
    ),
    _property(
        "targets-of-members",
        "a target is of nobody",
        "Only members have a target.",
        "leave.removal",
    ),
    _property(
        "members-have-assignments",
        "a member has no current assignment",
        "Every member, and nobody else, has a current assignment.",
        "membership.heartbeat",
        "leave.removal",
    ),
    Property(
        "consumer.assigned-is-subscribed",
        Kind.SHAPE,
        "Nothing is assigned to a member of a topic that it does not subscribe to.",
        (View("coordinator", _unsubscribed),),
        not_,
        source="upstream CurrentAssignmentBuilder#build",
        rules=("membership.led", "topics.subscribed"),
    ),
    Property(
        "consumer.empty-at-its-target",
        Kind.SHAPE,
        "The target of a group that has become empty is of the group's epoch.",
        (View("coordinator", _left_behind),),
        not_,
        source="upstream GroupMetadataManager#consumerGroupFenceMembers",
        rules=("leave.removal",),
    ),
)
