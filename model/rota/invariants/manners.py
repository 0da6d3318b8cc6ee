"""What a client owes to the protocol whatever the broker does, read off it before and after a move."""

from __future__ import annotations

from rota.environment.clients.assignment import Metadata
from rota.environment.clients.commits import PARTITION
from rota.environment.clients.cooperative import COOPERATIVE_STICKY
from rota.environment.clients.retry_rules import error_of
from rota.environment.clients.state import ENDED, Client, Phase
from rota.invariants.views import CLIENT
from rota.kernel import Kind, Property
from rota.spec import ErrorCode, JoinGroupReply, JoinGroupRequest, ProtocolMetadata, SyncGroupReply
from rota.spec.offset_messages import OffsetCommitRequest

RETRIABLE = frozenset(
    {
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    }
)
LOST = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
LEAVING = frozenset({Phase.LEAVING, Phase.DROPPING})


def _read(before: Client, after: Client) -> ErrorCode | None:
    """The error of the answer that a client reads in this move, None where it reads none."""
    return None if before.inbox is None or after.inbox == before.inbox else error_of(before.inbox)


def _fails(before: Client, after: Client) -> bool:
    return after.phase is Phase.FAILED


def _for_a_reason(before: Client, after: Client) -> bool:
    return _read(before, after) not in RETRIABLE


def _is_given_its_part(before: Client, after: Client) -> bool:
    return isinstance(before.inbox, SyncGroupReply) and _read(before, after) is ErrorCode.NONE


def _stays(before: Client, after: Client) -> bool:
    return after.phase not in LEAVING


def _hears_that_it_is_lost(before: Client, after: Client) -> bool:
    return _read(before, after) in LOST and after.phase not in ENDED


def _consumes_nothing(before: Client, after: Client) -> bool:
    return not after.assignment and after.generation_id < 0


def _forgets_its_id(before: Client, after: Client) -> bool:
    return bool(before.member_id) and not after.member_id


def _may_forget(before: Client, after: Client) -> bool:
    silent = after.group_instance_id is not None and after.phase is Phase.UNJOINED
    ends = silent or after.phase in ENDED | LEAVING
    return ends or _read(before, after) is ErrorCode.UNKNOWN_MEMBER_ID


def _is_given_an_id(before: Client, after: Client) -> bool:
    joins = isinstance(before.inbox, JoinGroupReply)
    return joins and _read(before, after) is ErrorCode.MEMBER_ID_REQUIRED


def _given_id_is_used(before: Client, after: Client) -> bool:
    assert isinstance(before.inbox, JoinGroupReply)
    return after.member_id == before.inbox.member_id or after.phase in LEAVING


def _hears_that_it_is_fenced(before: Client, after: Client) -> bool:
    """The commit before joining again is left out: the JoinGroup that follows it will be fenced as well."""
    return _read(before, after) is ErrorCode.FENCED_INSTANCE_ID and before.phase is not Phase.PREPARING


def _ends(before: Client, after: Client) -> bool:
    return after.phase in ENDED


def _commits(client: Client) -> bool:
    return client.outbox is not None and isinstance(client.outbox.request, OffsetCommitRequest)


def _of_its_own(client: Client) -> bool:
    return PARTITION in client.partitions


def _loses_a_partition(before: Client, after: Client) -> bool:
    if _read(before, after) is not ErrorCode.NONE or before.phase is not Phase.SYNCING:
        return False
    return not set(before.partitions) <= set(after.partitions)


def _joins_again(before: Client, after: Client) -> bool:
    return after.phase is not Phase.STABLE


def _cooperative_entries(client: Client) -> list[ProtocolMetadata]:
    """What its JoinGroup lists of the cooperative assignor."""
    request = None if client.outbox is None else client.outbox.request
    if not isinstance(request, JoinGroupRequest):
        return []
    return [entry for entry in request.protocols if entry.name == COOPERATIVE_STICKY]


def _states_claims(client: Client) -> bool:
    return bool(_cooperative_entries(client))


