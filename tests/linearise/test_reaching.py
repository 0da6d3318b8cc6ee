"""Where much is under way the order of sending is looked at first, and what it does not explain is looked at
as before."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from harness.altered import altered
from harness.spec_histories import Maker
from harness.told import Told, joined, left
from rota.linearise import Judge, Limits, Quiet, Verdict, judge
from rota.linearise.judgement import Judgement
from rota.linearise.reaching import Reaching
from rota.mutants.core import CoreBug, planted
from rota.spec import KAFKA_4, ROTA, ErrorCode, MemberAssignment, SyncGroupReply, SyncGroupRequest

NARROW = Limits(narrow=True)

AT_ONCE = 40
"""States at once that a group of any size has here, where it is looked at as requests were sent."""


@pytest.fixture
def in_no_hurry(monkeypatch):
    monkeypatch.setattr(Reaching, "hurries", False)


def syncs(told, connection, member, leader, members):
    shares = tuple(MemberAssignment(one, one.encode()) for one in members) if member == leader else ()
    return told.sends(connection, SyncGroupRequest("g", 1, member, shares, "consumer", "range"), 5)


def crowd(number, wrong="", leader_last=True):
    """So many members who are told of a generation, sync at once, its leader last or first, and beat. wrong:
    the share that the leader gets."""
    told = Told(KAFKA_4)
    names = [f"m{place:02}" for place in range(number)]
    numbers = [told.joins(place, version=3) for place in range(number)]
    told.after(2.2)
    for place, one in enumerate(numbers):
        members = () if place else names
        told.hears(one, joined(names[place], 1, members, names[0], metadata="of "), after=0.0)
    told.after(0.001)
    places = reversed(range(number)) if leader_last else range(number)
    numbers = {place: syncs(told, place, names[place], names[0], names) for place in places}
    told.after(0.001)
    for place, one in numbers.items():
        share = wrong if wrong and not place else names[place]
        told.hears(one, SyncGroupReply(ErrorCode.NONE, "consumer", "range", share.encode()), after=0.0)
    for place, name in enumerate(names):
        told.after(0.001).beaten(told.beats(place, name))
    return told.quiet(0.1).history()


def test_many_who_sync_at_once_are_few_states():
    for number in (8, 16, 24):
        found = judge(crowd(number), NARROW)
        assert found.verdict is Verdict.CONSISTENT
        assert found.states <= AT_ONCE + number


def test_when_the_log_answers_is_not_looked_at_for_each_who_syncs_meanwhile():
    """Before the answers it may have answered after any of them."""
    found = Judge(KAFKA_4, crowd(1).config, 0.05, NARROW)
    most = 0
    for event in crowd(4, leader_last=False).events:
        found.see(event)
        found.see(Quiet(event.at))  # so that it is looked at
        if isinstance(getattr(event, "reply", None), SyncGroupReply):
            most = max(most, len(found.run.states))
    assert found.end().verdict is Verdict.CONSISTENT
    assert most == 1


@pytest.mark.usefixtures("in_no_hurry")
def test_looked_at_in_all_orders_they_are_too_many():
    assert judge(crowd(16), NARROW).states > 1_000


def overtaken(error="NONE"):
    """A heartbeat that was sent after a LeaveGroup is answered as if it had been taken before."""
    told = Told(KAFKA_4).alone()
    leaving = told.leaves(1, "m")
    beating = told.after(0.001).beats(0, "m")
    told.beaten(beating, error).hears(leaving, left("m"))
    return told.quiet(0.1).history()


def test_where_another_order_explains_it_the_judge_goes_back():
    assert judge(overtaken(), NARROW).verdict is Verdict.CONSISTENT
    assert judge(overtaken("UNKNOWN_MEMBER_ID"), NARROW).verdict is Verdict.CONSISTENT


def test_what_no_order_explains_is_violated_as_before():
    for history, number in (overtaken("ILLEGAL_GENERATION"), 4), (crowd(4, wrong="odd"), 7):
        found = judge(history, NARROW)
        assert (found.verdict, found.at.number) == (Verdict.VIOLATED, number)


def joined_meanwhile():
    """Somebody joins while the leader's assignments are being stored: it is told to join again."""
    told = Told(KAFKA_4)
    number = told.joins(0, version=3)
    told.after(2.2).hears(number, joined("m", 1, ("m",), metadata="of "))
    number = syncs(told, 0, "m", "m", ("m",))
    told.after(0.001).joins(1, version=3)
    told.hears(number, SyncGroupReply(ErrorCode.REBALANCE_IN_PROGRESS, None, None, b""))
    return told.quiet(0.1).history()


