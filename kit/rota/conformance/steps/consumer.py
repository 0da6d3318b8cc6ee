"""Steps by the consumer protocol (KIP-848): members heartbeat, groups settle, partitions are handed over.

A target that waits before it computes a target is waited for: steps heartbeat until they are answered what
they lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Reply
from rota.conformance.dialogues.failures import Deviation
from rota.conformance.steps.consumer_case import MOST
from rota.conformance.steps.consumer_topics import Place, Topic, by_topic, places_in, topic

JOIN, LEAVE = 0, -1
"""Epochs by which a member joins and leaves."""

MINUTE = 60_000
SECONDS = 6.0
"""How long a target may take until it has a new target for a group; a second is Kafka's usual interval."""

PAUSE = 0.1

HEARTBEAT = "consumer.membership.heartbeat"
LED = "consumer.membership.led"
DUE = "consumer.target.due"

_PLAIN = {
    "timeout": "rebalance_timeout_ms",
    "regex": "subscribed_topic_regex",
    "assignor": "server_assignor",
    "rack": "rack_id",
    "instance": "instance_id",
    "group": "group_id",
    "member_id": "member_id",
}
"""What a heartbeat may say, by the words of the steps → the field."""


class Consumer:
    """A member of the consumer protocol, who remembers its epoch and what it was assigned."""

    def __init__(self, d: Dialogue, name: str) -> None:
        self.member = d.member(name)
        self.d, self.id = d, name
        self.epoch = JOIN
        self.held: frozenset[Place] = frozenset()

    def ask(self, epoch: int, **said: Any) -> Reply:
        """ConsumerGroupHeartbeat at an epoch, and its answer.

        said: of `_PLAIN`; topics, by name; owns, partitions. What is not said is left out.
        """
        body: dict[str, Any] = {"member_id": self.id, "member_epoch": epoch, "rebalance_timeout_ms": -1}
        body |= {field: said[word] for word, field in _PLAIN.items() if word in said}
        if "topics" in said:
            body["subscribed_topic_names"] = [getattr(one, "name", one) for one in said["topics"]]
        if "owns" in said:
            body["topic_partitions"] = by_topic(said["owns"])
        return self.member.send("ConsumerGroupHeartbeat", body).answer(PROMPTLY)

    def join(self, *topics: Topic | str, **said: Any) -> Reply:
        """The first heartbeat, which has to be granted."""
        return self._heard(self.ask(JOIN, **{"timeout": MINUTE, "topics": topics, "owns": (), **said}))

    def beat(self, **said: Any) -> Reply:
        """A heartbeat at the member's epoch, which has to be granted."""
        return self._heard(self.ask(self.epoch, **said))

    def leave(self) -> Reply:
        """The last heartbeat, which has to be granted."""
        reply = self.ask(LEAVE)
        self.d.expect(reply, error="NONE", rule="consumer.leave.member")
        return reply

    def _heard(self, reply: Reply) -> Reply:
        self.d.expect(reply, error="NONE", rule=HEARTBEAT)
        self.epoch = reply["member_epoch"]
        given = assignment(reply)
        self.held = self.held if given is None else given
        return reply


def assignment(reply: Reply) -> frozenset[Place] | None:
    """The partitions that an answer assigns, None where it tells of none."""
    given = reply["assignment"]
    return None if given is None else places_in(given)


def joined(d: Dialogue, name: str, *topics: Topic | str, **said: Any) -> Consumer:
    """A member that has joined, where that only leads to the rule."""
    member = Consumer(d, name)
    with d.reaching(f"a group with {name} in it", HEARTBEAT):
        member.join(*topics, **said)
    return member


def full(d: Dialogue) -> list[Consumer]:
    """As many members as a group may have with the settings `LIMITS`."""
    with d.reaching("a full group", HEARTBEAT):
        return [joined(d, name, "rota-nowhere") for name in "abc"[:MOST]]


def alone(d: Dialogue, partitions: int = 2, **said: Any) -> tuple[Consumer, Topic]:
    """The only member of a group, to which all partitions of a topic are assigned."""
    subject = topic(d, partitions)
    member = joined(d, "a", subject, **said)
    with d.reaching("a member that has all partitions", LED):
        owns_all(d, member, subject)
    return member, subject


def owns_all(d: Dialogue, member: Consumer, *topics: Topic) -> None:
    """Hold that a member has every partition of these topics, and no other."""
    whole = frozenset(one for each in topics for one in each.places)
    d.require(member.held == whole, f"{len(whole)} partitions for {member.id}", f"{len(member.held)}")


def until(d: Dialogue, member: Consumer, wanted: str, holds: Callable[[Reply], bool], **said: Any) -> Reply:
    """Heartbeats of a member until one is answered as wanted; a `Deviation` where none is in time."""
    began = d.transcript.elapsed()
    while True:
        reply = member.beat(**said)
        if holds(reply):
            return reply
        if d.transcript.elapsed() - began > SECONDS:
            seen = f"epoch {member.epoch}, {len(member.held)} partitions after {SECONDS:g} s"
            raise Deviation(wanted, seen)
        d.wait(PAUSE)


def newer(d: Dialogue, member: Consumer, epoch: int, **said: Any) -> None:
    """Heartbeats until the member's epoch is above another one: it is led to a newer target."""
    until(d, member, f"{member.id} at an epoch above {epoch}", lambda _: member.epoch > epoch, **said)


