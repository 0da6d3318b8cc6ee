"""The coordinator moves to another broker: what survives, what is lost, and what clients do about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.thinned import but
from rota.environment import world
from rota.environment.broker.coordinator import Coordinator
from rota.environment.broker.log import Log, Prospects, Records
from rota.environment.clients.state import Client, Phase
from rota.environment.messages import Append, Recalled
from rota.kernel import FrozenMap, State, System
from rota.spec import ErrorCode, GroupRecord, GroupState, JoinGroupReply, MemberRecord, RecordKind
from rota.spec.classic.kind import ClassicGroups
from rota.spec.classic.settled import settled_appends
from rota.spec.vocabulary import AppendError

ALONE = (("range",),)
FAILOVER = (("failover", 1),)
TWICE = (("failover", 2),)

JOINS = (
    "c1 sends JoinGroup",
    "c1's JoinGroup reaches",
    "c1 reads JoinGroup MEMBER_ID_REQUIRED",
    "c1's JoinGroup reaches",
    "initial rebalance delay is over",
    "log stores that the group is there",
)
BECOMES_STABLE = (
    *JOINS,
    "c1 reads JoinGroup NONE",
    "c1's SyncGroup reaches",
    "log stores",
    "c1 reads SyncGroup",
)

Search = Callable[[System], set[State]]


def parts(state: State) -> tuple[Coordinator, Records, tuple[Client, ...], Any]:
    value, log, *clients, budget = state
    assert isinstance(value, Coordinator)
    assert isinstance(log, Records)
    return value, log, tuple(one for one in clients if isinstance(one, Client)), budget


def record(generation_id: int, *ids: str, kind: RecordKind = RecordKind.ASSIGNMENT) -> GroupRecord:
    return GroupRecord(
        generation_id, "consumer", "range", None, tuple(MemberRecord(i, b"") for i in ids), kind
    )


# The log


def after_moves(log: Log, value: Records) -> set[Records]:
    """The log's values after a fail-over."""
    outcomes = [outcome for outcome in log.actions(value) if "moves" in outcome.label]
    return {outcome.value for outcome in outcomes if isinstance(outcome.value, Records)}


def test_any_prefix_of_what_is_in_flight_survives() -> None:
    log = Log(ClassicGroups(), AppendError.NOT_ENOUGH_REPLICAS, Prospects(moves=1))
    first, second, third = record(1, "m"), record(2, "m"), record(3, kind=RecordKind.EMPTIED)
    there = {one.durable for one in after_moves(log, Records((second, third), first))}
    assert there == {first, second, replace(third, kind=RecordKind.ASSIGNMENT)}


def test_after_a_deletion_nothing_is_loaded() -> None:
    log = Log(ClassicGroups(), AppendError.NOT_ENOUGH_REPLICAS, Prospects(moves=1))
    there = {
        one.durable for one in after_moves(log, Records((record(1, kind=RecordKind.DELETION),), record(1)))
    }
    assert there == {None, record(1)}


def test_a_log_that_is_spent_does_not_move() -> None:
    log = Log(ClassicGroups(), AppendError.NOT_ENOUGH_REPLICAS, Prospects(moves=1))
    (value,) = {outcome.value for outcome in log.receive(Records(epoch=1), "coordinator", Append(record(1)))}
    assert isinstance(value, Records)
    assert not after_moves(log, value)
    assert {outcome.value for outcome in log.actions(value)} == {Records(epoch=1)}


# Walks


MOVES = "the coordinator moves to another broker"
LOSES = "the coordinator moves to another broker, 1 appends are lost"
LOADS = "the coordinator reads the log"


def steps(profile: str, *texts: str) -> list[str]:
    """Without what the Scala coordinator does not write."""
    return [text for text in texts if profile == "kafka-4.x" or "that the group is there" not in text]


def test_a_group_at_rest_does_not_notice(walk: Any) -> None:
    here = walk(world(protocols=ALONE, budget=FAILOVER)).go(*BECOMES_STABLE)
    before = here.coordinator.group
    here.go(MOVES, LOADS)
    assert here.coordinator.group == before
    old = here.client("c1")
    here.go("c1 heartbeats", by="hosting.elsewhere")
    assert here.client("c1") == replace(old, broker=1)
    assert here.rules[-2:] == ["hosting.elsewhere", "hosting.find-coordinator"]
    here.go("c1 heartbeats", by="heartbeat.alive")


