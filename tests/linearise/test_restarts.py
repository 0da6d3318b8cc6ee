"""After a restart there is what the log had: what was told before is told again, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.told import CONFIG, Told, described, joined, left
from harness.told import committed as told_committed
from harness.told import fetched as told_fetched
from rota.linearise import Restarted, Verdict, judge
from rota.spec import ErrorCode, MemberAssignment, SyncGroupReply, SyncGroupRequest
from rota.spec.admin_messages import DeleteGroupsReply, DeleteGroupsRequest, DescribeGroupsReply

PASSES, FAILS = Verdict.CONSISTENT, Verdict.VIOLATED


def restarted(told, takes=1.0, quiet=0.5, config=None):
    """All connections end, and the coordinator is ended and started again. Connection 5 is new."""
    told.quiet(quiet)
    for number in range(3):
        told.breaks(number)
    since = told.now
    told.after(takes)
    told.events.append(Restarted(told.now, since, round(since + 0.6 * takes, 6), config))
    return told


def verdict(told):
    return judge(told.history()).verdict


def synced(told, connection, member_id, share, generation=1):
    request = SyncGroupRequest("g", generation, member_id, (), "consumer", "range")
    number = told.sends(connection, request, 5)
    return told.hears(number, SyncGroupReply(ErrorCode.NONE, "consumer", "range", share))


@pytest.mark.parametrize(("error", "wanted"), [("NONE", PASSES), ("UNKNOWN_MEMBER_ID", FAILS)])
def test_a_member_whose_assignment_was_told_is_still_one(error, wanted):
    told = restarted(Told().alone(session=20_000))
    assert verdict(told.beaten(told.beats(5, "m"), error)) is wanted


@pytest.mark.parametrize(("share", "wanted"), [(b"all", PASSES), (b"", FAILS), (b"other", FAILS)])
def test_the_assignment_that_was_told_is_told_again(share, wanted):
    assert verdict(synced(restarted(Told().alone(session=20_000)), 5, "m", share)) is wanted


@pytest.mark.parametrize(("error", "wanted"), [("NONE", PASSES), ("UNKNOWN_MEMBER_ID", FAILS)])
def test_sessions_begin_anew(error, wanted):
    """1.5 s of 2 s are over before the restart, and 1.5 s after it."""
    told = restarted(Told().alone(), takes=0.5, quiet=1.5)
    assert verdict(told.beaten(told.after(1.5).beats(5, "m"), error)) is wanted


def test_and_end_in_their_time():
    told = restarted(Told().alone(), takes=0.5)
    judgement = judge(told.beaten(told.after(3.0).beats(5, "m")).history())
    assert judgement.late[0].what == "timer session of m"


def test_what_was_not_stored_is_lost():
    """A generation whose assignment never came, and the member with it."""
    told = Told()
    number = told.joins(0, session=20_000, version=3)
    told.after(1.0).hears(number, joined("m", 1, ("m",), metadata="of "))
    restarted(told)
    assert verdict(told.beaten(told.beats(5, "m"))) is FAILS
    told.events[-2:] = []
    assert verdict(told.beaten(told.beats(5, "m"), "UNKNOWN_MEMBER_ID")) is PASSES


def test_who_has_left_is_not_back():
    """And the group is there, Empty, as the log says."""
    told = Told().alone(session=20_000)
    told.hears(told.leaves(0, "m"), left("m"))
    restarted(told)
    told.hears(told.describes(5), described("Empty"))
    assert verdict(told) is PASSES
    assert verdict(told.beaten(told.beats(5, "m"))) is FAILS


@pytest.mark.parametrize(("seconds", "errors"), [(1.5, ("NONE", "UNKNOWN_MEMBER_ID")), (0.5, ("NONE",))])
def test_what_is_due_while_it_ends_may_happen_or_not(seconds, errors):
    """A session that is over just then is ended in the log, or begins anew."""
    for error in ("NONE", "UNKNOWN_MEMBER_ID"):
        told = restarted(Told().alone(), takes=2.0, quiet=seconds)
        wanted = PASSES if error in errors else FAILS
        assert verdict(told.beaten(told.beats(5, "m"), error)) is wanted


def test_a_group_that_was_deleted_is_not_back():
    told = Told().alone(session=20_000)
    told.hears(told.leaves(0, "m"), left("m"))
    number = told.sends(1, DeleteGroupsRequest("g"), 2)
    restarted(told.hears(number, DeleteGroupsReply("g", ErrorCode.NONE)))
    assert verdict(told.hears(told.describes(5), described("Empty"))) is FAILS
    told.events[-2:] = []
    gone = DescribeGroupsReply(ErrorCode.NONE, "g", "Dead", "", "", ())
    assert verdict(told.hears(told.describes(5), gone)) is PASSES


@pytest.mark.parametrize("offset", [7, -1])
def test_a_commit_that_nobody_was_told_of_is_stored_or_not(offset):
    told = Told()
    told.commits(0, "t", version=8)
    told.breaks(0)
    told.after(0.5).events.append(Restarted(told.now, 0.0, 0.3))
    assert verdict(fetched(fetched(told, offset).quiet(3.0), offset)) is PASSES
    assert verdict(fetched(told, 3)) is FAILS


def fetched(told, offset):
    return told.hears(told.fetches(5, "t"), told_fetched(3, t=offset))


def committed(told):
    return told.hears(told.commits(0, "t", version=8), told_committed("t"))


@pytest.mark.parametrize(("offset", "wanted"), [(7, PASSES), (-1, FAILS), (6, FAILS)])
def test_offsets_are_there_without_a_group_of_members(offset, wanted):
    told = restarted(committed(Told()))
    fetched(told, offset)
    assert verdict(told) is wanted
    if wanted is PASSES:
        assert verdict(told.hears(told.describes(5), described("Empty", protocol_type=""))) is PASSES


def test_the_rule_that_loads_is_reached():
    told = restarted(Told().alone(session=20_000))
    assert ("loading.load", "Stable") in judge(told.beaten(told.beats(5, "m")).history()).reached


def test_a_follower_keeps_its_share():
    """Of two members each has its own, and one that is told the other's is found."""
    told = restarted(two_members())
    assert verdict(synced(told, 5, "b", b"2")) is PASSES
    assert verdict(synced(told, 5, "a", b"2")) is FAILS


