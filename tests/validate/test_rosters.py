"""A judgement begins where somebody tells who is in a group, and a heartbeat the rest."""

from __future__ import annotations

from functools import cache
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.judged_frames import judged, terms_of
from harness.recorded_frames import BEGAN, recorded
from rota.generate import virtual
from rota.generate.cast import TOPICS
from rota.history import Event, Kind, Source
from rota.mutants.core import core_bugs, planted
from rota.offsets_topic.records import Place, event_of
from rota.server.stored_records import entries_of
from rota.spec import HeartbeatRequest, SyncGroupRequest
from rota.spec.offset_messages import OffsetCommitPartition, OffsetCommitRequest, OffsetCommitTopic
from rota.validate.reasons import BEFORE, UNTOLD
from rota.wire.records import Record

PROFILES = ("rota", "kafka-4.x")


async def in_generation(scene):
    """Two members live in a generation; others, and they themselves, ask what is refused."""
    await scene.stable("a", "b", session=9_000, rebalance=2_000)
    for _ in range(2):
        await scene.silence(1.0)
        await scene.beat("a", "b")
    await scene.look()
    await scene.silence(0.5)
    await scene.beat("a", "b")
    await scene.silence(0.5)
    await _ask_oddly(scene)
    for _ in range(3):
        await scene.silence(2.5)
        await scene.beat("a", "b")
    await scene.leave("b")
    await scene.silence(0.5)
    await scene.beat("a")
    await scene.look()
    await scene.join("a", session=9_000)
    await scene.silence(0.5)
    await scene.sync("a", leads="a")
    await scene.silence(0.5)
    await scene.look()


async def _ask_oddly(scene):
    where, generation = scene.stage.group_id, scene.generation
    await scene.beat("a", ahead=1)
    await scene.ask("z", HeartbeatRequest(where, generation + 7, "nobody"), 4)
    await scene.ask("b", SyncGroupRequest(where, generation + 1, scene.ids["b"]), 4)
    topics = (OffsetCommitTopic(TOPICS[0], (OffsetCommitPartition(0, 5),)),)
    for number, member in ((generation, scene.ids["a"]), (generation - 1, scene.ids["b"]), (generation, "")):
        await scene.ask("c", OffsetCommitRequest(where, topics, number, member), 8)


async def silent_member(scene):
    """A member falls silent after it was described, so that its session runs out."""
    await scene.stable("a", "b", session=3_000, rebalance=2_000)
    await scene.beat("a", "b")
    await scene.silence(0.5)
    await scene.look()
    for _ in range(5):
        await scene.silence(1.0)
        await scene.beat("a")
    await scene.look()


SCENES = (in_generation, silent_member)

FOUND = (
    "generation-before-member-in-heartbeat",
    "future-generation-accepted",
    "old-generations-commit",
    "nameless-commits-taken",
)
"""Bugs of the coordinator that show while a group is Stable."""


def of_both(scene, profile, bug=None):
    """The frames of a scene, and what the coordinator's log was given of its group, as events."""
    given_to_log = []

    class Log(virtual._Log):
        def append(self, append):
            for key, value in entries_of(append).entries:
                event = event_of(Record(len(given_to_log), 0, key, value), Place("topic"))
                given_to_log.append(replace(event, at=BEGAN + self._loop.time()))
            super().append(append)

    with patch.object(virtual, "_Log", Log):
        if bug is None:
            frames = recorded(scene, profile)
        else:
            with planted(core_bugs()[bug]):
                frames = recorded(scene, profile)
    return frames, [one for one in given_to_log if one.kind is Kind.GROUP_STORED]


@cache
def sound(scene, profile):
    """What a sound coordinator says and stores."""
    return of_both(scene, profile)


def from_description(frames):
    """From the first heartbeat on; later the group is described."""
    return frames[_place(frames, "Heartbeat") :]


def from_record(frames, records):
    """The record of the generation, and from the first heartbeat on."""
    since = _place(frames, "Heartbeat")
    return [records[_last_before(records, frames[since].at)], *frames[since:]]


def _last_before(records, at):
    return max(place for place, one in enumerate(records) if one.at <= at)


def _place(frames, api):
    return next(place for place, one in enumerate(frames) if one.data.get("api") == api)


BEGINNINGS = {
    "description": lambda frames, _: from_description(frames),
    "record": from_record,
}


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_what_follows_is_judged_and_holds(scene, profile, beginning):
    events = BEGINNINGS[beginning](*sound(scene, profile))
    account = judged(events, terms_of(profile))
    assert account.verdict == "holds", account.violations or account.undecided
    assert account.judged >= 10
    assert account.not_checked[BEFORE, "frames"] > 0


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("name", FOUND)
def test_a_bug_that_shows_afterwards_is_found(name, beginning):
    bug = core_bugs()[name]
    profile = "rota" if bug.mended else "kafka-4.x"
    events = BEGINNINGS[beginning](*of_both(in_generation, profile, name))
    account = judged(events, terms_of(profile))
    assert account.verdict == "violated"
    assert {one.line for one in account.violations} <= {one.origin for one in events}


def test_without_either_nothing_is_judged_before_the_next_generation():
    frames, _ = sound(in_generation, "kafka-4.x")
    left = frames[_place(frames, "Heartbeat") : _place(frames, "DescribeGroups")]
    assert judged(left, terms_of()).judged == 0


def test_what_rests_on_members_lists_is_not_checked():
    frames, _ = sound(in_generation, "kafka-4.x")
    account = judged(from_description(frames), terms_of())
    assert account.not_checked[UNTOLD, "frames"] > 0


@pytest.mark.parametrize("change", ["another generation", "another member", "nothing told"])
def test_a_record_that_is_not_of_the_generation_tells_nothing(change):
    frames, records = sound(in_generation, "kafka-4.x")
    since = _place(frames, "Heartbeat")
    record = records[_last_before(records, frames[since].at)]
    if change == "another generation":
        record = replace(record, generation=record.generation + 1)
    elif change == "another member":
        members = [{**one, "member": f"other{n}"} for n, one in enumerate(record.data["members"])]
        record = replace(record, member="other0", data={**record.data, "members": members})
    else:
        record = replace(record, member="", data={**record.data, "members": [], "protocol": ""})
    until = _place(frames, "DescribeGroups")
    account = judged([record, *frames[since:until]], terms_of())
    assert account.judged == 1  # the record, by the audit of the topic
    assert not account.found


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_worse_recording_with_records_is_never_a_violation(data):
    """Cut anywhere, with a gap, and by a log whose clock is wrong."""
    frames, records = sound(data.draw(st.sampled_from(SCENES)), data.draw(st.sampled_from(PROFILES)))
    first = data.draw(st.integers(0, len(frames) - 1))
    skew = data.draw(st.sampled_from((0.0, -30.0, -1.0, -0.05, 0.05, 1.0, 3.0)))
    events = [*frames[first:], *(replace(one, at=one.at + skew) for one in records)]
    if data.draw(st.booleans()):
        events.append(_gap(data.draw(st.sampled_from(frames)).at))
    events.sort(key=lambda one: one.at)
    account = judged(events, terms_of())
    frames_found = [one for one in account.violations if one.source == "frames"]
    assert not frames_found, frames_found


def _gap(at):
    return Event(at, Source.FRAMES, "gap", Kind.GAP, reason="packets were lost", data={})
