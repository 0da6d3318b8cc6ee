"""The scenarios: each plays on a stage and asserts its point: a wrong dialogue written anew still fails.

Numbers count the nineteen situations in which introductions to the rebalance protocol explain it; a letter
marks a variant. `WAITING` names what the spec cannot play yet, and what it lacks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stage import Client, Stage

from rota.spec.vocabulary import AppendError

Play = Callable[[Stage], None]

DESIGN = "Kafka wiki, Kafka Client-side Assignment Proposal"
GUIDE = "Kafka documentation, protocol guide"
CONSUMER = "Kafka documentation, consumer configuration"
BROKER = "Kafka documentation, broker configuration"
CODES = "Kafka documentation, protocol guide, error codes"


@dataclass(frozen=True)
class Scenario:
    """A script, its point in a sentence or two, and where that is public."""

    label: str
    name: str
    point: str
    source: str
    play: Play

    @property
    def number(self) -> int:
        """Which of the nineteen."""
        return int(self.label.rstrip("abc"))


@dataclass(frozen=True)
class Waiting:
    """What cannot be played. feature: what the spec's profile omits; part: false where the whole waits."""

    number: int
    what: str
    feature: str
    part: bool


FAILOVER = "load, unload and fail-over of a coordinator"
WAITING = (
    Waiting(
        9,
        "offsets are committed with the old generation while a rebalance is prepared",
        "OffsetCommit, OffsetFetch and the other offset requests",
        part=False,
    ),
    Waiting(
        16,
        "the offsets of an Empty group expire, and then the group",
        "DescribeGroups, ListGroups, DeleteGroups, expiry of empty groups",
        part=True,
    ),
    Waiting(17, "the coordinator moves and the next one loads the group from the log", FAILOVER, part=False),
    Waiting(19, "a request reaches the wrong broker", FAILOVER, part=True),
    Waiting(19, "a request reaches a broker that is still loading", FAILOVER, part=True),
)

SCENARIOS: dict[str, Scenario] = {}


def scenario(label: str, source: str) -> Callable[[Play], Play]:
    """Puts a script among the scenarios; its docstring is the point."""

    def register(play: Play) -> Play:
        name = f"{label}-{play.__name__.replace('_', '-')}"
        SCENARIOS[name] = Scenario(label, name, " ".join((play.__doc__ or "").split()), source, play)
        return play

    return register


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
    """A second consumer joins a Stable group. The first learns it from its next heartbeat and joins again;
    then both are told the next generation."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a)
    stage.wait(1_000)
    assert a.heartbeat().error == "NONE"
    joined = b.enter()
    assert joined.waits
    assert stage.state == "PreparingRebalance 1"
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
    assert not any(one.step.records for one in stage.happenings)
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
    """A member falls silent. It stays a member until its session timeout is over; then it is out and the
    others rebalance. If it comes back, its id means nothing any more."""
    a, b = pair(stage)
    for _ in range(3):
        stage.wait(3_000)
        assert a.heartbeat().error == "NONE"
        assert stage.left("session", a) == 10_000
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
    assert a.leave(picks=(1,)).error == "NONE"
    assert stage.last.outcomes == 2
    assert stage.leader == "C"
    joined = [b.join(), c.join()]
    assert {one.reply.leader for one in joined} == {c.member_id}
    assert [len(one.reply.members) for one in joined] == [0, 2]
    follower = b.sync()
    leader = c.sync({b: "left half", c: "right half"})
    assert [one.reply.assignment for one in (follower, leader)] == [b"left half", b"right half"]
    assert stage.state == "Stable 2"


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
    assert a.sync({a: "everything", stranger: "nothing"}).reply.assignment == b"everything"
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


@scenario("16", f"{DESIGN}; {GUIDE}: LeaveGroup; KIP-134")
def last_member_leaves(stage: Stage) -> None:
    """The last member leaves. The group is Empty at once, which counts as a generation and is written to the
    log; nothing is left to expire. Who comes next begins with the initial delay again."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a)
    assert a.leave().error == "NONE"
    assert stage.state == "Empty 2"
    assert (stage.members, stage.leader, stage.armed) == ("", None, {})
    record = next(one for one in stage.happenings[::-1] if one.step.records).step.records[0]
    assert (record.generation_id, record.leader, record.assignments) == (2, None, ())
    joined = b.enter()
    assert stage.left("initial_join") == 3_000
    stage.until("initial_join")
    assert (joined.reply.generation_id, stage.leader) == (3, "B")
    stage.settle(b)


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
    assert stage.last.outcomes == 1
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
    assert stage.last.outcomes == 2
    assert {one.reply.protocol_name for one in joined} == {stage.live.protocol_name}
    assert stage.live.protocol_name in ("range", "sticky")
    stage.settle(a, b)


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
