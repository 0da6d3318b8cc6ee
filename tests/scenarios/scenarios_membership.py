"""Scenarios 1 to 10: members come, go, fall silent; the leader changes."""

from __future__ import annotations

from rota.stage import Client, Stage
from scenarios.scenario_list import BROKER, CONSUMER, DESIGN, GUIDE, scenario


def pair(stage: Stage) -> tuple[Client, Client]:
    """A Stable group of two; A leads."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a, b)
    assert (stage.state, stage.leader) == ("Stable 1", "A")
    return a, b


@scenario("01", f"{DESIGN}; KIP-394; KIP-134")
def first_consumer_alone(stage: Stage) -> None:
    """The first consumer of a group takes it from Empty through PreparingRebalance and CompletingRebalance to
    Stable. It is the leader, so its JoinGroup answer lists the members, itself alone."""
    a = stage.client("A", "range:topics of A")
    first = a.join()
    assert (first.error, stage.state, first.reply.members) == ("MEMBER_ID_REQUIRED", "Empty 0", ())
    assert stage.left("pending", a) == 10_000
    joined = a.join()
    assert joined.waits
    stage.until("initial_join")
    assert (joined.error, joined.reply.leader) == ("NONE", a.member_id)
    assert [(one.member_id, one.metadata) for one in joined.reply.members] == [(a.member_id, b"topics of A")]
    synced = a.sync({a: "everything"})
    assert (synced.error, synced.reply.assignment) == ("NONE", b"everything")
    assert stage.states == ["Empty 0", "PreparingRebalance 0", "CompletingRebalance 1", "Stable 1"]
    assert a.heartbeat().error == "NONE"


@scenario("02", f"KIP-134; {BROKER}: group.initial.rebalance.delay.ms")
def several_in_the_initial_delay(stage: Stage) -> None:
    """Three consumers come within the initial delay. There is one rebalance, not three: they share its
    generation, and the first that came leads."""
    clients = [stage.client(name) for name in "ABC"]
    joined = []
    for client in clients:
        joined.append(client.enter())
        stage.wait(1_000)
    assert all(one.waits for one in joined), "3,000 ms are over, but two came meanwhile: one more window"
    stage.until("initial_join")
    assert stage.now == 6_000
    assert [one.reply.generation_id for one in joined] == [1, 1, 1]
    assert {one.reply.leader for one in joined} == {clients[0].member_id}
    assert [len(one.reply.members) for one in joined] == [3, 0, 0]
    stage.settle(*clients)
    assert stage.states == ["Empty 0", "PreparingRebalance 0", "CompletingRebalance 1", "Stable 1"]


@scenario("03", f"{DESIGN}; {GUIDE}: Heartbeat")
def second_joins_a_stable_group(stage: Stage) -> None:
    """A second consumer joins a Stable group. The first learns it from its next heartbeat, if that names the
    current generation, and joins again; then both are told the next one."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a)
    stage.wait(1_000)
    assert a.heartbeat().error == "NONE"
    joined = b.enter()
    assert joined.waits
    assert stage.state == "PreparingRebalance 1"
    assert a.heartbeat(generation_id=0).error == "ILLEGAL_GENERATION"
    assert a.heartbeat().error == "REBALANCE_IN_PROGRESS"
    again = a.join()
    assert [one.reply.generation_id for one in (again, joined)] == [2, 2]
    assert stage.leader == "A"
    stage.settle(a, b)
    assert stage.state == "Stable 2"
    assert [client.heartbeat().error for client in (a, b)] == ["NONE", "NONE"]


@scenario("04a", f"{DESIGN}; {GUIDE}: SyncGroup")
def second_joins_before_the_first_syncs(stage: Stage) -> None:
    """A second consumer joins when the first has its JoinGroup answer but has not synced. The first one's
    SyncGroup is refused with REBALANCE_IN_PROGRESS, its assignment goes nowhere, and it joins again."""
    a, b = stage.client("A"), stage.client("B")
    stage.generation(a)
    assert stage.state == "CompletingRebalance 1"
    joined = b.enter()
    assert stage.state == "PreparingRebalance 1"
    assert a.sync({a: "everything"}).error == "REBALANCE_IN_PROGRESS"
    assert not any(record.members for one in stage.happenings for record in one.step.records)
    again = a.join()
    assert [one.reply.generation_id for one in (again, joined)] == [2, 2]
    stage.settle(a, b)
    assert "Stable 1" not in stage.states


@scenario("04b", f"{DESIGN}; {GUIDE}: SyncGroup")
def third_joins_while_a_follower_waits(stage: Stage) -> None:
    """A newcomer comes when a follower's SyncGroup already waits for the leader. The waiting SyncGroup is
    answered REBALANCE_IN_PROGRESS at once, without an assignment."""
    a, b, c = (stage.client(name) for name in "ABC")
    stage.generation(a, b)
    waiting = b.sync()
    assert waiting.waits
    stage.wait(1_000)
    joined = c.enter()
    assert (waiting.error, waiting.reply.assignment) == ("REBALANCE_IN_PROGRESS", b"")
    assert stage.left("session", b) == 10_000
    again = [a.join(), b.join()]
    assert [one.reply.generation_id for one in (*again, joined)] == [2, 2, 2]
    stage.settle(a, b, c)


