"""What clients do about each answer, by values: the retry rules of Kafka's client as a table.

The expectations are written down from upstream's response handlers, not read off the model's tables.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rota.environment.clients.assignment import TOPIC, Assignment, Claim, Metadata
from rota.environment.clients.callbacks import Callback, ListenerCall, listener_calls
from rota.environment.clients.consumer import PoliteClient
from rota.environment.clients.cooperative import CooperativeClient
from rota.environment.clients.eager import EagerClient
from rota.environment.clients.poll_heartbeat import OldClient
from rota.environment.clients.state import Client, Phase
from rota.environment.clients.subscription import Subscription
from rota.environment.messages import Charge, Deliver, Disconnected, Evicted, Known, Renumbered
from rota.kernel import Outcome
from rota.spec import (
    ErrorCode,
    FindCoordinatorReply,
    FindCoordinatorRequest,
    HeartbeatReply,
    JoinGroupReply,
    LeaveGroupReply,
    MemberMetadata,
    SyncGroupReply,
)
from rota.spec.messages import CoordinatorOf, Node
from rota.spec.offset_messages import (
    FetchedPartition,
    FetchedTopic,
    OffsetCommitReply,
    OffsetFetchReply,
    PartitionOutcome,
    TopicOutcome,
)

E = ErrorCode
ME, GENERATION = "c1-1", 3

ALL = "as before"
NO_GENERATION = "generation forgotten"
NOTHING = "id and generation forgotten"

REJOINS = (Phase.JOINING, ALL)
SOFT = (Phase.JOINING, NO_GENERATION)
FULL = (Phase.JOINING, NOTHING)
FAILS = (Phase.FAILED, NOTHING)

JOIN = {
    E.REBALANCE_IN_PROGRESS: REJOINS,
    E.COORDINATOR_LOAD_IN_PROGRESS: REJOINS,
    E.COORDINATOR_NOT_AVAILABLE: REJOINS,
    E.NOT_COORDINATOR: REJOINS,
    E.UNKNOWN_MEMBER_ID: FULL,
    E.FENCED_INSTANCE_ID: FAILS,
    E.INCONSISTENT_GROUP_PROTOCOL: FAILS,
    E.INVALID_SESSION_TIMEOUT: FAILS,
    E.INVALID_GROUP_ID: FAILS,
    E.GROUP_MAX_SIZE_REACHED: FAILS,
    E.UNSUPPORTED_VERSION: FAILS,
    E.UNKNOWN_SERVER_ERROR: FAILS,
}
SYNC = {
    E.REBALANCE_IN_PROGRESS: REJOINS,
    E.COORDINATOR_NOT_AVAILABLE: REJOINS,
    E.NOT_COORDINATOR: REJOINS,
    E.UNKNOWN_MEMBER_ID: FULL,
    E.ILLEGAL_GENERATION: SOFT,
    E.FENCED_INSTANCE_ID: FAILS,
    E.COORDINATOR_LOAD_IN_PROGRESS: FAILS,
    E.INCONSISTENT_GROUP_PROTOCOL: FAILS,
    E.REQUEST_TIMED_OUT: FAILS,
    E.UNKNOWN_SERVER_ERROR: FAILS,
}
HEARTBEAT = {
    E.REBALANCE_IN_PROGRESS: REJOINS,
    E.ILLEGAL_GENERATION: SOFT,
    E.UNKNOWN_MEMBER_ID: FULL,
    E.FENCED_INSTANCE_ID: FAILS,
}
COMMIT = {
    E.NONE: (Phase.STABLE, ALL),
    E.COORDINATOR_LOAD_IN_PROGRESS: (Phase.STABLE, ALL),
    E.COORDINATOR_NOT_AVAILABLE: (Phase.STABLE, ALL),
    E.NOT_COORDINATOR: (Phase.STABLE, ALL),
    E.REQUEST_TIMED_OUT: (Phase.STABLE, ALL),
    E.REBALANCE_IN_PROGRESS: REJOINS,
    E.ILLEGAL_GENERATION: SOFT,
    E.UNKNOWN_MEMBER_ID: FULL,
    E.FENCED_INSTANCE_ID: FAILS,
    E.OFFSET_METADATA_TOO_LARGE: FAILS,
    E.INVALID_COMMIT_OFFSET_SIZE: FAILS,
    E.GROUP_ID_NOT_FOUND: FAILS,
}
COMMIT_BEFORE_JOINING = {
    error: {E.ILLEGAL_GENERATION: SOFT, E.UNKNOWN_MEMBER_ID: FULL}.get(error, REJOINS) for error in COMMIT
}
FETCH = {
    E.UNSTABLE_OFFSET_COMMIT: (Phase.FETCHING, ALL),
    E.COORDINATOR_LOAD_IN_PROGRESS: (Phase.FETCHING, ALL),
    E.COORDINATOR_NOT_AVAILABLE: (Phase.FETCHING, ALL),
    E.NOT_COORDINATOR: (Phase.FETCHING, ALL),
    E.UNKNOWN_SERVER_ERROR: FAILS,
}
FORGETS_COORDINATOR = {E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR}


def subscription(**changes: Any) -> Subscription:
    plain = Subscription("c1", ("range",), 9, 45_000, 3_000, partitions=2, offsets=True)
    return replace(plain, **changes)


def part(generation_id: int, *partitions: int) -> bytes:
    return Assignment(generation_id, ME, partitions).encode()


def member(phase: Phase, **changes: Any) -> Client:
    """c1 in generation 3, with partition 0 and a position in it where it is stable."""
    plain = Client("c1", phase, ME, GENERATION, leads=True)
    if phase not in (Phase.JOINING, Phase.SYNCING, Phase.UNJOINED):
        plain = replace(plain, assignment=part(GENERATION, 0), position=5)
    return replace(plain, **changes)


def commit_reply(error: ErrorCode) -> OffsetCommitReply:
    return OffsetCommitReply((TopicOutcome(TOPIC, (PartitionOutcome(0, error),)),))


def reads(machine: PoliteClient, value: Client, reply: Any) -> Outcome:
    """The answer arrives, then the client reads it."""
    (arrived,) = machine.receive(value, "coordinator", reply)
    (outcome,) = (outcome for outcome in machine.actions(arrived.value) if " reads " in outcome.label)
    return outcome


def client_of(outcome: Outcome) -> Client:
    assert isinstance(outcome.value, Client)
    return outcome.value


def request_of(value: Client) -> Any:
    """What is on the wire."""
    assert value.outbox is not None
    return value.outbox.request


def looks_up(outcome: Outcome) -> bool:
    delivered = [s.message.call.request for s in outcome.sends if isinstance(s.message, Deliver)]
    return any(isinstance(request, FindCoordinatorRequest) for request in delivered)


def rows() -> list[Any]:
    tables: dict[str, tuple[Phase, Any, dict[ErrorCode, tuple[Phase, str]]]] = {
        "JoinGroup": (Phase.JOINING, JoinGroupReply, JOIN),
        "SyncGroup": (Phase.SYNCING, SyncGroupReply, SYNC),
        "Heartbeat": (Phase.STABLE, HeartbeatReply, HEARTBEAT),
        "OffsetCommit": (Phase.COMMITTING, commit_reply, COMMIT),
        "OffsetCommit before joining": (Phase.PREPARING, commit_reply, COMMIT_BEFORE_JOINING),
        "OffsetFetch": (Phase.FETCHING, OffsetFetchReply, FETCH),
    }
    return [
        pytest.param(phase, reply(error), error, *expected, id=f"{name} {error.name}")
        for name, (phase, reply, table) in tables.items()
        for error, expected in table.items()
    ]


@pytest.mark.parametrize("kind", [EagerClient, CooperativeClient, OldClient])
@pytest.mark.parametrize(("phase", "reply", "error", "then", "keeps"), rows())
def test_an_answer_and_what_is_done_about_it(
    kind: Any, phase: Phase, reply: Any, error: ErrorCode, then: Phase, keeps: str
) -> None:
    joins_without_offsets = member(phase, position=-1) if phase is Phase.STABLE else member(phase)
    outcome = reads(kind(subscription()), joins_without_offsets, reply)
    after = client_of(outcome)
    assert after.phase is then
    assert after.member_id == ("" if keeps == NOTHING else ME)
    assert after.generation_id == (GENERATION if keeps == ALL else -1)
    assert looks_up(outcome) == (error in FORGETS_COORDINATOR)
    if then is Phase.JOINING:
        assert request_of(after).member_id == after.member_id


@pytest.mark.parametrize(
    "error", [E.NONE, E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR, E.UNKNOWN_SERVER_ERROR], ids=str
)
def test_a_heartbeat_that_is_answered_well_or_missed_changes_nothing(error: ErrorCode) -> None:
    value = member(Phase.STABLE)
    (outcome,) = EagerClient(subscription()).receive(value, "coordinator", HeartbeatReply(error))
    assert outcome.value == value
    assert looks_up(outcome) == (error in FORGETS_COORDINATOR)


def test_member_id_required_is_taken_and_used() -> None:
    machine = EagerClient(subscription())
    reply = JoinGroupReply(E.MEMBER_ID_REQUIRED, member_id="c1-7")
    (arrived,) = machine.receive(Client("c1", Phase.JOINING), "coordinator", reply)
    again, leaves = (
        client_of(outcome) for outcome in machine.actions(arrived.value) if "reads" in outcome.label
    )
    assert (again.phase, again.member_id, again.generation_id) == (Phase.JOINING, "c1-7", -1)
    assert again.outbox == machine.subscription.join("c1-7", changed=False)
    assert leaves.phase is Phase.LEAVING
    assert leaves.outbox == machine.subscription.leave("c1-7")


def test_a_leader_assigns_and_a_follower_sends_an_empty_list() -> None:
    lines = (MemberMetadata(ME, b"c1"), MemberMetadata("c2-1", b"c2"))
    machine = EagerClient(subscription())
    for leader, members, sent in ((ME, lines, 2), ("c2-1", (), 0)):
        reply = JoinGroupReply(E.NONE, 4, "consumer", "range", leader, member_id=ME, members=members)
        after = client_of(reads(machine, Client("c1", Phase.JOINING, broker=2), reply))
        assert (after.phase, after.generation_id, after.leads) == (Phase.SYNCING, 4, leader == ME)
        assert after.epoch == 2
        assert len(request_of(after).assignments) == sent


def test_a_leader_that_is_to_skip_the_assignment_sends_none_and_goes_on_leading() -> None:
    lines = (MemberMetadata(ME, b"c1", "i1"),)
    reply = JoinGroupReply(E.NONE, 4, "consumer", "range", ME, True, ME, lines)
    machine = EagerClient(subscription(group_instance_id="i1"))
    after = client_of(reads(machine, Client("c1", Phase.JOINING, group_instance_id="i1"), reply))
    assert after.leads
    assert request_of(after).assignments == ()


def test_leaving_ends_whatever_the_answer_is() -> None:
    machine = EagerClient(subscription())
    for error in (E.NONE, E.UNKNOWN_MEMBER_ID, E.NOT_COORDINATOR):
        for phase, then in ((Phase.LEAVING, Phase.GONE), (Phase.DROPPING, Phase.UNJOINED)):
            outcome = reads(machine, Client("c1", phase), LeaveGroupReply(error))
            assert client_of(outcome).phase is then
            assert not looks_up(outcome)


def named(machine: PoliteClient, value: Client, what: str) -> Outcome:
    (outcome,) = (outcome for outcome in machine.actions(value) if outcome.label == f"c1 {what}")
    return outcome


def price(outcome: Outcome) -> str | None:
    return next((send.message.kind for send in outcome.sends if isinstance(send.message, Charge)), None)


def test_who_is_told_to_rejoin_commits_first_then_joins() -> None:
    machine = EagerClient(subscription())
    committing = client_of(reads(machine, member(Phase.STABLE), HeartbeatReply(E.REBALANCE_IN_PROGRESS)))
    assert committing.phase is Phase.PREPARING
    assert committing.partitions == (0,)
    sent = request_of(committing)
    assert sent.generation_id_or_member_epoch == GENERATION
    assert sent.topics[0].partitions[0].committed_offset == 5
    joining = client_of(reads(machine, replace(committing, outbox=None), commit_reply(E.NONE)))
    assert (joining.phase, joining.partitions, joining.position) == (Phase.JOINING, (), -1)


def test_after_the_assignment_it_asks_where_to_read_on() -> None:
    machine = EagerClient(subscription())
    synced = client_of(
        reads(machine, member(Phase.SYNCING), SyncGroupReply(E.NONE, assignment=part(GENERATION, 0)))
    )
    assert next(outcome.label for outcome in machine.actions(synced)) == "c1 sends OffsetFetch"
    fetching = client_of(named(machine, synced, "sends OffsetFetch"))
    for committed, position in ((9, 9), (-1, 0)):
        lines = (FetchedTopic(TOPIC, (FetchedPartition(0, committed),)),)
        after = client_of(reads(machine, replace(fetching, outbox=None), OffsetFetchReply(E.NONE, lines)))
        assert (after.phase, after.position) == (Phase.STABLE, position)


def test_who_does_not_consume_the_partition_neither_fetches_nor_commits() -> None:
    machine = EagerClient(subscription())
    synced = client_of(
        reads(machine, member(Phase.SYNCING), SyncGroupReply(E.NONE, assignment=part(GENERATION, 1)))
    )
    labels = {outcome.label for outcome in machine.actions(synced)}
    assert not labels & {"c1 sends OffsetFetch", "c1 reads a record and commits"}
    told_to = client_of(reads(machine, synced, HeartbeatReply(E.REBALANCE_IN_PROGRESS)))
    assert told_to.phase is Phase.JOINING


def test_a_commit_in_between_is_of_one_record_more() -> None:
    outcome = named(EagerClient(subscription()), member(Phase.STABLE), "reads a record and commits")
    after = client_of(outcome)
    assert (price(outcome), after.phase, after.position) == ("commit", Phase.COMMITTING, 6)


def test_an_eager_client_gives_up_all_before_it_joins() -> None:
    machine = EagerClient(subscription(offsets=False))
    value = member(Phase.STABLE, position=-1)
    after = client_of(reads(machine, value, HeartbeatReply(E.REBALANCE_IN_PROGRESS)))
    assert (after.phase, after.assignment, after.leads) == (Phase.JOINING, None, False)
    assert listener_calls(value, after) == (ListenerCall(Callback.REVOKED, frozenset({0})),)


def cooperative(**changes: Any) -> CooperativeClient:
    return CooperativeClient(subscription(protocols=("cooperative-sticky",), offsets=False, **changes))


def claim_in(value: Client) -> Claim | None:
    (protocol,) = request_of(value).protocols
    return Metadata.decode(protocol.metadata).claim


def test_a_cooperative_client_consumes_while_it_joins_and_claims_what_it_owns() -> None:
    value = member(Phase.STABLE, assignment=part(GENERATION, 0, 1), position=-1)
    after = client_of(reads(cooperative(), value, HeartbeatReply(E.REBALANCE_IN_PROGRESS)))
    assert (after.phase, after.partitions) == (Phase.JOINING, (0, 1))
    assert claim_in(after) == Claim((0, 1), GENERATION)
    assert listener_calls(value, after) == ()


def test_a_cooperative_client_revokes_what_it_is_to_lose_and_joins_again() -> None:
    value = member(Phase.SYNCING, generation_id=4, assignment=part(GENERATION, 0, 1))
    after = client_of(reads(cooperative(), value, SyncGroupReply(E.NONE, assignment=part(4, 0))))
    assert (after.phase, after.partitions) == (Phase.JOINING, (0,))
    assert claim_in(after) == Claim((0,), 4)
    assert listener_calls(value, after) == (ListenerCall(Callback.REVOKED, frozenset({1})),)


def test_a_cooperative_client_that_only_gains_is_stable() -> None:
    value = member(Phase.SYNCING, generation_id=4, assignment=part(GENERATION, 0))
    after = client_of(reads(cooperative(), value, SyncGroupReply(E.NONE, assignment=part(4, 0, 1))))
    assert after.phase is Phase.STABLE
    assert listener_calls(value, after) == (ListenerCall(Callback.ASSIGNED, frozenset({1})),)


def test_a_cooperative_client_that_must_sync_again_claims_under_the_newer_generation() -> None:
    """As upstream does: nobody can have got meanwhile what was claimed for the generation that failed."""
    value = member(Phase.SYNCING, generation_id=4, assignment=part(GENERATION, 0))
    after = client_of(reads(cooperative(), value, SyncGroupReply(E.REBALANCE_IN_PROGRESS)))
    assert claim_in(after) == Claim((0,), 4)


@pytest.mark.parametrize("error", [E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION])
def test_who_is_reset_has_lost_all_and_claims_nothing(error: ErrorCode) -> None:
    value = member(Phase.STABLE, position=-1)
    after = client_of(reads(cooperative(), value, HeartbeatReply(error)))
    assert claim_in(after) is None
    assert listener_calls(value, after) == (ListenerCall(Callback.LOST, frozenset({0})),)


def test_sticky_claims_what_it_got_last_although_it_was_given_up() -> None:
    machine = EagerClient(subscription(protocols=("range", "sticky"), offsets=False))
    synced = client_of(
        reads(machine, member(Phase.SYNCING), SyncGroupReply(E.NONE, assignment=part(GENERATION, 1)))
    )
    after = client_of(reads(machine, synced, HeartbeatReply(E.UNKNOWN_MEMBER_ID)))
    claims = [Metadata.decode(p.metadata).claim for p in request_of(after).protocols]
    assert claims == [None, Claim((1,), GENERATION)]


def test_a_static_member_says_nothing_when_it_closes_and_comes_back_without_an_id() -> None:
    machine = EagerClient(subscription(group_instance_id="i1"))
    value = member(Phase.STABLE, group_instance_id="i1")
    outcome = named(machine, value, "closes without a word")
    assert price(outcome) == "leave"
    assert [type(send.message) for send in outcome.sends] == [Charge, Disconnected]
    joining = client_of(named(machine, replace(client_of(outcome), phase=Phase.UNJOINED), "sends JoinGroup"))
    sent = request_of(joining)
    assert (sent.member_id, sent.group_instance_id) == ("", "i1")
    assert not [outcome for outcome in machine.actions(value) if "leaves" in outcome.label]


def test_a_static_member_names_its_instance_in_every_request() -> None:
    static = subscription(group_instance_id="i1")
    reply = JoinGroupReply(E.NONE, 1, "consumer", "range", ME, member_id=ME)
    calls = (static.join("", changed=False), static.sync(reply, 2), static.heartbeat(ME, 1))
    committing = client_of(named(EagerClient(static), member(Phase.STABLE), "reads a record and commits"))
    for request in (*(call.request for call in calls), request_of(committing)):
        assert getattr(request, "group_instance_id", None) == "i1"


def test_who_is_not_polled_leaves_and_comes_back_a_static_member_just_stops() -> None:
    value = member(Phase.STABLE)
    dynamic = named(EagerClient(subscription()), value, "leaves, nobody polls")
    assert (price(dynamic), client_of(dynamic).phase) == ("poll-timeout", Phase.DROPPING)
    static = EagerClient(subscription(group_instance_id="i1"))
    stops = client_of(named(static, value, "stops, nobody polls"))
    assert (stops.phase, stops.outbox) == (Phase.UNJOINED, None)
    for after in (client_of(dynamic), stops):
        assert (after.member_id, after.generation_id, after.partitions) == ("", -1, ())
        assert listener_calls(value, after) == (ListenerCall(Callback.LOST, frozenset({0})),)


def test_only_an_old_client_is_silent_while_it_processes() -> None:
    value = member(Phase.PROCESSING)
    loss = Evicted(ME, answered=False)
    for kind, beats in ((EagerClient, True), (CooperativeClient, True), (OldClient, False)):
        machine = kind(subscription())
        assert any(outcome.label == "c1 heartbeats" for outcome in machine.actions(value)) == beats
        (outcome,) = machine.receive(value, "coordinator", loss)
        assert (price(outcome) == "late") == beats, "an old one that is expired meanwhile was not late"
        assert price(machine.receive(member(Phase.STABLE), "coordinator", loss)[0]) == "late"


def test_what_a_thread_hears_is_acted_on_when_the_application_polls() -> None:
    machine = EagerClient(subscription(offsets=False))
    (heard,) = machine.receive(member(Phase.PROCESSING), "coordinator", HeartbeatReply(E.UNKNOWN_MEMBER_ID))
    polls = client_of(named(machine, client_of(heard), "polls again"))
    assert client_of(reads(machine, replace(polls, inbox=None), polls.inbox)).member_id == ""


def test_a_retried_join_uses_the_id_if_there_is_one() -> None:
    for version, member_id in ((3, ""), (9, ME)):
        value = Client("c1", Phase.JOINING, member_id)
        outcome = named(
            EagerClient(subscription(join_version=version)),
            value,
            "retries its JoinGroup on another connection",
        )
        assert price(outcome) == "retry"
        assert any(isinstance(send.message, Disconnected) for send in outcome.sends)
        assert request_of(client_of(outcome)).member_id == member_id


def test_a_leader_notices_a_new_partition_and_a_later_leader_too() -> None:
    machine = EagerClient(subscription(offsets=False))
    value = member(Phase.STABLE, position=-1)
    first = named(machine, value, "notices a new partition")
    later = named(machine, value, "notices a partition that is there already")
    assert price(first) == "partitions"
    assert [send.message for send in later.sends] == [Known("partitions", 1)]
    assert client_of(first).grown == client_of(later).grown == 1
    follower = replace(value, leads=False)
    assert not [outcome for outcome in machine.actions(follower) if "notices" in outcome.label]


def test_it_keeps_in_mind_where_the_coordinator_is() -> None:
    machine = EagerClient(subscription())
    orphan = machine.subscription.join("", changed=False)
    value = member(Phase.STABLE, orphan=orphan)
    (numbered,) = machine.receive(value, "coordinator", Renumbered(2))
    assert client_of(numbered) == replace(value, broker=2)
    elsewhere = FindCoordinatorReply((CoordinatorOf("g", E.NONE, Node(1)),))
    (found,) = machine.receive(value, "coordinator", elsewhere)
    assert client_of(found) == replace(value, broker=1, orphan=None)


@pytest.mark.parametrize(
    ("phase", "then"),
    [
        (Phase.JOINING, Phase.UNJOINED),
        (Phase.SYNCING, Phase.UNJOINED),
        (Phase.PREPARING, Phase.UNJOINED),
        (Phase.COMMITTING, Phase.STABLE),
        (Phase.FETCHING, Phase.STABLE),
        (Phase.LEAVING, Phase.GONE),
        (Phase.DROPPING, Phase.UNJOINED),
    ],
)
def test_what_a_broken_connection_ends(phase: Phase, then: Phase) -> None:
    outcome = named(EagerClient(subscription()), member(phase), "loses its connection")
    after = client_of(outcome)
    assert (price(outcome), after.phase) == ("break", then)
    assert after.member_id == ME
    assert after.assignment is None or then not in (Phase.UNJOINED, Phase.JOINING) or phase is Phase.DROPPING


def test_nothing_is_left_behind_of_a_request_that_only_reads() -> None:
    machine = EagerClient(subscription())
    fetching = client_of(named(machine, member(Phase.STABLE, position=-1), "sends OffsetFetch"))
    assert client_of(named(machine, fetching, "loses its connection")).orphan is None
    committing = client_of(named(machine, member(Phase.STABLE), "reads a record and commits"))
    assert client_of(named(machine, committing, "loses its connection")).orphan is not None
