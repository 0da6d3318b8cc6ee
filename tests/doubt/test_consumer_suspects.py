"""Which rule of the consumer protocol is told of a failure: bugs are planted, and their rules are named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.consumer_walk_hunt import grounds
from harness.first_failed import first_failed
from harness.thinned import but
from rota.doubt import suspects
from rota.doubt.consumer import DoubtingConsumers
from rota.doubt.search import _begun, _explained, _Runs
from rota.generate.hunt import walked
from rota.generate.plan import Plan, Silence
from rota.generate.verdicts import Verdict
from rota.linearise import Answered
from rota.mutants.core import consumer_bugs

FOUND = {
    "full-request-untold": "reads otherwise rebalance_timeout_ms",
    "takes-what-others-own": "reads otherwise the group's owners",
    "stranger-fenced": "does not apply where it should",
}
"""Planted bugs -> what is told to be wrong with the rule that they break."""

NEAREST = ("full-request-untold", "takes-what-others-own")
"""Those of them of which another rule is the one by which the answer was due."""


@pytest.mark.parametrize("name", but(["stranger-fenced", "takes-what-others-own"], FOUND))
def test_the_rule_that_is_broken_is_told_first(name):
    """Not the rule by which another answer was due, which is sound."""
    before, after = first_failed(consumer_bugs()[name], grounds(1))
    broken = f"consumer.{consumer_bugs()[name].rule}"
    assert (before.rule != broken) == (name in NEAREST)
    assert after.rule == broken
    assert str(after.suspects[0]) == f"{broken} {FOUND[name]}"
    assert after.suspects[0].whole
    assert len({one.rule for one in after.suspects}) == len(after.suspects)


def short(number, requests):
    """The beginning of a plan of seed 1, played on a sound server."""
    ground = grounds(1)
    plan = ground.plan(number)
    steps = [one for one in plan.steps if not isinstance(one, Silence)][:requests]
    found, _ = walked(Plan(plan.seed, plan.number, tuple(steps), protocol=plan.protocol), None, ground)
    return found


def test_of_a_sound_coordinator_no_rule_is_suspected():
    """What the spec explains needs no mistake."""
    found = short(0, 6)
    assert found.verdict is Verdict.PASS
    assert suspects(found.played.history) == ()


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.long)])
def test_a_mistake_explains_what_it_would_if_all_were_asked_from_the_beginning(every):
    """What it changes nothing of is not asked again: that must not make a difference."""
    whole = short(0, 5).played.history
    history = replace(whole, events=whole.events[:10])
    runs = _Runs(history, DoubtingConsumers(history.consumer.config))
    assert runs.explained == len(runs.events)
    assert len(runs._sound.noted) > 20
    last = max(place for place, one in enumerate(runs.events) if isinstance(one, Answered))
    explained = set()
    for doubt in sorted(runs._sound.noted, key=str)[::every]:
        for always in (True, False):
            found = runs.explained_with(doubt, sound=not always)
            oracle = DoubtingConsumers(history.consumer.config, doubt, sound=not always)
            again = _explained(_begun(history, runs.events, oracle), runs.events, 0)
            assert found == again, (doubt, always)
            explained.add(found)
    assert min(explained) < last, "no mistake would be seen"
