"""Recordings of rota's server in virtual time are judged: whole, cut, with gaps, of many members."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from harness import scenes
from harness.judged_frames import judged, shifted, terms_of, with_a_gap
from harness.recorded_frames import recorded
from rota.conformance.targets.target import DEFAULTS
from rota.history import Kind
from rota.mutants.core import core_bugs, planted
from rota.record.dialogue import ANSWERED_AGAIN
from rota.validate.account import Account
from rota.validate.frames import codes_of
from rota.validate.groups import Watched
from rota.validate.reasons import BEFORE
from rota.validate.recordings import Recordings
from rota.validate.routing import UNASKED
from rota.validate.terms import LIMITS, Terms

PROFILES = ("rota", "kafka-4.x")
NAMES = [scene.__name__ for scene in scenes.SCENES]

FOUND = {
    "described-while-rebalancing": "late_members",
    "unchanged-join-not-parked": "late_members",
    "only-names-compared": "rejoining",
    "generation-before-member-in-heartbeat": "sessions",
    "rejoin-told-while-completing": "newcomers",
    "restart-rebalances": "silences",
}
"""Bug of the coordinator → the scene in whose answers it shows."""


@cache
def frames(name, profile):
    """A scene's frames."""
    return recorded(getattr(scenes, name), profile)


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", NAMES)
def test_a_sound_recording_holds(name, profile, fresh):
    events = frames(name, profile)
    account = judged(events, terms_of(profile, fresh=fresh))
    assert account.verdict == "holds", account.violations or account.undecided
    assert account.judged >= 0.5 * len(events)


KAFKAS = Terms(fresh=True)
"""By Kafka's defaults, which the server of the scenes does not run with."""


@pytest.mark.parametrize("name", NAMES)
def test_what_rests_on_a_setting_that_nobody_gave_is_no_violation(name):
    """Nobody knows whether the broker runs with it, and what says so names it."""
    assumed = replace(KAFKAS, assumed=frozenset(DEFAULTS))
    account = judged(frames(name, "kafka-4.x"), assumed)
    assert account.verdict != "violated", account.violations
    assert all("nobody gave" in cause for _, cause in account.undecided)


def test_what_rests_on_a_setting_that_was_given_is_a_violation():
    assert {judged(frames(name, "kafka-4.x"), KAFKAS).verdict for name in NAMES} >= {"violated"}


@pytest.mark.parametrize("name", FOUND)
def test_a_bug_that_shows_in_answers_is_found(name):
    bug = core_bugs()[name]
    profile = "rota" if bug.mended else "kafka-4.x"
    with planted(bug):
        events = recorded(getattr(scenes, FOUND[name]), profile)
    account = judged(events, terms_of(profile))
    assert account.verdict == "violated"
    violation = account.violations[0]
    assert violation.line in {event.origin for event in events}
    assert violation.dialogue
    assert violation.why


def test_the_same_bugs_do_not_show_where_nothing_is_planted():
    for name, scene in FOUND.items():
        profile = "rota" if core_bugs()[name].mended else "kafka-4.x"
        assert judged(frames(scene, profile), terms_of(profile)).verdict == "holds", name


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_worse_recording_is_never_a_violation(data):
    name, profile = data.draw(st.sampled_from(NAMES)), data.draw(st.sampled_from(PROFILES))
    events = frames(name, profile)
    first = data.draw(st.integers(0, len(events) - 1))
    last = data.draw(st.integers(first, len(events)))
    events = events[first:last]
    if events and data.draw(st.booleans()):
        connection = data.draw(st.sampled_from(sorted({one.data["connection"] for one in events})))
        events = with_a_gap(
            events, connection, *sorted((data.draw(_places(events)), data.draw(_places(events))))
        )
    account = judged(shifted(events, data.draw(st.sampled_from((-1e6, 0.0, 3.5)))), terms_of(profile))
    assert not account.found, account.violations


def _places(events):
    return st.integers(0, len(events))


def test_a_recording_that_begins_in_the_middle_is_judged_from_the_next_generation():
    events = frames("rejoining", "kafka-4.x")
    late = next(place for place, event in enumerate(events) if event.data.get("api") == "SyncGroup")
    account = judged(events[late:], terms_of())
    assert account.verdict == "holds"
    assert account.judged > 10
    assert account.not_checked[BEFORE, "frames"] > 0


def test_an_answer_without_its_request_is_not_checked():
    events = frames("sessions", "kafka-4.x")
    answer = next(place for place, event in enumerate(events) if event.kind is Kind.RESPONSE)
    assert judged(events[answer:], terms_of()).not_checked[UNASKED, "frames"] == 1


def test_a_gap_makes_what_follows_undecided_until_the_state_is_told_again():
    events = frames("rejoining", "kafka-4.x")
    connection = events[10].data["connection"]
    account = judged(with_a_gap(events, connection, 20, 24), terms_of(fresh=True))
    assert account.verdict == "undecided"
    assert {cause for _, cause in account.undecided} == {"frames are missing: packets were lost"}


def test_a_frame_that_cannot_be_read_is_quarantined():
    events = list(frames("sessions", "kafka-4.x"))
    place = next(place for place, event in enumerate(events) if event.kind is Kind.RESPONSE)
    data = {**events[place].data, "fields": {"nothing": 1}}
    events[place] = structs.replace(events[place], data=data)
    account = judged(events, terms_of())
    assert account.quarantined == 1
    assert not account.found


