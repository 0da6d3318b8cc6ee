"""The older coordinator tells a request that its group is Dead if the group is removed before its turn."""

from __future__ import annotations

import pytest

from harness.told import Told, committed, described, left
from rota.linearise import Verdict, judge
from rota.spec import ErrorCode, HeartbeatReply, JoinGroupReply
from rota.spec.admin_messages import DeleteGroupsReply, DeleteGroupsRequest
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitTopic,
    PartitionOutcome,
    TopicOutcome,
    TxnOffsetCommitReply,
    TxnOffsetCommitRequest,
)
from rota.spec.profiles import KAFKA_3, KAFKA_4

DEAD, DELETED = ErrorCode.COORDINATOR_NOT_AVAILABLE, DeleteGroupsReply("g", ErrorCode.NONE)


def emptied(profile):
    """A group that its only member has left, after a commit."""
    told = Told(profile).alone()
    told.hears(told.commits(0, "t", member=("m", 1)), committed("t"))
    return told.hears(told.leaves(0, "m"), left("m"))


def joins(told):
    return told.joins(3)


def beats(told):
    return told.beats(3, "m")


def commits_in_a_transaction(told):
    topics = (OffsetCommitTopic("t", (OffsetCommitPartition(0, 7, -1, ""),)),)
    return told.sends(3, TxnOffsetCommitRequest("g", 1, topics), 3)


NOT_COMMITTED = TxnOffsetCommitReply((TopicOutcome("t", (PartitionOutcome(0, DEAD),)),))

ASKED = pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (joins, JoinGroupReply(DEAD)),
        (beats, HeartbeatReply(DEAD)),
        (commits_in_a_transaction, NOT_COMMITTED),
    ],
    ids=["join", "beat", "transaction"],
)


@ASKED
@pytest.mark.parametrize(
    ("profile", "verdict"), [(KAFKA_3, Verdict.CONSISTENT), (KAFKA_4, Verdict.VIOLATED)], ids=["3", "4"]
)
def test_whoever_asks_while_it_is_removed_may_be_told(profile, verdict, ask, answer):
    told = emptied(profile)
    deletion = told.sends(8, DeleteGroupsRequest("g"), 2)
    told.hears(ask(told), answer).hears(deletion, DELETED).quiet()
    assert judge(told.history()).verdict is verdict


@ASKED
def test_so_may_who_has_its_turn_a_little_later(ask, answer):
    told = emptied(KAFKA_3)
    told.hears(told.sends(8, DeleteGroupsRequest("g"), 2), DELETED)
    assert judge(told.hears(ask(told), answer).quiet().history()).verdict is Verdict.CONSISTENT


@pytest.mark.parametrize(
    ("profile", "kind", "verdict"),
    [
        (KAFKA_3, "", Verdict.CONSISTENT),
        (KAFKA_3, "consumer", Verdict.CONSISTENT),
        (KAFKA_3, "connect", Verdict.VIOLATED),
        (KAFKA_4, "consumer", Verdict.VIOLATED),
    ],
)
def test_it_is_described_as_dead_with_or_without_what_it_was(profile, kind, verdict):
    told = emptied(profile)
    deletion, number = told.sends(8, DeleteGroupsRequest("g"), 2), told.describes()
    told.hears(number, described("Dead", protocol_type=kind)).hears(deletion, DELETED).quiet()
    assert judge(told.history()).verdict is verdict


@ASKED
def test_whoever_asks_later_is_told_that_there_is_no_group(ask, answer):
    told = emptied(KAFKA_3)
    told.hears(told.sends(8, DeleteGroupsRequest("g"), 2), DELETED).after(2.0)
    assert judge(told.hears(ask(told), answer).quiet().history()).verdict is Verdict.VIOLATED


@ASKED
def test_a_group_that_is_there_is_not_dead(ask, answer):
    told = emptied(KAFKA_3)
    assert judge(told.hears(ask(told), answer).quiet().history()).verdict is Verdict.VIOLATED
