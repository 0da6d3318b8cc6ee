"""What brokers make of requests before a coordinator is asked: the judge knows it, by profile."""

from __future__ import annotations

import pytest

from harness.told import Told, committed, fetched
from rota.linearise import Verdict, asked, judge
from rota.spec import ErrorCode, LeaveGroupReply, LeaveGroupRequest
from rota.spec.offset_messages import OffsetDeleteReply, OffsetDeleteRequest, TopicOutcome, TopicPartitions
from rota.spec.profiles import KAFKA_3, KAFKA_4


def kept_alive_by(told, request):
    """A member with a session of two seconds sends one thing after 1.5 s, a heartbeat after 1.5 s more."""
    told.alone().after(1.5)
    told.hears(request(told), committed())
    return told.after(1.5).beaten(told.beats(0, "m"), "UNKNOWN_MEMBER_ID").history()


def of_nothing(told):
    """A commit of a member, with no topics."""
    return told.commits(0, member=("m", 1))


@pytest.mark.parametrize("profile", [KAFKA_3, KAFKA_4], ids=lambda one: one.name)
def test_a_commit_of_nothing_is_no_sign_of_life(profile):
    assert judge(kept_alive_by(Told(profile), of_nothing)).verdict is Verdict.CONSISTENT


def test_planted_bug_a_commit_of_nothing_reaches_the_group(monkeypatch):
    monkeypatch.setattr(asked.Asked, "_is_apart", lambda self, call: False)
    assert judge(kept_alive_by(Told(), of_nothing)).verdict is Verdict.VIOLATED


def twice(told):
    """Each request about offsets names a topic twice, and is answered once."""
    told.hears(told.commits(0, "a", "a"), committed("a"))
    told.hears(told.fetches(0, "a", "a"), fetched(a=7))
    names = (TopicPartitions("a", (0, 0)), TopicPartitions("a", (0,)))
    number = told.sends(0, OffsetDeleteRequest("g", names), 0)
    deleted = TopicOutcome("a", committed("a").topics[0].partitions)
    return told.hears(number, OffsetDeleteReply(ErrorCode.NONE, (deleted,))).history()


@pytest.mark.parametrize(
    ("profile", "verdict"), [(KAFKA_3, Verdict.CONSISTENT), (KAFKA_4, Verdict.VIOLATED)], ids=["3", "4"]
)
def test_what_is_named_twice_is_answered_once_by_the_older_coordinator_alone(profile, verdict):
    assert judge(twice(Told(profile))).verdict is verdict


def test_of_what_is_named_twice_the_last_counts():
    told = Told(KAFKA_3)
    request = told.commits(0, "a", "b", "a", version=8)
    sent = asked.Asked(KAFKA_3).of(told.events)[0].call.request
    assert [topic.name for topic in sent.topics] == ["a", "b"]
    assert request == 0
    names = (TopicPartitions("a", (0, 1)), TopicPartitions("b", (2,)), TopicPartitions("a", (1, 0)))
    assert asked.named_once(OffsetDeleteRequest("g", names)).topics == names[:1] + names[1:2]


@pytest.mark.parametrize(
    ("profile", "version", "verdict"),
    [(KAFKA_3, 2, Verdict.CONSISTENT), (KAFKA_3, 3, Verdict.VIOLATED), (KAFKA_4, 2, Verdict.VIOLATED)],
)
def test_older_brokers_do_not_agree_on_an_old_leave_without_a_group(profile, version, verdict):
    told = Told(profile)
    number = told.sends(0, LeaveGroupRequest("", ()), version)
    history = told.hears(number, LeaveGroupReply(ErrorCode.UNSUPPORTED_VERSION)).history()
    assert judge(history).verdict is verdict
