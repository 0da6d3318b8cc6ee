"""Walks of groups by the consumer protocol: plans come from the seed alone, rota passes, bugs are found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import islice

import pytest

from rota.generate.afterwards import with_restart
from rota.generate.as_case import case_text
from rota.generate.case_words import NotACase
from rota.generate.consumer.planned import OWNED, Beat, Changing, told
from rota.generate.consumer.planner import ConsumerPlanner
from rota.generate.hunt import Grounds, hunt, trial
from rota.generate.plan import Ask, Restart, read_plan
from rota.generate.planners import plans_of
from rota.generate.saved import Saved
from rota.generate.settings import SETTINGS
from rota.generate.verdicts import Verdict
from rota.generate.virtual import in_virtual_time
from rota.kernel import replace as with_fields
from rota.linearise import Answered
from rota.mutants.core import consumer_bugs
from rota.report.walks import CONSUMERS_IN_REACH
from rota.spec import ROTA
from rota.spec.consumer.messages import ConsumerGroupHeartbeatReply
from rota.spec.consumer.state import Partition
from rota.spec.consumer.vocabulary import ErrorCode


def terms():
    """What a server of rota's is walked on for, in virtual time."""

    async def found(coordinator):
        return coordinator.terms

    return in_virtual_time(SETTINGS, found, "rota", alone=True)


@pytest.fixture(scope="module")
def ground():
    return Grounds(1, "rota", protocol="consumer")


@pytest.fixture(scope="module")
def drawn():
    planner = ConsumerPlanner(3, terms())
    return [*islice(planner.plans(), 40)], planner


def test_equal_seeds_make_equal_plans(drawn):
    """However many are drawn, and also where the other protocol, and transactions, are walked beside it."""
    plans, _ = drawn
    both = [*islice(plans_of(3, terms(), ROTA), 14)]
    assert [plan for plan in both if plan.protocol == "consumer"] == plans[:6]
    assert [plan.protocol for plan in both[:4]] == ["classic", "consumer"] * 2
    assert [*islice(ConsumerPlanner(4, terms()).plans(), 6)] != plans[:6]


HASHED = """
from itertools import islice
from test_consumer_walks import terms
from rota.generate.consumer.planner import ConsumerPlanner
for plan in islice(ConsumerPlanner(3, terms()).plans(), 5):
    print(repr(plan))
"""


def test_plans_do_not_depend_on_the_order_of_hashes(drawn):
    """Possible targets are sets: which one a plan goes on from is theirs by order, not by hash."""
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    env = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": path}
    out = subprocess.run([sys.executable, "-c", HASHED], env=env, text=True, capture_output=True, check=True)
    assert out.stdout.splitlines() == [repr(plan) for plan in drawn[0][:5]]


def test_plans_lead_to_every_rule_that_walks_can_come_to(drawn):
    """As far as the spec alone can say, a few dozen plans leave out nothing."""
    _, planner = drawn
    reached = {slug for slug, _ in planner.reached}
    assert reached >= CONSUMERS_IN_REACH, CONSUMERS_IN_REACH - reached


def test_plans_survive_a_file(drawn):
    """What is written is read again, with references, words and changes of topics."""
    plans, _ = drawn
    assert any(
        isinstance(step, Ask) and isinstance(step.request, Changing) for plan in plans for step in plan.steps
    )
    assert [read_plan(json.loads(json.dumps(plan.as_json()))) for plan in plans] == plans


def test_plans_ask_what_is_wrong(drawn):
    """Stale epochs and epochs ahead, every word for what is owned, ids of others and of nobody."""
    asks = [step.request for plan in drawn[0] for step in plan.steps if isinstance(step, Ask)]
    beats = [one for one in asks if isinstance(one, Beat)]
    assert {one.owns for one in beats} == {None, *OWNED}
    assert {-1, 1} <= {one.ahead for one in beats if one.since == "told"}
    assert {-1, -2, -3} <= {one.ahead for one in beats if one.since == "zero"}
    assert {"", "nobody-knows-me"} <= {one.member_id for one in beats}


