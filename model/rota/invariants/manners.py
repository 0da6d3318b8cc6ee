"""What a client owes to the protocol whatever the broker does, read off it before and after a move."""

from __future__ import annotations

from rota.environment.clients.assignment import Metadata
from rota.environment.clients.commits import PARTITION
from rota.environment.clients.cooperative import COOPERATIVE_STICKY
from rota.environment.clients.retry_rules import error_of
from rota.environment.clients.state import ENDED, Client, Phase
from rota.invariants.views import CLIENT
from rota.kernel import Kind, Property
from rota.spec import ErrorCode, JoinGroupReply, JoinGroupRequest, SyncGroupReply
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


def _fails_for_a_reason(before: Client, after: Client) -> bool:
    return after.phase is not Phase.FAILED or _read(before, after) not in RETRIABLE


def _takes_its_part(before: Client, after: Client) -> bool:
    given = isinstance(before.inbox, SyncGroupReply) and _read(before, after) is ErrorCode.NONE
    return not given or after.phase not in LEAVING


def _lost_is_lost(before: Client, after: Client) -> bool:
    if _read(before, after) not in LOST or after.phase in ENDED:
        return True
    return not after.assignment and after.generation_id < 0


def _id_is_kept(before: Client, after: Client) -> bool:
    if not before.member_id or after.member_id or after.phase in ENDED | LEAVING:
        return True
    silent = after.group_instance_id is not None and after.phase is Phase.UNJOINED
    return silent or _read(before, after) is ErrorCode.UNKNOWN_MEMBER_ID


def _given_id_is_used(before: Client, after: Client) -> bool:
    reply = before.inbox
    if not isinstance(reply, JoinGroupReply) or _read(before, after) is not ErrorCode.MEMBER_ID_REQUIRED:
        return True
    return after.member_id == reply.member_id or after.phase in LEAVING


def _fence_is_final(before: Client, after: Client) -> bool:
    """The commit before joining again is left out: the JoinGroup that follows it will be fenced as well."""
    if _read(before, after) is not ErrorCode.FENCED_INSTANCE_ID or before.phase is Phase.PREPARING:
        return True
    return after.phase in ENDED


def _commits_its_own(client: Client) -> bool:
    request = None if client.outbox is None else client.outbox.request
    return not isinstance(request, OffsetCommitRequest) or PARTITION in client.partitions


def _revoked_in_two_rounds(before: Client, after: Client) -> bool:
    if _read(before, after) is not ErrorCode.NONE or before.phase is not Phase.SYNCING:
        return True
    return set(before.partitions) <= set(after.partitions) or after.phase is not Phase.STABLE


def _claims_are_true(client: Client) -> bool:
    request = None if client.outbox is None else client.outbox.request
    if not isinstance(request, JoinGroupRequest):
        return True
    entries = [entry for entry in request.protocols if entry.name == COOPERATIVE_STICKY]
    claims = [Metadata.decode(entry.metadata).claim for entry in entries]
    kept = [((), 0) if claim is None else (claim.partitions, claim.generation_id) for claim in claims]
    return all(partitions == client.partitions and since >= 0 for partitions, since in kept)


MANNERS = (
    Property(
        "client.fails-for-a-reason",
        Kind.STEP,
        "No client fails with an error after which it could join or ask again.",
        (CLIENT,),
        _fails_for_a_reason,
        source="KAFKA-10870; upstream AbstractCoordinator#joinGroupIfNeeded",
        rules=("sync.rebalance-in-progress", "heartbeat.unknown-member", "hosting.elsewhere"),
    ),
    Property(
        "client.takes-its-part",
        Kind.STEP,
        "A client that is assigned nothing stays a member like all others.",
        (CLIENT,),
        _takes_its_part,
        source="upstream ConsumerCoordinator#onJoinComplete",
        rules=("persistence.assignment-stored",),
    ),
    Property(
        "client.id-is-kept",
        Kind.STEP,
        "A client forgets its member id only when it leaves or hears that the id is unknown.",
        (CLIENT,),
        _id_is_kept,
        source="KAFKA-20985; upstream AbstractCoordinator#resetGenerationOnResponseError",
        rules=("sync.rebalance-in-progress", "offsets.rebalance-in-progress"),
    ),
    Property(
        "client.commits-its-own",
        Kind.SAFETY,
        "A client commits offsets of partitions that it consumes.",
        (CLIENT,),
        _commits_its_own,
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
        _lost_is_lost,
        source="KAFKA-13419, KAFKA-13891; upstream AbstractCoordinator#resetStateAndRejoin",
        rules=("heartbeat.unknown-member", "heartbeat.illegal-generation", "offsets.illegal-generation"),
    ),
    Property(
        "client.given-id-is-used",
        Kind.STEP,
        "A client that is given a member id joins with it, or leaves with it.",
        (CLIENT,),
        _given_id_is_used,
        source="KIP-394; upstream AbstractCoordinator.JoinGroupResponseHandler",
        rules=("join.member-id-required",),
    ),
    Property(
        "client.fence-is-final",
        Kind.STEP,
        "A client that is told that another process has its instance id ends.",
        (CLIENT,),
        _fence_is_final,
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
        _revoked_in_two_rounds,
        source="KIP-429; KAFKA-14639",
        rules=("persistence.assignment-stored",),
    ),
    Property(
        "client.claims-are-true",
        Kind.SAFETY,
        "What a cooperative client claims is what it owns, with a generation since which it does.",
        (CLIENT,),
        _claims_are_true,
        source="KIP-429; upstream ConsumerCoordinator#metadata",
        rules=("join.next-generation",),
    ),
)
"""What is asked of cooperative clients."""
