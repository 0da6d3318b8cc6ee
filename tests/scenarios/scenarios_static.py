"""Scenarios 20: static members, whose processes come back under the same instance id."""

from __future__ import annotations

from rota.spec.vocabulary import AppendError
from rota.stage import Client, Stage
from scenarios.scenario_list import CODES, CONSUMER, scenario

STATIC = "KIP-345"
REPLACED = "upstream GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin"
SKIPPED = "KIP-814"


def static_pair(stage: Stage, *protocols: str) -> tuple[Client, Client]:
    """A Stable group of two static members; A leads."""
    a = stage.client("A", *protocols, instance="one")
    b = stage.client("B", *protocols, instance="two")
    stage.stable(a, b)
    assert (stage.state, stage.leader) == ("Stable 1", "A")
    return a, b


@scenario("20a", f"{STATIC}; {CONSUMER}: group.instance.id")
def static_member_joins(stage: Stage) -> None:
    """A static member is admitted with its first JoinGroup, without the handshake: its instance id tells who
    comes. When it goes it says nothing, so that it can come back."""
    a = stage.client("A", instance="one")
    joined = a.join()
    assert joined.waits
    assert stage.state == "PreparingRebalance 0"
    stage.until("initial_join")
    assert [one.group_instance_id for one in joined.reply.members] == ["one"]
    stage.settle(a)
    stage.wait(9_999)
    assert stage.members == "A"
    stage.wait(1)
    assert (stage.state, stage.members) == ("Empty 2", "")


@scenario("20b", f"{STATIC}; {REPLACED}")
def follower_restarts_in_a_stable_group(stage: Stage) -> None:
    """A static follower's process starts anew and joins without a member id. It gets a new id and the same
    generation, and finds its assignment where it left it; nobody else notices. The old id is fenced."""
    a, b = static_pair(stage)
    old = b.member_id
    stage.wait(2_000)
    joined = b.restart().join()
    assert (joined.error, joined.reply.generation_id, joined.reply.members) == ("NONE", 1, ())
    assert (stage.state, stage.members) == ("Stable 1", "A B")
    assert stage.left("session", b) == 10_000
    assert b.member_id != old
    assert b.sync().reply.assignment == b"part of B"
    assert [one.heartbeat().error for one in (a, b)] == ["NONE", "NONE"]
    assert b.heartbeat(member_id=old).error == "FENCED_INSTANCE_ID"
    assert b.heartbeat(member_id=old, group_instance_id=None).error == "UNKNOWN_MEMBER_ID"


@scenario("20c", f"{SKIPPED}; {REPLACED}")
def leader_restarts_in_a_stable_group(stage: Stage) -> None:
    """A static leader's process starts anew. It still leads, under its new id, and is given the list of
    members so that it can watch their topics; but it must not assign: SkipAssignment says so."""
    a, b = static_pair(stage)
    joined = a.restart().join()
    assert (joined.error, joined.reply.leader, joined.reply.skip_assignment) == ("NONE", a.member_id, True)
    assert {one.member_id for one in joined.reply.members} == {a.member_id, b.member_id}
    assert a.sync().reply.assignment == b"part of A"
    assert stage.state == "Stable 1"


@scenario("20d", f"{SKIPPED}; {REPLACED}")
def leader_restarts_with_an_old_client(stage: Stage) -> None:
    """A client that is too old to know SkipAssignment must not take itself for the leader, or it would
    assign. So it is told the leader's old id, which is nobody's any more."""
    a, _ = static_pair(stage)
    old = a.member_id
    joined = a.restart().join(version=8)
    assert (joined.error, joined.reply.leader, joined.reply.members) == ("NONE", old, ())
    assert stage.leader == "A"
    assert a.member_id != old
    assert a.sync().reply.assignment == b"part of A"


@scenario("20e", f"{STATIC}; {REPLACED}")
def restart_while_a_rebalance_is_prepared(stage: Stage) -> None:
    """A static member's process starts anew when its JoinGroup already waits. The old JoinGroup is fenced,
    the new one takes its place, and both members and the newcomer get one generation."""
    a, b = static_pair(stage)
    c = stage.client("C")
    newcomer, first = c.enter(), b.join()
    assert first.waits
    second = b.restart().join()
    assert (first.error, second.waits) == ("FENCED_INSTANCE_ID", True)
    assert (stage.state, stage.members) == ("PreparingRebalance 1", "A B C")
    again = a.join()
    assert [one.reply.generation_id for one in (again, second, newcomer)] == [2, 2, 2]
    stage.settle(a, b, c)