def test_what_a_member_was_told_is_folded():
    """The epoch of the last answer without an error, the last assignment and the one before it."""
    one, two = Partition("t", 0), Partition("t", 1)
    answers = {
        1: ConsumerGroupHeartbeatReply(ErrorCode.NONE, "a", 1, 5, frozenset({one, two})),
        2: ConsumerGroupHeartbeatReply(ErrorCode.FENCED_MEMBER_EPOCH),
        3: ConsumerGroupHeartbeatReply(ErrorCode.NONE, "a", 1, 5, frozenset({one})),
        4: ConsumerGroupHeartbeatReply(ErrorCode.NONE, "a", 2, 5, None),
    }
    found = told((1, 2, 3, 4, 9), answers)
    assert (found.epoch, found.assigned, found.before) == (2, {one}, {one, two})


def test_rota_conforms(ground):
    """The first walks of a seed find nothing, with and without restarts, and are decided."""
    walked = [trial(ground.plan(number), SETTINGS, "rota").judged() for number in range(14)]
    assert [(one.id, one.why) for one in walked if one.verdict is not Verdict.PASS] == []
    assert any(isinstance(step, Restart) for one in walked for step in one.played.plan.steps)


def test_a_restart_in_the_middle_is_followed(ground):
    """Wherever it comes, as it does on sockets: members, epochs and assignments are as they were told."""
    for number in range(4):
        plan = ground.plan(number)
        place = len(plan.steps) // 2 if number else 0  # as it may before anybody has asked
        hit = with_restart(plan, place, Restart("SIGKILL"), terms())
        walked = trial(hit, SETTINGS, "rota").judged()
        assert walked.verdict is Verdict.PASS, (plan.id, walked.why)


def wrong(played, change):
    """What was seen, with the first heartbeat's answer changed that can be; None where none can."""
    events = [*played.history.events]
    for place, event in enumerate(events):
        if isinstance(event, Answered) and isinstance(event.reply, ConsumerGroupHeartbeatReply):
            changed = change(event.reply)
            if changed is not None:
                events[place] = with_fields(event, reply=changed)
                return replace(played, history=replace(played.history, events=tuple(events)))
    return None


def fewer(reply):
    given = reply.assignment
    return with_fields(reply, assignment=frozenset(sorted(given)[1:])) if given else None


def ahead(reply):
    return with_fields(reply, member_epoch=reply.member_epoch + 1) if reply.member_epoch > 0 else None


def granted(reply):
    return with_fields(reply, error_code=ErrorCode.NONE) if reply.error_code is not ErrorCode.NONE else None


@pytest.mark.parametrize("change", [fewer, ahead, granted])
def test_an_answer_that_cannot_be_is_a_violation(ground, change):
    """A partition less, an epoch too far, no error where one is due: nothing explains it."""
    from rota.generate.verdicts import judged

    changed = [wrong(trial(ground.plan(number), SETTINGS, "rota").played, change) for number in range(3)]
    assert any(changed)
    assert {judged(one).verdict for one in changed if one is not None} == {Verdict.FAIL}


@pytest.mark.parametrize("name", ["minus-three", "joins-without-timeout"])
def test_planted_bugs_are_found(ground, name):
    """And what is told is the rule that the bug breaks."""
    bug = consumer_bugs()[name]
    found = hunt(bug, ground, explains=False)
    assert found.failed is not None
    assert found.failed.rule == f"consumer.{bug.rule}"


def test_walks_are_written_as_cases(drawn):
    """Each of them, but those with a restart: who answers is asked for by words, and nothing is left open."""
    texts = {}
    for plan in drawn[0][:12]:
        saved = Saved(plan, SETTINGS, "consumer.leave.member", ())
        if any(isinstance(step, Restart) for step in plan.steps):
            with pytest.raises(NotACase, match="restarts the target"):
                case_text(saved, "rota")
        else:
            texts[plan.id] = case_text(saved, "rota")
            compile(texts[plan.id], plan.id, "exec")
            assert texts[plan.id].count("walk.expect") == plan.requests
    assert "expect_one_of" in "".join(texts.values())
