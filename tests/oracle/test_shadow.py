"""The shadow where the core stands: several groups, requests outside of the spec, a real server, reports."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from rota.coordinator import (
    Arm,
    CoordinatorConfig,
    Effects,
    GroupCoordinator,
    Heartbeat,
    JoinGroup,
    JoinGroupProtocol,
    LeaveGroup,
    MemberIdentity,
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitTopic,
    SyncGroup,
    TimerId,
)
from rota.mutants.core import core_bugs, planted
from rota.oracle import Divergence, Shadow, watched
from rota.spec import Timer
from rota.wire import decode_response, encode_request, frame

JOIN = JoinGroup("g", 10_000, 10_000, "", None, "consumer", (JoinGroupProtocol("range", b"m"),))
SYNC = SyncGroup("g", 1, "m1", None, "consumer", "range")
TOPIC = OffsetCommitTopic("t", (OffsetCommitPartition(0, 5),))


class Ids:
    """Member ids m1, m2, ...; no other choice is left open here."""

    def __init__(self):
        self.made = 0

    def now_ms(self):
        return -1

    def new_member_id(self, client_id):
        self.made += 1
        return f"m{self.made}"


@pytest.fixture
def now():
    return [0]


@pytest.fixture
def shadow(now):
    return Shadow(CoordinatorConfig(), Ids(), clock=lambda: now[0])


def stable(shadow, group_id="g", member_id="m1"):
    """A group of one member that has its assignment."""
    shadow.join_group(replace(JOIN, group_id=group_id), 3, "c", "/h", f"join {group_id}")
    shadow.fire(TimerId("initial_join", group_id))
    request = replace(SYNC, group_id=group_id, member_id=member_id)
    (append,) = shadow.sync_group(request, 5, f"sync {group_id}").appends
    return shadow.appended(append.append_id)


def test_it_gives_what_the_core_gives(shadow):
    core = GroupCoordinator(CoordinatorConfig(), Ids())
    inputs = (JOIN, 3, "c", "/h", "token")
    assert shadow.join_group(*inputs) == core.join_group(*inputs)
    assert shadow.groups.keys() == core.groups.keys()


def test_groups_are_followed_one_by_one(shadow):
    stable(shadow)
    stable(shadow, "h", "m2")
    shadow.heartbeat(Heartbeat("g", 1, "m1"), 4, "beat")
    states = {group_id: followed.state for group_id, followed in shadow.followed.items()}
    assert states == {"g": "Stable", "h": "Stable"}
    assert list(shadow.follow("g").armed) == [Timer("session", "m1")]
    assert list(shadow.follow("h").armed) == [Timer("session", "m2")]
    assert ("heartbeat.alive", "Stable") in shadow.oracle.visited
    assert all("h" not in line.split() for line in shadow.follow("g").dialogue)


def test_the_rules_that_only_decide_count_as_used(shadow):
    stable(shadow)
    assert shadow.oracle.rules >= {"voting.tally", "voting.candidates"}
    shadow.leave_group(LeaveGroup("g", (MemberIdentity("m1"),)), 5, "leave")
    assert ("join.barrier", "Stable") in shadow.oracle.visited


def test_what_is_not_in_the_spec_passes_and_its_timers_are_kept_in_mind(shadow, now):
    stable(shadow)
    now[0] = 4_000
    commit = OffsetCommit("g", (TOPIC,), 1, "m1")
    effects = shadow.offset_commit(commit, 8, "commit", 0)
    assert shadow.follow("g").armed[Timer("session", "m1")] == 14_000
    (append,) = effects.appends
    assert shadow.appended(append.append_id).replies[0][0] == "commit"
    shadow.fire(TimerId("session", "g", "m1"))
    assert shadow.follow("g").state == "Empty"


def test_a_commit_may_create_a_group_and_a_deletion_take_it_away_and_bring_it_back(shadow):
    (commit,) = shadow.offset_commit(OffsetCommit("g", (TOPIC,)), 8, "commit", 0).appends
    assert shadow.follow("g").state == "Empty"
    shadow.appended(commit.append_id)
    stable(shadow)
    shadow.leave_group(LeaveGroup("g", (MemberIdentity("m1"),)), 5, "leave")
    (tombstone,) = shadow.delete_groups(["g"], 2, "delete").appends
    assert shadow.follow("g").state == "absent"
    shadow.heartbeat(Heartbeat("g", 1, "m1"), 4, "beat")
    shadow.appended(tombstone.append_id, 56)
    assert shadow.follow("g").state == "Empty"
    assert shadow.follow("g").group.generation_id == 2
    shadow.join_group(JOIN, 3, "c", "/h", "again")


def test_who_waits_for_a_record_of_a_group_that_was_deleted_is_answered(shadow):
    stable(shadow)
    (emptied,) = shadow.leave_group(LeaveGroup("g", (MemberIdentity("m1"),)), 5, "leave").appends
    shadow.delete_groups(["g"], 2, "delete")
    assert shadow.appended(emptied.append_id).replies
    assert shadow.follow("g").state == "absent"
    assert ("persistence.emptied-stored", "absent") in shadow.oracle.visited


def test_an_assignment_of_a_group_that_was_deleted_is_the_cores_own_business(shadow):
    stable(shadow)
    shadow.join_group(replace(JOIN, member_id="m1"), 9, "c", "/h", "again")
    (assigned,) = shadow.sync_group(replace(SYNC, generation_id=2), 5, "assigns").appends
    (emptied,) = shadow.leave_group(LeaveGroup("g", (MemberIdentity("m1"),)), 5, "leave").appends
    shadow.appended(emptied.append_id)
    shadow.delete_groups(["g"], 2, "delete")
    assert not shadow.appended(assigned.append_id).replies
    assert not [slug for slug, _ in shadow.oracle.visited if slug == "persistence.late-answer"]


class Meddling(GroupCoordinator):
    """Its DescribeGroups ends the generation."""

    def describe_groups(self, group_ids, version, token):
        for group in self.groups.values():
            group.generation_id += 1
        return Effects(timers=(Arm(TimerId("sync", "g"), 5),))


def test_a_request_outside_of_the_spec_must_leave_the_group_alone():
    shadow = Shadow(CoordinatorConfig(), Ids(), Meddling)
    stable(shadow)
    with pytest.raises(Divergence, match="outside of the spec has changed the group: state Stable"):
        shadow.describe_groups(["g"], 5, "token")


def test_a_timer_that_is_not_armed_must_not_fire(shadow):
    stable(shadow)
    with pytest.raises(Divergence, match="a timer fires that is not armed") as found:
        shadow.fire(TimerId("join", "g"))
    assert found.value.dialogue[-1].endswith("timer join is due")


class Foreign(GroupCoordinator):
    """Arms its timers for another group."""

    def join_group(self, request, version, client_id, client_host, token):
        effects = super().join_group(request, version, client_id, client_host, token)
        ids = [(arm.timer_id.kind, arm.timer_id.member_id, arm.delay_ms) for arm in effects.timers]
        timers = tuple(Arm(TimerId(kind, "h", member_id), delay) for kind, member_id, delay in ids)
        return Effects(effects.replies, timers, effects.appends)


def test_timers_are_for_the_group_of_the_request():
    shadow = Shadow(CoordinatorConfig(), Ids(), Foreign)
    with pytest.raises(Divergence, match="timer pending of group 'h' m1"):
        shadow.join_group(JOIN, 9, "c", "/h", "token")


def test_a_group_is_followed_until_its_first_divergence(shadow):
    stable(shadow, "h")
    with planted(core_bugs()["handshake-one-version-late"]), pytest.raises(Divergence):
        shadow.join_group(JOIN, 4, "c", "/h", "token")
    shadow.heartbeat(Heartbeat("g", 7, "m9"), 4, "beat")
    assert [found.group_id for found in shadow.divergences] == ["g"]
    with planted(core_bugs()["rejoin-told-while-completing"]):
        shadow.heartbeat(Heartbeat("h", 1, "m1"), 4, "other")
    assert len(shadow.divergences) == 1


def test_codes_of_the_log_that_the_spec_does_not_know_are_refused(shadow):
    shadow.join_group(JOIN, 3, "c", "/h", "join")
    shadow.fire(TimerId("initial_join", "g"))
    (append,) = shadow.sync_group(SYNC, 5, "sync").appends
    with pytest.raises(ValueError, match="87 is not a valid AppendError"):
        shadow.appended(append.append_id, 87)


def resigning(shadow):
    """A JoinGroup of g is parked, the assignments of h wait for the log; then the coordinator resigns."""
    shadow.join_group(JOIN, 3, "c", "/h", "join g")
    shadow.join_group(replace(JOIN, group_id="h"), 3, "c", "/h", "join h")
    shadow.fire(TimerId("initial_join", "h"))
    shadow.sync_group(replace(SYNC, group_id="h", member_id="m2"), 5, "sync h")
    return shadow.unload()


def test_a_coordinator_that_resigns_is_followed(shadow):
    assert {token for token, _ in resigning(shadow).replies} == {"join g", "sync h"}
    assert shadow.groups == {}
    assert shadow.divergences == []
    assert "loading.unload" in shadow.oracle.rules


def test_a_request_that_is_left_waiting_at_the_end_is_found(shadow):
    unload = shadow.core.unload
    shadow.core.unload = lambda: unload()._replace(replies=())
    with pytest.raises(Divergence, match="NOT_COORDINATOR"):
        resigning(shadow)


REPORT = """\
the answer to r4 has error_code REBALANCE_IN_PROGRESS (27), not NONE (0) [heartbeat.alive]