def two(d: Dialogue, partitions: int = 2, **first: Any) -> tuple[Consumer, Consumer, Topic]:
    """a has all partitions; b has joined, is at the new target's epoch, and waits for its share.

    first: what a says when it joins.
    """
    a, subject = alone(d, partitions, **first)
    b = joined(d, "b", subject)
    with d.reaching("a second member at the epoch of a new target", DUE):
        if b.epoch <= a.epoch:
            newer(d, b, a.epoch)
    return a, b, subject


def asked_to_give_up(
    d: Dialogue, partitions: int = 2, **first: Any
) -> tuple[Consumer, Consumer, Topic, frozenset[Place]]:
    """As `two`, and a has been told to give up some partitions, which are the last of the four."""
    a, b, subject = two(d, partitions, **first)
    had = a.held
    with d.reaching("a member that is told to give up partitions", LED):
        until(d, a, "a is told to give up partitions", lambda _: a.held < had)
    return a, b, subject, had - a.held


def shared(d: Dialogue, partitions: int = 2) -> tuple[Consumer, Consumer, Topic]:
    """Two members that have their shares, both at the epoch of the target."""
    a, b, subject, given_up = asked_to_give_up(d, partitions)
    with d.reaching("two members with their shares", LED):
        a.beat(owns=a.held)
        until(d, b, "b is given what a gave up", lambda _: b.held == given_up)
    return a, b, subject


def describe(d: Dialogue, *group_ids: str) -> Reply:
    """ConsumerGroupDescribe of these groups, else of the dialogue's."""
    asked = {"group_ids": list(group_ids) or [d.group_id], "include_authorized_operations": False}
    return d.member("admin").send_whole("ConsumerGroupDescribe", asked).answer()


def described(d: Dialogue) -> Any:
    """What ConsumerGroupDescribe says of the dialogue's group, which has to be without an error."""
    group = describe(d)["groups"].only()
    d.require(group["error_code"] == 0, "a description", error_name(group["error_code"]))
    return group


def expect_described(d: Dialogue, error: str, *group_ids: str) -> None:
    """Hold the error of a description of one group against the rule."""
    found = error_name(describe(d, *group_ids)["groups"].only()["error_code"])
    d.require(found == error, f"ConsumerGroupDescribe answered with {error}", found)


def of_member(d: Dialogue, group: Any, member: Consumer | str) -> Any:
    """What a description says of a member."""
    name = member if isinstance(member, str) else member.id
    found = [one for one in group["members"] if one["member_id"] == name]
    d.require(len(found) == 1, f"{name} among the members", f"{len(group['members'])} others")
    return found[0]


def members_in(group: Any) -> set[str]:
    """The ids of the members in a description."""
    return {one["member_id"] for one in group["members"]}


def raised_by(d: Dialogue, act: Callable[[], Any]) -> int:
    """By how much the group's epoch rises while something is done."""
    before: int = described(d)["group_epoch"]
    act()
    after: int = described(d)["group_epoch"]
    return after - before


def leave_group(d: Dialogue, *names: str) -> Reply:
    """LeaveGroup of an administrator."""
    members = [{"member_id": name, "group_instance_id": None, "reason": None} for name in names]
    return d.member("admin").send("LeaveGroup", {"member_id": "", "members": members}).answer()


def errors_of(entries: Iterable[Mapping[str, Any]]) -> Sequence[str]:
    """The names of the errors of a list of outcomes, in its order."""
    return [error_name(one["error_code"]) for one in entries]


def commit(
    member: Consumer, epoch: int, subject: Topic, indexes: Iterable[int], offset: int = 7, **who: Any
) -> Reply:
    """OffsetCommit of a member at an epoch; `who` replaces its id."""
    partitions = [
        {"partition_index": index, "committed_offset": offset, "committed_metadata": ""} for index in indexes
    ]
    named = {"member_id": member.id, "generation_id_or_member_epoch": epoch, **who}
    topics = [{"name": subject.name, "partitions": partitions}]
    return member.member.send("OffsetCommit", {**named, "topics": topics}).answer()


def committed(reply: Reply) -> set[str]:
    """The errors in an answer to OffsetCommit."""
    return {error_name(part["error_code"]) for one in reply["topics"] for part in one["partitions"]}


def expect_committed(d: Dialogue, reply: Reply, error: str) -> None:
    """Hold the errors of all partitions of a commit against the rule."""
    found = ", ".join(sorted(committed(reply)))
    d.require(found == error, f"OffsetCommit answered with {error}", found or "nothing")


def fetch(member: Consumer, subject: Topic, index: int = 0, **who: Any) -> Any:
    """What OffsetFetch says of one partition of a topic for the dialogue's group; who: names a member."""
    asked = [{"name": subject.name, "partition_indexes": [index]}]
    group = {"group_id": member.d.group_id, "topics": asked, **who}
    return member.member.send_whole("OffsetFetch", {"groups": [group]}).answer()["groups"].only()


def expect_fetched(d: Dialogue, group: Any, offset: int) -> None:
    """Hold the offset in an answer of `fetch` against the rule; -1 stands for none."""
    d.require(group["error_code"] == 0, "offsets", error_name(group["error_code"]))
    found = group["topics"][0]["partitions"][0]["committed_offset"]
    d.require(found == offset, f"the offset {offset}", f"the offset {found}")


def expect_refused(d: Dialogue, group: Any, error: str) -> None:
    """Hold the error of an answer of `fetch` against the rule."""
    found = error_name(group["error_code"])
    d.require(found == error, f"OffsetFetch answered with {error}", found)
