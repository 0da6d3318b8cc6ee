"""Judges that forget what is old, look at fewer orders where all are too many, and forgive what is late."""

from __future__ import annotations

import sys
from dataclasses import replace
from random import Random

import pytest

from harness.altered import altered
from harness.spec_histories import Maker
from harness.told import Told, described, joined
from rota.linearise import Judge, Limits, Quiet, Verdict, judge
from rota.linearise.judge import UNTOLD
from rota.mutants.core import CoreBug, planted

EXACT = Limits(grace=0.0, early=0.0, relaxed=0.0, grain=0.0)
NARROW = Limits(narrow=True)


def forgetting(history, kept):
    """The verdict of a judge that keeps few events, with a quiet moment's look after each of them."""
    judge = Judge(history.profile, history.config, history.lateness, replace(EXACT, kept=kept))
    for event in history.events:
        judge.see(event)
    return judge.end().verdict


def test_what_is_forgotten_changes_no_verdict():
    said = set()
    for seed in range(100, 130):
        history = Maker(Random(seed), 3 + seed % 12, offsets=seed % 2 == 1).history()
        history = altered(history, Random(seed)) if seed % 3 else history
        verdict = judge(history, EXACT).verdict
        said.add(verdict)
        assert forgetting(history, 2) is verdict, f"seed {seed}"
    assert said >= {Verdict.CONSISTENT, Verdict.VIOLATED}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("or str(n) in texts", "or False"),
        (
            "self.states = {with_ids_in_use(state): None",
            "self.states = {replace(state, armed=type(state.armed)()): None",
        ),
    ],
)
def test_what_must_not_be_forgotten(old, new):
    bug = CoreBug("", "forgets too much", "", "rota.linearise.run:Run.forget", old, new)
    with planted(bug), pytest.raises((AssertionError, KeyError)):
        test_what_is_forgotten_changes_no_verdict()


def crowd(number, leader="m0"):
    """So many members join at once, by their old version; all are told of one generation."""
    told = Told()
    requests = [told.joins(place, version=3) for place in range(number)]
    told.after(2.2)
    names = [f"m{place}" for place in range(number)]
    for place, request in enumerate(requests):
        members = names if names[place] == leader else ()
        told.hears(request, joined(names[place], 1, members, leader, metadata="of "), after=0.0)
    return told


def test_many_at_once_are_consistent_if_fewer_orders_explain_them():
    assert judge(crowd(9).history()).verdict is Verdict.UNDECIDED
    assert judge(crowd(9).history(), NARROW).verdict is Verdict.CONSISTENT


def test_many_at_once_are_never_violated():
    told = crowd(9)
    told.beaten(told.beats(0, "m0"), "UNKNOWN_MEMBER_ID")
    judgement = judge(told.history(), NARROW)
    assert judgement.verdict is Verdict.UNDECIDED
    assert "not all orders were looked at" in judgement.why


def test_few_at_once_are_violated_all_the_same():
    told = crowd(3)
    told.beaten(told.beats(0, "m0"), "UNKNOWN_MEMBER_ID")
    assert judge(told.history(), NARROW).verdict is Verdict.VIOLATED


def late(seconds):
    """A session of two seconds that ends so much too late."""
    told = Told().alone()
    told.beaten(told.after(2.0 + seconds).beats(0, "m"))
    return told.beaten(told.after(0.5).beats(0, "m"))


def test_what_is_late_is_forgiven_and_told():
    history = late(0.9).history()
    assert judge(history).verdict is Verdict.VIOLATED
    going_on = Judge(history.profile, history.config, history.lateness, Limits(forgives=2.0))
    assert going_on.all(history.events).verdict is Verdict.CONSISTENT
    (told,) = going_on.late
    assert told.what == "timer session of m"
    assert 0.6 < told.seconds < 1.0