group 'g':
         0 ms  r1: JoinGroup v9 session=10000 rebalance=10000 (no member id) [range:b'm']  →  MEMBER_ID_REQUIRED m1
         0 ms  r2: JoinGroup v9 session=10000 rebalance=10000 m1 [range:b'm']
     3,000 ms  timer initial_join is due  →  r2: ok generation 1 m1 leader m1
     3,000 ms  r3: SyncGroup v5 generation=1 m1 protocol=range
     4,500 ms  r4: Heartbeat v4 generation=1 m1  →  REBALANCE_IN_PROGRESS

where the last step differs:
  answer to r4
    - spec  error_code NONE (0)
    + core  error_code REBALANCE_IN_PROGRESS (27)

the spec's rule:
  heartbeat.alive: In CompletingRebalance and Stable all is well.
  source: upstream GroupMetadataManager#classicGroupHeartbeatToClassicGroup
which used:
  static.validate: Whether a member may speak for itself: its instance id first, then its member id.
tried before it, but not applicable: hosting.inactive, heartbeat.invalid-group-id, hosting.loading, hosting.elsewhere, heartbeat.fenced-
    instance-id, heartbeat.unknown-member, heartbeat.illegal-generation, heartbeat.rebalance-in-progress"""  # noqa: E501


def test_a_report_says_what_is_wrong_and_then_how_it_came_to_that(shadow, now):
    shadow.join_group(JOIN, 9, "c", "/h", 1)
    shadow.join_group(replace(JOIN, member_id="m1"), 9, "c", "/h", 2)
    now[0] = 3_000
    shadow.fire(TimerId("initial_join", "g"))
    shadow.sync_group(SYNC, 5, 3)
    now[0] = 4_500
    with planted(core_bugs()["rejoin-told-while-completing"]), pytest.raises(Divergence) as found:
        shadow.heartbeat(Heartbeat("g", 1, "m1"), 4, 4)
    assert str(found.value) == REPORT


def test_a_second_answer_is_named_as_one(shadow):
    stable(shadow)
    core = shadow.core
    reply = GroupCoordinator(CoordinatorConfig(), Ids()).heartbeat(Heartbeat("x", 0, ""), 4, "").replies[0][1]
    core.heartbeat = lambda *inputs: Effects((("sync g", reply), ("beat", reply)))
    with pytest.raises(Divergence, match="answer to r2 that waits no more"):
        shadow.heartbeat(Heartbeat("g", 1, "m1"), 4, "beat")


def test_a_long_dialogue_is_cut_at_its_beginning(shadow):
    for _ in range(100):
        shadow.heartbeat(Heartbeat("g", 0, ""), 4, object())
    with planted(core_bugs()["handshake-one-version-late"]), pytest.raises(Divergence) as found:
        shadow.join_group(JOIN, 4, "c", "/h", "token")
    assert "group 'g', after 41 earlier steps:" in str(found.value)
    assert len(found.value.dialogue) == 101


def exchange(connection, api, version, body):
    """One request and its response."""
    connection.sendall(frame(encode_request(api, version, body, 1, "client")))
    data = b""
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        received = connection.recv(65_536)
        if not received:
            return None
        data += received
    return decode_response(api, version, data[4:]).body


def connected(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=10)


BEAT = {"group_id": "g", "generation_id": 1, "member_id": "nobody"}


def test_a_server_with_the_spec_in_step():
    with watched() as (address, watch), connected(address) as connection:
        assert exchange(connection, "Heartbeat", 4, BEAT)["error_code"] == 25
    assert watch.requests == 1
    rules = {"heartbeat.unknown-member", "static.validate", "loading.unload"}
    assert watch.visited == {(slug, "absent") for slug in rules}


def test_a_divergence_on_a_server_closes_the_connection_and_is_raised_at_the_end():
    bug = core_bugs()["empty-group-id-unknown-in-heartbeat"]
    with pytest.raises(Divergence, match=r"INVALID_GROUP_ID \(24\)"), planted(bug):  # noqa: SIM117
        with watched() as (address, _), connected(address) as connection:
            assert exchange(connection, "Heartbeat", 4, BEAT | {"group_id": ""}) is None
