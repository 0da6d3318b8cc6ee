"""How members of a consumer group go: they leave, are removed, are silent, or do not give up; restarts."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.registry import after
from rota.conformance.dialogues.script import Level
from rota.conformance.rules import CONSUMER
from rota.conformance.steps.consumer import (
    LEAVE,
    SECONDS,
    Consumer,
    alone,
    asked_to_give_up,
    commit,
    described,
    errors_of,
    joined,
    leave_group,
    members_in,
    owns_all,
    raised_by,
    shared,
    until,
)
from rota.conformance.steps.consumer_case import BY_NAME, LIMITS, SESSION, SPOKEN, TOPICS, rule_case
from rota.conformance.steps.consumer_topics import topic
from rota.conformance.steps.restarts import restart

_LEAVE = "KIP-848; GroupMetadataManager.consumerGroupLeave"
_BATCH = "GroupMetadataManager.classicGroupLeaveToConsumerGroup"
_REMOVED = "GroupMetadataManager.consumerGroupFenceMembers, removeMember"
_SESSION = "KIP-848; GroupMetadataManager.scheduleConsumerGroupSessionTimeout"
_REBALANCE = "KIP-848; GroupMetadataManager.scheduleConsumerGroupRebalanceTimeout"
_LOADED = "GroupMetadataManager.onLoaded"

_BY_ID = {"LeaveGroup": (3, 5)}

_SHORT = 1.5
"""A rebalance timeout, in seconds, that ends soon."""

_OVER = 1.5
"""Seconds in which a timer that is due has done what it does."""


@rule_case(
    "leave.unknown-member.nobody",
    "Who is not in a group cannot leave it: UNKNOWN_MEMBER_ID, and nobody goes.",
    _LEAVE,
    topics=False,
)
def nobody_leaves(d: Dialogue) -> None:
    joined(d, "a", "rota-nowhere")
    d.expect(Consumer(d, "b").ask(LEAVE), error="UNKNOWN_MEMBER_ID")
    d.require(members_in(described(d)) == {"a"}, "a as the only member", "others")


@rule_case(
    "leave.unknown-member.again",
    "Leaving is final: who leaves twice is UNKNOWN_MEMBER_ID the second time.",
    _LEAVE,
    topics=False,
)
def leaves_twice(d: Dialogue) -> None:
    joined(d, "a", "rota-nowhere")
    b = joined(d, "b", "rota-nowhere")
    b.leave()
    d.expect(b.ask(LEAVE), error="UNKNOWN_MEMBER_ID")


@rule_case(
    "leave.member.gone",
    "Who has left is no member: its heartbeat is UNKNOWN_MEMBER_ID.",
    _LEAVE,
    level=Level.MUST,
)
def gone(d: Dialogue) -> None:
    a, subject = alone(d)
    b = joined(d, "b", subject)
    a.leave()
    d.expect(a.ask(a.epoch), error="UNKNOWN_MEMBER_ID")
    d.require(members_in(described(d)) == {b.id}, "b as the only member", "others")


@rule_case(
    "leave.member.frees",
    "What a member had that has left is given to who is there.",
    _LEAVE,
    level=Level.MUST,
)
def frees(d: Dialogue) -> None:
    a, b, subject = shared(d)
    a.leave()
    until(d, b, "b has all partitions", lambda _: b.held == subject.places)


@rule_case(
    "leave.member.echo",
    "The answer to who leaves repeats epoch -1, and assigns nothing.",
    _LEAVE,
)
def echo(d: Dialogue) -> None:
    a, _ = alone(d)
    reply = a.ask(LEAVE)
    d.expect(reply, error="NONE", member_epoch=LEAVE, member_id="a")
    d.require(reply["assignment"] is None, "no assignment", "one")


@rule_case(
    "leave.batch-unknown-group.refused",
    "LeaveGroup to a group that is not there is UNKNOWN_MEMBER_ID for each member.",
    "GroupCoordinatorService.leaveGroup",
    needs=_BY_ID,
    topics=False,
)
def batch_of_no_group(d: Dialogue) -> None:
    found = errors_of(leave_group(d, "a", "b")["members"])
    d.require(list(found) == ["UNKNOWN_MEMBER_ID"] * 2, "UNKNOWN_MEMBER_ID twice", ", ".join(found))


@rule_case(
    "leave.batch.removes",
    "LeaveGroup, of the classic protocol, removes a member: its partitions go to who is there.",
    _BATCH,
    level=Level.MUST,
    needs=_BY_ID,
)
def batch_removes(d: Dialogue) -> None:
    a, b, subject = shared(d)
    found = errors_of(leave_group(d, a.id)["members"])
    d.require(list(found) == ["NONE"], "NONE", ", ".join(found))
    d.expect(a.ask(a.epoch), error="UNKNOWN_MEMBER_ID")
    until(d, b, "b has all partitions", lambda _: b.held == subject.places)


@rule_case(
    "leave.batch.each-its-own",
    "In one LeaveGroup a member that is not there is UNKNOWN_MEMBER_ID, and the others go.",
    _BATCH,
    needs=_BY_ID,
)
def batch_of_strangers(d: Dialogue) -> None:
    subject = topic(d, 2)
    for name in "ab":
        joined(d, name, subject)
    found = errors_of(leave_group(d, "nobody", "a")["members"])
    d.require(list(found) == ["UNKNOWN_MEMBER_ID", "NONE"], "one unknown, one NONE", ", ".join(found))
    d.require(members_in(described(d)) == {"b"}, "b as the only member", "others")


@rule_case(
    "leave.removal.one-epoch",
    "Members that are removed together raise the group's epoch by one.",
    _REMOVED,
    needs=_BY_ID,
)
def removed_together(d: Dialogue) -> None:
    subject = topic(d, 2)
    for name in "abc":
        joined(d, name, subject)
    risen = raised_by(d, lambda: leave_group(d, "a", "b"))
    d.require(risen == 1, "a group epoch higher by 1", f"one higher by {risen}")


@rule_case(
    "leave.removal.epoch-rises",
    "A member that goes raises the group's epoch, so that those who are left have a new target.",
    _REMOVED,
    level=Level.MUST,
)
def epoch_rises(d: Dialogue) -> None:
    a, b, _ = shared(d)
    risen = raised_by(d, b.leave)
    d.require(risen == 1, "a group epoch higher by 1", f"one higher by {risen}")
    epoch = a.epoch
    until(d, a, "a at a newer epoch", lambda _: a.epoch > epoch)


@rule_case(
    "leave.removal.epochs-go-on",
    "The epochs of a group that was emptied go on: who joins is at a higher one than anybody was.",
    _REMOVED,
    level=Level.MUST,
)
def epochs_go_on(d: Dialogue) -> None:
    a, subject = alone(d)
    before = a.epoch
    a.leave()
    d.require(described(d)["group_state"] == "Empty", "the state Empty", "another")
    a.join(subject)
    d.require(a.epoch > before, f"an epoch above {before}", str(a.epoch))
    owns_all(d, a, subject)


@rule_case(
    "timers.session.silent",
    "A member that is silent for the session's timeout is removed, and another one is given what it had.",
    _SESSION,
    level=Level.MUST,
    settings=LIMITS,
    seconds=SESSION + 3,
)
def silent(d: Dialogue) -> None:
    a, b, subject = shared(d)
    began = d.transcript.elapsed()
    while b.held != subject.places and d.transcript.elapsed() - began < SESSION + SECONDS:
        b.beat()
        d.wait(0.2)
    owns_all(d, b, subject)
    d.expect(a.ask(a.epoch), error="UNKNOWN_MEMBER_ID")


@rule_case(
    "timers.session.heartbeats",
    "A member that heartbeats stays, however long.",
    _SESSION,
    level=Level.MUST,
    settings=LIMITS,
    seconds=SESSION + 1,
)
def heartbeats(d: Dialogue) -> None:
    a, subject = alone(d)
    _alive(d, a, SESSION + 1)
    owns_all(d, a, subject)


def _alive(d: Dialogue, member: Consumer, seconds: float) -> None:
    """Heartbeats for so long, none of them late."""
    began = d.transcript.elapsed()
    while (now := d.transcript.elapsed()) - began < seconds:
        member.beat()
        d.wait(0.4)
        d.in_time(now, SESSION / 2)


@rule_case(
    "timers.session.commits-do-not-count",
    "A commit is no heartbeat: who only commits is removed when its session is over.",
    _SESSION,
    settings=LIMITS,
    needs=BY_NAME,
    seconds=SESSION + 2,
)
def commits_do_not_count(d: Dialogue) -> None:
    a, subject = alone(d)
    began = d.transcript.elapsed()
    while d.transcript.elapsed() - began < SESSION + _OVER:
        commit(a, a.epoch, subject, [0])
        d.wait(0.4)
    d.expect(a.ask(a.epoch), error="UNKNOWN_MEMBER_ID")


@rule_case(
    "timers.session.joins-anew",
    "Who was removed since it was silent may join anew under the same id, and is given partitions again.",
    _SESSION,
    level=Level.MUST,
    settings=LIMITS,
    seconds=SESSION + 2,
)
def joins_anew(d: Dialogue) -> None:
    a, subject = alone(d)
    before = a.epoch
    d.wait(SESSION + _OVER)
    with d.reaching("a member that was removed", f"{CONSUMER}.timers.session"):
        d.expect(a.ask(a.epoch), error="UNKNOWN_MEMBER_ID")
    a.join(subject)
    owns_all(d, a, subject)
    d.require(a.epoch > before, f"an epoch above {before}", str(a.epoch))


@rule_case(
    "timers.rebalance.does-not-give-up",
    "Heartbeats do not keep a member that does not give up what it was told to in its rebalance timeout.",
    _REBALANCE,
    level=Level.MUST,
    seconds=_SHORT + 1,
)
def does_not_give_up(d: Dialogue) -> None:
    a, b, subject, _ = asked_to_give_up(d, timeout=int(_SHORT * 1000))
    began = d.transcript.elapsed()
    while (reply := a.ask(a.epoch)).error == "NONE" and d.transcript.elapsed() - began < _SHORT + SECONDS:
        d.wait(0.2)
    d.expect(reply, error="UNKNOWN_MEMBER_ID")
    until(d, b, "b has all partitions", lambda _: b.held == subject.places)


@rule_case(
    "timers.given-up.stays",
    "Who has given up in time what it was told to is not removed when that time would be over.",
    _REBALANCE,
    level=Level.MUST,
    seconds=_SHORT + 1,
)
def gave_up_in_time(d: Dialogue) -> None:
    a, b, _, _ = asked_to_give_up(d, timeout=int(_SHORT * 1000))
    since = d.transcript.elapsed()
    a.beat(owns=a.held)
    d.in_time(since, _SHORT / 2)
    d.wait(_SHORT + 0.5)
    a.beat()
    d.require(members_in(described(d)) == {a.id, b.id}, "both in the group", "another number")


@rule_case(
    "timers.give-up.own-time",
    "The time to give up partitions is the one that the member has named itself.",
    _REBALANCE,
    level=Level.MUST,
    seconds=_SHORT + 1,
)
def own_time(d: Dialogue) -> None:
    a, b, _, _ = asked_to_give_up(d)
    d.wait(_SHORT + 0.5)
    a.beat()
    d.require(members_in(described(d)) == {a.id, b.id}, "both in the group", "another number")


_KEPT = {**SPOKEN, **TOPICS}


@after(
    f"{CONSUMER}.timers.loaded.goes-on",
    "a member goes on at its epoch, with its partitions.",
    f"KIP-848; {_LOADED}",
    needs=_KEPT,
)
def goes_on(d: Dialogue) -> None:
    a, subject = alone(d)
    epoch = a.epoch
    restart(d)
    reply = a.ask(epoch)
    d.expect(reply, error="NONE", member_epoch=epoch)
    owns_all(d, a, subject)


@after(
    f"{CONSUMER}.persistence.written.all-that-was-told",
    "partitions that one member has are given to no other one.",
    f"KIP-848; {_LOADED}",
    needs=_KEPT,
)
def all_that_was_told(d: Dialogue) -> None:
    a, b, _ = shared(d)
    had = {one.id: one.held for one in (a, b)}
    restart(d)
    for one, other in ((a, b), (b, a)):
        one.beat(owns=one.held)
        taken = one.held & had[other.id]
        d.require(not taken, f"nothing of what {other.id} has for {one.id}", f"{len(taken)} partitions")
