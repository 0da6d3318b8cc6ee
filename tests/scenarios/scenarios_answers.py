"""Scenarios 11 to 19: assignments and the log, lost answers, the vote, refusals."""

from __future__ import annotations

from rota.spec.vocabulary import AppendError
from rota.stage import Client, Stage
from scenarios.scenario_list import BROKER, CODES, CONSUMER, DESIGN, GUIDE, scenario


@scenario("11", f"{DESIGN}; {GUIDE}: SyncGroup")
def follower_syncs_after_stable(stage: Stage) -> None:
    """A follower syncs only after the group is Stable. It is answered at once with the part that was stored
    for it, and nothing else changes than that it owes no SyncGroup any more."""
    a, b = stage.client("A"), stage.client("B")
    stage.generation(a, b)
    assert a.sync({a: "left half", b: "right half"}).error == "NONE"
    assert stage.state == "Stable 1"
    stage.wait(2_000)
    assert stage.left("sync") == 58_000
    late = b.sync()
    assert (late.error, late.reply.assignment) == ("NONE", b"right half")
    assert stage.state == "Stable 1"
    assert stage.left("sync") is None
    assert stage.left("session", b) == 8_000
    assert not stage.last.step.records


@scenario("12", f"{DESIGN}; {GUIDE}: SyncGroup")
def leader_omits_a_member(stage: Stage) -> None:
    """The leader assigns nothing to a member, or names somebody who is none. The member it forgot gets an
    empty assignment, not an error, and the group is Stable."""
    a, b = stage.client("A"), stage.client("B")
    stage.generation(a, b)
    forgotten = b.sync()
    stranger = Client(stage, "S", member_id="stranger")
    synced = a.sync({a: "everything", stranger: "nothing"})
    assert (synced.error, synced.reply.assignment) == ("NONE", b"everything")
    assert (forgotten.error, forgotten.reply.assignment) == ("NONE", b"")
    assert stage.state == "Stable 1"
    assert b.heartbeat().error == "NONE"


@scenario("13", f"{CODES}; upstream GroupMetadataManager#appendGroupMetadataErrorToResponseError")
def storing_fails(stage: Stage) -> None:
    """The log fails to store the assignment. All whose SyncGroup waits are told so, nobody gets a part, and a
    rebalance begins; the next generation is stored."""
    a, b = stage.client("A"), stage.client("B")
    stage.generation(a, b)
    stage.log_answers = False
    synced = [b.sync(), a.sync({a: "left half", b: "right half"})]
    assert all(one.waits for one in synced), "nobody is answered before the log has answered"
    stage.log(AppendError.NOT_LEADER_OR_FOLLOWER)
    assert [one.error for one in synced] == ["NOT_COORDINATOR", "NOT_COORDINATOR"]
    assert [one.reply.assignment for one in synced] == [b"", b""]
    assert stage.state == "PreparingRebalance 1"
    stage.log_answers = True
    again = [a.join(), b.join()]
    assert [one.reply.generation_id for one in again] == [2, 2]
    stage.settle(a, b)
    assert "Stable 1" not in stage.states


@scenario("14a", f"{DESIGN}; upstream GroupMetadataManager#classicGroupSyncToClassicGroup")
def newcomer_while_the_store_is_under_way(stage: Stage) -> None:
    """A newcomer comes while the assignment is on its way into the log. Whoever waits for it is told to join
    again, and the log's answer, when it comes, changes nothing: that generation is over."""
    a, b, c = (stage.client(name) for name in "ABC")
    stage.generation(a, b)
    stage.log_answers = False
    synced = [b.sync(), a.sync({a: "left half", b: "right half"})]
    joined = c.enter()
    assert [one.error for one in synced] == ["REBALANCE_IN_PROGRESS", "REBALANCE_IN_PROGRESS"]
    before = stage.group
    stage.log()
    assert stage.group == before
    assert not stage.last.answers
    stage.log_answers = True
    again = [a.join(), b.join()]
    assert [one.reply.generation_id for one in (*again, joined)] == [2, 2, 2]
    stage.settle(a, b, c)
    assert "Stable 1" not in stage.states


@scenario("14b", f"{DESIGN}; upstream GroupMetadataManager#classicGroupSyncToClassicGroup")
def store_answers_in_the_next_generation(stage: Stage) -> None:
    """An assignment is on its way into the log when a newcomer comes, and the log answers only after the next
    generation has begun. The answer is about the old one: nobody gets a part by it."""
    a, b = stage.client("A"), stage.client("B")
    stage.generation(a)
    stage.log_answers = False
    a.sync({a: "everything"})
    b.enter()
    assert a.join().reply.generation_id == 2
    waiting = b.sync()
    stage.log()
    assert waiting.waits
    assert stage.state == "CompletingRebalance 2"
    stage.log_answers = True
    a.sync({a: "left half", b: "right half"})
    assert waiting.reply.assignment == b"right half"
    assert stage.state == "Stable 2"


