"""What is known of answers before they come leaves fewer states, and changes nothing that is told."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random

import pytest

from harness.altered import altered
from harness.both_judges import plain
from harness.spec_histories import Maker
from harness.told import Told
from rota.linearise import Limits, Verdict, judge
from rota.mutants.core import CoreBug, planted

LIMITS = Limits(grace=0.0, early=0.0, relaxed=0.0, grain=0.0)
EAGER = CoreBug("", "", "", "rota.linearise.judge:Judge._begin_again", "self.run.eager = True", "pass")
JUDGE, COMING = "rota.linearise.judge:Judge.", "rota.linearise.coming:with_what_will_come"


@cache
def histories():
    makers = ((seed, Maker(Random(seed), 3 + seed % 6, offsets=seed % 2 == 1)) for seed in range(500, 560))
    return [altered(maker.history(), Random(seed)) for seed, maker in makers]


def told(history):
    """What a judge says, but for how many states there were."""
    return replace(judge(history, LIMITS), states=0)


@cache
def told_in_time():
    """What is said by who knows nothing of answers that have not come."""
    with planted(EAGER):
        return [told(history) for history in histories()]


def test_the_same_is_told_of_the_same_moment():
    assert {one.verdict for one in told_in_time()} >= {Verdict.CONSISTENT, Verdict.VIOLATED}
    assert [told(history) for history in histories()] == told_in_time()


def asked_behind_one_that_waits():
    """Behind a JoinGroup that waits for the other member the group is described, which is never answered."""
    history = Told().alone(session=6_000)
    history.joins(5, version=3)
    for _ in range(3):
        history.describes(5)
    history.beaten(history.beats(0, "m"), "REBALANCE_IN_PROGRESS")
    history.joins(0, "m", version=3)
    history.after(0.3).beaten(history.beats(3, "m", 2))
    return history.history()


def test_what_never_comes_is_all_the_same():
    found = judge(asked_behind_one_that_waits())
    with planted(EAGER):
        before = judge(asked_behind_one_that_waits())
    assert found.verdict is before.verdict is Verdict.CONSISTENT
    assert found.states < before.states * 2 / 3


PLANTED = (
    ("what came first is not looked for", JUDGE + "_not_yet", "if not self.run.eager:", "if True:"),
    ("no answer matters", COMING, "if seen is None:", "if True:"),
)


@pytest.mark.parametrize(("name", "function", "old", "new"), PLANTED, ids=[one[0] for one in PLANTED])
def test_a_mistake_is_found(name, function, old, new):
    told_in_time()
    with plain(), planted(CoreBug("", name, name, function, old, new)):
        assert [told(history) for history in histories()] != told_in_time()
