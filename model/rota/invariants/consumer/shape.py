"""What is so in every group, as the spec's `shape` says it: each of its sentences by itself."""

from __future__ import annotations

from functools import partial

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
)