@scenario("15a", f"{GUIDE}: JoinGroup; upstream GroupMetadataManager#classicGroupJoinExistingMember")
def join_is_repeated_after_a_lost_answer(stage: Stage) -> None:
    """A JoinGroup answer is lost and the member asks again, unchanged. Leader and follower are told the same
    again; no rebalance begins and no clock is set back."""
    a, b = stage.client("A"), stage.client("B")
    stage.generation(a, b)
    told = {asked.client: reply for asked, reply in stage.last.answers}
    stage.wait(1_000)
    again = [a.join(), b.join()]
    assert [one.reply for one in again] == [told[a], told[b]]
    assert stage.state == "CompletingRebalance 1"
    assert [stage.left("session", client) for client in (a, b)] == [9_000, 9_000]
    stage.settle(a, b)
    lost_later = b.join()
    assert (lost_later.reply, stage.state) == (told[b], "Stable 1")


@scenario("15b", f"{GUIDE}: JoinGroup; upstream ClassicGroup#updateMember")
def join_is_repeated_while_it_waits(stage: Stage) -> None:
    """A member repeats its JoinGroup while the first one still waits, say over a new connection. The second
    takes the place of the first, which is never answered."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a, b)
    first = a.join()
    stage.wait(500)
    second = a.join()
    assert first.waits
    assert second.waits
    b.join()
    assert first.waits
    assert second.reply.generation_id == 2
    stage.settle(a, b)


@scenario("16a", f"{DESIGN}; {GUIDE}: LeaveGroup; KIP-134")
def last_member_leaves(stage: Stage) -> None:
    """The last member leaves. The group is Empty at once, which counts as a generation and is written to the
    log; the LeaveGroup is answered when it is there. Who comes next begins with the initial delay again."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a)
    assert a.leave().error == "NONE"
    assert stage.state == "Empty 2"
    assert (stage.members, stage.leader, stage.armed) == ("", None, {})
    record = next(one for one in stage.happenings[::-1] if one.step.records).step.records[0]
    assert (record.generation_id, record.leader, record.members) == (2, None, ())
    joined = b.enter()
    assert stage.left("initial_join") == 3_000
    stage.until("initial_join")
    assert (joined.reply.generation_id, stage.leader) == (3, "B")
    stage.settle(b)


@scenario("16h", "upstream GroupMetadataManager#classicGroupLeave, CoordinatorRuntime", alone=True)
def end_of_a_group_is_not_stored(stage: Stage) -> None:
    """The last member leaves, and the log fails to store that the group is Empty. It is told so at the top
    level, without a word on itself, and yet it has left: only after a fail-over it might be there again."""
    a = stage.client("A")
    stage.stable(a)
    stage.log_answers = False
    left = a.leave()
    assert left.waits
    stage.log(AppendError.NOT_ENOUGH_REPLICAS)
    assert (left.top, left.errors) == ("COORDINATOR_NOT_AVAILABLE", [])
    assert stage.state == "Empty 2"
    assert a.heartbeat().error == "UNKNOWN_MEMBER_ID"


@scenario("18a", f"{CONSUMER}: partition.assignment.strategy; upstream ClassicGroup#selectProtocol")
def members_vote_on_the_protocol(stage: Stage) -> None:
    """Members list different protocols. Only what all of them list can win; each votes for the first such
    name of its own list, and most votes win. The leader gets everybody's metadata for the winner."""
    a = stage.client("A", "range:ra", "roundrobin:oa")
    b = stage.client("B", "roundrobin:ob", "range:rb")
    c = stage.client("C", "sticky:sc", "roundrobin:oc", "range:rc")
    joined = [client.enter() for client in (a, b, c)]
    stage.until("initial_join")
    stage.until("initial_join")
    assert {one.reply.protocol_name for one in joined} == {"roundrobin"}
    assert [one.metadata for one in joined[0].reply.members] == [b"oa", b"ob", b"oc"]
    assert stage.tied == "roundrobin"
    stage.settle(a, b, c)


