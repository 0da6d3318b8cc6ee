"""Kafka 3 may end a session that begins in the moment in which the one before it ends; others do not."""

from __future__ import annotations

import pytest

from harness.told import Told, committed, joined
from rota.kernel import replace
from rota.linearise import Verdict, judge
from rota.mutants.core import CoreBug, planted
from rota.spec import (
    ROTA,
    ErrorCode,
    JoinGroupReply,
    JoinGroupRequest,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupReply,
    SyncGroupRequest,
)
from rota.spec.profiles import KAFKA_3, KAFKA_4

PASSES, FAILS = Verdict.CONSISTENT, Verdict.VIOLATED


def joins(session):
    return JoinGroupRequest("g", session, 5_000, "", "consumer", (ProtocolMetadata("range", b"x"),))


def two_joined(profile, session):
    """A leader with a long session and a follower join; it is 2.0 s."""
    history = Told(profile=profile)
    requests = joins(6_000), joins(session)
    leader, follower = (history.sends(place, request, 3) for place, request in enumerate(requests))
    history.after(2.0).hears(leader, joined("m", 1, ("m", "n"), metadata="x"), 0.0)
    return history.hears(follower, joined("n", 1, (), leader="m"), 0.0)


def syncs(history, connection, member_id, *shares):
    request = SyncGroupRequest("g", 1, member_id, shares, "consumer", "range")
    return history.sends(connection, request, 5)


def synced(profile, waits, session=2_000, looked=0.0):
    """The follower's SyncGroup waits for the leader's, which comes so long after the join phase has ended.

    looked: seconds before that in which nothing else had come, 0 where nobody has looked.
    """
    history = two_joined(profile, session).after(0.5)
    waiting = syncs(history, 1, "n")
    history.after(round(waits - 0.5 - looked, 6))
    if looked:
        history.quiet().after(looked)
    number = syncs(history, 0, "m", MemberAssignment("m", b"1"), MemberAssignment("n", b"2"))
    for one, share in ((number, b"1"), (waiting, b"2")):
        history.hears(one, SyncGroupReply(ErrorCode.NONE, "consumer", "range", share))
    return history


def beaten_after(history, seconds, error):
    """The follower sends a sign of life so much later."""
    history.after(seconds)
    return judge(history.beaten(history.beats(1, "n"), error).history()).verdict


ENDS = (
    # Of whose coordinator; when the shares come; how much later it is told that nobody knows it.
    (KAFKA_3, 2.0, 0.3, PASSES),
    (KAFKA_3, 2.05, 0.3, PASSES),
    (KAFKA_3, 1.95, 0.3, PASSES),
    (KAFKA_3, 1.4, 0.3, FAILS),
    (KAFKA_3, 2.7, 0.3, FAILS),
    (KAFKA_4, 2.0, 0.3, FAILS),
    (ROTA, 2.0, 0.3, FAILS),
)


@pytest.mark.parametrize(("profile", "waits", "later", "wanted"), ENDS)
def test_a_session_that_begins_as_the_last_one_ends_may_be_over_at_once(profile, waits, later, wanted):
    assert beaten_after(synced(profile, waits), later, "UNKNOWN_MEMBER_ID") is wanted


@pytest.mark.parametrize("waits", [1.4, 2.0, 2.7])
def test_it_need_not_be(waits):
    assert beaten_after(synced(KAFKA_3, waits), 0.3, "NONE") is PASSES


def test_the_end_of_the_last_one_may_be_known_to_have_been_due():
    assert beaten_after(synced(KAFKA_3, 2.08, looked=0.02), 0.3, "UNKNOWN_MEMBER_ID") is PASSES


def test_once_it_goes_on_it_ends_when_it_is_over():
    history = synced(KAFKA_3, 2.0).after(0.8)
    history.beaten(history.beats(1, "n"))
    assert beaten_after(history, 0.5, "UNKNOWN_MEMBER_ID") is FAILS


@pytest.mark.parametrize(("profile", "wanted"), [(KAFKA_3, PASSES), (KAFKA_4, FAILS)])
def test_a_sign_of_life_at_the_end_of_a_session_may_come_too_late_and_be_welcome(profile, wanted):
    history = synced(profile, 1.0).after(2.0)
    history.beaten(history.beats(1, "n"))
    assert beaten_after(history, 0.3, "UNKNOWN_MEMBER_ID") is wanted


