"""Walks in which the coordinator is started anew, recorded: sound ones hold, and planted bugs do not."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import lru_cache

import pytest
from msgspec import structs

from harness import recorded_walks
from harness.judged_frames import judged
from harness.recorded_frames import frames_of
from harness.recorded_walks import recordings, starts_of
from harness.walk_hunt import grounds
from rota.generate.hunt import trial
from rota.generate.settings import broker_config
from rota.history import Kind
from rota.mutants.core import core_bugs
from rota.spec import PROFILES
from rota.validate.settings import JUDGED_BY
from rota.validate.terms import Terms, looks_every

MOST_UNDECIDED = 0.01
"""The part of events that may be undecided."""


def terms_of(ground, durable=True):
    """By what recordings of walks are judged where nothing is lost."""
    config, every = broker_config(ground.settings), looks_every(ground.settings)
    return Terms(PROFILES[ground.profile], config, fresh=True, durable=durable, looks_every=every)


@lru_cache(maxsize=2)
def sound_and_restarted(ground, walks):
    """The frames of those of the first walks of a seed in which the server is started anew, set as before."""
    return dict(_sound_and_restarted(ground, walks))


def _sound_and_restarted(ground, walks):
    config = broker_config(ground.settings)
    for number in range(walks):
        played = trial(ground.plan(number), ground.settings, ground.profile).played
        if played.history.restarts and as_before(played.history, config):
            yield number, frames_of(played)


def as_before(history, config):
    """Whether every restart has left the settings as they were."""
    return {start.config for start in starts_of(history)} == {config}


def hold(ground, walks, least):
    """Asserts that no violation is told of walks that were restarted, of which there are so many at least."""
    accounts = {
        number: judged(frames, terms_of(ground))
        for number, frames in sound_and_restarted(ground, walks).items()
    }
    assert len(accounts) >= least
    assert {number: one.violations for number, one in accounts.items() if one.found} == {}
    undecided = sum(sum(one.undecided.values()) for one in accounts.values())
    assert undecided <= MOST_UNDECIDED * sum(one.events for one in accounts.values())


@pytest.mark.parametrize("profile", ["rota", "kafka-4.x"])
def test_sound_walks_with_restarts_are_no_violation(profile):
    hold(grounds(1, profile), walks=25, least=3)


def test_restarts_explain_what_nothing_else_does():
    """Were the same connections ended by their clients, some of it were a violation."""
    ground, verdicts = grounds(1, "kafka-4.x"), []
    for frames in sound_and_restarted(ground, 25).values():
        said = [
            structs.replace(one, reason="closed by the client") if one.kind is Kind.CLOSED else one
            for one in frames
        ]
        verdicts.append(judged(said, terms_of(ground)).verdict)
    assert "violated" in verdicts


def told_as_violations(ground, walks):
    """Those of some walks of a sound server, and their violations, by whoever knows when it was started and
    with what, and that nothing was late."""
    found = {}
    for number in walks:
        played = trial(ground.plan(number), ground.settings, ground.profile).played
        if (account := judged(frames_of(played), recorded_walks.terms_of(ground, played.history))).found:
            found[number] = account.violations
    return found


@pytest.mark.parametrize("transactional", [False, True])
@pytest.mark.parametrize("profile", ["rota", "kafka-4.x"])
def test_sound_walks_are_no_violation_to_who_knows_when_their_broker_was_started(profile, transactional):
    """Of all but one it was started anew meanwhile, with other settings too."""
    assert told_as_violations(grounds(1, profile, transactional), (0, 3, 6, 10)) == {}


@pytest.mark.long
@pytest.mark.parametrize("transactional", [False, True])
@pytest.mark.parametrize("profile", ["kafka-4.x", "rota"])
def test_sound_walks_are_no_violation_to_who_knows_that_in_many(profile, transactional):
    assert told_as_violations(grounds(1, profile, transactional), range(100)) == {}


@pytest.mark.long
@pytest.mark.parametrize("profile", ["kafka-4.x", "rota"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sound_walks_with_restarts_are_no_violation_in_many(profile, seed):
    hold(grounds(seed, profile), walks=200, least=20)


def test_what_a_log_did_not_lose_is_a_violation_only_if_nothing_is_lost(caplog):
    """What is planted: a group that has become empty is not stored. After a restart its members are back."""
    ground, config = grounds(1, "kafka-4.x"), broker_config(grounds(1, "kafka-4.x").settings)
    caplog.set_level(logging.CRITICAL)
    found = recordings(core_bugs()["empty-group-unrecorded"], ground, walks=40)
    shown = next(
        one for one in found if {start.config for start in starts_of(one.played.history)} == {config}
    )
    frames = frames_of(shown.played)
    assert judged(frames, terms_of(ground)).verdict == "violated"
    assert judged(frames, terms_of(ground, durable=False)).verdict == "undecided"
    sound = trial(ground.plan(shown.plan), ground.settings, ground.profile).played
    assert judged(frames_of(sound), terms_of(ground)).verdict == "holds"


@pytest.mark.parametrize("plan", [0, 6, 14])
def test_sound_walks_that_are_judged_from_the_middle_are_no_violation(plan):
    """An Empty group goes whose offsets were deleted; the coordinator is started anew with another
    group.max.size; a static member joins again by its member id alone."""
    ground = grounds(1, "kafka-4.x")
    played = trial(ground.plan(plan), ground.settings, ground.profile).played
    terms = replace(terms_of(ground), fresh=False, durable=False)
    assert not judged(frames_of(played), terms).found


def with_nothing_given(plan):
    """What is said of a sound walk by Kafka's defaults, which its broker does not run with."""
    ground = grounds(1, "kafka-4.x")
    played = trial(ground.plan(plan), ground.settings, ground.profile).played
    terms = Terms(PROFILES[ground.profile], fresh=True, assumed=frozenset(JUDGED_BY))
    return judged(frames_of(played), terms)


@pytest.mark.parametrize("plan", [1, 5, 6, 21])
def test_sound_walks_are_no_violation_where_no_setting_is_given(plan):
    """A JoinGroup that waits is as well one that is not refused for its session; also where it is answered
    before anybody looks.
    """
    account = with_nothing_given(plan)
    assert not account.found, account.violations
    assert any("nobody gave" in cause for _, cause in account.undecided)


@pytest.mark.long
def test_many_sound_walks_are_no_violation_where_no_setting_is_given():
    assert [plan for plan in range(100) if with_nothing_given(plan).found] == []