@scenario("18b", f"{CONSUMER}: partition.assignment.strategy; {CODES}")
def nothing_in_common_is_refused(stage: Stage) -> None:
    """A consumer that shares no protocol with the members, or is of another kind, is refused before it is
    given an id; the group does not notice."""
    a = stage.client("A", "range", "roundrobin")
    stage.stable(a)
    before = stage.group
    assert stage.client("B", "sticky").join().error == "INCONSISTENT_GROUP_PROTOCOL"
    assert stage.client("C", "range", protocol_type="connect").join().error == "INCONSISTENT_GROUP_PROTOCOL"
    assert stage.client("D", "range").join(protocols=()).error == "INCONSISTENT_GROUP_PROTOCOL"
    assert stage.group == before
    assert stage.client("E", "sticky", "roundrobin").join().error == "MEMBER_ID_REQUIRED"


@scenario("18c", "upstream ClassicGroup#selectProtocol")
def the_vote_is_a_tie(stage: Stage) -> None:
    """Two protocols get one vote each. Which wins is left open, and the members are all told the same one."""
    a = stage.client("A", "range", "sticky")
    b = stage.client("B", "sticky", "range")
    joined = [a.enter(), b.enter()]
    stage.until("initial_join")
    stage.until("initial_join")
    assert stage.tied == "range sticky"
    assert {one.reply.protocol_name for one in joined} == {stage.live.protocol_name}
    stage.settle(a, b)


@scenario("18d", f"KIP-559; {GUIDE}: SyncGroup")
def names_of_the_protocol(stage: Stage) -> None:
    """From version 5 on a SyncGroup names the protocol, so that a client which has mistaken one group for
    another is told before it is given an assignment that it cannot read. An older one names nothing."""
    a = stage.client("A")
    stage.generation(a)
    asked = [
        a.sync(protocol_type=None),
        a.sync(protocol_name=None),
        a.sync(protocol_type="connect"),
        a.sync(protocol_name="sticky"),
    ]
    assert {one.error for one in asked} == {"INCONSISTENT_GROUP_PROTOCOL"}
    assert {(one.reply.protocol_type, one.reply.protocol_name) for one in asked} == {(None, None)}
    assert stage.state == "CompletingRebalance 1"
    assert a.sync({a: "everything"}, version=4).reply.assignment == b"everything"


@scenario("18e", f"KIP-559; {GUIDE}: JoinGroup; upstream ClassicGroup#add")
def next_first_member_sets_the_type(stage: Stage) -> None:
    """A group that its members have left is no longer theirs: the next first member brings its own protocol
    type, which is the group's from then on, and members of the former type are refused."""
    a, b = stage.client("A"), stage.client("B", protocol_type="connect")
    stage.stable(a)
    assert b.join().error == "INCONSISTENT_GROUP_PROTOCOL"
    a.leave()
    assert stage.live.protocol_type == "consumer"
    stage.stable(b)
    assert stage.live.protocol_type == "connect"
    assert a.join(member_id="").error == "INCONSISTENT_GROUP_PROTOCOL"


@scenario("19a", f"{BROKER}: group.min.session.timeout.ms, group.max.session.timeout.ms; {CODES}")
def session_timeout_out_of_bounds(stage: Stage) -> None:
    """A session timeout outside the broker's bounds is refused and the group is not even created; the bounds
    themselves are allowed."""
    low, high = stage.config.group_min_session_timeout_ms, stage.config.group_max_session_timeout_ms
    assert stage.client("A", session=low - 1).join().error == "INVALID_SESSION_TIMEOUT"
    assert stage.client("B", session=high + 1).join().error == "INVALID_SESSION_TIMEOUT"
    assert stage.group is None
    assert stage.client("C", session=low).join().error == "MEMBER_ID_REQUIRED"
    assert stage.client("D", session=high).join().error == "MEMBER_ID_REQUIRED"
    assert stage.state == "Empty 0"


@scenario("19b", CODES)
def empty_group_id(stage: Stage) -> None:
    """A group has a name: every request with an empty group id is refused with INVALID_GROUP_ID."""
    a = stage.client("A", member_id="m1", generation=1)
    asked = [a.join(group_id=""), a.sync(group_id=""), a.heartbeat(group_id=""), a.leave(group_id="")]
    assert {one.reply.error_code.name for one in asked} == {"INVALID_GROUP_ID"}
    assert stage.group is None


@scenario("19c", f"KIP-394; {CODES}")
def unknown_member_id(stage: Stage) -> None:
    """An id that the coordinator did not hand out is unknown to it, without a group and with one, and no
    request with such an id makes a group or changes one."""
    stranger = stage.client("S", member_id="made up", generation=1)
    for _ in range(2):
        before = stage.group
        asked = [stranger.join(), stranger.sync(), stranger.heartbeat(), stranger.leave()]
        assert {one.error for one in asked} == {"UNKNOWN_MEMBER_ID"}
        assert stage.group == before
        if before is None:
            stage.stable(stage.client("A"))
    assert stage.members == "A"