def test_a_log_that_is_slow_is_looked_for_at_once():
    """It is still the order of sending: not all orders are looked at for that."""
    history = joined_meanwhile()
    found = Judge(history.profile, history.config, history.lateness, NARROW)
    for event in history.events:
        found.see(event)
    assert found.end().verdict is Verdict.CONSISTENT
    assert found.run.hurried
    assert found.run.hurries


def made(seed):
    """A history of the spec's own, with quiet moments; two in three have something changed."""
    history = Maker(Random(seed), 4 + seed % 14, KAFKA_4 if seed % 2 else ROTA).history()
    history = altered(history, Random(seed)) if seed % 3 else history
    events = [one for event in history.events for one in (event, Quiet(event.at))]
    return history.__class__(**{**vars(history), "events": tuple(events)}) if seed % 5 else history


def both(seed) -> tuple[Judgement, Judgement]:
    """What is said in a hurry, and without."""
    hurried = judge(made(seed), NARROW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reaching, "hurries", False)
        return hurried, judge(made(seed), NARROW)


def test_no_verdict_is_another_in_a_hurry():
    verdicts = Counter()
    for seed in range(2_000, 2_024):
        hurried, slow = both(seed)
        assert hurried.verdict is slow.verdict, f"seed {seed}"
        assert (hurried.at, hurried.nearest) == (slow.at, slow.nearest), f"seed {seed}"
        verdicts[slow.verdict] += 1
    assert verdicts[Verdict.CONSISTENT] > 4
    assert verdicts[Verdict.VIOLATED] > 4


REACHING, JUDGE = "rota.linearise.reaching:", "rota.linearise.judge:Judge."

BUGS = (
    ("what was left out in a hurry is lost", JUDGE + "_in_no_hurry", "if not self.run.hurried:", "if True:"),
    ("the hurry goes on", JUDGE + "_in_no_hurry", "= self._next_base.hurries = False", "= True"),
    ("who was left out is not looked for", REACHING + "Reaching._reachable", "self.hurried = True", "True"),
    ("what was left out says something", JUDGE + "_in_no_hurry", "return left", "return True"),
    ("a log is never slow", REACHING + "Reaching._in_a_hurry", "self._will_do(found, now)", "True"),
    ("a log is never quick", REACHING + "Reaching._in_a_hurry", "self._stores_first = True", "pass"),
    ("all orders are looked at", REACHING + "Reaching._reachable", "self._width = 1", "self._width = None"),
)

CHECKS = (
    test_many_who_sync_at_once_are_few_states,
    test_where_another_order_explains_it_the_judge_goes_back,
    test_what_no_order_explains_is_violated_as_before,
    test_a_log_that_is_slow_is_looked_for_at_once,
    test_when_the_log_answers_is_not_looked_at_for_each_who_syncs_meanwhile,
)


@pytest.mark.parametrize(("name", "function", "old", "new"), BUGS, ids=[one[0] for one in BUGS])
def test_what_is_planted_is_found(name, function, old, new):
    failed = []
    with planted(CoreBug("", name, name, function, old, new)):
        for check in CHECKS:
            try:
                check()
            except Exception as error:
                failed.append(error)
    assert failed
