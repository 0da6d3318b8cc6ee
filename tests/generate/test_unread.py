"""Versions that a target advertises and cannot read are left out of the walks that follow."""

from __future__ import annotations

import pytest

from harness.walk_terms import TERMS
from rota.generate import player
from rota.generate.plan import Ask, Plan, read_plan
from rota.generate.planner import Planner
from rota.generate.player import Message, Played
from rota.generate.run import Tally
from rota.generate.settings import SETTINGS
from rota.generate.unread import ENOUGH, Unread, spoken_in
from rota.generate.virtual import in_virtual_time
from rota.generate.walks import Walks, drawn_here
from rota.linearise import History
from rota.spec import ROTA, HeartbeatRequest
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
