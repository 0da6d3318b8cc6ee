"""Which rule is told of a failure: mistakes are planted in the coordinator, and their rules are named."""

from __future__ import annotations

import pytest

from harness.first_failed import first_failed
from harness.seen_bugs import profile_for
from harness.told import Told, committed, fetched
from harness.walk_hunt import grounds
from rota.doubt import suspects
from rota.doubt.doubting import Doubting, _Doubted
from rota.doubt.mistakes import Doubt, Mistake, likelihood
from rota.doubt.search import _begun, _explained, _Runs
from rota.generate.hunt import walked
from rota.generate.plan import Plan
from rota.generate.verdicts import Verdict
from rota.mutants.core import core_bugs

FOUND = {
    "static-newcomer-shakes-hands": "does not apply where it should",
    "one-supporter-is-enough": "decides otherwise",
}
"""Planted bugs of which the rule is not the one by which the answer was due -> what is told to be wrong."""


@pytest.mark.parametrize("name", FOUND)
def test_the_rule_that_is_broken_is_told_first(name):
    """Not the rule by which another answer was due, which is sound."""
    bug = core_bugs()[name]
    before, after = first_failed(bug, grounds(1, profile_for(bug)))
    broken = bug.rule
    assert before.rule != broken
    assert after.rule == broken
    assert str(after.suspects[0]) == f"{broken} {FOUND[name]}"
    assert after.suspects[0].always
    assert after.suspects[0].whole
    assert len(after.played.plan.steps) < len(before.played.plan.steps)
    assert len({one.rule for one in after.suspects}) == len(after.suspects)


def test_of_a_sound_coordinator_no_rule_is_suspected():
    """What the spec explains needs no mistake."""
    ground = grounds(1, "kafka-4.x")
    plan = ground.plan(0)
    found, _ = walked(Plan(plan.seed, plan.number, plan.steps[:4]), None, ground)
    assert found.verdict is Verdict.PASS
    assert suspects(found.played.history) == ()


def test_a_mistake_in_what_leaves_expired_offsets_is_looked_into():
    """The rule by which a look passes them over may be the one that is wrong: then none passes them over."""
    history = Told(looks_every=2.0).alone(session=20_000)
    history.hears(history.commits(0, "t", member=("m", 1), kept_ms=100), committed("t")).after(3.0)
    history.hears(history.fetches(1, "t"), fetched(t=-1))
    assert "offsets.stored" in {one.rule for one in suspects(history.history()) if one.whole}


def test_what_says_more_is_likelier():
    """A rule that is left out says more than one that may answer anything; always more than at times."""
    passed, answered = (Doubt("heartbeat.alive", one) for one in (Mistake.PASSED, Mistake.ANSWERED))
    kinds = [(passed, True), (passed, False), (answered, True), (answered, False)]
    assert sorted(kinds, key=lambda one: likelihood(*one)) == kinds


def test_a_rule_that_is_in_doubt_at_times_may_be_sound():
    """Both outcomes are possible then, the spec's own first."""
    ground = grounds(1, "kafka-4.x")
    found, _ = walked(Plan(1, 10, ground.plan(10).steps[:4]), None, ground)
    call = next(one.call for one in found.played.history.events if hasattr(one, "call"))
    profile, config = found.played.history.profile, found.played.history.config
    sound = Doubting(config, profile, None, sound=True)
    steps = sound.outcomes(lambda spec: spec.handle(None, call))
    doubt = next(one for one in sorted(sound.noted, key=str) if one.mistake is Mistake.UNANSWERED)
    wrong = Doubting(config, profile, doubt, sound=False).outcomes(lambda spec: spec.handle(None, call))
    both = Doubting(config, profile, doubt, sound=True).outcomes(lambda spec: spec.handle(None, call))
    assert both == (*steps, *wrong)
    assert [step.replies for step in wrong] == [()]


def test_a_mistake_explains_what_it_would_if_all_were_asked_from_the_beginning(monkeypatch):
    """What it changes nothing of is not asked again, and much less is asked."""
    asked = [0]
    of_rule = _Doubted._of_rule

    def counted(spec, slug, inputs):
        asked[0] += 1
        return of_rule(spec, slug, inputs)

    monkeypatch.setattr(_Doubted, "_of_rule", counted)
    told = Told().alone()
    history = told.beaten(told.beats(0, "m"), "UNKNOWN_MEMBER_ID").history()
    sound = Doubting(history.config, history.profile, None, sound=True)
    runs = _Runs(history, sound)
    assert runs.explained == len(runs.events) - 1
    tried = [(doubt, always) for doubt in sorted(sound.noted, key=str) for always in (True, False)]
    asked[0] = 0
    found = [runs.explained_with(doubt, sound=not always) for doubt, always in tried]
    again, asked[0] = asked[0], 0
    for (doubt, always), explained in zip(tried, found, strict=True):
        oracle = Doubting(history.config, history.profile, doubt, sound=not always)
        assert _explained(_begun(history, runs.events, oracle), runs.events, 0) == explained, doubt
    assert len(runs.events) in found
    assert again < asked[0] / 2
