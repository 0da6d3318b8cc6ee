"""The epochs of a consumer group and its members, and what of topics and subscriptions raises them."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.registry import otherwise
from rota.conformance.dialogues.script import Level
from rota.conformance.rules import CONSUMER
from rota.conformance.steps.consumer import (
    MINUTE,
    Consumer,
    alone,
    described,
    joined,
    newer,
    of_member,
    owns_all,
    raised_by,
    two,
    until,
)
from rota.conformance.steps.consumer_case import rule_case
from rota.conformance.steps.consumer_topics import delete, grow, own_name, own_topic, topic

_EPOCH = "KIP-848; GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid"
_RAISED = "KIP-848; GroupMetadataManager.consumerGroupHeartbeat"
_CHANGED = "GroupMetadataManager.hasMemberSubscriptionChanged"
_HASH = "ModernGroup.computeMetadataHash; GroupMetadataManager.onMetadataUpdate"

_GROWS = {"CreatePartitions": (0, 3)}
_DELETES = {"DeleteTopics": (6, 6)}


@rule_case(
    "epochs.ahead.of-the-member",
    "An epoch that a member has not reached is FENCED_MEMBER_EPOCH.",
    _EPOCH,
    level=Level.MUST,
)
def ahead(d: Dialogue) -> None:
    a, _ = alone(d)
    for epoch in (a.epoch + 1, a.epoch + 1000):
        d.expect(a.ask(epoch), error="FENCED_MEMBER_EPOCH")


@rule_case(
    "epochs.ahead.stays",
    "A member that is fenced is in the group still, with what it has, and epoch 0 gives it that back.",
    _EPOCH,
    level=Level.MUST,
)
def fenced_member_stays(d: Dialogue) -> None:
    a, subject = alone(d)
    d.expect(a.ask(a.epoch + 1), error="FENCED_MEMBER_EPOCH")
    given = of_member(d, described(d), a)["assignment"]["topic_partitions"]
    d.require(bool(given), "the member with its partitions", "one without")
    a.join(subject)
    owns_all(d, a, subject)


def _moved_on(d: Dialogue) -> tuple[Consumer, int]:
    """The only member of a group, with a partition, and the epoch that it had before the one it has."""
    a, subject = alone(d, 1)
    before = a.epoch
    joined(d, "b", subject)
    with d.reaching("a member at its next epoch", "consumer.membership.led"):
        newer(d, a, before)
    return a, before


@rule_case(
    "epochs.behind.silent",
    "The epoch before the member's is FENCED_MEMBER_EPOCH where it does not say what it owns.",
    _EPOCH,
)
def behind(d: Dialogue) -> None:
    a, before = _moved_on(d)
    d.expect(a.ask(before), error="FENCED_MEMBER_EPOCH")


@rule_case(
    "epochs.behind.lost-answer",
    "The epoch before the member's is accepted where it owns no more than it has: the answer was lost.",
    _EPOCH,
    level=Level.MUST,
)
def lost_answer(d: Dialogue) -> None:
    a, before = _moved_on(d)
    d.expect(a.ask(before, owns=a.held), error="NONE", member_epoch=a.epoch)
    d.expect(a.ask(before, owns=()), error="NONE", member_epoch=a.epoch)


@rule_case(
    "epochs.behind.owns-more",
    "The epoch before the member's is FENCED_MEMBER_EPOCH where it owns what it does not have.",
    _EPOCH,
    level=Level.MUST,
)
def owns_more(d: Dialogue) -> None:
    a, before = _moved_on(d)
    foreign = {(topic_id, index + 1) for topic_id, index in a.held}
    d.expect(a.ask(before, owns=a.held | foreign), error="FENCED_MEMBER_EPOCH")


@rule_case(
    "epochs.behind.long-ago",
    "An epoch before the previous one is FENCED_MEMBER_EPOCH, whatever the member says.",
    _EPOCH,
    level=Level.MUST,
)
def long_ago(d: Dialogue) -> None:
    a, first = _moved_on(d)
    second = a.epoch
    joined(d, "c", topic(d, 1))
    with d.reaching("a member at its third epoch", "consumer.membership.led"):
        newer(d, a, second)
    d.expect(a.ask(first, owns=()), error="FENCED_MEMBER_EPOCH")


@rule_case(
    "epochs.subscription-changed.same-names",
    "A subscription is a set of names: saying it again, in another order or twice, raises no epoch.",
    _CHANGED,
)
def same_names(d: Dialogue) -> None:
    one, other = topic(d, 1), topic(d, 2)
    a = joined(d, "a", one, other)

    def again() -> None:
        for topics in ((one, other), (other, one), (other, one, other)):
            a.beat(topics=topics)

    risen = raised_by(d, again)
    d.require(risen == 0, "the same group epoch", f"one higher by {risen}")


@rule_case(
    "epochs.subscription-changed.other-names",
    "Another set of names raises the group's epoch by one.",
    _CHANGED,
    level=Level.MUST,
)
def other_names(d: Dialogue) -> None:
    one, other = topic(d, 1), topic(d, 2)
    a = joined(d, "a", one)
    for topics in ((one, other), (one,)):
        risen = raised_by(d, lambda topics=topics: a.beat(topics=topics, owns=a.held))  # type: ignore[misc]
        d.require(risen == 1, "a group epoch higher by 1", f"one higher by {risen}")


@rule_case(
    "epochs.raised.newcomer",
    "A second member with a subscription raises the group's epoch by one.",
    _RAISED,
    level=Level.MUST,
)
def newcomer(d: Dialogue) -> None:
    _, subject = alone(d)
    risen = raised_by(d, lambda: Consumer(d, "b").join(subject))
    d.require(risen == 1, "a group epoch higher by 1", f"one higher by {risen}")


@rule_case(
    "epochs.raised.nothing-of-it",
    "Rack, rebalance timeout and what a member owns raise no epoch: nobody has to move for them.",
    _RAISED,
    level=Level.MUST,
)
def nothing_of_it(d: Dialogue) -> None:
    a, _ = alone(d)

    def told() -> None:
        a.beat(rack="r")
        a.beat(timeout=MINUTE // 2)
        a.beat(owns=a.held)
        a.beat(owns=())

    risen = raised_by(d, told)
    d.require(risen == 0, "the same group epoch", f"one higher by {risen}")


@rule_case(
    "epochs.raised.other-assignor",
    "A wish that changes the group's assignor raises its epoch.",
    _RAISED,
)
def other_assignor(d: Dialogue) -> None:
    a, _ = alone(d)
    chosen = described(d)["assignor_name"]
    other = "range" if chosen == "uniform" else "uniform"
    risen = raised_by(d, lambda: a.beat(assignor=other))
    d.require(risen == 1, "a group epoch higher by 1", f"one higher by {risen}")


@otherwise(
    f"{CONSUMER}.epochs.raised.other-assignor",
    "assignor_raises_no_epoch",
    "A wish that changes the group's assignor raises no epoch: it counts with the next target.",
)
def other_assignor_later(d: Dialogue) -> None:
    a, _ = alone(d)
    risen = raised_by(d, lambda: a.beat(assignor="range"))
    d.require(risen == 0, "the same group epoch", f"one higher by {risen}")


@rule_case(
    "topics.hash.comes",
    "A topic that is made after somebody subscribed to it is assigned without another word.",
    _HASH,
    level=Level.MUST,
)
def comes(d: Dialogue) -> None:
    a = joined(d, "a", own_name(d, "t"))
    subject = own_topic(d, "t", 2)
    until(d, a, "a has the new topic", lambda _: a.held == subject.places)


@rule_case(
    "topics.hash.grows",
    "New partitions of a topic are assigned.",
    _HASH,
    level=Level.MUST,
    needs=_GROWS,
)
def grows(d: Dialogue) -> None:
    small = own_topic(d, "t", 1)
    a = joined(d, "a", small)
    grown = grow(d, small, 3)
    until(d, a, "a has three partitions", lambda _: a.held == grown.places)


@rule_case(
    "topics.hash.goes",
    "Partitions of a topic that is deleted are taken back, and what is left stays.",
    _HASH,
    needs=_DELETES,
)
def goes(d: Dialogue) -> None:
    kept, gone = topic(d, 1), own_topic(d, "t", 1)
    a = joined(d, "a", kept, gone)
    owns_all(d, a, kept, gone)
    delete(d, gone)
    until(d, a, "a has the other topic alone", lambda _: a.held == kept.places)
    newer(d, a, a.epoch, owns=a.held)
    owns_all(d, a, kept)


@rule_case(
    "topics.hash.made-anew",
    "A topic that is made anew is another one: a member is given it by its new id.",
    _HASH,
    level=Level.MUST,
    needs=_DELETES,
)
def made_anew(d: Dialogue) -> None:
    first = own_topic(d, "t", 2)
    a = joined(d, "a", first)
    owns_all(d, a, first)
    delete(d, first)
    second = own_topic(d, "t", 2)
    until(d, a, "a has the new topic", lambda _: a.held == second.places, owns=())


@rule_case(
    "topics.subscribed.own-alone",
    "A member is assigned partitions of the topics that it subscribes to, and of no others.",
    "KIP-848; upstream TopicIds",
    level=Level.MUST,
)
def own_alone(d: Dialogue) -> None:
    # So unequal that a target of both topics for both members would take something from somebody.
    one, other = topic(d, 4), topic(d, 1)
    a, b = joined(d, "a", one), joined(d, "b", other)
    until(d, b, "b has its topic", lambda _: b.held == other.places)
    until(d, a, "a has its topic", lambda _: a.held == one.places)


@rule_case(
    "topics.subscribed.not-there",
    "A name without a topic is no obstacle: the topics that are there are assigned.",
    "KIP-848; upstream TopicIds",
    level=Level.MUST,
)
def not_there(d: Dialogue) -> None:
    subject = topic(d, 2)
    a = joined(d, "a", subject, own_name(d, "nothing"))
    owns_all(d, a, subject)


@rule_case(
    "epochs.raised.nobody-else-moves",
    "A newcomer who subscribes to another topic takes nothing from who is there.",
    _RAISED,
    level=Level.MUST,
)
def nobody_else_moves(d: Dialogue) -> None:
    a, subject = alone(d)
    b = joined(d, "b", topic(d, 3))
    if b.epoch <= a.epoch:
        newer(d, b, a.epoch)
    a.beat()
    owns_all(d, a, subject)


@rule_case(
    "membership.led.follows-the-target",
    "A member whose partitions stay is led to the new target's epoch by its next heartbeat.",
    "KIP-848; GroupMetadataManager.maybeReconcile",
)
def follows(d: Dialogue) -> None:
    a, b, _ = two(d, 1)
    holder, other = (a, b) if a.held else (b, a)
    until(d, holder, "both at one epoch", lambda _: holder.epoch == other.epoch)
