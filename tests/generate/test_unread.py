"""Versions that a target advertises and cannot read are left out of the walks that follow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.walk_terms import TERMS
from rota.generate import player, reach
from rota.generate.plan import Ask, Plan, read_plan
from rota.generate.planner import Planner
from rota.generate.player import Message, Played
from rota.generate.run import Tally
from rota.generate.settings import SETTINGS
from rota.generate.unread import ENOUGH, Unread, spoken_in
from rota.generate.virtual import in_virtual_time
from rota.generate.walks import Walks, drawn_here
from rota.linearise import History
from rota.server import running
from rota.spec import (
    ROTA,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    ProtocolMetadata,
)
from rota.wire import WireError

NOTHING = Plan(1, 0, ())


def played(*messages, odd=()):
    """A walk in which so much was sent (True) and answered (False): (True, "Heartbeat", 4)."""
    told = tuple(Message(0.0, "a", sent, api, version, {}) for sent, api, version in messages)
    return Played(NOTHING, History("g", (), ROTA), told, tuple((api, "x") for api in odd), ())


def heard(*walks):
    unread = Unread()
    for one in walks:
        unread.hear(one)
    return unread.first


UNANSWERED = played((True, "Heartbeat", 4), odd=("Heartbeat",))
ANSWERED = played((True, "Heartbeat", 4), (False, "Heartbeat", 4))


def test_what_is_never_answered_is_left_out_after_a_few_walks():
    assert heard(*[UNANSWERED] * (ENOUGH - 1)) == {}
    assert heard(*[UNANSWERED] * ENOUGH) == {"Heartbeat": 4}


@pytest.mark.parametrize("version", [4, 5])
def test_what_was_answered_once_stays(version):
    """Also where it was a later version: whoever reads that one reads those before it."""
    once = played((True, "Heartbeat", version), (False, "Heartbeat", version))
    assert heard(once, *[UNANSWERED] * 9) == {}


def test_the_lowest_of_several_is_left_out_with_all_above_it():
    both = played((True, "Heartbeat", 3), (True, "Heartbeat", 4), odd=("Heartbeat",))
    assert heard(*[UNANSWERED] * ENOUGH, *[both] * ENOUGH) == {"Heartbeat": 3}


def test_the_first_version_is_never_left_out():
    """There is none below it, and what goes wrong is told as it is."""
    assert heard(*[played((True, "Heartbeat", 0), odd=("Heartbeat",))] * 9) == {}


def test_what_is_known_is_shown_by_the_first_walks_and_left_out_of_the_others():
    unread = Unread({"Heartbeat": 4})
    plan = Plan(1, 0, (Ask(2, "a", 0, 4, HeartbeatRequest("g", 1, "x")),))
    asked = [unread.below(plan).steps[0].version for _ in range(ENOUGH + 2)]
    assert asked == [4] * ENOUGH + [3, 3]
    assert unread.first == {"Heartbeat": 4}


@pytest.mark.parametrize(
    ("troubles", "found"),
    [
        ({}, {}),
        ({"SyncGroup": {4: "x", 5: "x"}}, {"SyncGroup": 4}),
        ({"SyncGroup": {3: "x", 5: "x"}}, {"SyncGroup": 5}),  # what is right above it is asked
        ({"SyncGroup": {3: "x"}}, {}),
        ({"SyncGroup": dict.fromkeys(range(6), "x")}, {}),  # nothing could be asked instead
    ],
)
def test_a_probe_says_from_which_version_on_nothing_is_read(troubles, found, monkeypatch):
    monkeypatch.setattr(reach, "unreadable_versions", lambda address, patience: troubles)
    assert reach._unreadable(("127.0.0.1", 1), {14: (0, 5)}, 1.0) == found


def test_rota_reads_what_it_advertises():
    with running({}) as address:
        host, _, port = address.rpartition(":")
        assert reach.reach((host, int(port)), SETTINGS, ROTA, 5.0).unreadable == {}


def test_a_plan_asks_by_the_version_below_and_says_so():
    unread = Unread()
    for _ in range(ENOUGH):
        unread.hear(UNANSWERED)
    plan = Plan(1, 0, tuple(Ask(n, "a", 0, n, HeartbeatRequest("g", 1, "x")) for n in (2, 3, 4)))
    less = unread.below(plan)
    assert [step.version for step in less.steps] == [2, 3, 3]
    assert read_plan(less.as_json()) == less
    assert (less.id, unread.below(less)) == (plan.id, less)
    assert TERMS.spoken("Heartbeat")[-1] == 4
    assert spoken_in(less, TERMS).spoken("Heartbeat") == TERMS.spoken("Heartbeat", most=3)


def test_what_a_lower_version_cannot_say_is_not_asked():
    """No instance id, one leaver and no more; who asks for nobody to leave asks for nothing."""
    unread = Unread()
    unread.first = {"LeaveGroup": 3, "JoinGroup": 5}
    two = LeaveGroupRequest("g", (LeavingMember("x"), LeavingMember("y")))
    join = JoinGroupRequest("g", 6000, 6000, "", "consumer", (ProtocolMetadata("range", b""),), "i1")
    requests = ((two, 4), (LeaveGroupRequest("g", ()), 5), (two, 2), (join, 9))
    asks = tuple(Ask(n, "a", 0, version, request) for n, (request, version) in enumerate(requests))
    found = [(one.number, one.version, one.request) for one in unread.below(Plan(1, 0, asks)).steps]
    assert found == [
        (0, 2, replace(two, members=two.members[:1])),
        (2, 2, two),
        (3, 4, replace(join, group_instance_id=None)),
    ]


def test_walks_come_to_what_is_behind_a_version_that_nobody_can_read(monkeypatch):
    """Nobody gets into a group by JoinGroup 6 and above here; walks below them do, and find nothing wrong."""
    read = player.read_answer

    def unreadable(api, version, data):
        if (api, version) >= ("JoinGroup", 6) and api == "JoinGroup":
            raise WireError("nobody can read it")
        return read(api, version, data)

    monkeypatch.setattr(player, "read_answer", unreadable)
    seen, planner = [], Planner(1, TERMS, ROTA)

    async def walk(coordinator):
        walks = Walks(coordinator, "walk")
        await walks.many(drawn_here(planner), 40.0, seen.append, at_once=4)
        return walks.unread.first

    assert in_virtual_time(SETTINGS, walk) == {"JoinGroup": 6}
    tally = Tally()
    for one in seen:
        tally.add(one)
    assert {cause[:2] for cause in tally.failed} == {("wire.answers", "JoinGroup")}
    assert {"join.complete-phase", "sync.stable"} <= tally.rules