def alive_while_it_waits(profile, sign, at=0.0):
    """A follower gives a sign of life while it waits for the end of the join phase, which takes 2.0 s."""
    history = Told(profile=profile)
    leader = history.sends(0, joins(6_000), 3)
    follower = history.sends(1, joins(2_000), 3)
    history.after(at)
    if sign == "commit":
        history.hears(history.commits(2, "t", member=("n", 0)), committed("t"))
    elif sign == "heartbeat":
        history.beaten(history.beats(2, "n", 0), "REBALANCE_IN_PROGRESS")
    history.after(2.0 - at - 0.001 * bool(sign)).hears(leader, joined("m", 1, ("m", "n"), metadata="x"), 0.0)
    return beaten_after(
        history.hears(follower, joined("n", 1, (), leader="m"), 0.0), 0.3, "UNKNOWN_MEMBER_ID"
    )


SIGNS = (
    (KAFKA_3, "commit", 0.0, PASSES),
    (KAFKA_3, "heartbeat", 0.0, PASSES),
    (KAFKA_3, "", 0.0, FAILS),
    (KAFKA_3, "commit", 0.3, FAILS),
    (KAFKA_4, "commit", 0.0, FAILS),
)


@pytest.mark.parametrize(("profile", "sign", "at", "wanted"), SIGNS)
def test_who_waits_may_have_begun_a_session_by_a_sign_of_life(profile, sign, at, wanted):
    assert alive_while_it_waits(profile, sign, at) is wanted


def replaced_while_it_waits(profile, session, instance="i", come=0.0):
    """A static member joins again under its instance id, and waits for the end of the join phase at 2.0 s.

    session: of the one that waits, in milliseconds; instance: None where it is no static member; come:
    seconds to its second JoinGroup.
    """
    history = Told(profile=profile)
    leader = history.sends(0, joins(6_000), 3)
    first = history.sends(1, replace(joins(session), group_instance_id=instance), 5)
    history.after(come)
    follower = history.sends(2, replace(joins(session), group_instance_id=instance), 5)
    if instance is not None:
        history.hears(first, JoinGroupReply(ErrorCode.FENCED_INSTANCE_ID, member_id="old"))
    history.after(2.0 - history.now).hears(leader, joined("m", 1, ("m", "n"), metadata="x"), 0.0)
    history.hears(follower, joined("n", 1, (), leader="m"), 0.0)
    return beaten_after(history, 0.3, "UNKNOWN_MEMBER_ID")


REPLACED = (
    (KAFKA_3, 2_000, "i", 0.0, PASSES),
    (KAFKA_3, 1_500, "i", 0.5, PASSES),
    (KAFKA_3, 2_300, "i", 0.0, FAILS),
    (KAFKA_3, 4_000, "i", 0.0, FAILS),
    (KAFKA_4, 2_000, "i", 0.0, FAILS),
)


@pytest.mark.parametrize(("profile", "session", "instance", "come", "wanted"), REPLACED)
def test_the_time_of_a_new_member_is_a_session(profile, session, instance, come, wanted):
    assert replaced_while_it_waits(profile, session, instance, come) is wanted


MODULE = "rota.linearise.older_sessions:"
PLANTED = (
    ("the last one is forgotten", "with_ends_kept", "(*after.ends.items(), *_sessions(before.armed))", "()"),
    ("it may end it whenever it was", "ended_by_the_last", "begun.earliest <= last.latest + late", "True"),
    ("it may end it before it was due", "ended_by_the_last", "last.earliest <= begun.latest", "True"),
    ("the time of a new member is no session", "ended_by_the_last", " or before.armed.get(new)", ""),
    ("it never does", "ended_by_the_last", "if last.earliest", "if False and last.earliest"),
)


@pytest.mark.parametrize(("name", "function", "old", "new"), PLANTED, ids=[one[0] for one in PLANTED])
def test_a_mistake_is_found(name, function, old, new):
    """One of the ends above is said otherwise."""
    with planted(CoreBug("", name, name, MODULE + function, old, new)):
        ends = (_said(*row[:-1]) is not row[-1] for row in ENDS)
        signs = (alive_while_it_waits(*row[:-1]) is not row[-1] for row in SIGNS)
        places = (replaced_while_it_waits(*row[:-1]) is not row[-1] for row in REPLACED)
        assert any(ends) or any(signs) or any(places)


def _said(profile, waits, later):
    return beaten_after(synced(profile, waits), later, "UNKNOWN_MEMBER_ID")
