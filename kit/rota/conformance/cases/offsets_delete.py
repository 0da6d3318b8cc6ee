"""OffsetDelete (KIP-496): which offsets may be deleted, and what is refused as a whole."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import Dialogue, Member
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.steps.administration import described
from rota.conformance.steps.group_formation import all_leave, distribute_assignments, join_together, stable
from rota.conformance.steps.membership import static
from rota.conformance.steps.offsets import (
    TOPIC,
    commit,
    delete_offsets,
    expect_each,
    expect_fetched,
    expect_topics,
    subscriber,
    topic,
)
from rota.conformance.steps.version_ranges import COMMIT, DESCRIBE, FETCH, STATIC, TOPICS

_DELETE = "KIP-496; OffsetMetadataManager.deleteOffsets; ClassicGroup.validateOffsetDelete"
_OWNED_NOTHING = b"\x00\x00\x00\x00" + b"\xff\xff\xff\xff" + b"\xff\xff"
"""The end of a subscription of version 3: no owned partitions, no generation, no rack."""

_NO_TOPIC = "rota-no-such-topic"
_NEEDS = {"OffsetDelete": (0, 0), **COMMIT}
_BOTH = {**_NEEDS, **FETCH}


def _committed(d: Dialogue, a: Member) -> None:
    """A Stable group of one member, which has committed."""
    topic(d)
    stable(d, a)
    with d.reaching("an offset that is stored"):
        expect_each(d, commit(a), "NONE")


@case(
    "offsets.delete.subscribed",
    "Offsets of a topic that the group's members subscribe to cannot be deleted: GROUP_SUBSCRIBED_TO_TOPIC.",
    _DELETE,
    needs=_BOTH,
)
def subscribed(d: Dialogue) -> None:
    _committed(d, subscriber(d, "a"))
    reply = delete_offsets(d)
    d.expect(reply, error="NONE")
    expect_each(d, reply, "GROUP_SUBSCRIBED_TO_TOPIC")
    expect_fetched(d, 7)


@case(
    "offsets.delete.not-subscribed",
    "Offsets of a topic that nobody subscribes to are deleted, also under members.",
    _DELETE,
    needs=_BOTH,
)
def not_subscribed(d: Dialogue) -> None:
    _committed(d, d.member("a"))
    reply = delete_offsets(d)
    d.expect(reply, error="NONE")
    expect_each(d, reply, "NONE")
    expect_fetched(d, -1)


@case(
    "offsets.delete.empty-group",
    "When all members have left, offsets of any topic can be deleted.",
    _DELETE,
    needs=_BOTH,
)
def empty_group(d: Dialogue) -> None:
    a = subscriber(d, "a")
    _committed(d, a)
    all_leave(d, a)
    expect_each(d, delete_offsets(d), "NONE")
    expect_fetched(d, -1)


@case(
    "offsets.delete.last-of-empty-group",
    "An Empty group is still there when its last offset is deleted: it goes when next is looked for such.",
    _DELETE,
    level=Level.INFO,
    needs={**_BOTH, **DESCRIBE},
)
def last_of_empty_group(d: Dialogue) -> None:
    last_deleted(d, "Empty")


def last_deleted(d: Dialogue, state: str) -> None:
    """An Empty group loses its only offset and is in this state then."""
    empty_group(d)
    found = described(d)["group_state"]
    d.require(found == state, state, found)


@case(
    "offsets.nothing-to-delete.no-error",
    "Deleting an offset that is not there is no error.",
    _DELETE,
    level=Level.SHOULD,
    needs=_NEEDS,
)
def nothing_there(d: Dialogue) -> None:
    topic(d)
    stable(d, d.member("a"))
    expect_each(d, delete_offsets(d), "NONE")


@case(
    "offsets.delete.unknown-topic",
    "A topic that does not exist is UNKNOWN_TOPIC_OR_PARTITION; others in the same request are deleted.",
    "KafkaApis.handleOffsetDeleteRequest",
    level=Level.SHOULD,
    needs={**_BOTH, **TOPICS},
)
def unknown_topic(d: Dialogue) -> None:
    _committed(d, d.member("a"))
    reply = delete_offsets(d, _NO_TOPIC, TOPIC)
    d.expect(reply, error="NONE")
    expect_topics(d, reply, {_NO_TOPIC: "UNKNOWN_TOPIC_OR_PARTITION", TOPIC: "NONE"})
    expect_fetched(d, -1)


@case(
    "offsets.delete.of-the-generation",
    "What counts is what the members subscribed to when the generation began, not what they ask for now.",
    "ClassicGroup.computeSubscribedTopics",
    level=Level.INFO,
    needs=_NEEDS,
)
def of_the_generation(d: Dialogue) -> None:
    topic(d)
    a, b = subscriber(d, "a"), d.member("b")
    stable(d, a, b)
    with d.reaching("a rebalance in which the only subscriber has unsubscribed"):
        a.send_join(protocols=[("range", subscription(topic="none"))]).silent(0.4)
    expect_each(d, delete_offsets(d), "GROUP_SUBSCRIBED_TO_TOPIC")


@case(
    "offsets.delete.not-since-restart",
    "What a static member has subscribed to since its restart does not count: its offsets can be deleted.",
    "ClassicGroup.computeSubscribedTopics, which a restart does not call",
    level=Level.INFO,
    needs={**STATIC, **_NEEDS},
)
def not_since_restart(d: Dialogue) -> None:
    topic(d)
    a, again = static(d, "a", "one"), subscriber(d, "again", group_instance_id="one")
    stable(d, a)
    with d.reaching(
        "a restart in a Stable group with another subscription", rule="static.replaced-in-stable"
    ):
        d.expect(again.join(""), error="NONE", generation_id=a.generation_id)
    expect_each(d, commit(again), "NONE")
    expect_each(d, delete_offsets(d), "NONE")


@case(
    "offsets.topics-of.unreadable",
    "Where a member's metadata is no subscription, every topic counts as subscribed to.",
    "ClassicGroup.computeSubscribedTopics, isSubscribedToTopic; KAFKA-20570, before which 4.x does as 3.x",
    level=Level.INFO,
    needs=_NEEDS,
    older="Such a member is never answered at all.",
)
def unreadable(d: Dialogue) -> None:
    topic(d)
    distribute_assignments(d, join_together(d, d.member("a", protocols=[("range", b"changed")])))
    expect_each(d, delete_offsets(d), "GROUP_SUBSCRIBED_TO_TOPIC")


@case(
    "offsets.topics-of.later-versions",
    "A subscription of a later version is read as far as version 0 goes.",
    "ConsumerProtocol.deserializeConsumerProtocolSubscription",
    needs=_NEEDS,
)
def later_versions(d: Dialogue) -> None:
    version_3 = b"\x00\x03" + subscription(topic=TOPIC)[2:] + _OWNED_NOTHING
    topic(d)
    stable(d, d.member("a", protocols=[("range", version_3)]))
    other = f"{TOPIC}-other"
    topic(d, other)
    wanted = {TOPIC: "GROUP_SUBSCRIBED_TO_TOPIC", other: "NONE"}
    expect_topics(d, delete_offsets(d, TOPIC, other), wanted)


@case(
    "offsets.delete-unknown-group.refused",
    "Offsets of a group that does not exist: GROUP_ID_NOT_FOUND.",
    _DELETE,
    needs=_NEEDS,
)
def unknown_group(d: Dialogue) -> None:
    topic(d)
    d.expect(delete_offsets(d), error="GROUP_ID_NOT_FOUND", topics=[])


@case(
    "offsets.delete-invalid-group-id.empty",
    "The empty group id is refused by OffsetDelete, though it may commit and fetch.",
    "GroupCoordinatorService.deleteOffsets",
    level=Level.SHOULD,
    needs=_NEEDS,
)
def empty_group_id(d: Dialogue) -> None:
    topic(d)
    d.expect(delete_offsets(d, group_id=""), error="INVALID_GROUP_ID")


@case(
    "offsets.delete-non-empty-group.other-type",
    "Of a group with members that are no consumers nothing can be deleted, until they have left: "
    "NON_EMPTY_GROUP.",
    _DELETE,
    needs=_NEEDS,
)
def other_type(d: Dialogue) -> None:
    a = d.member("a", protocol_type="connect")
    _committed(d, a)
    d.expect(delete_offsets(d), error="NON_EMPTY_GROUP", topics=[])
    all_leave(d, a)
    d.expect(delete_offsets(d), error="NONE")


@case(
    "offsets.delete.empty-group-of-other-type",
    "When all have left, offsets can be deleted also of a group whose members were no consumers.",
    _DELETE,
    needs=_BOTH,
)
def empty_group_of_other_type(d: Dialogue) -> None:
    a = d.member("a", protocol_type="connect")
    _committed(d, a)
    all_leave(d, a)
    reply = delete_offsets(d)
    d.expect(reply, error="NONE")
    expect_each(d, reply, "NONE")
    expect_fetched(d, -1)