@scenario("05a", f"KIP-134; {BROKER}: group.initial.rebalance.delay.ms")
def second_joins_before_the_first_is_answered(stage: Stage) -> None:
    """The second consumer's JoinGroup comes when the first one's still waits, at the very end of the initial
    delay. The delay goes on once more, and both are answered in one generation."""
    a, b = stage.client("A"), stage.client("B")
    first = a.enter()
    stage.wait(2_999)
    second = b.enter()
    stage.wait(1)
    assert first.waits
    assert second.waits
    assert stage.left("initial_join") == 3_000
    stage.until("initial_join")
    assert [one.reply.generation_id for one in (first, second)] == [1, 1]
    assert first.reply.leader == second.reply.leader == a.member_id
    stage.settle(a, b)


@scenario("05b", f"{DESIGN}; KIP-62")
def another_joins_while_a_rebalance_is_prepared(stage: Stage) -> None:
    """Two newcomers come one after the other before the member of the old generation has joined again. All
    three get the same next generation; nobody is sent through two rebalances."""
    a, b, c = (stage.client(name) for name in "ABC")
    stage.stable(a)
    second = b.enter()
    stage.wait(2_000)
    third = c.enter()
    assert stage.left("join") == 58_000, "the rebalance timeout does not start anew"
    first = a.join()
    assert [one.reply.generation_id for one in (first, second, third)] == [2, 2, 2]
    stage.settle(a, b, c)
    assert stage.state == "Stable 2"


@scenario("06", f"{DESIGN}; {GUIDE}: LeaveGroup")
def member_leaves(stage: Stage) -> None:
    """A member leaves of its own accord. No timeout has to pass: the rebalance begins at once, and those who
    stay learn it from their next heartbeat."""
    a, b = pair(stage)
    before = stage.now
    assert b.leave().error == "NONE"
    assert (stage.state, stage.members, stage.now) == ("PreparingRebalance 1", "A", before)
    assert stage.left("session", b) is None
    assert b.heartbeat().error == "UNKNOWN_MEMBER_ID"
    assert a.heartbeat().error == "REBALANCE_IN_PROGRESS"
    assert a.join().reply.generation_id == 2
    stage.settle(a)
    assert (stage.state, stage.members) == ("Stable 2", "A")


@scenario("07", f"KIP-62; {CONSUMER}: session.timeout.ms")
def member_crashes(stage: Stage) -> None:
    """A member falls silent. It stays a member until its session timeout is over, its own, not that of the
    others; then it is out and they rebalance. If it comes back, its id means nothing any more."""
    a, b = stage.client("A", session=20_000), stage.client("B")
    stage.stable(a, b)
    for _ in range(3):
        stage.wait(3_000)
        assert a.heartbeat().error == "NONE"
        assert stage.left("session", a) == 20_000
    assert stage.left("session", b) == 1_000
    stage.wait(999)
    assert stage.members == "A B"
    stage.wait(1)
    assert (stage.state, stage.members) == ("PreparingRebalance 1", "A")
    assert a.heartbeat().error == "REBALANCE_IN_PROGRESS"
    assert a.join().reply.generation_id == 2
    stage.settle(a)
    assert b.heartbeat().error == "UNKNOWN_MEMBER_ID"
    assert b.join().error == "UNKNOWN_MEMBER_ID"


@scenario("08", f"KIP-62; {CONSUMER}: max.poll.interval.ms")
def last_join_never_comes(stage: Stage) -> None:
    """The last JoinGroup that a rebalance waits for never comes, though its member heartbeats. When the
    rebalance timeout is over, those who came are answered without it."""
    a, b, c = (stage.client(name, rebalance=12_000) for name in "ABC")
    stage.stable(a, b)
    newcomer, again = c.enter(), a.join()
    for _ in range(3):
        stage.wait(3_000)
        assert b.heartbeat().error == "REBALANCE_IN_PROGRESS"
    assert newcomer.waits
    assert again.waits
    stage.wait(3_000)
    assert [one.reply.generation_id for one in (again, newcomer)] == [2, 2]
    assert [one.member_id for one in again.reply.members] == [a.member_id, c.member_id]
    assert stage.members == "A C"
    assert b.heartbeat().error == "UNKNOWN_MEMBER_ID"
    stage.settle(a, c)


@scenario("10", f"{DESIGN}; {GUIDE}: LeaveGroup, JoinGroup")
def leader_leaves(stage: Stage) -> None:
    """The leader leaves. Another member leads at once, which one is left open (here the last), gets the list
    of members with its next JoinGroup answer, and assigns."""
    a, b, c = (stage.client(name) for name in "ABC")
    stage.stable(a, b, c)
    stage.chooses(leader=c)
    assert a.leave().error == "NONE"
    assert (stage.candidates, stage.leader) == ("B C", "C")
    joined = [b.join(), c.join()]
    assert {one.reply.leader for one in joined} == {c.member_id}
    assert [len(one.reply.members) for one in joined] == [0, 2]
    follower = b.sync()
    leader = c.sync({b: "left half", c: "right half"})
    assert [one.reply.assignment for one in (follower, leader)] == [b"left half", b"right half"]
    assert stage.state == "Stable 2"
