"""Walks on rota's own server in virtual time: it conforms, and planted bugs are found."""

from __future__ import annotations

import asyncio

import pytest

from harness.thinned import but
from harness.told import Told
from harness.walk_hunt import grounds
from harness.walk_terms import TERMS
from rota.generate.hunt import hunt, trial
from rota.generate.lateness import Lateness
from rota.generate.plan import Plan, Restart
from rota.generate.planner import Planner
from rota.generate.player import Coordinator, Played, Stage
from rota.generate.settings import SETTINGS
from rota.generate.shrink import after, runs_that_fail, shrunk
from rota.generate.told import dialogue
from rota.generate.verdicts import Verdict, judged, out_of_time
from rota.generate.virtual import in_virtual_time
from rota.generate.walks import Walks, drawn_here
from rota.linearise import Answered, History, Quiet, Sent
from rota.mutants.core import core_bugs, planted
from rota.spec import ROTA, Call, ErrorCode, HeartbeatReply, HeartbeatRequest


@pytest.mark.parametrize("profile", ["rota", "kafka-4.x"])
def test_rota_conforms(profile):
    """Walks side by side find nothing, and nearly all are decided."""
    seen = []

    async def walk(coordinator):
        planner = Planner(11, coordinator.terms, coordinator.profile)
        await Walks(coordinator, "walk").many(drawn_here(planner), 8, seen.append, at_once=12)

    in_virtual_time(SETTINGS, walk, profile)
    assert [one.why for one in seen if one.verdict is Verdict.FAIL] == []
    assert len(seen) >= 12
    assert sum(one.verdict is Verdict.UNDECIDED for one in seen) <= 1


@pytest.mark.parametrize("profile", ["rota", pytest.param("kafka-4.x", marks=pytest.mark.long)])
def test_rota_conforms_when_it_is_killed(profile):
    """Walks in which the coordinator is killed are judged, and reach the rules by which a log is read."""
    ground = grounds(1, profile)
    plans = [ground.plan(number) for number in range(40)]
    killed = [plan for plan in plans if any(isinstance(step, Restart) for step in plan.steps)][:8]
    walked = [judged(found.played, found.harm) for found in (trial(one, SETTINGS, profile) for one in killed)]
    assert [one.why for one in walked if one.verdict is not Verdict.PASS] == []
    reached = {slug for one in walked for slug, _ in one.reached}
    assert "loading.load" in reached


FOUND = {
    "newcomers-group-id-unchecked": "join.invalid-group-id",
    "fenced-join-starts-anew": "join.fenced-instance-id",
    "unknown-member-starts-anew": "join.unknown-member",
}


@pytest.mark.parametrize("name", but(["unknown-member-starts-anew"], FOUND))
def test_a_planted_bug_is_found_by_its_rule(name):
    """The rule that is told is the one that is broken."""
    hunted = hunt(core_bugs()[name], grounds(1, "kafka-4.x"))
    assert hunted.failed is not None
    assert hunted.failed.rule == FOUND[name]


@pytest.mark.parametrize(
    "name", ["fenced-join-starts-anew", pytest.param("unknown-member-starts-anew", marks=pytest.mark.long)]
)
def test_to_judge_only_what_sounds_different_leaves_out_nothing(name):
    """It finds the same walk as judging each of them does."""
    bug = core_bugs()[name]
    quick, whole = (hunt(bug, grounds(1, "kafka-4.x"), every=every) for every in (False, True))
    assert quick == whole
    assert quick.failed is not None
    assert quick.walks > 2 * quick.other


def test_a_sound_server_says_the_same_each_time():
    """Ids, moments and ports too, after a restart too; one that says something else once is noticed."""
    ground = grounds(1, "kafka-4.x")
    number = next(n for n in range(40) if any(isinstance(step, Restart) for step in ground.plan(n).steps))
    plan, print_ = ground.plan(number), ground.sound(number).print
    assert trial(plan, ground.settings, ground.profile).print == print_
    with planted(core_bugs()["joins-answered-again"]):
        assert trial(plan, ground.settings, ground.profile).print != print_


def test_a_failure_becomes_short_and_fails_again():
    """What is left of the plan is a few steps, and fails in every run, with a dialogue that shows it."""
    bug = core_bugs()["newcomers-group-id-unchecked"]
    failed = hunt(bug, grounds(1, "kafka-4.x")).failed
    assert failed is not None

    async def shorter(coordinator):
        walks = Walks(coordinator, "again")
        short = await shrunk(failed, walks.each, after(1_000))
        return short, await runs_that_fail(short, walks.each)

    with planted(bug):
        short, runs = in_virtual_time(SETTINGS, shorter, "kafka-4.x")
    assert runs == 5
    assert len(short.played.plan.steps) <= 3 < len(failed.played.plan.steps)
    lines = dialogue(short.played.messages, short.played.history.group_id)
    assert any("JoinGroup" in line and "group_id" in line for line in lines)