@pytest.mark.parametrize("place", ["asked", "answered"])
def test_a_defect_in_judging_is_not_taken_for_a_frame_that_cannot_be_read(place, monkeypatch):
    def wrong(*_, **__):
        raise KeyError("a defect of ours")

    monkeypatch.setattr(Watched, place, wrong)
    with pytest.raises(KeyError, match="of ours"):
        judged(frames("sessions", "kafka-4.x"), terms_of())


@pytest.mark.parametrize(("group", "violations"), [("", 1), ("another", 0)])
def test_a_request_that_is_answered_twice_is_a_violation_where_its_group_is_asked_for(group, violations):
    events = list(frames("sessions", "kafka-4.x"))
    place = next(place for place, event in enumerate(events) if event.kind is Kind.RESPONSE)
    again = structs.replace(events[place], kind=Kind.UNREAD, reason=ANSWERED_AGAIN, origin="again#1")
    text = {**again.data, "text": "JoinGroup v9"}
    account = judged(
        [*events[: place + 1], structs.replace(again, data=text), *events[place + 1 :]], terms_of(group=group)
    )
    assert [(one.rule, one.line) for one in account.violations] == [("wire.answers", "again#1")] * violations


@pytest.mark.parametrize("seconds", [-0.7, 0.0, 2.5])
def test_recorders_whose_clocks_differ_never_make_a_violation(seconds):
    for name in NAMES:
        events = frames(name, "kafka-4.x")
        first = events[0].data["connection"]
        other = [
            structs.replace(one, at=one.at + seconds, origin=f"other{one.origin}")
            for one in events
            if one.data["connection"] != first
        ]
        both = [*(one for one in events if one.data["connection"] == first), *other]
        account = judged(sorted(both, key=lambda one: one.at), terms_of())
        assert not account.found, account.violations
        assert seconds or account.verdict == "holds"


def test_members_who_are_not_in_the_source_explain_what_they_do():
    events = frames("late_members", "kafka-4.x")
    unseen = ord("c")
    account = judged([one for one in events if one.data["connection"] != unseen], terms_of())
    assert not account.found


def test_an_error_that_offsets_are_never_told_with_is_a_violation_without_them():
    """What was committed before is not known, and no answer to it can be this one."""
    events = list(frames("offsets", "kafka-4.x"))
    place = next(
        place
        for place, one in enumerate(events)
        if one.data.get("api") == "OffsetFetch" and one.kind is Kind.RESPONSE
    )
    assert judged(events[: place + 1], terms_of()).found == 0
    fields = {**events[place].data["fields"], "error_code": 69}
    events[place] = structs.replace(events[place], data={**events[place].data, "fields": fields})
    account = judged(events[: place + 1], terms_of())
    assert account.verdict == "violated"
    assert "GROUP_ID_NOT_FOUND, which no rule gives" in account.violations[0].why


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [
        ("closed by the client", "violated"),
        ("the client is lost: reset", "violated"),
        ("closed by the broker", "undecided"),
        ("the broker is lost: reset", "undecided"),
        ("", "undecided"),
    ],
)
def test_only_a_broker_that_ends_all_connections_may_have_been_started_anew(reason, verdict):
    with planted(core_bugs()["generation-before-member-in-heartbeat"]):
        events = recorded(scenes.sessions, "kafka-4.x")
    last = next(place for place, one in enumerate(events) if one.data.get("api") == "DescribeGroups")
    before = events[:last]
    numbers = {one.data["connection"] for one in before} | {9}
    beat = [one for one in before if one.data.get("api") == "Heartbeat"][-2:]
    extra = [structs.replace(one, data={**one.data, "connection": 9}) for one in beat]
    ends = [
        structs.replace(events[last], kind=Kind.CLOSED, reason=reason, data={"connection": number})
        for number in sorted(numbers)
    ]
    account = judged([*before, *extra, *ends, *events[last:]], terms_of(fresh=True))
    assert account.verdict == verdict, account.undecided


def test_what_is_kept_does_not_grow_with_a_recording():
    terms = terms_of(fresh=True, limits=replace(LIMITS, kept=200))
    events = [*frames("sessions", "kafka-4.x")]
    beats = [one for one in events if one.data.get("api") == "Heartbeat"][:2]
    place = events.index(beats[1]) + 1
    sizes = []
    for number in (500, 1_500):
        many = list(_again(beats, number))
        kept = []
        account = _watched([*events[:place], *many], terms, kept)
        assert account.verdict == "holds", account.violations
        assert account.judged >= 2 * number
        sizes.append(max(kept))
    # both have passed what is kept several times over, so their greatest sizes are of the same course
    assert sizes[1] <= sizes[0] + 20
    assert sizes[1] < 3_000


def _again(beats, number):
    """A heartbeat and its answer, again and again."""
    at = beats[1].at
    for count in range(number):
        at += 0.5
        for one in beats:
            at += 0.001
            data = {**one.data, "correlation": 10_000 + count}
            yield structs.replace(one, at=at, data=data)


def _watched(events, terms, kept):
    account = Account()
    recordings = Recordings(terms, account)
    for place, event in enumerate(events):
        recordings.take(event)
        kept.append(recordings.size() if place % 7 == 0 else 0)
    recordings.end()
    return account


@pytest.mark.parametrize("body", [b"", "text", 7, None, [], [7, "text"], {}, {"base64": 7}])
def test_in_what_is_no_body_there_is_no_error_code(body):
    assert codes_of(body) == frozenset()
