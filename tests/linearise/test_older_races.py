"""Where two requests meet Kafka 3 may say of a group what is of two moments; others do not."""

from __future__ import annotations

import pytest

from harness.told import Told, asked_for, described, fetched, joined
from harness.told import committed as committed_topics
from rota.linearise import Verdict, judge
from rota.mutants.core import CoreBug, planted
from rota.spec import ErrorCode, MemberAssignment, SyncGroupReply, SyncGroupRequest
from rota.spec.admin_messages import (
    DeleteGroupsReply,
    DeleteGroupsRequest,
    ListedGroup,
    ListGroupsReply,
    ListGroupsRequest,
)
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitReply,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetDeleteReply,
    OffsetDeleteRequest,
    PartitionOutcome,
    TopicOutcome,
    TopicPartitions,
)
from rota.spec.profiles import KAFKA_2_1, KAFKA_3, KAFKA_4

PASSES, FAILS = Verdict.CONSISTENT, Verdict.VIOLATED


COMPLETING, STABLE = "CompletingRebalance", "Stable"


def listed(profile, states, told, later=None):
    """ListGroups of some states is answered while a SyncGroup makes the group Stable, or is sent after it.

    told: the state in which the group is listed, "" if it is not; later: seconds after the SyncGroup.
    """
    history = Told(profile)
    history.hears(history.joins(0), asked_for("m"))
    history.hears(history.joins(0, "m"), joined("m", 1, ("m",)), 1.0)
    listing = list_groups(history, states) if later is None else -1
    number = history.sends(
        0, SyncGroupRequest("g", 1, "m", (MemberAssignment("m", b"1"),), "consumer", "range"), 5
    )
    history.hears(number, SyncGroupReply(ErrorCode.NONE, "consumer", "range", b"1"))
    if later is not None:
        listing = list_groups(history.after(later), states)
    groups = (ListedGroup("g", "consumer", told),) if told else ()
    history.hears(listing, ListGroupsReply(ErrorCode.NONE, groups)).quiet()
    return judge(history.history()).verdict


def list_groups(history, states):
    return history.sends(9, ListGroupsRequest("g", states), 4)


LISTS = (
    (KAFKA_3, (COMPLETING,), STABLE, None, PASSES),
    (KAFKA_3, (COMPLETING,), COMPLETING, None, PASSES),
    (KAFKA_3, (COMPLETING,), "", None, PASSES),
    (KAFKA_3, (STABLE,), COMPLETING, None, FAILS),
    (KAFKA_3, (COMPLETING,), "Empty", None, FAILS),
    (KAFKA_3, (COMPLETING,), STABLE, 1.0, FAILS),
    (KAFKA_4, (COMPLETING,), STABLE, None, FAILS),
)


@pytest.mark.parametrize(("profile", "states", "told", "later", "wanted"), LISTS)
def test_a_group_may_be_listed_in_the_state_that_it_came_to_meanwhile(profile, states, told, later, wanted):
    assert listed(profile, states, told, later) is wanted


def committed(profile, error, at=0.0):
    """A former member commits, before or while its instance joins, which makes the group, or later.

    at: seconds after the JoinGroup was sent.
    """
    history = Told(profile)
    history.joins(0, instance="i")
    history.after(at)
    topics = (OffsetCommitTopic("t", (OffsetCommitPartition(0, 7, -1, "x"),)),)
    number = history.sends(1, OffsetCommitRequest("g", topics, 1, "former", "i"), 7)
    outcomes = (TopicOutcome("t", (PartitionOutcome(0, ErrorCode[error]),)),)
    return judge(history.hears(number, OffsetCommitReply(outcomes)).quiet().history()).verdict


