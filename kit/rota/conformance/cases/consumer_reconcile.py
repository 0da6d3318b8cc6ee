"""From what a member has to its target: it is told to give up, says so, and only then another one takes."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.failures import Deviation
from rota.conformance.dialogues.registry import otherwise
from rota.conformance.dialogues.script import Level
from rota.conformance.rules import CONSUMER
from rota.conformance.steps.consumer import (
    JOIN,
    MINUTE,
    Consumer,
    alone,
    asked_to_give_up,
    described,
    joined,
    members_in,
    newer,
    of_member,
    owns_all,
    shared,
    two,
    until,
)
from rota.conformance.steps.consumer_case import INTERVAL, LIMITS, rule_case
from rota.conformance.steps.consumer_topics import Place, places_in, topic

_LED = "KIP-848; CurrentAssignmentBuilder.build"
_BUILDER = "KIP-848; TargetAssignmentBuilder.build"
_PREFERRED = "KIP-848; ConsumerGroup.preferredServerAssignor"
_UNIFORM = "KIP-848; UniformHomogeneousAssignmentBuilder"
_RANGE = "RangeAssignor"
_DUE = "GroupMetadataManager.canComputeNextTargetAssignment"

_TIMES = 3
"""How often a member asks that has to wait for another one."""


def _waits(d: Dialogue, member: Consumer) -> None:
    """Hold that a member is given nothing, however often it asks."""
    for _ in range(_TIMES):
        member.beat()
        if member.held:
            raise Deviation(f"nothing for {member.id} while another one has it", f"{len(member.held)} given")


@rule_case(
    "membership.led.waits-for-the-owner",
    "A partition that another member has is given to nobody: the newcomer waits.",
    _LED,
    level=Level.MUST,
)
def waits_for_owner(d: Dialogue) -> None:
    _, b, _ = two(d)
    d.require(not b.held, "nothing for b", f"{len(b.held)} partitions")
    _waits(d, b)


@rule_case(
    "membership.led.told-to-give-up",
    "Who has more than its target is told to give that up, and stays at its epoch until it has.",
    _LED,
    level=Level.MUST,
)
def told_to_give_up(d: Dialogue) -> None:
    a, _, subject = two(d)
    epoch = a.epoch
    until(d, a, "a is told to keep one partition", lambda _: len(a.held) == 1)
    d.require(a.held < subject.places, "a partition that a had", "another")
    d.require(a.epoch == epoch, f"epoch {epoch}", f"epoch {a.epoch}")


@rule_case(
    "membership.led.silence-acknowledges-nothing",
    "A member that was told to give up a partition and does not say what it owns has not given it up.",
    _LED,
    level=Level.MUST,
)
def silence(d: Dialogue) -> None:
    a, b, _, _ = asked_to_give_up(d)
    for _ in range(_TIMES):
        a.beat()
    _waits(d, b)


@rule_case(
    "membership.led.still-owned",
    "A member that still names a partition that it was told to give up has not given it up.",
    _LED,
    level=Level.MUST,
)
def still_owned(d: Dialogue) -> None:
    a, b, subject, given_up = asked_to_give_up(d)
    a.beat(owns=subject.places)
    a.beat(owns=given_up)
    _waits(d, b)


@rule_case(
    "membership.led.part-of-it",
    "Giving up a part of what was asked for frees nothing: it is all or nothing.",
    _LED,
)
def part_of_it(d: Dialogue) -> None:
    a, b, _, given_up = asked_to_give_up(d, 4)
    first, *_ = sorted(given_up)
    a.beat(owns=a.held | {first})
    _waits(d, b)


@rule_case(
    "membership.led.handed-over",
    "When the owner no longer names a partition it is at the new epoch, and the other one is given it.",
    _LED,
    level=Level.MUST,
)
def handed_over(d: Dialogue) -> None:
    a, b, subject, given_up = asked_to_give_up(d)
    a.beat(owns=a.held)
    until(d, b, "b is given what a gave up", lambda _: b.held == given_up)
    d.require(a.epoch == b.epoch, "both at one epoch", f"{a.epoch} and {b.epoch}")
    d.require(a.held | b.held == subject.places, "the whole topic", "a part")


@rule_case(
    "membership.led.joins-again-instead",
    "Who joins again owns nothing and has so given up what it was told to.",
    _LED,
    level=Level.MUST,
)
def joins_again_instead(d: Dialogue) -> None:
    a, b, subject, given_up = asked_to_give_up(d)
    a.join(subject)
    until(d, b, "b is given what a had to give up", lambda _: b.held == given_up)
    d.require(not a.held & b.held, "no partition of both", "one of both")


@otherwise(
    f"{CONSUMER}.membership.led.joins-again-instead",
    "joining_again_is_fenced",
    "Who joins again under its id is fenced, and stays in the group: it has given up nothing.",
)
def fenced_instead(d: Dialogue) -> None:
    subject = topic(d, 2)
    a, b = joined(d, "a", topic(d, 3)), joined(d, "b", subject)
    newer(d, a, a.epoch)
    d.expect(a.ask(JOIN, timeout=MINUTE, topics=(subject,), owns=()), error="FENCED_MEMBER_EPOCH")
    d.require(members_in(described(d)) == {a.id, b.id}, "both in the group", "another number")


@rule_case(
    "membership.led.owner-leaves",
    "What a member has that leaves while it is told to give up a part is free at once.",
    _LED,
    level=Level.MUST,
)
def owner_leaves(d: Dialogue) -> None:
    a, b, subject, _ = asked_to_give_up(d)
    a.leave()
    until(d, b, "b has all partitions", lambda _: b.held == subject.places)


@rule_case(
    "membership.led.given-back",
    "Who has given up a partition is given it back when whoever was to have it is gone.",
    _LED,
    level=Level.MUST,
)
def given_back(d: Dialogue) -> None:
    a, b, subject, _ = asked_to_give_up(d)
    b.leave()
    a.beat(owns=a.held)
    until(d, a, "a has all partitions", lambda _: a.held == subject.places, owns=a.held)


@rule_case(
    "membership.led.leaves-a-topic",
    "Who no longer subscribes to a topic is told to give up its partitions.",
    _LED,
    level=Level.MUST,
)
def leaves_a_topic(d: Dialogue) -> None:
    one, other = topic(d, 1), topic(d, 2)
    a = joined(d, "a", one, other)
    owns_all(d, a, one, other)
    a.beat(topics=(one,), owns=a.held)
    until(d, a, "a keeps one topic", lambda _: a.held == one.places)


@rule_case(
    "membership.led.says-less",
    "A member that names less than it has goes on having it.",
    _LED,
)
def says_less(d: Dialogue) -> None:
    a, subject = alone(d)
    a.beat(owns=())
    has = places_in(of_member(d, described(d), a)["assignment"])
    d.require(has == subject.places, "all partitions", f"{len(has)} of them")


@rule_case(
    "target.asked.each-once",
    "Every partition of a topic is in the target of exactly one of its subscribers.",
    _BUILDER,
    level=Level.MUST,
)
def each_once(d: Dialogue) -> None:
    _, _, subject = two(d, 3)
    group = described(d)
    each = [places_in(one["target_assignment"]) for one in group["members"]]
    d.require(len(each) == 2, "two members", f"{len(each)}")
    d.require(sum(map(len, each)) == 3, "three partitions, each once", f"{sum(map(len, each))} in all")
    d.require(frozenset().union(*each) == subject.places, "the whole topic", "a part")


@rule_case(
    "target.asked.subscribers-alone",
    "Who does not subscribe to a topic has none of it in its target.",
    _BUILDER,
    level=Level.MUST,
)
def subscribers_alone(d: Dialogue) -> None:
    a, subject = alone(d, 4)
    b = joined(d, "b", topic(d, 1))
    if b.epoch <= a.epoch:
        newer(d, b, a.epoch)
    targets = places_in(of_member(d, described(d), b)["target_assignment"])
    d.require(not targets & subject.places, "none of the other's topic", "some of it")


@rule_case(
    "target.written.of-each",
    "A new target is that of all members at once: what one gains another one loses.",
    _BUILDER,
    level=Level.MUST,
)
def of_each(d: Dialogue) -> None:
    a, b, subject = two(d, 4)
    group = described(d)
    of_a, of_b = (places_in(of_member(d, group, one)["target_assignment"]) for one in (a, b))
    d.require(of_a | of_b == subject.places, "the whole topic", f"{len(of_a | of_b)} partitions")
    d.require(not of_a & of_b, "nothing of both", f"{len(of_a & of_b)} of both")
    d.require(group["assignment_epoch"] == group["group_epoch"], "a target of this epoch", "an older one")


@rule_case(
    "target.due.second-member",
    "A group whose epoch has risen gets a new target when somebody heartbeats.",
    _DUE,
    level=Level.MUST,
)
def due(d: Dialogue) -> None:
    a, subject = alone(d)
    b = Consumer(d, "b")
    b.join(subject)
    if b.epoch <= a.epoch:
        newer(d, b, a.epoch)
    group = described(d)
    d.require(group["assignment_epoch"] == group["group_epoch"], "a target of this epoch", "an older one")


@rule_case(
    "target.due.within-the-interval",
    "Within the assignment interval there is no newer target: a second member has the old epoch.",
    _DUE,
    settings=LIMITS,
    seconds=INTERVAL,
)
def within_interval(d: Dialogue) -> None:
    a, subject = alone(d)
    since = d.transcript.elapsed()
    b = joined(d, "b", subject)
    d.in_time(since, INTERVAL / 2)
    d.require(b.epoch == a.epoch, f"epoch {a.epoch}", f"epoch {b.epoch}")
    d.require(described(d)["group_state"] == "Assigning", "the state Assigning", "another")
    newer(d, b, a.epoch)


@otherwise(
    f"{CONSUMER}.target.due.within-the-interval",
    "target_at_once",
    "There is no assignment interval: a second member is at the new epoch at once.",
)
def without_interval(d: Dialogue) -> None:
    a, subject = alone(d)
    b = joined(d, "b", subject)
    d.require(b.epoch > a.epoch, f"an epoch above {a.epoch}", f"epoch {b.epoch}")


@rule_case(
    "target.due.emptied",
    "A group that was emptied gets its next target at once, whatever the interval is.",
    _DUE,
    level=Level.MUST,
    settings=LIMITS,
)
def emptied(d: Dialogue) -> None:
    a, subject = alone(d)
    with d.reaching("an empty group"):
        a.leave()
    b = Consumer(d, "b")
    b.join(subject)
    owns_all(d, b, subject)


@rule_case(
    "target.preferred-assignor.one-wish",
    "One wish decides for all who have none.",
    _PREFERRED,
)
def one_wish(d: Dialogue) -> None:
    _, subject = alone(d)
    joined(d, "b", subject, assignor="range")
    d.require(described(d)["assignor_name"] == "range", "the assignor range", "another")


@rule_case(
    "target.preferred-assignor.most-wishes",
    "The assignor is the one that most members wish for, whoever was first.",
    _PREFERRED,
)
def most_wishes(d: Dialogue) -> None:
    subject = topic(d, 3)
    joined(d, "a", subject, assignor="range")
    for name in "bc":
        joined(d, name, subject, assignor="uniform")
    d.require(described(d)["assignor_name"] == "uniform", "the assignor uniform", "another")


def _sizes(d: Dialogue) -> list[int]:
    return sorted(len(places_in(one["target_assignment"])) for one in described(d)["members"])


@rule_case(
    "target.computed.shares",
    "Members with the same subscription have as many partitions as the others in their target, or one more.",
    _UNIFORM,
    level=Level.MUST,
)
def shares(d: Dialogue) -> None:
    two(d, 3)
    sizes = _sizes(d)
    d.require(sizes == [1, 2], "targets of 1 and 2 partitions", f"of {sizes}")


@rule_case(
    "target.computed.little-moves",
    "The assignor uniform takes from a member what is above its share, and leaves it the rest.",
    _UNIFORM,
)
def little_moves(d: Dialogue) -> None:
    a, b, subject = shared(d, 4)
    c = joined(d, "c", subject)
    if c.epoch <= a.epoch:
        newer(d, c, a.epoch)
    group = described(d)
    for one in (a, b):
        target = places_in(of_member(d, group, one)["target_assignment"])
        d.require(target <= one.held, f"nothing new for {one.id}", f"{len(target - one.held)} new")


def _run(places: frozenset[Place]) -> list[int]:
    return sorted(index for _, index in places)


@rule_case(
    "target.computed.range",
    "The assignor range gives each member a run of a topic's partitions, in the order of the members' ids.",
    _RANGE,
)
def runs(d: Dialogue) -> None:
    a, b, _ = two(d, 4, assignor="range")
    group = described(d)
    for one, wanted in ((a, [0, 1]), (b, [2, 3])):
        has = _run(places_in(of_member(d, group, one)["target_assignment"]))
        d.require(has == wanted, f"the partitions {wanted} for {one.id}", f"{has}")


@rule_case(
    "target.computed.more-members",
    "A member for whom there is nothing is in the group, at the target's epoch.",
    _UNIFORM,
)
def more_members(d: Dialogue) -> None:
    a, b, _ = two(d, 1)
    until(d, a, "a at the epoch of b", lambda _: a.epoch == b.epoch)
    group = described(d)
    d.require(members_in(group) == {"a", "b"}, "both in the group", "another number")
    d.require(_sizes(d) == [0, 1], "one partition for one of them", "another")
    d.require(group["group_state"] == "Stable", "the state Stable", str(group["group_state"]))