def test_a_generation_that_was_not_written_is_lost_and_its_number_used_again(walk: Any) -> None:
    here = walk(world(protocols=ALONE, budget=FAILOVER)).go(*JOINS, "c1 reads JoinGroup NONE")
    assert (here.client("c1").generation_id, here.client("c1").epoch) == (1, 0)
    here.go(MOVES, LOADS)
    assert here.coordinator.group.generation_id == 0
    here.go("c1's SyncGroup reaches", by="hosting.elsewhere")
    here.go("c1 reads SyncGroup NOT_COORDINATOR", "c1's JoinGroup reaches", by="")
    here.go(
        "c1 reads JoinGroup UNKNOWN_MEMBER_ID",
        "c1's JoinGroup reaches",
        "c1 reads JoinGroup MEMBER_ID_REQUIRED",
    )
    here.go("c1's JoinGroup reaches", "initial rebalance delay is over", "c1 reads JoinGroup NONE")
    assert (here.client("c1").generation_id, here.client("c1").epoch) == (1, 1)


def test_an_assignment_may_survive_though_nobody_is_told(walk: Any) -> None:
    here = walk(world(protocols=ALONE, budget=FAILOVER))
    here.go(*JOINS, "c1 reads JoinGroup NONE", "c1's SyncGroup reaches", MOVES)
    assert here.client("c1").inbox.error_code is ErrorCode.NOT_COORDINATOR
    here.go(LOADS, "c1 reads SyncGroup NOT_COORDINATOR")
    group = here.coordinator.group
    assert (group.state, group.generation_id) == (GroupState.STABLE, 1)
    assert here.client("c1").member_id in group.members


@pytest.mark.parametrize(("profile", "ends"), [("kafka-4.x", Phase.FAILED), ("kafka-3.x", Phase.JOINING)])
def test_a_sync_that_finds_the_coordinator_loading(profile: str, ends: Phase, walk: Any) -> None:
    """Known: what the Java coordinator says there ends Kafka's own client.

    It takes a broker that loses the group and gets it back while the client computes the assignment.
    """
    here = walk(world(protocols=ALONE, budget=TWICE, profile=profile))
    here.go(*steps(profile, *JOINS), "c1 reads JoinGroup NONE", MOVES, MOVES)
    here.go("c1's SyncGroup reaches", "c1 reads SyncGroup", by="")
    assert here.rules[-1] == "hosting.loading"
    assert (here.client("c1").phase, here.client("c1").broker) == (ends, 2)


@pytest.mark.parametrize("profile", ["kafka-4.x", "kafka-3.x"])
def test_a_static_member_is_fenced_by_its_own_former_id(profile: str, walk: Any) -> None:
    """Known: its new id is not written before the assignment is, so a fail-over brings the former one back.

    There is one process with this instance id and there was never another.
    """
    budget = (*FAILOVER, ("poll-timeout", 1))
    here = walk(world(protocols=ALONE, instances=("i1",), profile=profile, budget=budget))
    here.go("c1 sends JoinGroup", "c1's JoinGroup reaches", "initial rebalance delay is over")
    here.go(*steps(profile, "log stores that the group is there"), "c1 reads JoinGroup NONE")
    here.go("c1's SyncGroup reaches", "log stores", "c1 reads SyncGroup", "c1 stops, nobody polls")
    here.go("session of c1-1 is over", "c1 sends JoinGroup", "c1's JoinGroup reaches")
    here.go("initial rebalance delay is over", LOSES, LOADS, "c1 reads JoinGroup NONE")
    here.go("c1's SyncGroup reaches", by="hosting.elsewhere")
    here.go("c1 reads SyncGroup NOT_COORDINATOR")
    here.go("c1's JoinGroup reaches", by="join.fenced-instance-id")
    here.go("c1 reads JoinGroup FENCED_INSTANCE_ID")
    assert here.client("c1").phase is Phase.FAILED