@pytest.mark.parametrize(
    ("told", "verdict"),
    [(ErrorCode.UNKNOWN_MEMBER_ID, Verdict.PASS), (ErrorCode.ILLEGAL_GENERATION, Verdict.UNDECIDED)],
)
def test_an_order_is_found_where_too_much_is_under_way_to_try_all(told, verdict):
    """Eight requests at once, of which nobody tries all orders: one explains them, else nobody can say."""
    calls = [Call(HeartbeatRequest("g", n, "x"), str(n), 4) for n in range(8)]
    sent = [Sent(1.0, n, n, "a", call) for n, call in enumerate(calls)]
    answers = [Answered(1.1, n, HeartbeatReply(told)) for n in range(8)]
    history = History("g", (*sent, *answers, Quiet(1.2)), ROTA)
    walked = judged(Played(Plan(1, 0, ()), history, ()))
    assert walked.verdict is verdict


@pytest.mark.parametrize(
    ("after", "error", "verdict", "late"),
    [
        (0.01, "NONE", Verdict.PASS, False),
        (0.01, "ILLEGAL_GENERATION", Verdict.FAIL, False),
        (1.5, "NONE", Verdict.FAIL, True),
        (1.5, "UNKNOWN_MEMBER_ID", Verdict.FAIL, False),
        (8.5, "NONE", Verdict.FAIL, False),
        (None, "NONE", Verdict.FAIL, False),
    ],
)
def test_what_is_late_is_told_from_what_is_wrong(after, error, verdict, late):
    """Of a heartbeat that is looked for every second: late is what is right and comes in a few seconds."""
    history = Told().alone(session=30_000)
    sent, number = history.now, history.beats(0, "m")
    for moment in sorted({*range(1, 12), after or 0.0}):
        history.after(sent + moment - history.now)
        if moment == after:
            history.beaten(number, error)
        elif moment:
            history.quiet()
    walked = judged(Played(Plan(1, 0, ()), history.history(), ()))
    assert (walked.verdict, out_of_time(walked)) == (verdict, late)


@pytest.mark.parametrize(("error", "late"), [("NONE", True), ("ILLEGAL_GENERATION", False)])
def test_after_what_was_late_nobody_may_be_able_to_say_more(error, late):
    """A heartbeat's answer is late or wrong, and then more is under way than all orders are tried of."""
    history = Told().alone(session=30_000)
    number = history.beats(0, "m")
    history.quiet(1.0).after(0.5).beaten(number, error).quiet(1.0)
    for number in [history.beats(connection, "x", connection) for connection in range(1, 9)]:
        history.beaten(number, "ILLEGAL_GENERATION")
    walked = judged(Played(Plan(1, 0, ()), history.history(), ()))
    assert (walked.verdict, out_of_time(walked)) == (Verdict.FAIL, late)


@pytest.mark.parametrize("beaten_after", [1.7, 3.0])
def test_a_timer_at_a_wrong_time_is_no_more_than_that(beaten_after):
    """A session of two seconds has ended too soon, or is there for a second too long."""
    history = Told().alone().after(beaten_after)
    error = "UNKNOWN_MEMBER_ID" if beaten_after < 2 else "NONE"
    history.beaten(history.beats(0, "m"), error).quiet()
    walked = judged(Played(Plan(1, 0, ()), history.history(), ()))
    assert walked.rule.startswith("timer.session")
    assert out_of_time(walked)


class Hangs:
    """A line that the target ends when it is asked anything."""

    def __init__(self, listener):
        self.listener = listener

    def send(self, data):
        self.listener.ended()


def test_a_connection_that_ends_is_told_by_what_was_asked_on_it():
    """So that what ends a connection by one request is another cause than by another."""

    async def hanging(listener):
        return Hangs(listener)

    async def seen():
        stage = Stage(Coordinator(hanging, TERMS, ROTA, Lateness()), "g")
        await stage.ask("a", 0, 4, HeartbeatRequest("g", 1, "x"), 0)
        return stage.played(Plan(1, 0, ()))

    walked = judged(asyncio.run(seen()))
    assert walked.cause == ("wire.answers", "Heartbeat", "the target ended a connection")
