"""Who is a member of a consumer group: joining, what is remembered of it, who is refused, a full group."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.consumer import (
    JOIN,
    LEAVE,
    MINUTE,
    Consumer,
    alone,
    assignment,
    described,
    expect_described,
    full,
    joined,
    members_in,
    of_member,
    owns_all,
    raised_by,
    two,
)
from rota.conformance.steps.consumer_case import LIMITS, MOST, rule_case
from rota.conformance.steps.consumer_topics import topic
from rota.conformance.steps.group_formation import stable
from rota.conformance.steps.offsets import SIMPLE, in_topic
from rota.conformance.steps.offsets import topic as classic_topic

_HEARTBEAT = "KIP-848; GroupMetadataManager.consumerGroupHeartbeat"
_CREATE = "GroupMetadataManager.getOrMaybeCreateConsumerGroup"
_MEMBER = "ConsumerGroup.getOrMaybeCreateMember"
_FULL = "GroupMetadataManager.throwIfConsumerGroupIsFull"
_TOLD = "KIP-848; GroupMetadataManager.consumerGroupHeartbeat"

_FIRST = {"ConsumerGroupHeartbeat": (0, 0)}


@rule_case(
    "membership.heartbeat.first-member",
    "The first member of a group is given every partition of its topic in its first answer.",
    _HEARTBEAT,
    level=Level.MUST,
)
def first_member(d: Dialogue) -> None:
    a, subject = Consumer(d, "a"), topic(d, 3)
    reply = a.join(subject)
    d.require(assignment(reply) is not None, "an assignment", "none")
    owns_all(d, a, subject)
    d.require(reply["member_id"] == "a" and a.epoch > 0, "its id and an epoch above 0", str(a.epoch))


@rule_case(
    "membership.heartbeat.interval-told",
    "An answer tells how long to wait until the next heartbeat.",
    _HEARTBEAT,
    topics=False,
)
def interval_told(d: Dialogue) -> None:
    told = Consumer(d, "a").join("rota-nowhere")["heartbeat_interval_ms"]
    d.require(told > 0, "a time above 0", f"{told} ms")


@rule_case(
    "membership.heartbeat.subscribes-to-nothing",
    "A member may subscribe to nothing: it is in the group, with nothing assigned.",
    _HEARTBEAT,
    topics=False,
)
def no_subscription(d: Dialogue) -> None:
    a = Consumer(d, "a")
    reply = a.join()
    d.require(assignment(reply) == frozenset(), "an empty assignment", str(reply["assignment"]))
    d.require(members_in(described(d)) == {"a"}, "a as the only member", "others")


@rule_case(
    "membership.heartbeat.idle",
    "Heartbeats that say nothing new keep epoch and assignment, and raise no epoch.",
    _HEARTBEAT,
    level=Level.MUST,
)
def idle(d: Dialogue) -> None:
    a, subject = alone(d)
    epoch = a.epoch
    d.require(raised_by(d, lambda: [a.beat() for _ in range(3)]) == 0, "the same group epoch", "another")
    d.require(a.epoch == epoch, f"epoch {epoch}", f"epoch {a.epoch}")
    owns_all(d, a, subject)


@rule_case(
    "membership.heartbeat.id-made-by-the-broker",
    "In version 0 who joins without an id is given one and is in the group with it.",
    "KIP-848; KIP-1082",
    needs=_FIRST,
    topics=False,
)
def made_by_the_broker(d: Dialogue) -> None:
    a = Consumer(d, "a")
    given = a.join("rota-nowhere", member_id="")["member_id"]
    d.require(bool(given), "a member id", "none")
    d.transcript.learn("a", given)
    d.require(members_in(described(d)) == {given}, "a group with that member alone", "another")


@rule_case(
    "membership.unknown-member.joins-again",
    "Epoch 0 under an id that is in the group is that member: it keeps what it has, and no epoch rises.",
    _MEMBER,
    level=Level.MUST,
)
def joins_again(d: Dialogue) -> None:
    a, subject = alone(d)
    epoch = a.epoch
    d.require(raised_by(d, lambda: a.join(subject)) == 0, "the same group epoch", "another")
    d.require(a.epoch == epoch, f"epoch {epoch}", f"epoch {a.epoch}")
    owns_all(d, a, subject)
    d.require(members_in(described(d)) == {"a"}, "a as the only member", "others")


@rule_case(
    "membership.unknown-member.at-an-epoch",
    "A heartbeat at an epoch of who is not in the group is UNKNOWN_MEMBER_ID, and makes no member.",
    _MEMBER,
    level=Level.MUST,
    topics=False,
)
def unknown_member(d: Dialogue) -> None:
    a = joined(d, "a", "rota-nowhere")
    for epoch in (1, a.epoch, 77):
        d.expect(Consumer(d, "b").ask(epoch), error="UNKNOWN_MEMBER_ID")
    d.require(members_in(described(d)) == {"a"}, "a as the only member", "others")


@rule_case(
    "membership.unknown-group.at-an-epoch",
    "A heartbeat at an epoch to a group that is not there is GROUP_ID_NOT_FOUND, and makes none.",
    _CREATE,
    level=Level.MUST,
    topics=False,
)
def unknown_group(d: Dialogue) -> None:
    for epoch in (1, 77):
        d.expect(Consumer(d, "a").ask(epoch), error="GROUP_ID_NOT_FOUND")
    expect_described(d, "GROUP_ID_NOT_FOUND")


@rule_case(
    "membership.unknown-group.leaving",
    "Nobody leaves a group that is not there: that is GROUP_ID_NOT_FOUND.",
    _CREATE,
    topics=False,
)
def leaves_unknown_group(d: Dialogue) -> None:
    d.expect(Consumer(d, "a").ask(LEAVE), error="GROUP_ID_NOT_FOUND")


@rule_case(
    "membership.other-protocol.with-members",
    "A classic group with members of another protocol type is none here: GROUP_ID_NOT_FOUND, at any epoch.",
    f"{_CREATE}; GroupMetadataManager.validateOnlineUpgrade",
    level=Level.MUST,
    topics=False,
)
def classic_group(d: Dialogue) -> None:
    classic = d.member("classic", protocol_type="connect")
    stable(d, classic)
    newcomer = Consumer(d, "a")
    said = {"timeout": MINUTE, "topics": ("rota-nowhere",), "owns": ()}
    d.expect(newcomer.ask(JOIN, **said), error="GROUP_ID_NOT_FOUND")
    d.expect(newcomer.ask(1), error="GROUP_ID_NOT_FOUND")
    d.expect(classic.heartbeat(), error="NONE")


@rule_case(
    "membership.other-protocol.empty",
    "A classic group without members gives way to who joins, and to nobody who believes to be in it.",
    _CREATE,
    needs={"OffsetCommit": (8, 9)},
)
def empty_classic_group(d: Dialogue) -> None:
    classic_topic(d)
    with d.reaching("a classic group without members"):
        sent = d.member("simple").send("OffsetCommit", {**SIMPLE, "topics": [in_topic("rota-probe")]})
        d.require(sent.answer()["topics"][0]["partitions"][0]["error_code"] == 0, "a commit", "an error")
    a, subject = Consumer(d, "a"), topic(d, 2)
    d.expect(a.ask(1), error="GROUP_ID_NOT_FOUND")
    a.join(subject)
    owns_all(d, a, subject)


@rule_case(
    "membership.full.newcomer",
    "A full group refuses who is not in it with GROUP_MAX_SIZE_REACHED.",
    _FULL,
    topics=False,
    settings=LIMITS,
)
def full_group(d: Dialogue) -> None:
    full(d)
    said = {"timeout": MINUTE, "topics": ("rota-nowhere",), "owns": ()}
    d.expect(Consumer(d, "late").ask(JOIN, **said), error="GROUP_MAX_SIZE_REACHED")
    d.require(len(members_in(described(d))) == MOST, f"{MOST} members", "another number")


@rule_case(
    "membership.full.members-go-on",
    "Who is in a full group goes on.",
    _FULL,
    level=Level.MUST,
    topics=False,
    settings=LIMITS,
)
def full_group_goes_on(d: Dialogue) -> None:
    for member in full(d):
        member.beat()


@rule_case(
    "membership.full.joins-again",
    "Who is in a full group may join again: that is no newcomer.",
    _FULL,
    level=Level.MUST,
    topics=False,
    settings=LIMITS,
)
def full_group_joins_again(d: Dialogue) -> None:
    *_, last = full(d)
    last.join("rota-nowhere")


@rule_case(
    "membership.full.room-again",
    "When somebody has left a full group somebody else may join.",
    _FULL,
    level=Level.MUST,
    topics=False,
    settings=LIMITS,
)
def room_again(d: Dialogue) -> None:
    first, *_ = full(d)
    with d.reaching("a place in the group"):
        first.leave()
    Consumer(d, "late").join("rota-nowhere")


@rule_case(
    "membership.fields.kept",
    "What a heartbeat does not mention stays as the member has said it: it keeps its partitions.",
    "ConsumerGroupMember.Builder",
    level=Level.MUST,
)
def fields_kept(d: Dialogue) -> None:
    a, subject = alone(d)
    a.beat(rack="r")
    a.beat(timeout=9000)
    a.beat()
    said = of_member(d, described(d), a)
    d.require(said["subscribed_topic_names"] == [subject.name], "its topic", "another subscription")
    owns_all(d, a, subject)


@rule_case(
    "membership.fields.rack",
    "The rack that a member has named is told in a description, also when it is not named again.",
    "ConsumerGroupMember.Builder",
)
def rack_kept(d: Dialogue) -> None:
    a, _ = alone(d, rack="r")
    a.beat()
    said = of_member(d, described(d), a)["rack_id"]
    d.require(said == "r", "the rack r", str(said))


@rule_case(
    "membership.fields.replaced",
    "A subscription that a member names replaces the one that it had.",
    "ConsumerGroupMember.Builder",
    level=Level.MUST,
)
def fields_replaced(d: Dialogue) -> None:
    a, first = alone(d)
    second = topic(d, 3)
    a.beat(topics=(second,), owns=())
    said = of_member(d, described(d), a)["subscribed_topic_names"]
    d.require(said == [second.name] != [first.name], "the second topic alone", str(said))


@rule_case(
    "membership.told.joining",
    "The answer to epoch 0 has the whole assignment, also where the member has it already.",
    _TOLD,
    level=Level.MUST,
)
def told_who_joins(d: Dialogue) -> None:
    a, subject = alone(d)
    d.require(assignment(a.join(subject)) == subject.places, "the assignment", "none, or another")


@rule_case(
    "membership.told.whole-request",
    "A request that says everything is answered with the whole assignment.",
    _TOLD,
    level=Level.MUST,
)
def told_who_says_everything(d: Dialogue) -> None:
    a, subject = alone(d)
    reply = a.beat(timeout=MINUTE, topics=(subject,), owns=a.held)
    d.require(assignment(reply) == subject.places, "the assignment", "none, or another")


@rule_case(
    "membership.told.no-news",
    "Where nothing has changed an answer has no assignment.",
    _TOLD,
)
def told_nothing(d: Dialogue) -> None:
    a, _ = alone(d)
    for said in ({}, {"owns": a.held}):
        d.require(assignment(a.beat(**said)) is None, "no assignment", "one")


@rule_case(
    "membership.told.change",
    "A member is told its assignment when that changes, though its request says nothing.",
    _TOLD,
    level=Level.MUST,
)
def told_of_change(d: Dialogue) -> None:
    a, _, subject = two(d)
    told = [assignment(a.beat()) for _ in range(3)]
    heard = [one for one in told if one is not None]
    d.require(len(heard) == 1 and len(heard[0]) == 1, "one partition of two, once", f"{len(heard)} answers")
    d.require(heard[0] < subject.places, "a partition of the topic", "another")
