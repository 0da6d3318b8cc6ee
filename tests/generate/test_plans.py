"""Plans come from the seed alone, lead to what the wire shows, and survive a file."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import islice

from harness.walk_terms import TERMS
from rota.generate.plan import Ask, Break, Plan, Restart, Silence, filled, read_plan
from rota.generate.planner import Planner
from rota.generate.settings import OTHERS
from rota.report.walks import EXPIRED, NOT_WALKED
from rota.spec import ROTA, RULES, ErrorCode, HeartbeatRequest, JoinGroupReply


@cache
def drawn(seed, number):
    """The first plans of a seed, and who drew them: so many are drawn once for all."""
    planner = Planner(seed, TERMS, ROTA)
    return [*islice(planner.plans(), number)], planner


def test_equal_seeds_make_equal_plans():
    """The first plans of a seed are the same however many are drawn; another seed draws others."""
    few, _ = drawn(3, 5)
    many, _ = drawn(3, 8)
    assert few == many[:5]
    assert drawn(4, 5)[0] != few


def test_plans_lead_to_every_rule_that_walks_can_come_to():
    """As far as the spec alone can say, 150 plans leave out nothing: half of what a minute plays."""
    _, planner = drawn(1, 150)
    reached = {slug for slug, _ in planner.reached}
    assert (RULES.keys() - NOT_WALKED.keys()) | EXPIRED <= reached


def test_requests_are_sent_behind_others_on_their_connection():
    """But none that says for how long offsets are kept: from when on would not be known."""
    behind = [each for plan in drawn(5, 12)[0] for each in sent_behind(plan)]
    assert len({one.api for one in behind}) > 3
    assert all(getattr(one.request, "retention_time_ms", -1) < 0 for one in behind)


def sent_behind(plan):
    """The requests of a plan that follow one on their connection whose answer nobody waits for."""
    open_lines = set()
    for step in plan.steps:
        if isinstance(step, Silence):
            open_lines.clear()
        elif isinstance(step, Ask):
            if step.line in open_lines:
                yield step
            if not step.waits:
                open_lines.add(step.line)


def test_plans_kill_a_coordinator_whose_group_has_gone():
    """Where offsets are left, where nothing is: what is killed is chosen by what was killed least."""
    _, planner = drawn(1, 150)
    killed = {pair for pair in planner.reached if pair[0].startswith("killed with ")}
    assert len(killed) >= 8, killed


def test_some_restarts_change_the_settings_of_a_target_that_can_be_set():
    """About half of them; of one that cannot be set none does, and its first plan is drawn no otherwise."""

    def restarts(terms):
        plans = [*islice(Planner(1, terms, ROTA).plans(), 60)]
        return plans, [step.settings for plan in plans for step in plan.steps if isinstance(step, Restart)]

    plans, chosen = restarts(replace(TERMS, other_settings=OTHERS))
    assert {*chosen} == {(), tuple(OTHERS.items())}
    assert 0.2 < chosen.count(()) / len(chosen) < 0.8
    as_it_is, unchanged = restarts(replace(TERMS, other_settings={}))
    assert {*unchanged} == {()}
    assert plans[0] == as_it_is[0]


def test_what_a_target_does_not_speak_is_not_asked_of_it():
    """Not even changed: a request that stands for one of those is changed as its own kind is."""
    lacking = {"OffsetDelete", "OffsetFetch", "OffsetCommit", "DescribeGroups", "ListGroups", "DeleteGroups"}
    spoken = {name: span for name, span in TERMS.versions.items() if name not in lacking}
    plans = islice(Planner(1, replace(TERMS, versions=spoken), ROTA).plans(), 20)
    asked = {step.api for plan in plans for step in plan.steps if isinstance(step, Ask)}
    assert asked == {"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "FindCoordinator"}


def test_a_plan_survives_its_file():
    """Requests of every kind, silences and breaks are read as they were written."""
    plans, _ = drawn(2, 30)
    kinds = {type(step) for plan in plans for step in plan.steps}
    assert kinds == {Ask, Break, Restart, Silence}
    for plan in plans:
        assert read_plan(json.loads(json.dumps(plan.as_json()))) == plan


def test_answers_fill_in_ids_and_generations_and_nothing_else():
    """A stale generation stays as stale as it was planned; who was told nothing has a stranger's id."""
    ask = Ask(1, "a", 0, 4, HeartbeatRequest("the group", 2, "<0>"), told_by=0, generation=3)
    told = JoinGroupReply(ErrorCode.NONE, 7, "consumer", "range", "m", False, "m")
    assert filled(ask, {0: told}, "g") == HeartbeatRequest("g", 6, "m")
    assert filled(ask, {}, "g") == HeartbeatRequest("g", 2, "nobody-0")


def test_the_greatest_generation_stays_a_number_of_the_wire():
    """Where the group is further than planned, a generation at the end of its range stays there."""
    ask = Ask(1, "a", 0, 4, HeartbeatRequest("the group", 2**31 - 1, "x"), told_by=0, generation=1)
    told = JoinGroupReply(ErrorCode.NONE, 5, "consumer", "range", "m", False, "m")
    assert filled(ask, {0: told}, "g").generation_id == 2**31 - 1


def test_steps_are_left_out_by_their_places():
    """What remains keeps its order and its numbers."""
    plan = Plan(1, 2, (Silence(1.0), Break(0), Silence(2.0)))
    assert plan.without(frozenset({1})) == replace(plan, steps=(Silence(1.0), Silence(2.0)))
