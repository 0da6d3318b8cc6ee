"""What a client is: its state, its connection, and the requests that it makes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from rota.environment.assignment import assign
from rota.environment.signals import Evicted
from rota.spec import (
    Call,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.messages import ReplyMessage, Request


class Phase(Enum):
    """Where a client stands. Source: upstream AbstractCoordinator.MemberState, and the ends of a process."""

    UNJOINED = "unjoined"
    JOINING = "joining"
    SYNCING = "syncing"
    STABLE = "stable"
    LEAVING = "leaving"
    GONE = "gone"
    CRASHED = "crashed"
    FAILED = "failed"


ENDED = frozenset({Phase.GONE, Phase.CRASHED, Phase.FAILED})


@dataclass(frozen=True)
class Client:
    """A client with its connection.

    name: the same for ever, and the address of its connection; member_id, generation_id: what it would
    name in a request ("" and -1: none); changed: it subscribes to something else than at first; leads: the
    last join answer named it leader; assignment: what it consumes, None unless stable; outbox: a request
    on the wire that the broker has not taken; inbox: an answer on the wire; orphan: a request of a broken
    connection that the broker may still take.
    History variables for two properties: unasked: it was sent an answer that it did not wait for;
    overtaken: the last request of its own that the broker took came late, from a connection that is gone.
    """

    name: str
    phase: Phase = Phase.UNJOINED
    member_id: str = ""
    generation_id: int = -1
    changed: bool = False
    leads: bool = False
    assignment: bytes | None = None
    outbox: Call | None = None
    inbox: ReplyMessage | None = None
    orphan: Call | None = None
    unasked: bool = False
    overtaken: bool = False

    @property
    def waits(self) -> bool:
        """Whether the broker holds a request of this connection unanswered."""
        asked = self.phase in (Phase.JOINING, Phase.SYNCING, Phase.LEAVING)
        return asked and self.outbox is None and self.inbox is None

    @property
    def held(self) -> tuple[str, ...]:
        """Every member id that this client still refers to, sorted."""
        ids = {self.member_id}
        if isinstance(self.inbox, JoinGroupReply):
            ids.add(self.inbox.member_id)
        for call in (self.outbox, self.orphan):
            if call is not None:
                ids.update(_named(call.request))
        return tuple(sorted(ids - {""}))

    def suffers(self, loss: Evicted) -> bool:
        """Whether it is alive and would go on using an id, or waits for an answer under it."""
        promised = isinstance(self.inbox, JoinGroupReply) and self.inbox.member_id == loss.member_id
        return self.phase not in ENDED and (self.member_id == loss.member_id or promised or loss.answered)

    def forget(self) -> Client:
        """A full reset: neither id nor generation. Source: upstream resetStateOnResponseError."""
        return replace(self, member_id="", generation_id=-1, leads=False, assignment=None)

    def outdated(self) -> Client:
        """A soft reset: the id is kept, the generation is not."""
        return replace(self, generation_id=-1, leads=False, assignment=None)


def _named(request: Request) -> tuple[str, ...]:
    if isinstance(request, LeaveGroupRequest):
        return tuple(identity.member_id for identity in request.members)
    return () if isinstance(request, FindCoordinatorRequest) else (request.member_id,)


@dataclass(frozen=True)
class Subscription:
    """How a client is configured: what all its requests carry.

    protocols: names in order of preference; versions: of JoinGroup and of all others; milliseconds.
    """

    client: str
    protocols: tuple[str, ...]
    join_version: int
    session_timeout_ms: int
    rebalance_timeout_ms: int
    partitions: int
    group_id: str = "g"
    protocol_type: str = "consumer"

    def join(self, member_id: str, *, changed: bool) -> Call:
        """JoinGroup, new or again. changed: with the metadata of its second subscription."""
        metadata = f"{self.client}{'*' * changed}".encode()
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            member_id=member_id,
            protocol_type=self.protocol_type,
            protocols=tuple(ProtocolMetadata(name, metadata) for name in self.protocols),
        )
        return Call(request, self.client, self.join_version)

    def sync(self, reply: JoinGroupReply) -> Call:
        """SyncGroup after a successful join: the leader assigns, followers send an empty list."""
        ids = [line.member_id for line in reply.members]
        parts = assign(reply.generation_id, ids, self.partitions) if reply.leader == reply.member_id else ()
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=reply.generation_id,
            member_id=reply.member_id,
            assignments=tuple(MemberAssignment(*part) for part in parts),
            protocol_type=reply.protocol_type,
            protocol_name=reply.protocol_name,
        )
        return Call(request, self.client, 5)

    def heartbeat(self, member_id: str, generation_id: int) -> Call:
        """Heartbeat."""
        return Call(HeartbeatRequest(self.group_id, generation_id, member_id), self.client, 4)

    def leave(self, member_id: str) -> Call:
        """LeaveGroup."""
        return Call(LeaveGroupRequest(self.group_id, (LeavingMember(member_id),)), self.client, 5)