COMMITS = (
    (KAFKA_3, "UNKNOWN_MEMBER_ID", 0.0, PASSES),
    (KAFKA_2_1, "UNKNOWN_MEMBER_ID", 0.0, PASSES),
    (KAFKA_3, "ILLEGAL_GENERATION", 0.0, PASSES),
    (KAFKA_3, "FENCED_INSTANCE_ID", 0.0, PASSES),
    (KAFKA_3, "UNKNOWN_MEMBER_ID", 0.6, FAILS),
    (KAFKA_3, "FENCED_INSTANCE_ID", 0.6, PASSES),
    (KAFKA_3, "REBALANCE_IN_PROGRESS", 0.0, FAILS),
    (KAFKA_4, "UNKNOWN_MEMBER_ID", 0.0, FAILS),
    (KAFKA_4, "ILLEGAL_GENERATION", 0.0, PASSES),
)


@pytest.mark.parametrize(("profile", "error", "at", "wanted"), COMMITS)
def test_a_commit_may_meet_a_group_that_is_just_being_made(profile, error, at, wanted):
    assert committed(profile, error, at) is wanted


def seen_while_it_is_made(profile, how, at=0.0, kind=""):
    """A group is listed or described as Empty while a JoinGroup makes it, or so many seconds later.

    kind: its protocol type.
    """
    history = Told(profile)
    history.joins(0, instance="i")
    history.after(at)
    if how == "listed":
        number = list_groups(history, ())
        history.hears(number, ListGroupsReply(ErrorCode.NONE, (ListedGroup("g", kind, "Empty"),)))
    else:
        history.hears(history.describes(), described("Empty", protocol_type=kind))
    return judge(history.quiet().history()).verdict


READERS = (
    (KAFKA_3, "listed", 0.0, "", PASSES),
    (KAFKA_3, "described", 0.0, "", PASSES),
    (KAFKA_3, "listed", 0.6, "", FAILS),
    (KAFKA_3, "described", 0.6, "", FAILS),
    (KAFKA_4, "listed", 0.0, "", FAILS),
    (KAFKA_3, "listed", 0.0, "consumer", PASSES),
    (KAFKA_3, "listed", 0.0, "connect", FAILS),
    (KAFKA_3, "described", 0.0, "consumer", FAILS),
    (KAFKA_3, "listed", 0.6, "consumer", FAILS),
)


@pytest.mark.parametrize(("profile", "how", "at", "kind", "wanted"), READERS)
def test_who_reads_may_meet_it_too(profile, how, at, kind, wanted):
    assert seen_while_it_is_made(profile, how, at, kind) is wanted


def listed_as_somebody_joins(profile, kind, state, at=0.0):
    """A group that only keeps offsets is listed while its first member joins, or so many seconds later."""
    history = Told(profile)
    history.hears(history.commits(5, "t"), committed_topics("t"))
    number = list_groups(history, ()) if not at else -1
    history.joins(0, instance="i")
    number = list_groups(history.after(at), ()) if at else number
    history.hears(number, ListGroupsReply(ErrorCode.NONE, (ListedGroup("g", kind, state),)))
    return judge(history.quiet().history()).verdict


FIRST = (
    (KAFKA_3, "", "Empty", 0.0, PASSES),
    (KAFKA_3, "consumer", "Empty", 0.0, PASSES),
    (KAFKA_3, "consumer", "PreparingRebalance", 0.0, PASSES),
    (KAFKA_3, "", "PreparingRebalance", 0.0, FAILS),
    (KAFKA_3, "connect", "Empty", 0.0, FAILS),
    (KAFKA_3, "consumer", "Empty", 0.6, FAILS),
    (KAFKA_4, "consumer", "Empty", 0.0, FAILS),
)


@pytest.mark.parametrize(("profile", "kind", "state", "at", "wanted"), FIRST)
def test_a_first_member_may_be_seen_by_the_protocol_type_alone(profile, kind, state, at, wanted):
    assert listed_as_somebody_joins(profile, kind, state, at) is wanted


def deleted_while_it_is_made(profile, ask, at=0.0):
    """OffsetDelete or DeleteGroups is told that another broker has the group, while a JoinGroup makes it."""
    history = Told(profile)
    history.joins(0, instance="i")
    history.after(at)
    if ask == "offsets":
        number = history.sends(9, OffsetDeleteRequest("g", (TopicPartitions("t", (0,)),)), 0)
        history.hears(number, OffsetDeleteReply(ErrorCode.NOT_COORDINATOR))
    else:
        number = history.sends(9, DeleteGroupsRequest("g"), 2)
        history.hears(number, DeleteGroupsReply("g", ErrorCode.NOT_COORDINATOR))
    return judge(history.quiet().history()).verdict


