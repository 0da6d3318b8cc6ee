"""Starts of the broker that are told: what is judged by them, and how `rota validate` takes them."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

import pytest
from click.testing import CliRunner

from harness import recorded_walks, scenes
from harness.judged_frames import judged, terms_of
from harness.recorded_frames import BEGAN, frames_of, recorded
from harness.recorded_walks import shown_in, starts_of
from harness.walk_hunt import grounds
from rota.cli.validate import validate
from rota.cli.validate_options import TOLD_TO, ValidateOptions
from rota.conformance.dialogues.broker_settings import MAX_SIZE
from rota.generate.settings import broker_config
from rota.history import line_of
from rota.linearise.times import Span
from rota.mutants.core import core_bugs
from rota.spec import KAFKA_4
from rota.validate.terms import LIMITS, Start, Terms

EVERY = 2.0


def started(*moments, **more):
    """Terms by which the broker was started then."""
    config = broker_config(scenes.SETTINGS)
    starts = tuple(Start(Span(BEGAN + at, BEGAN + at + TOLD_TO), config) for at in moments)
    return terms_of(fresh=True, durable=True, starts=starts, **more)


@pytest.mark.parametrize(("moments", "verdict"), [((-9.0,), "holds"), ((-9.0, 1.0), "violated")])
def test_a_group_is_held_to_what_its_coordinator_had_stored(moments, verdict):
    """Of a scene in which nothing was restarted: whoever was not stored yet is gone by a restart."""
    events = recorded(scenes.sessions, "kafka-4.x")
    first = next(one.at for one in events if one.data.get("api") == "SyncGroup") - BEGAN
    account = judged(events, started(*(at if at < 0 else first for at in moments)))
    assert account.verdict == verdict, (account.violations, account.undecided)


@pytest.mark.parametrize("told", [True, False])
def test_what_a_restart_with_other_settings_leaves_is_judged_where_it_is_told(told, caplog):
    """What is planted: a member that is started anew loses its assignment."""
    caplog.set_level(logging.CRITICAL)
    ground = grounds(1, "kafka-4.x")
    recording = shown_in(core_bugs()["restart-loses-the-assignment"], ground, 22)
    frames = frames_of(recording.played)
    starts = starts_of(recording.played.history) if told else ()
    config = broker_config(ground.settings)
    assert len({start.config for start in starts_of(recording.played.history)}) > 1
    account = judged(frames, Terms(KAFKA_4, config, fresh=True, durable=told, starts=starts))
    assert account.verdict == ("violated" if told else "undecided"), account.undecided


def test_looks_come_in_equal_distances_from_the_start_before_the_frames():
    config = broker_config({})
    starts = tuple(Start(Span(at, at + 1.0), config) for at in (10.0, 20.0, 40.0))
    terms = Terms(looks_every=EVERY, starts=starts)
    assert terms.looking(30.0).started == Span(20.0, 21.0)
    assert terms.looking(5.0).started is None
    assert replace(terms, looks_every=None).looking(30.0) is None


def test_starts_are_read_with_what_was_set_by_then():
    given = ("2026-11-23T02:14:07.5,group.max.size=3", "2026-11-23T02:00:00", "2026-11-23T03:00:00")
    first, second, third = ValidateOptions(started=given, settings=("group.max.size=9",), zone="UTC").starts()
    assert [one.config.group_max_size for one in (first, second, third)] == [9, 3, 3]
    assert second.at.earliest - first.at.earliest == 14 * 60 + 7.5
    assert [one.at.latest - one.at.earliest for one in (first, second)] == pytest.approx([1.0, TOLD_TO])


def test_a_timer_that_is_armed_wrongly_shows_where_the_machine_is_known_to_be_quiet():
    """What is planted: a join phase goes on after its end. A newcomer comes 0.1 s before that."""
    ground = grounds(1, "kafka-4.x")
    recording = shown_in(core_bugs()["phase-without-end"], ground, 14)
    frames, quiet = frames_of(recording.played), recorded_walks.terms_of(ground, recording.played.history)
    usual = Terms()
    strict = replace(usual.limits, forgives=0.0)
    assert judged(frames, replace(quiet, limits=strict, lateness=usual.lateness)).verdict == "holds"
    assert judged(frames, quiet).verdict == "violated"


@pytest.mark.parametrize(("prompt", "verdict"), [(True, "violated"), (False, "holds")])
def test_an_answer_that_comes_late_shows_though_it_was_not_quiet_before(prompt, verdict):
    """What is planted: a restart in the first join phase makes that a second longer. Others ask meanwhile."""
    ground = grounds(1, "kafka-4.x")
    recording = shown_in(core_bugs()["restart-extends-the-delay"], ground, 30)
    terms = recorded_walks.terms_of(ground, recording.played.history)
    terms = replace(terms, limits=replace(terms.limits, prompt=prompt))
    assert judged(frames_of(recording.played), terms).verdict == verdict


@pytest.mark.parametrize(
    ("late", "grace", "lateness", "grain"), [(0.15, 0.1, 0.05, 0.05), (0.02, 0, 0.02, 0.02), (0, 0, 0, 0)]
)
def test_what_is_late_at_any_time_is_the_recorders_first(late, grace, lateness, grain):
    options = ValidateOptions(late=late, forgive=1.0)
    limits = options.limits()
    assert (limits.grace, options.lateness, limits.grain) == pytest.approx((grace, lateness, grain))
    assert (limits.forgives, limits.prompt) == (1.0, False)
    assert ValidateOptions(forgive=0.0).limits().prompt
    assert ValidateOptions().limits() == LIMITS
    assert ValidateOptions().lateness == Terms().lateness


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (("--started", "2026-11-23T02:00:00"), "add both"),
        (("--fresh", "--durable", "--started", "yesterday"), "--started"),
        (("--fresh", "--durable", "--started", f"2026-11-23T02:00:00,{MAX_SIZE}=many"), "KEY=NUMBER"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_remedy(given, remedy, tmp_path):
    done = CliRunner().invoke(validate, [str(written(tmp_path)), *given])
    assert done.exit_code == 2
    assert remedy in done.output


def test_the_command_judges_by_them(tmp_path):
    settings = [f"--set={name}={value}" for name, value in scenes.SETTINGS.items()]
    given = [
        str(written(tmp_path)),
        "--fresh",
        "--durable",
        "--started=2027-01-15T07:59:00Z",
        "--json",
        *settings,
    ]
    assert json.loads(CliRunner().invoke(validate, given).stdout)["verdict"] == "holds"


def written(folder):
    """A recording of a scene."""
    path = folder / "scene.jsonl"
    path.write_text("".join(f"{line_of(one)}\n" for one in recorded(scenes.sessions, "kafka-4.x")))
    return path