@pytest.mark.parametrize(("size", "found"), [(None, "Stable"), (2, "Stable"), (1, "PreparingRebalance")])
def test_what_it_is_set_to_from_then_on_counts(size, found):
    """A group that has become too large is there again, and rebalances."""
    config = None if size is None else replace(CONFIG, group_max_size=size)
    told = restarted(two_members(), config=config)
    told.beaten(told.beats(5, "a"), "NONE" if found == "Stable" else "REBALANCE_IN_PROGRESS")
    judgement = judge(told.history())
    assert judgement.verdict is PASSES
    loaded = {slug for slug, _ in judgement.reached}
    assert ("loading.over-capacity" in loaded) == (found != "Stable")
    told.events[-2:] = []
    assert (
        verdict(told.beaten(told.beats(5, "a"), "REBALANCE_IN_PROGRESS" if found == "Stable" else "NONE"))
        is FAILS
    )


def two_members():
    """Two of them are Stable, each with its share."""
    told = Told()
    first, second = (told.joins(n, session=20_000, version=3) for n in range(2))
    told.after(2.0).hears(first, joined("a", 1, ("a", "b"), metadata="of ", leader="a"))
    told.hears(second, joined("b", 1, (), leader="a"))
    waits = told.sends(1, SyncGroupRequest("g", 1, "b", (), "consumer", "range"), 5)
    shares = (MemberAssignment("a", b"1"), MemberAssignment("b", b"2"))
    leads = told.sends(0, SyncGroupRequest("g", 1, "a", shares, "consumer", "range"), 5)
    told.hears(leads, SyncGroupReply(ErrorCode.NONE, "consumer", "range", b"1"))
    told.hears(waits, SyncGroupReply(ErrorCode.NONE, "consumer", "range", b"2"))
    return told


@pytest.mark.parametrize(
    ("error", "wanted"), [("NONE", PASSES), ("UNKNOWN_MEMBER_ID", PASSES), ("ILLEGAL_GENERATION", FAILS)]
)
def test_where_nobody_knows_whether_it_was_started_again_both_may_be(error, wanted):
    """A generation whose assignment never came is lost with a restart, and goes on without one."""
    told = Told()
    number = told.joins(0, session=20_000, version=3)
    told.after(1.0).hears(number, joined("m", 1, ("m",), metadata="of "))
    restarted(told)
    told.events[-1] = replace(told.events[-1], sure=False)
    assert verdict(told.beaten(told.beats(5, "m"), error)) is wanted


@pytest.mark.parametrize(("seconds", "wanted"), [(1.0, PASSES), (3.0, FAILS)])
def test_what_goes_on_without_a_restart_keeps_its_time(seconds, wanted):
    """A session of 2 s, of which 0.5 s were over when the connections ended."""
    told = restarted(Told().alone(), takes=0.2)
    told.events[-1] = replace(told.events[-1], sure=False)
    assert verdict(told.beaten(told.after(seconds).beats(5, "m"))) is wanted