def _claims_are_true(client: Client) -> bool:
    claims = [Metadata.decode(entry.metadata).claim for entry in _cooperative_entries(client)]
    kept = [((), 0) if claim is None else (claim.partitions, claim.generation_id) for claim in claims]
    return all(partitions == client.partitions and since >= 0 for partitions, since in kept)


MANNERS = (
    Property(
        "client.fails-for-a-reason",
        Kind.STEP,
        "No client fails with an error after which it could join or ask again.",
        (CLIENT,),
        _for_a_reason,
        given=_fails,
        source="KAFKA-10870; upstream AbstractCoordinator#joinGroupIfNeeded",
        rules=("sync.rebalance-in-progress", "heartbeat.unknown-member", "hosting.elsewhere"),
    ),
    Property(
        "client.takes-its-part",
        Kind.STEP,
        "A client that is assigned nothing stays a member like all others.",
        (CLIENT,),
        _stays,
        given=_is_given_its_part,
        source="upstream ConsumerCoordinator#onJoinComplete",
        rules=("persistence.assignment-stored",),
    ),
    Property(
        "client.id-is-kept",
        Kind.STEP,
        "A client forgets its member id only when it leaves or hears that the id is unknown.",
        (CLIENT,),
        _may_forget,
        given=_forgets_its_id,
        source="KAFKA-20985; upstream AbstractCoordinator#resetGenerationOnResponseError",
        rules=("sync.rebalance-in-progress", "offsets.rebalance-in-progress"),
    ),
    Property(
        "client.commits-its-own",
        Kind.SAFETY,
        "A client commits offsets of partitions that it consumes.",
        (CLIENT,),
        _of_its_own,
        given=_commits,
        source="segmentio/kafka-go#1308; upstream ConsumerCoordinator#onJoinPrepare",
        rules=("offsets.commit",),
    ),
)

READING = (
    Property(
        "client.lost-is-lost",
        Kind.STEP,
        "A client that is told that its id or generation is over consumes nothing until it has rejoined.",
        (CLIENT,),
        _consumes_nothing,
        given=_hears_that_it_is_lost,
        source="KAFKA-13419, KAFKA-13891; upstream AbstractCoordinator#resetStateAndRejoin",
        rules=("heartbeat.unknown-member", "heartbeat.illegal-generation", "offsets.illegal-generation"),
    ),
    Property(
        "client.given-id-is-used",
        Kind.STEP,
        "A client that is given a member id joins with it, or leaves with it.",
        (CLIENT,),
        _given_id_is_used,
        given=_is_given_an_id,
        source="KIP-394; upstream AbstractCoordinator.JoinGroupResponseHandler",
        rules=("join.member-id-required",),
    ),
    Property(
        "client.fence-is-final",
        Kind.STEP,
        "A client that is told that another process has its instance id ends.",
        (CLIENT,),
        _ends,
        given=_hears_that_it_is_fenced,
        source="KIP-345; upstream AbstractCoordinator.HeartbeatResponseHandler",
        rules=("heartbeat.fenced-instance-id", "join.fenced-instance-id", "sync.fenced-instance-id"),
    ),
)
"""What is asked of a client that reads an answer. Where connections break the answer may be lost unread, so
nothing is asked there.
"""

COOPERATIVE = (
    Property(
        "client.revokes-in-two-rounds",
        Kind.STEP,
        "A client that has to revoke a partition joins again, so that another can be given it.",
        (CLIENT,),
        _joins_again,
        given=_loses_a_partition,
        source="KIP-429; KAFKA-14639",
        rules=("persistence.assignment-stored",),
    ),
    Property(
        "client.claims-are-true",
        Kind.SAFETY,
        "What a cooperative client claims is what it owns, with a generation since which it does.",
        (CLIENT,),
        _claims_are_true,
        given=_states_claims,
        source="KIP-429; upstream ConsumerCoordinator#metadata",
        rules=("join.next-generation",),
    ),
)
"""What is asked of cooperative clients."""
