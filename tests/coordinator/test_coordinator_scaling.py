"""What a request costs does not depend on the size of its group: counted, not timed."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.lines import Lines
from rota import coordinator as c
from rota.coordinator import ErrorCode as E
from rota.coordinator import Group, GroupState, heartbeat, rebalance, session_timers
from rota.coordinator.step import Step

PACKAGE = str(Path(c.__file__).parent)
FEW, MANY = 10, 10_000


class Visited(dict):
    """Counts how many entries were gone through."""

    visits = 0

    def __iter__(self):
        for key in super().__iter__():
            Visited.visits += 1
            yield key

    def keys(self):
        return list(self)

    def values(self):
        return [self[key] for key in self]

    def items(self):
        return [(key, self[key]) for key in self]


class VisitedSet(set):
    """The same for a set."""

    def __iter__(self):
        for key in super().__iter__():
            Visited.visits += 1
            yield key


class Numbered:
    """Choices: ids are numbered, the first always wins."""

    ids = 0

    def new_member_id(self, prefix):
        self.ids += 1
        return f"m{self.ids:06}"

    def now_ms(self):
        return -1

    def protocol(self, tied):
        return tied[0]

    def leader(self, candidates):
        return candidates[0]


class Crowd:
    """A group with its timers in a wheel; `measure` counts lines of the coordinator that one request runs."""

    def __init__(self, members):
        self.core = c.GroupCoordinator(c.CoordinatorConfig(group_initial_rebalance_delay_ms=0), Numbered())
        self.wheel = c.TimingWheel()
        self.costs = {}
        for _ in range(members):
            self.join("", version=3)
        while self.group.state is not GroupState.COMPLETING_REBALANCE:
            for timer_id in self.wheel.advance(0):
                self.do(self.core.fire(timer_id))
        self.leader, *self.others = self.group.members
        for member_id in self.group.members:
            self.sync(member_id)
        assert self.group.state is GroupState.STABLE

    @property
    def group(self):
        return self.core.groups["g"]

    def do(self, effects):
        """Carries out the effects; the error code of the last reply, None if there is none."""
        for wish in effects.timers:
            if isinstance(wish, c.Arm):
                self.wheel.arm(wish.timer_id, wish.delay_ms)
            else:
                self.wheel.cancel(wish.timer_id)
        errors = [getattr(reply, "error_code", E.NONE) for _, reply in effects.replies]
        for append in effects.appends:
            errors.append(self.do(self.core.appended(append.append_id)))
        return errors[-1] if errors else None

    def join(self, *request, **more):
        return self.do(self.joining(*request, **more))

    def joining(self, member_id, version=9, protocols=("range", "roundrobin"), instance_id=None):
        listed = tuple(c.JoinGroupProtocol(name, b"m") for name in protocols)
        request = c.JoinGroup("g", 30_000, 60_000, member_id, instance_id, "consumer", listed)
        return self.core.join_group(request, version, "c", "/127.0.0.1", "token")

    def sync(self, member_id):
        return self.do(self.syncing(member_id))

    def syncing(self, member_id):
        request = c.SyncGroup("g", self.group.generation_id, member_id)
        return self.core.sync_group(request, 4, "token")

    def heartbeat(self, member_id, instance_id=None):
        request = c.Heartbeat("g", self.group.generation_id, member_id, instance_id)
        return self.do(self.core.heartbeat(request, 4, "token"))

    def leave(self, member_id):
        request = c.LeaveGroup("g", (c.MemberIdentity(member_id),))
        return self.do(self.core.leave_group(request, 5, "token"))

    def commit(self, member_id):
        partition = c.OffsetCommitPartition(0, 7)
        topics = (c.OffsetCommitTopic("t", (partition,)),)
        request = c.OffsetCommit("g", topics, self.group.generation_id, member_id)
        return self.do(self.core.offset_commit(request, 8, "token", 0))

    def measure(self, what, request, *arguments, error=E.NONE):
        """Runs a request under a trace; what it costs is kept as (lines run, members visited)."""
        self.made_of(Visited, VisitedSet)
        lines, before = 0, Visited.visits

        def trace(frame, event, _):
            nonlocal lines
            if not frame.f_code.co_filename.startswith(PACKAGE):
                return None
            lines += event == "line"
            return trace

        sys.settrace(trace)
        try:
            answer = request(*arguments)
        finally:
            sys.settrace(None)
        assert answer == error, f"{what}: {answer}"
        self.costs[what] = lines, Visited.visits - before
        self.made_of(dict, set)

    def made_of(self, mapping, collection):
        """Exchanges what the group keeps its members in."""
        group = self.group
        group.members = mapping(group.members)
        group.static_members = mapping(group.static_members)
        group.pending_members = collection(group.pending_members)
        group.pending_sync_members = collection(group.pending_sync_members)
        for purgatory in (group.parked_joins, group.parked_syncs):
            purgatory._parked = mapping(purgatory._parked)


def costs(members):
    """What requests cost that start no phase and end none, in every state of a group of so many."""
    crowd = Crowd(members)
    first, second, third, fourth, *rest = crowd.others
    crowd.measure("heartbeat, Stable", crowd.heartbeat, first)
    crowd.measure("follower's sync, Stable", crowd.sync, first)
    crowd.measure("unchanged follower's join, Stable", crowd.join, first)
    crowd.measure("commit", crowd.commit, first)
    crowd.measure("join without an id", crowd.join, "", error=E.MEMBER_ID_REQUIRED)
    crowd.measure("refused join", crowd.join, first, 9, ("another",), error=E.INCONSISTENT_GROUP_PROTOCOL)
    assert crowd.join(crowd.leader) is None
    assert crowd.group.state is GroupState.PREPARING_REBALANCE
    crowd.measure("heartbeat, Preparing", crowd.heartbeat, first, error=E.REBALANCE_IN_PROGRESS)
    crowd.measure("sync, Preparing", crowd.sync, first, error=E.REBALANCE_IN_PROGRESS)
    crowd.measure("follower's join", crowd.join, first, error=None)
    crowd.measure("the same once more", crowd.join, first, error=None)
    crowd.measure("a static member's join", crowd.join, "", 9, ("range",), "i", error=None)
    crowd.measure("its restart", crowd.join, "", 9, ("range",), "i", error=E.FENCED_INSTANCE_ID)
    crowd.measure("fenced heartbeat", crowd.heartbeat, second, "i", error=E.FENCED_INSTANCE_ID)
    crowd.measure("unknown instance", crowd.heartbeat, second, "j", error=E.UNKNOWN_MEMBER_ID)
    crowd.measure("changed follower's join", crowd.join, second, 9, ("range", "sticky"), error=None)
    crowd.measure("join with a new id", crowd.join, f"m{members + 1:06}", error=None)
    crowd.measure("leave, parked", crowd.leave, first)
    crowd.measure("leave, absent", crowd.leave, third)
    for member_id in (fourth, *rest):
        crowd.join(member_id)
    assert crowd.group.state is GroupState.COMPLETING_REBALANCE
    crowd.measure("heartbeat, Completing", crowd.heartbeat, second)
    crowd.measure("follower's sync", crowd.sync, second, error=None)
    crowd.measure("unchanged follower's join, Completing", crowd.join, fourth)
    return crowd.costs


@pytest.fixture(scope="module")
def of_few():
    costs(FEW)  # the first time replies are made that are shared from then on
    return costs(FEW)


def test_no_request_costs_more_in_a_large_group(of_few):
    of_many = costs(MANY)
    assert of_many == of_few
    assert {visits for _, visits in of_many.values()} == {0}
    assert min(lines for lines, _ in of_many.values()) > 10, "nothing was counted"


def barrier_by_scan(group):
    return sum(member_id in group.parked_joins for member_id in group.members) == len(group.members)


def session_in_order(original):
    def restart(step, group, member):
        sorted(group.members)
        original(step, group, member)

    return restart


SCANS = {
    "the barrier": (Group, "all_members_joined", property(barrier_by_scan)),
    "a heartbeat": (heartbeat, "restart_session", session_in_order(session_timers.restart_session)),
}


@pytest.mark.parametrize("scan", SCANS)
def test_a_scan_is_found(of_few, monkeypatch, scan):
    monkeypatch.setattr(*SCANS[scan])
    assert costs(100) != costs(FEW)
    assert costs(FEW) != of_few


def ends(members):
    """The lines of the steps that concern a whole group: the ends of both phases, and all leave.

    What is answered is no part of them: the server takes the answers bit by bit.
    """
    crowd = Crowd(members)
    crowd.join(crowd.leader)
    *others, last = crowd.others
    for member_id in others:
        crowd.join(member_id)
    with Lines() as join:
        effects = crowd.joining(last)
    crowd.do(effects)
    for member_id in crowd.others:
        crowd.sync(member_id)
    (append,) = crowd.syncing(crowd.leader).appends
    with Lines() as sync:
        effects = crowd.core.appended(append.append_id)
    crowd.do(effects)
    assert crowd.group.state is GroupState.STABLE
    request = c.LeaveGroup("g", tuple(c.MemberIdentity(member_id) for member_id in crowd.group.members))
    with Lines() as leave:
        crowd.core.leave_group(request, 5, "token")
    assert not crowd.group.members
    return join.count, sync.count, leave.count


def lines_a_member():
    """What one member more costs at both ends, and when all leave."""
    return [(many - few) / 180 for few, many in zip(ends(20), ends(200), strict=True)]


def test_the_steps_of_a_whole_group_cost_a_few_lines_a_member():
    """Nothing can come between, so a group of 10,000 holds the loop as long as these take."""
    join, sync, leave = lines_a_member()
    assert 10 < join < 50
    assert 10 < sync < 40
    assert 50 < leave < 135


def test_that_answers_are_made_in_the_step_is_found(monkeypatch):
    def made(step, requests, make):
        for parked, of in requests:
            step.reply(parked, make(of))

    before = lines_a_member()
    monkeypatch.setattr(Step, "reply_each", made)
    join, sync, _ = lines_a_member()
    assert join > before[0] + 10
    assert sync > before[1] + 10


def told_at_both_ends(crowd):
    """What the ends of both phases answer, before and after all that the members do next."""
    crowd.join(crowd.leader)
    *others, last = crowd.others
    for member_id in others:
        crowd.join(member_id)
    join = crowd.joining(last)
    told = [tuple(join.replies)]
    crowd.do(join)
    for member_id in crowd.others:
        crowd.sync(member_id)
    (append,) = crowd.syncing(crowd.leader).appends
    sync = crowd.core.appended(append.append_id)
    told.append(tuple(sync.replies))
    crowd.do(sync)
    crowd.join(last, protocols=("other", "range"))
    crowd.leave(crowd.leader)
    for member_id in others:
        crowd.join(member_id)
    assert crowd.group.generation_id == 3
    return told, [tuple(join.replies), tuple(sync.replies)]


def test_answers_tell_what_was_settled_in_their_step_however_late_they_are_taken():
    told, later = told_at_both_ends(Crowd(5))
    assert [len(each) for each in told] == [5, 5]
    assert later == told


def test_answers_that_look_at_the_group_again_are_found(monkeypatch):
    settled = rebalance.generation_of

    class Looks:
        def __init__(self, group, members):
            self.group, self.members = group, members

        def reply(self, member_id):
            return settled(self.group, self.members).reply(member_id)

    monkeypatch.setattr(rebalance, "generation_of", Looks)
    told, later = told_at_both_ends(Crowd(5))
    assert later != told


def listed_for_each(original):
    def reply(generation, member_id):
        return replace(original(generation, generation.leader), member_id=member_id)

    return reply


def test_that_everybody_is_listed_for_everybody_is_found(monkeypatch):
    listed = [len(reply.members) for _, reply in told_at_both_ends(Crowd(5))[0][0]]
    assert sorted(listed) == [0, 0, 0, 0, 5]
    monkeypatch.setattr(rebalance.Generation, "reply", listed_for_each(rebalance.Generation.reply))
    listed = [len(reply.members) for _, reply in told_at_both_ends(Crowd(5))[0][0]]
    assert sorted(listed) == [5] * 5
