"""DescribeGroups, ListGroups and DeleteGroups: a table of sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.keeper_bench import BOTH, JAVA, OLD, SCALA, KeeperBench, group, subscription, topics
from rota.spec import (
    Cancel,
    ErrorCode,
    Group,
    GroupState,
    Hosting,
    JoinGroupRequest,
    ProtocolMetadata,
    TimerKind,
)
from rota.spec.admin_messages import (
    DeleteGroupsReply,
    DeleteGroupsRequest,
    DescribedMember,
    DescribeGroupsReply,
    DescribeGroupsRequest,
    ListedGroup,
    ListGroupsReply,
    ListGroupsRequest,
)
from rota.spec.classic.vocabulary import RecordKind, kind_of
from rota.spec.vocabulary import AppendError

E = ErrorCode
EMPTY, STABLE = GroupState.EMPTY, GroupState.STABLE
PREPARING, COMPLETING = GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE
ALL = (JAVA, SCALA, OLD)


def describe(bench: KeeperBench, version: int = 5, **kwargs: Any) -> DescribeGroupsReply:
    reply = bench.call(DescribeGroupsRequest("g"), version, **kwargs)
    assert isinstance(reply, DescribeGroupsReply)
    return reply


@pytest.mark.parametrize(
    ("profile", "version", "told"),
    [
        *[(profile, version, E.NONE) for profile in (JAVA, SCALA) for version in range(6)],
        (OLD, 2, E.NONE),
        (JAVA, 6, E.GROUP_ID_NOT_FOUND),
    ],
)
def test_a_group_that_is_not_there_is_dead(profile: str, version: int, told: ErrorCode) -> None:
    assert describe(KeeperBench(profile), version) == DescribeGroupsReply(told, "g", group_state="Dead")


@pytest.mark.parametrize("profile", ALL)
def test_a_stable_group(profile: str) -> None:
    bench = KeeperBench(profile, group(STABLE, "t", instance="i"))
    data = subscription("t")
    assert describe(bench) == DescribeGroupsReply(
        E.NONE,
        "g",
        "Stable",
        "consumer",
        "range",
        (DescribedMember("m1", "i", data, b"mine"), DescribedMember("m2", None, data, b"mine")),
    )


@pytest.mark.parametrize("state", [PREPARING, COMPLETING])
@pytest.mark.parametrize(("profile", "shown"), [(JAVA, b"mine"), (SCALA, b""), (OLD, b"")])
def test_outside_of_stable(profile: str, state: GroupState, shown: bytes) -> None:
    """No protocol and no metadata; the last assignments only in Java."""
    assert describe(KeeperBench(profile, group(state, "t"))) == DescribeGroupsReply(
        E.NONE,
        "g",
        state.value,
        "consumer",
        "",
        (DescribedMember("m1", None, b"", shown), DescribedMember("m2", None, b"", shown)),
    )


@pytest.mark.parametrize("profile", ALL)
def test_an_empty_group_and_ids_that_were_handed_out(profile: str) -> None:
    bench = KeeperBench(profile, replace(group(EMPTY), pending=frozenset({"m9"})))
    assert describe(bench) == DescribeGroupsReply(E.NONE, "g", "Empty", "consumer")
    assert describe(KeeperBench(profile, Group())) == DescribeGroupsReply(E.NONE, "g", "Empty")


def listed(
    bench: KeeperBench, *states: str, types: tuple[str, ...] = (), hosting: Hosting = Hosting.ACTIVE
) -> bool:
    reply = bench.call(ListGroupsRequest("g", states, types), 5, hosting=hosting)
    assert isinstance(reply, ListGroupsReply)
    assert reply.error_code is E.NONE
    return bool(reply.groups)


@pytest.mark.parametrize("profile", ALL)
def test_a_listed_group(profile: str) -> None:
    reply = KeeperBench(profile, group(COMPLETING)).call(ListGroupsRequest("g"), 5)
    line = ListedGroup("g", "consumer", "CompletingRebalance", "classic")
    assert reply == ListGroupsReply(E.NONE, (line,))
    assert KeeperBench(profile, Group()).call(ListGroupsRequest("g"), 5).groups == (
        ListedGroup("g", "", "Empty"),
    )
    assert not listed(KeeperBench(profile))


@pytest.mark.parametrize("profile", BOTH)
def test_filters(profile: str) -> None:
    bench = KeeperBench(profile, group(STABLE))
    assert listed(bench, "Stable")
    assert listed(bench, "sTABLE", "Empty")
    assert not listed(bench, "Empty")
    assert not listed(bench, "nonsense")
    assert listed(bench, " Stable ") is (profile == JAVA)
    assert listed(bench, types=("classic",))
    assert listed(bench, types=("CLASSIC", "consumer"))
    assert not listed(bench, types=("consumer",))
    assert not listed(bench, types=("nonsense",))
    assert not listed(bench, "Empty", types=("classic",))
    assert not listed(bench, "Stable", types=("share",))


@pytest.mark.parametrize("profile", ALL)
def test_brokers_that_are_not_the_coordinator(profile: str) -> None:
    bench = KeeperBench(profile, group(EMPTY))
    for hosting, told in (
        (Hosting.INACTIVE, E.COORDINATOR_NOT_AVAILABLE),
        (Hosting.LOADING, E.COORDINATOR_LOAD_IN_PROGRESS),
        (Hosting.ELSEWHERE, E.NOT_COORDINATOR),
    ):
        assert describe(bench, hosting=hosting) == DescribeGroupsReply(told, "g")
        assert bench.call(DeleteGroupsRequest("g"), 1, hosting=hosting) == DeleteGroupsReply("g", told)
    assert not listed(bench, hosting=Hosting.ELSEWHERE), "another broker lists it"
    assert bench.call(ListGroupsRequest("g"), 2, hosting=Hosting.LOADING).error_code.value == 14
    assert bench.group is not None


def delete(bench: KeeperBench) -> Any:
    reply = bench.call(DeleteGroupsRequest("g"), 2)
    return None if reply is None else reply.error_code


@pytest.mark.parametrize("profile", ALL)
@pytest.mark.parametrize(
    ("state", "told"),
    [
        (None, E.GROUP_ID_NOT_FOUND),
        (STABLE, E.NON_EMPTY_GROUP),
        (PREPARING, E.NON_EMPTY_GROUP),
        (COMPLETING, E.NON_EMPTY_GROUP),
    ],
)
def test_what_is_not_deleted(profile: str, state: GroupState | None, told: ErrorCode) -> None:
    there = None if state is None else group(state)
    bench = KeeperBench(profile, there).stored(t=5)
    assert delete(bench) is told
    assert bench.group == there
    assert bench.committed == {"t": 5}


@pytest.mark.parametrize("profile", ALL)
def test_an_empty_group_goes_with_its_offsets(profile: str) -> None:
    bench = KeeperBench(profile, group(EMPTY)).stored(t=5)
    first = delete(bench)
    assert first is (None if profile == JAVA else E.NONE)
    assert describe(bench).group_state == "Dead"
    (record,) = bench.log
    assert (record.kind, record.members) == (RecordKind.DELETION, ())
    last = bench.store()
    if profile == JAVA:
        assert last == DeleteGroupsReply("g", E.NONE)
    assert bench.committed == {}
    assert bench.commit(8, generation=2, member_id="m1") is E.ILLEGAL_GENERATION
    assert (bench.group, bench.fetch()) == (None, -1)
    bench.commit()
    bench.store()
    assert bench.fetch() == 5


def test_ids_that_were_handed_out_vanish_with_the_group() -> None:
    bench = KeeperBench(group=replace(group(EMPTY), pending=frozenset({"m9"})))
    delete(bench)
    assert isinstance(bench.timers[0], Cancel)
    assert (kind_of(bench.timers[0].timer), bench.timers[0].timer.member_id) == (TimerKind.PENDING, "m9")
    join = JoinGroupRequest("g", 10_000, 10_000, "m9", "consumer", (ProtocolMetadata("range"),))
    assert bench.call(join).error_code is E.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    "profile_and_error",
    [(p, e) for p in BOTH for e in (AppendError.NOT_ENOUGH_REPLICAS, AppendError.REQUEST_TIMED_OUT)],
)
def test_when_the_tombstone_cannot_be_stored(profile_and_error: tuple[str, AppendError]) -> None:
    """Java takes the group back, if it is sure; Scala does not care."""
    profile, error = profile_and_error
    bench = KeeperBench(profile, group(EMPTY)).stored(t=5)
    first = delete(bench)
    bench.store(error)
    back = profile == JAVA and error is AppendError.NOT_ENOUGH_REPLICAS
    assert bench.group == (group(EMPTY) if back else None)
    assert bench.committed == ({"t": 5} if back else {})
    if profile == JAVA:
        assert bench.told[-1] == DeleteGroupsReply("g", E.COORDINATOR_NOT_AVAILABLE)
    else:
        assert first is E.NONE
        assert len(bench.told) == 1


def test_a_group_made_anew_is_not_replaced_by_the_one_that_could_not_be_deleted() -> None:
    bench = KeeperBench(JAVA, group(EMPTY)).stored(t=5)
    delete(bench)
    bench.group = Group(pending=frozenset({"m9"}))
    bench.store(AppendError.NOT_ENOUGH_REPLICAS)
    assert bench.group == Group(pending=frozenset({"m9"}))


def test_a_commit_in_flight_is_acknowledged_before_the_deletion_and_goes_with_it() -> None:
    bench = KeeperBench(JAVA, group(EMPTY))
    bench.commit()
    assert delete(bench) is None
    bench.commit(topics=topics(u=6))
    bench.store()
    assert [type(reply).__name__ for reply in bench.told] == [
        "OffsetCommitReply",
        "DeleteGroupsReply",
        "OffsetCommitReply",
    ]
    assert bench.committed == {"u": 6}


def test_until_the_tombstone_is_stored_a_plain_reader_still_finds_the_group() -> None:
    bench = KeeperBench(JAVA, group(EMPTY)).stored(t=5)
    assert delete(bench) is None
    assert bench.fetch() == 5
    assert bench.fetch(stable=True) is None
    bench.store()
    assert bench.told[-1].topics[0].partitions[0].committed_offset == -1
    assert bench.fetch() == -1
    assert not bench.kept.offsets.leaving


def test_scala_ignores_a_commit_that_was_in_flight_when_its_group_was_deleted() -> None:
    bench = KeeperBench(SCALA, group(EMPTY))
    bench.commit()
    assert delete(bench) is E.NONE
    assert bench.store().error_code is E.NONE
    assert bench.committed == {}


@pytest.mark.parametrize("profile", ALL)
def test_the_empty_group_id_can_be_described_and_deleted(profile: str) -> None:
    bench = KeeperBench(profile, Group())
    assert bench.call(DescribeGroupsRequest(""), 2).group_state == "Empty"
    bench.call(DeleteGroupsRequest(""), 1)
    bench.store()
    assert bench.told[-1] == DeleteGroupsReply("", E.NONE)
