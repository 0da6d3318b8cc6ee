"""What a coordinator that moves, and a request that comes late, do to clients that did nothing wrong."""

from __future__ import annotations

from rota.environment.broker.member_ids import owner
from rota.environment.clients.state import Client, Phase
from rota.invariants.views import GROUP, both, error_answered, is_not_told, present
from rota.kernel import Kind, Property, View
from rota.spec import ErrorCode, Group, JoinGroupReply, SyncGroupReply


def _sync_told(client: Client) -> ErrorCode | None:
    return error_answered(client) if isinstance(client.inbox, SyncGroupReply) else None


def _join_told(client: Client) -> ErrorCode | None:
    return error_answered(client) if isinstance(client.inbox, JoinGroupReply) else None


def _gone(client: Client) -> str | None:
    return client.name if client.phase is Phase.GONE else None


def _not_a_member(group: Group, gone: str) -> bool:
    return all(owner(member_id) != gone for member_id in group.members)


KNOWN_WEAKNESSES = (
    Property(
        "weakness.fenced-by-its-own-past",
        Kind.SAFETY,
        "A client that shares its group instance id with nobody is not fenced.",
        (View("client", error_answered),),
        is_not_told(ErrorCode.FENCED_INSTANCE_ID),
        given=present,
        source="KAFKA-10284; upstream ClassicGroup#replaceStaticMember: a late JoinGroup of a process that "
        "is dead takes the place of the one after it; outside of Stable a new id is stored with the "
        "next assignment only, so after a fail-over the former one holds",
        rules=("static.validate", "loading.load", "static.replaced"),
    ),
    Property(
        "weakness.left-and-still-a-member",
        Kind.SAFETY,
        "A client that has left is no member any more.",
        (GROUP, View("client", _gone)),
        _not_a_member,
        given=both,
        source="upstream GroupMetadataManager#classicGroupLeaveToClassicGroup: a removal is stored with the "
        "next generation only, and a LeaveGroup that is lost is not repeated",
        rules=("leave.member", "loading.load"),
    ),
    Property(
        "weakness.sync-while-loading-is-fatal",
        Kind.SAFETY,
        "No SyncGroup is told that the coordinator is loading, which ends Kafka's own client.",
        (View("client", _sync_told),),
        is_not_told(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        given=present,
        source="upstream GroupCoordinatorService#syncGroup, AbstractCoordinator.SyncGroupResponseHandler",
        rules=("hosting.loading",),
    ),
    Property(
        "weakness.refused-after-a-move",
        Kind.SAFETY,
        "No client is refused that has a protocol in common with all others.",
        (View("client", _join_told),),
        is_not_told(ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        given=present,
        source="upstream ClassicGroup#supportsProtocols: a record keeps the chosen protocol only, so after a "
        "fail-over a client that does not list it is refused until the others have rejoined",
        rules=("join.inconsistent-protocol", "loading.load"),
    ),
)