def test_who_has_left_is_back(walk: Any) -> None:
    """Known: that somebody has left is written with the next generation; until then a fail-over undoes it."""
    here = walk(world(protocols=ALONE, budget=(*FAILOVER, ("leave", 1)), profile="kafka-3.x"))
    here.go(
        *steps("kafka-3.x", *BECOMES_STABLE),
        "c1 leaves",
        "c1's LeaveGroup reaches",
        "c1 reads LeaveGroup NONE",
    )
    here.go(LOSES, LOADS)
    assert here.client("c1").phase is Phase.GONE
    assert set(here.coordinator.group.members) == {"c1-1"}
    here.go("session of c1-1 is over")
    assert here.coordinator.group.state is GroupState.EMPTY


# All states


def test_without_fail_over_nothing_durable_is_kept(reachable: Search) -> None:
    for value, log, clients, _ in map(parts, reachable(world(budget=(("leave", 1),)))):
        assert (log.durable, log.epoch, value.epoch, value.loading) == (None, 0, 0, False)
        assert all((client.broker, client.epoch) == (0, 0) for client in clients)


@pytest.mark.parametrize("profile", but(["kafka-4.x"], ["kafka-4.x", "kafka-3.x"]))
def test_before_the_first_fail_over_the_world_is_the_same(profile: str, reachable: Search) -> None:
    """What only a fail-over could find left out, its states are those of the world without one."""
    without = reachable(world(profile=profile))
    plain = {(value, log.appends, clients) for value, log, clients, _ in map(parts, without)}
    prospects = Prospects(failures=False)
    seen = set()
    for value, log, clients, _ in map(parts, reachable(world(budget=FAILOVER, profile=profile))):
        if value.epoch == 0:
            appends = tuple(
                r
                for r in settled_appends(value.group, log.appends)
                if prospects.counts(ClassicGroups(), r, 0)
            )
            seen.add((value, appends, clients))
    assert seen == plain


def unacknowledged(states: set[State]) -> list[State]:
    """The states in which a client has an assignment of a generation that the group has not reached."""
    found = []
    for state in states:
        value, _, clients, _ = parts(state)
        reached = value.group.generation_id if value.group else 0
        ahead = any(client.assignment and client.generation_id > reached for client in clients)
        found += [state] if ahead and not value.loading else []
    return found


def test_what_was_acknowledged_survives(reachable: Search) -> None:
    assert not unacknowledged(reachable(world(protocols=ALONE, budget=(*TWICE, ("rejoin", 1)))))


def test_a_log_that_answers_too_early_is_caught(reachable: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the log says stored, and a fail-over may lose it."""
    monkeypatch.setattr(Log, "_with_durable", lambda log, value, stored: value)
    assert unacknowledged(reachable(world(protocols=ALONE, budget=FAILOVER)))


def taken_ids(states: set[State]) -> list[str]:
    """Ids that are handed out to a newcomer though a record that may be loaded names them."""
    found = []
    for value, log, clients, _ in map(parts, states):
        records = (*log.appends, *([log.durable] if log.durable and value.epoch == 0 else []))
        named = {line.member_id for one in records for line in one.members if value.epoch == 0}
        for client in clients:
            reply = client.inbox
            if isinstance(reply, JoinGroupReply) and reply.error_code is ErrorCode.MEMBER_ID_REQUIRED:
                found += [reply.member_id] if reply.member_id in named else []
    return found


CRASHES = {"protocols": ALONE, "budget": (*FAILOVER, ("crash", 1))}


def test_no_newcomer_gets_an_id_that_a_record_names(reachable: Search) -> None:
    assert not taken_ids(reachable(world(**CRASHES)))


def test_minting_without_a_look_at_the_log_is_caught(
    reachable: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: only the ids of the group and the client count, so a fail-over may bring a twin back."""
    monkeypatch.setattr(Log, "_recalled", lambda log, value, asked: Recalled(asked.request, asked.client))
    assert taken_ids(reachable(world(**CRASHES)))


def test_budget_value_is_the_number_of_epochs_left(reachable: Search) -> None:
    """So what a fail-over could find is known from the epoch alone."""
    for value, log, _, budget in map(parts, reachable(world(protocols=ALONE, budget=TWICE))):
        assert isinstance(budget, FrozenMap)
        assert value.epoch == log.epoch == 2 - budget["failover"]
