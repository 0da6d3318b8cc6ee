"""Walks across restarts of the target: what was told is what was stored, and planted bugs show that."""

from __future__ import annotations

import asyncio
from itertools import islice

import pytest

from harness.walk_terms import TERMS
from rota.generate import virtual
from rota.generate.afterwards import with_restart
from rota.generate.plan import Ask, Plan, Restart
from rota.generate.planner import Planner
from rota.generate.restarts import Restarts
from rota.generate.settings import SETTINGS
from rota.generate.verdicts import Verdict
from rota.generate.virtual import in_virtual_time
from rota.generate.walks import Walks, drawn_here
from rota.linearise import Restarted
from rota.log.group_replay import Replay
from rota.mutants.core import core_bugs, planted
from rota.spec import PROFILES

KAFKA = "kafka-4.x"


def plans(number, profile=KAFKA, seed=3):
    """Plans of which each has a restart somewhere."""
    found = islice(Planner(seed, TERMS, PROFILES[profile]).plans(), number)
    return [
        with_restart(plan, 5 + 3 * n % len(plan.steps), Restart("SIGKILL"), TERMS)
        for n, plan in enumerate(found)
    ]


def walked(some, profile=KAFKA):
    """The verdicts on plans, each on a server of its own."""

    def one(plan):
        async def walk(coordinator):
            return await Walks(coordinator, "walk").one(plan)

        return in_virtual_time(SETTINGS, walk, profile)

    return [one(plan) for plan in some]


@pytest.mark.parametrize("profile", ["rota", KAFKA])
def test_the_server_has_stored_what_it_told(profile):
    """Wherever it is restarted."""
    found = walked(plans(12, profile), profile)
    assert [one.why for one in found if one.verdict is not Verdict.PASS] == []
    assert any(("loading.load", state) in one.reached for one in found for state in ("Stable", "Empty"))
    seen = [one for each in found for one in each.played.history.events if isinstance(one, Restarted)]
    assert seen
    assert all(one.sure is True for one in seen)


def test_restarts_under_walks_are_noted_in_their_plans():
    """A walk that one of them has hit has a step for it, and the questions after it, as if so planned."""

    async def walk(coordinator):
        seen = []
        walks = Walks(coordinator, "walk")
        planner = Planner(3, TERMS, coordinator.profile)
        await walks.many(drawn_here(planner), 12.0, seen.append, at_once=6, restarts=2)
        return seen, coordinator.restarts.done

    found, done = in_virtual_time(SETTINGS, walk)
    assert done >= 2
    assert [one.why for one in found if one.verdict is not Verdict.PASS] == []
    hit = [one.played.plan for one in found if any(isinstance(s, Restart) for s in one.played.plan.steps)]
    assert len(hit) >= 6
    assert {step.how for plan in hit for step in plan.steps if isinstance(step, Restart)} == {
        "SIGKILL",
        "SIGTERM",
    }
    assert any(isinstance(step, Ask) and step.number >= 1_000_000 for plan in hit for step in plan.steps)


def test_no_restart_begins_when_the_walks_are_over(monkeypatch):
    """A target that takes long for each has fewer: five of them would last for 125 s."""
    monkeypatch.setattr(virtual, "DOWN", 20.0)

    async def walk(coordinator):
        loop = asyncio.get_running_loop()
        began = loop.time()
        planner = Planner(3, TERMS, coordinator.profile)
        await Walks(coordinator, "walk").many(drawn_here(planner), 30.0, lambda one: None, 1, restarts=5)
        return loop.time() - began, coordinator.restarts.done

    seconds, done = in_virtual_time(SETTINGS, walk)
    assert (done, seconds < 110) == (2, True)


class Forgetful(Replay):
    """All that the log has is read but the last record."""

    def take(self, batch):
        held, self.held = getattr(self, "held", None), batch
        if held is not None:
            super().take(held)


def one_fails(some):
    """Whether one of the plans does."""
    return any(one.verdict is Verdict.FAIL for plan in some for one in walked([plan]))


def test_a_record_that_is_not_read_is_missed(monkeypatch):
    """What was told last is not what was stored."""
    monkeypatch.setattr(virtual, "Replay", Forgetful)
    assert one_fails(plans(12))


@pytest.mark.parametrize("name", ["loaded-sessions-not-armed", "loaded-members-new"])
def test_a_planted_bug_of_the_log_is_found(name):
    """One that nothing but a restart shows."""
    with planted(core_bugs()[name]):
        assert one_fails(plans(24, seed=1))


def test_polite_members_outlast_a_restart_of_any_length(monkeypatch):
    """While the target is down nobody's time runs."""
    monkeypatch.setattr(virtual, "DOWN", 60.0)

    async def walk(coordinator):
        walking = asyncio.ensure_future(Walks(coordinator, "walk").one(Plan(1, 0, ())))
        await asyncio.sleep(1.5)
        await coordinator.restarts.now(Restart("SIGKILL"))
        return await walking

    walked = in_virtual_time(SETTINGS, walk)
    assert walked.verdict is Verdict.PASS, walked.why
    assert walked.played.plan.steps == (Restart("SIGKILL"),)


def test_one_restart_is_over_before_the_next_begins():
    """Those who want one while another goes on wait for it, and then for each other."""
    down = []

    async def end(how):
        down.append(how)
        await asyncio.sleep(0.01)

    async def again(groups, chosen):
        await asyncio.sleep(0.01)
        assert len(down) == 1
        down.clear()

    async def three():
        restarts = Restarts(end, again)
        await asyncio.gather(*(restarts.now(Restart("SIGKILL")) for _ in range(3)))
        return restarts.done

    assert asyncio.run(three()) == 3


def test_who_waits_for_the_target_waits_for_the_next_restart_too():
    """One that was wanted meanwhile begins before anybody else goes on: what is asked then would meet a
    target that is being ended.
    """
    up = []

    async def nothing(*_):
        await asyncio.sleep(0.01)

    async def somebody(restarts):
        await restarts.up()
        up.append((restarts.is_up, restarts.done))

    async def two():
        restarts = Restarts(nothing, nothing)
        first = asyncio.ensure_future(restarts.now(Restart("SIGKILL")))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(restarts.now(Restart("SIGTERM")))
        await asyncio.sleep(0)
        await asyncio.gather(first, second, somebody(restarts))

    asyncio.run(two())
    assert up == [(True, 2)]
