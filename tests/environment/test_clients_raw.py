"""The raw client: its table of odd requests, and what they bring about."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from rota.environment import world
from rota.environment.clients.adversary import Raw, RawClient
from rota.environment.clients.malformed_requests import odd_requests
from rota.environment.clients.subscription import Subscription
from rota.environment.messages import Charge, Deliver
from rota.kernel import System
from rota.spec import RULES, ErrorCode, FindCoordinatorReply
from rota.spec.messages import CoordinatorOf, Node

BESIDE_A_STATIC_ONE: dict[str, Any] = {
    "clients": ("eager", "raw"),
    "instances": ("i1", ""),
    "offsets": True,
}
ALONE: dict[str, Any] = {"protocols": (("range",),), "clients": ("raw",), "offsets": True}

FOR_RAW_CLIENTS = {
    "join.invalid-group-id",
    "join.invalid-session-timeout",
    "join.inconsistent-protocol",
    "join.fenced-instance-id",
    "sync.protocol-required",
    "sync.invalid-group-id",
    "sync.fenced-instance-id",
    "sync.inconsistent-protocol",
    "heartbeat.invalid-group-id",
    "heartbeat.fenced-instance-id",
    "leave.invalid-group-id",
    "leave.unknown-group",
    "leave.by-instance-id",
    "leave.fenced-instance-id",
    "leave.unknown-member",
    "static.pending-with-instance",
    "static.replaced-changed-vote",
    "hosting.find-coordinator",
    "offsets.unknown-group",
    "offsets.commit-without-membership",
    "offsets.unknown-member",
    "offsets.fenced-instance-id",
    "offsets.illegal-generation",
    "offsets.rebalance-in-progress",
    "offsets.delete-invalid-group-id",
    "offsets.delete-unknown-group",
    "offsets.delete",
    "transactions.commit-invalid-group-id",
    "transactions.commit-unknown-member",
    "transactions.commit-fenced-instance-id",
    "transactions.commit-illegal-generation",
    "transactions.commit",
    "admin.describe-unknown-group",
    "admin.describe",
    "admin.list",
    "admin.delete-unknown-group",
    "admin.delete-non-empty-group",
    "admin.delete",
}
"""What polite clients do not make fire, be it because they know better or because they do not ask."""


def subscription(**changes: Any) -> Subscription:
    settings: dict[str, Any] = {"join_version": 9, "offsets": True, **changes}
    return Subscription(
        "c2", ("range",), session_timeout_ms=45_000, rebalance_timeout_ms=3_000, partitions=2, **settings
    )


def explored(system: System) -> tuple[set[str], dict[str, set[ErrorCode]]]:
    """The rules that fired, and per kind of answer to the raw client the errors that it carried."""
    found = set(system.initial_states())
    frontier, rules, told = list(found), set(), defaultdict(set)
    while frontier:
        fresh = set()
        for state in frontier:
            for transition in system.successors(state):
                fresh.add(transition.target)
                rules |= set(transition.rules)
                for local_step in transition.local_steps:
                    if local_step.sender is not None and local_step.machine.startswith("client/"):
                        told[type(local_step.message).__name__] |= set(errors_in(local_step.message))
        fresh -= found
        found |= fresh
        frontier = list(fresh)
    return rules, told


def errors_in(message: Any) -> list[ErrorCode]:
    """Every error code in an answer."""
    if isinstance(message, ErrorCode):
        return [message]
    if is_dataclass(message):
        parts = [getattr(message, one.name) for one in fields(message)]
    else:
        parts = message if isinstance(message, tuple) else ()
    return [error for part in parts for error in errors_in(part)]


def test_the_table_is_a_table() -> None:
    lines = odd_requests(subscription())
    assert len({line.what for line in lines}) == len(lines)
    assert len({(line.request, line.version) for line in lines}) == len(lines)
    assert 90 <= len(lines) <= 110


def test_where_there_are_no_offsets_nothing_is_asked_about_them() -> None:
    kinds = {type(line.request).__name__ for line in odd_requests(subscription(offsets=False))}
    assert not [kind for kind in kinds if "Offset" in kind]
    assert "DeleteGroupsRequest" not in kinds


def test_an_old_raw_client_knows_neither_instances_nor_new_versions() -> None:
    for line in odd_requests(subscription(join_version=3)):
        assert "instance" not in line.what
        kind = type(line.request).__name__
        assert line.version <= {"JoinGroupRequest": 3, "SyncGroupRequest": 2}.get(kind, 9)


def test_each_request_costs_one_and_leaves_nothing_behind() -> None:
    machine = RawClient(subscription())
    (value,) = machine.initial()
    outcomes = machine.actions(Raw("c2"))
    assert len(outcomes) == len(odd_requests(subscription()))
    for outcome in outcomes:
        charge, delivery = outcome.sends
        assert outcome.value == value
        assert (charge.to, charge.message) == ("budget", Charge("odd"))
        assert isinstance(delivery.message, Deliver)
        assert delivery.message.call.to == "c2"
    assert [outcome.value for outcome in machine.receive(Raw("c2"), "coordinator", "anything")] == [value]


def test_it_goes_where_it_is_told_that_the_coordinator_is() -> None:
    machine = RawClient(subscription())
    there = FindCoordinatorReply((CoordinatorOf("g", ErrorCode.NONE, Node(1)),))
    (outcome,) = machine.receive(Raw("c2"), "coordinator", there)
    assert outcome.value == Raw("c2", broker=1)
    assert {offer.sends[1].message.broker for offer in machine.actions(outcome.value)} == {1}
    nowhere = FindCoordinatorReply((CoordinatorOf("g", ErrorCode.INVALID_REQUEST),))
    assert [outcome.value for outcome in machine.receive(Raw("c2"), "coordinator", nowhere)] == [Raw("c2")]


@pytest.fixture(scope="module")
def beside() -> tuple[set[str], dict[str, set[ErrorCode]]]:
    return explored(world(**BESIDE_A_STATIC_ONE, budget=(("odd", 1),)))


@pytest.fixture(scope="module")
def alone() -> tuple[set[str], dict[str, set[ErrorCode]]]:
    return explored(world(**ALONE, budget=(("odd", 2),)))


@pytest.mark.long
def test_it_makes_the_rules_fire_that_polite_clients_do_not(beside: Any, alone: Any) -> None:
    fired = beside[0] | alone[0]
    assert set(RULES) >= FOR_RAW_CLIENTS
    assert fired >= FOR_RAW_CLIENTS


@pytest.mark.long
def test_it_is_told_every_error_of_a_coordinator_that_is_there(beside: Any, alone: Any) -> None:
    told = set().union(*beside[1].values(), *alone[1].values())
    assert told >= {
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.INVALID_SESSION_TIMEOUT,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NON_EMPTY_GROUP,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    }