DELETIONS = (
    (KAFKA_3, "offsets", 0.0, PASSES),
    (KAFKA_3, "group", 0.0, PASSES),
    (KAFKA_3, "offsets", 0.6, FAILS),
    (KAFKA_4, "offsets", 0.0, FAILS),
)


@pytest.mark.parametrize(("profile", "ask", "at", "wanted"), DELETIONS)
def test_who_deletes_may_take_it_for_another_brokers(profile, ask, at, wanted):
    assert deleted_while_it_is_made(profile, ask, at) is wanted


def deleted_as_somebody_joins(profile, at=0.0, gone=True):
    """The last offset of an Empty group is deleted while somebody joins, who is in it then.

    at: seconds from the JoinGroup to OffsetDelete; gone: whether the offset is not there any more.
    """
    history = Told(profile)
    history.hears(history.commits(5, "t"), committed_topics("t"))
    history.hears(history.joins(0), asked_for("m"))
    history.joins(0, "m")
    history.after(at)
    number = history.sends(9, OffsetDeleteRequest("g", (TopicPartitions("t", (0,)),)), 0)
    history.hears(number, OffsetDeleteReply(ErrorCode.NONE, committed_topics("t").topics))
    history.hears(history.describes(), described("PreparingRebalance", "m"))
    history.hears(history.fetches(7, "t"), fetched(t=-1 if gone else 7))
    return judge(history.quiet().history()).verdict


JOINERS = (
    (KAFKA_3, 0.0, True, PASSES),
    (KAFKA_3, 0.0, False, FAILS),
    (KAFKA_3, 0.6, True, FAILS),
)


@pytest.mark.parametrize(("profile", "at", "gone", "wanted"), JOINERS)
def test_a_group_that_is_joined_while_its_last_offset_goes_stays(profile, at, gone, wanted):
    assert deleted_as_somebody_joins(profile, at, gone) is wanted


MODULE = "rota.linearise.older_races:"
PLANTED = (
    ("lists are read once", "listed_later", "owed.message.groups", "()"),
    ("it is listed as it was never", "_with_state", "group.state.value", "'Empty'"),
    ("no commit comes between", "just_made", "of_member or", "False or"),
    ("nobody deletes between", "taken_for_anothers", "deletes and made", "False"),
    ("nobody joins between", "empty_before", "asks and group.members", "False"),
    ("the group goes with its offsets", "offsets_alone", "group=before.group, ", ""),
    ("nobody reads between", "just_made", "of_member or isinstance", "of_member and isinstance"),
    ("it is just made for ever", "just_made", "since > state.veiled", "False"),
    ("it has no protocol type yet", "just_made", "protocol_type=group.protocol_type", ""),
    ("it has members at once", "just_made", "Group(GroupState.EMPTY)", "state.group"),
)


@pytest.mark.parametrize(("name", "function", "old", "new"), PLANTED, ids=[one[0] for one in PLANTED])
def test_a_mistake_is_found(name, function, old, new):
    """One of the verdicts above is another."""
    with planted(CoreBug("", name, name, MODULE + function, old, new)):
        lists = (listed(*row[:-1]) is not row[-1] for row in LISTS)
        commits = (committed(*row[:-1]) is not row[-1] for row in COMMITS)
        readers = (seen_while_it_is_made(*row[:-1]) is not row[-1] for row in READERS)
        deletions = (deleted_while_it_is_made(*row[:-1]) is not row[-1] for row in DELETIONS)
        joiners = (deleted_as_somebody_joins(*row[:-1]) is not row[-1] for row in JOINERS)
        first = (listed_as_somebody_joins(*row[:-1]) is not row[-1] for row in FIRST)
        assert any(map(any, (lists, commits, readers, deletions, joiners, first)))