@pytest.mark.parametrize(("seconds", "verdict"), [(0.9, Verdict.CONSISTENT), (4.0, Verdict.VIOLATED)])
def test_an_answer_that_is_late_is_forgiven_though_no_order_can_be_tried_anew(seconds, verdict, monkeypatch):
    monkeypatch.setattr(sys.modules["rota.linearise.judge"], "AGAIN", 0)
    told = Told().alone()
    request = told.beats(0, "m")
    history = told.quiet(seconds).beaten(request).history()
    going_on = Judge(history.profile, history.config, history.lateness, Limits(forgives=2.0))
    judgement = going_on.all(history.events)
    assert judgement.verdict is verdict
    if verdict is Verdict.CONSISTENT:
        (late_one,) = going_on.late
        assert late_one.what.startswith("the answer to request")
        assert 0.5 < late_one.seconds < 1.0


@pytest.mark.parametrize(("seconds", "verdict"), [(1.9, Verdict.CONSISTENT), (5.0, Verdict.VIOLATED)])
def test_after_a_late_answer_orders_that_were_not_tried_for_it_may_explain_what_comes(seconds, verdict):
    """A heartbeat is taken a second after it was sent: the session of two seconds begins then, not before."""
    told = Told().alone()
    request = told.beats(0, "m")
    told.quiet(1.5).beaten(request)
    history = told.beaten(told.after(seconds).beats(0, "m")).history()
    assert judge(history, Limits(forgives=2.0)).verdict is verdict


@pytest.mark.parametrize(("seconds", "verdict"), [(0.4, Verdict.CONSISTENT), (2.0, Verdict.VIOLATED)])
def test_no_other_order_explains_an_answer_that_never_comes(seconds, verdict):
    """Nor is it taken for later and later, each time within what is forgiven."""
    told = Told().alone()
    told.beats(0, "m")
    history = told.quiet(1.5).quiet(seconds).history()
    assert judge(history, Limits(forgives=2.0)).verdict is verdict


def test_what_is_late_by_several_that_each_may_have_been_is_told_too():
    """Of two delays of a second, one behind the other, nobody can say which was late."""
    told = Told()
    first = told.joins(0, version=3, session=10_000)
    second = told.after(0.5).joins(1, version=3, session=10_000)
    told.after(2.1).hears(told.describes(5), described("PreparingRebalance", "a", "b"))
    told.hears(first, joined("a", 1, ("a", "b"), metadata="of "))
    history = told.hears(second, joined("b", 1, (), leader="a")).history()
    assert judge(history).verdict is Verdict.VIOLATED
    going_on = Judge(history.profile, history.config, history.lateness, Limits(forgives=2.0))
    assert going_on.all(history.events).verdict is Verdict.CONSISTENT
    (one,) = going_on.late
    assert one.what == UNTOLD
    assert 0 < one.seconds <= 2.0


def test_what_is_later_than_that_is_not_forgiven():
    judgement = judge(late(4.0).history(), Limits(forgives=2.0))
    assert judgement.verdict is Verdict.VIOLATED
    assert "is late by" in judgement.why


def test_what_is_no_matter_of_time_is_not_forgiven():
    told = Told().alone()
    told.beaten(told.beats(0, "m"), "REBALANCE_IN_PROGRESS")
    assert judge(told.history(), Limits(forgives=2.0)).verdict is Verdict.VIOLATED


def test_what_is_kept_stays_as_large_as_it_is():
    told, sizes = Told().alone(), []
    going_on = Judge(**_about(told), limits=replace(Limits(), kept=40))
    for event in told.events:
        going_on.see(event)
    for _ in range(300):
        told.events.clear()
        told.beaten(told.after(0.5).beats(0, "m"))
        for event in (*told.events, Quiet(told.now)):
            going_on.see(event)
        sizes.append(going_on.size())
    assert going_on.end().verdict is Verdict.CONSISTENT
    assert max(sizes[200:]) <= max(sizes[50:150])


def _about(told):
    history = told.history()
    return {"profile": history.profile, "config": history.config, "lateness": history.lateness}