@scenario("20f", f"{STATIC}; KAFKA-9801; {REPLACED}")
def restart_while_assignments_are_awaited(stage: Stage) -> None:
    """A static member's process starts anew after the leader was given the list of members, in which it has
    its old id. An assignment for that id would be lost, so the group rebalances; its old SyncGroup is
    fenced."""
    a, b = stage.client("A", instance="one"), stage.client("B", instance="two")
    stage.generation(a, b)
    waiting = b.sync()
    joined = b.restart().join()
    assert (waiting.error, joined.waits) == ("FENCED_INSTANCE_ID", True)
    assert stage.state == "PreparingRebalance 1"
    assert a.sync({a: "everything"}).error == "REBALANCE_IN_PROGRESS"
    again = a.join()
    assert [one.reply.generation_id for one in (again, joined)] == [2, 2]
    assert {one.member_id for one in again.reply.members} == {a.member_id, b.member_id}
    stage.settle(a, b)
    assert "Stable 1" not in stage.states


@scenario("20g", f"{STATIC}; {REPLACED}")
def restart_with_other_protocols(stage: Stage) -> None:
    """A static member comes back with another list. If the vote goes as before nobody is told, not even that
    the topics it asks for are other ones; if it goes another way the group rebalances."""
    a, b = static_pair(stage, "range:one topic", "sticky")
    joined = b.restart("range:other topics", "sticky").join()
    assert (joined.error, joined.reply.generation_id, stage.state) == ("NONE", 1, "Stable 1")
    assert a.heartbeat().error == "NONE"
    changed = b.restart("sticky").join()
    assert changed.waits
    assert a.heartbeat().error == "REBALANCE_IN_PROGRESS"
    again = a.join()
    assert [one.reply.protocol_name for one in (again, changed)] == ["sticky", "sticky"]
    stage.settle(a, b)


@scenario("20h", f"{STATIC}; KAFKA-10284; {CODES}")
def restart_is_not_stored(stage: Stage) -> None:
    """The new id of a restarted static member goes into the log, so that the next coordinator knows it too.
    The log fails, the restart is refused, and the old id holds the place again."""
    a, b = static_pair(stage)
    old = b.member_id
    stage.log_answers = False
    joined = b.restart().join()
    assert joined.waits
    assert old not in stage.live.members
    stage.log(AppendError.NOT_LEADER_OR_FOLLOWER)
    assert (joined.error, joined.reply.member_id) == ("NOT_COORDINATOR", "")
    assert old in stage.live.members
    assert stage.state == "Stable 1"
    stage.log_answers = True
    assert b.join().error == "NONE"
    assert b.sync().reply.assignment == b"part of B"
    assert a.heartbeat().error == "NONE"


@scenario("20i", f"{STATIC}; upstream ClassicGroup#replaceStaticMember; {CODES}: FENCED_INSTANCE_ID")
def restart_is_undone_too_late(stage: Stage) -> None:
    """A static member restarts, and before the log has its new id a rebalance begins and ends: it is answered
    with the new generation. Then the log fails. The former id is put back, though nobody has it any more, and
    the new one is fenced: its client, alone with its instance id, takes that for a double and ends."""
    a, b = static_pair(stage)
    stage.log_answers = False
    joined = b.restart().join()
    assert joined.waits
    again = a.join()
    assert [one.reply.generation_id for one in (again, joined)] == [2, 2]
    stage.log(AppendError.NOT_ENOUGH_REPLICAS)
    assert b.member_id not in stage.live.members
    assert b.sync().error == "FENCED_INSTANCE_ID"
    assert b.heartbeat().error == "FENCED_INSTANCE_ID"


@scenario("20p", f"{STATIC}; upstream ClassicGroup#replaceStaticMember")
def restart_is_undone_while_its_next_join_waits(stage: Stage) -> None:
    """A static member restarts, is answered with the next generation before the log has its new id, and joins
    once more, with other metadata: its JoinGroup waits for the others. Then the log fails, too late for the
    restart. The former id is put back, and the JoinGroup that waits is not answered by that: it is not the
    one that has failed."""
    a, b = static_pair(stage)
    stage.log_answers = False
    joined = b.restart().join()
    assert [one.reply.generation_id for one in (a.join(), joined)] == [2, 2]
    b.protocols = ("range:new",)
    later = b.join()
    assert later.waits
    stage.log(AppendError.NOT_ENOUGH_REPLICAS)
    assert b.member_id not in stage.live.members
    assert later.waits


@scenario("20j", f"{STATIC}; {CODES}: FENCED_INSTANCE_ID")
def two_processes_share_an_instance_id(stage: Stage) -> None:
    """Two processes are started with one instance id. The second takes the place of the first, which is
    fenced with whatever it asks next: there is one live member to an instance."""
    _, b = static_pair(stage)
    double = stage.client("D", instance="two")
    assert double.join().error == "NONE"
    asked = [b.heartbeat(), b.sync(), b.join(), b.leave((b.member_id, "two"))]
    assert {one.error for one in asked} == {"FENCED_INSTANCE_ID"}
    assert stage.members == "A D"
    assert double.sync().reply.assignment == b"part of B"
    assert double.heartbeat().error == "NONE"


