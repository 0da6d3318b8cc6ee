"""Walks across restarts of the target: what was told is what was stored, and planted bugs show that."""

from __future__ import annotations

from itertools import islice

import pytest

from harness.walk_terms import TERMS
from rota.generate.afterwards import with_restart
from rota.generate.plan import Ask, Restart
from rota.generate.planner import Planner
from rota.generate.settings import SETTINGS
from rota.generate.verdicts import Verdict
from rota.generate.virtual import in_virtual_time
from rota.generate.walks import Walks, drawn_here
from rota.mutants.core import core_bugs, planted
from rota.spec import PROFILES

KAFKA = "kafka-4.x"


def plans(number, profile=KAFKA):
    """Plans of which each has a restart somewhere."""
    found = islice(Planner(3, TERMS, PROFILES[profile]).plans(), number)
    return [with_restart(plan, 5 + 3 * n % len(plan.steps), "SIGKILL", TERMS) for n, plan in enumerate(found)]


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


def test_restarts_under_walks_are_noted_in_their_plans():
    """A walk that one of them has hit has a step for it, and the questions after it, as if so planned."""

    async def walk(coordinator):
        seen = []
        walks = Walks(coordinator, "walk")
        planner = Planner(3, TERMS, coordinator.profile)
        await walks.many(drawn_here(planner), 12.0, seen.append, at_once=6, restarts=2)
        return seen, coordinator.restarts.done

    found, done = in_virtual_time(SETTINGS, walk)
    assert done == 2
    assert [one.why for one in found if one.verdict is not Verdict.PASS] == []
    hit = [one.played.plan for one in found if any(isinstance(s, Restart) for s in one.played.plan.steps)]
    assert len(hit) >= 6
    assert {step.how for plan in hit for step in plan.steps if isinstance(step, Restart)} == {
        "SIGKILL",
        "SIGTERM",
    }
    assert any(isinstance(step, Ask) and step.number >= 1_000_000 for plan in hit for step in plan.steps)
