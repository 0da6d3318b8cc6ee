"""The judge of histories and one that tries everything say the same, of sound histories and of altered."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from harness.altered import altered
from harness.brute_judge import brute
from harness.spec_histories import GRID, Maker
from rota.linearise import History, Judge, Limits, Verdict, judge
from rota.spec import KAFKA_4, PROFILES, ROTA

LIMITS = Limits(grace=0.0, early=0.0, relaxed=0.0, grain=0.0)
"""Those of the histories' own coordinator: it is as late as the history says, and never early."""


def made(seed: int, requests: int = 0, profile=ROTA) -> History:
    """A history of the spec's own, of up to eight requests; offsets in every other one."""
    return Maker(Random(seed), requests or 3 + seed % 6, profile, offsets=seed % 2 == 1).history()


@pytest.mark.parametrize("part", range(4))
def test_what_the_spec_does_is_consistent(part):
    for seed in range(20 * part, 20 * part + 20):
        history = made(seed)
        judgement = judge(history, LIMITS)
        assert judgement.verdict is Verdict.CONSISTENT, f"seed {seed}: {judgement.why}"
        assert brute(history, GRID, GRID)
        assert judgement.reached


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_so_it_is_with_every_profile(profile):
    for seed in range(400, 412):
        judgement = judge(made(seed, profile=PROFILES[profile]), LIMITS)
        assert judgement.verdict is Verdict.CONSISTENT, f"seed {seed}: {judgement.why}"


def test_long_histories_are_consistent():
    for seed in range(500, 504):
        judgement = judge(made(seed, requests=30, profile=KAFKA_4), LIMITS)
        assert judgement.verdict is Verdict.CONSISTENT, f"seed {seed}: {judgement.why}"


def test_of_altered_histories_both_say_the_same():
    said = Counter()
    for seed in range(100, 220):
        history = altered(made(seed), Random(seed))
        verdict = judge(history, LIMITS).verdict
        said[verdict] += 1
        if verdict is not Verdict.UNDECIDED:
            assert (verdict is Verdict.CONSISTENT) == brute(history, GRID, GRID), f"seed {seed}"
    assert said[Verdict.VIOLATED] > 60
    assert said[Verdict.CONSISTENT] > 20
    assert said[Verdict.UNDECIDED] < 3


def test_a_grain_only_forgives():
    for seed in range(100, 160):
        history = altered(made(seed), Random(seed))
        verdict = judge(history, replace(LIMITS, grain=0.4)).verdict
        assert verdict is not Verdict.VIOLATED or not brute(history, GRID, GRID), f"seed {seed}"


def test_event_by_event_the_judge_says_the_same():
    for seed in range(100, 140):
        history = altered(made(seed), Random(seed))
        whole = judge(history, LIMITS)
        going_on = Judge(history.profile, history.config, history.lateness, LIMITS)
        for event in history.events:
            going_on.see(event)
        assert going_on.end().verdict is whole.verdict, f"seed {seed}"