@scenario("20k", f"{STATIC}; KAFKA-8220; upstream GroupMetadataManager#completeClassicGroupJoin")
def absent_static_member_keeps_its_place(stage: Stage) -> None:
    """A static member is away when a rebalance ends. It is not dropped: it is in the leader's list and is
    assigned its part. It comes back within its session and takes it, without another rebalance."""
    a, b = stage.client("A", instance="one"), stage.client("B", instance="two", session=100_000)
    c = stage.client("C", session=100_000)
    stage.stable(a, b)
    newcomer, again = c.enter(), a.join()
    stage.until("join")
    assert {one.member_id for one in again.reply.members} == {a.member_id, b.member_id, c.member_id}
    assert newcomer.reply.generation_id == 2
    c.sync()
    assert a.sync({a: "a third", b: "another third", c: "the last third"}).error == "NONE"
    assert b.heartbeat().error == "ILLEGAL_GENERATION"
    joined = b.restart().join()
    assert (joined.error, joined.reply.generation_id, stage.state) == ("NONE", 2, "Stable 2")
    assert b.sync().reply.assignment == b"another third"


@scenario("20l", "upstream ClassicGroup#replaceStaticMember, GroupMetadataManager#expirePendingSync")
def former_id_still_owes_a_sync(stage: Stage) -> None:
    """A static member restarts before it has sent the SyncGroup that it owes. The new id sends one, but the
    coordinator goes on waiting for that of the former id, which nobody can send any more. When the rebalance
    timeout is over the group rebalances, though all its members have synced."""
    a, b = static_pair(stage)
    again = [a.join(), b.join()]
    assert [one.reply.generation_id for one in again] == [2, 2]
    former = b.member_id
    a.sync({a: "left half", b: "right half"})
    assert stage.state == "Stable 2"
    assert b.restart().join().error == "NONE"
    assert b.sync().reply.assignment == b"right half"
    assert stage.live.pending_sync == {former}
    while stage.left("sync") > 6_000:
        stage.wait(6_000)
        assert [one.heartbeat().error for one in (a, b)] == ["NONE", "NONE"]
    stage.until("sync")
    assert (stage.state, stage.members) == ("PreparingRebalance 2", "A B")


@scenario("20m", f"{STATIC}; KAFKA-12890; upstream GroupMetadataManager#expirePendingSync")
def absent_static_member_does_not_sync(stage: Stage) -> None:
    """An absent static member's session may last long, but it owes a SyncGroup like all the others. When the
    rebalance timeout has passed without it, it is removed, though its session goes on."""
    a = stage.client("A", instance="one", session=200_000)
    b = stage.client("B", instance="two", session=200_000)
    stage.stable(a, b)
    assert a.join().waits
    stage.until("join")
    assert stage.members == "A B"
    assert a.sync({a: "left half", b: "right half"}).error == "NONE"
    assert stage.left("session", b) == 200_000
    stage.until("sync")
    assert (stage.state, stage.members) == ("PreparingRebalance 2", "A")


@scenario("20n", f"{STATIC}; upstream GroupMetadataManager#completeClassicGroupJoin")
def only_absent_static_members_are_left(stage: Stage) -> None:
    """A rebalance begins and nobody comes: all members that are left are static and away. There is nobody to
    tell a generation to, so the join phase goes on, again and again, until one comes or all sessions are
    over."""
    a = stage.client("A", instance="one", session=100_000)
    b = stage.client("B", instance="two", session=100_000)
    c = stage.client("C")
    stage.stable(a, b, c)
    c.leave()
    stage.until("join")
    assert (stage.state, stage.members) == ("PreparingRebalance 1", "A B")
    assert stage.left("join") == 60_000
    joined = [b.restart().join(), a.restart().join()]
    assert [one.reply.generation_id for one in joined] == [2, 2]
    stage.settle(a, b)


@scenario("20o", f"{STATIC}; KIP-345: LeaveGroup; {CODES}")
def operator_removes_static_members(stage: Stage) -> None:
    """An operator takes static members out of a group for good, by their instance ids: an unknown one is told
    so, and the others rebalance. Their processes, if they still run, are unknown from then on."""
    a, b = static_pair(stage)
    operator = stage.client("O")
    removed = operator.leave(("", "two"), ("", "three"))
    assert removed.errors == ["NONE", "UNKNOWN_MEMBER_ID"]
    assert (stage.state, stage.members) == ("PreparingRebalance 1", "A")
    assert b.heartbeat().error == "UNKNOWN_MEMBER_ID"
    assert a.join().reply.generation_id == 2
    stage.settle(a)
