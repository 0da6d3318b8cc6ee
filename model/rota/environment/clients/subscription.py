"""How a client is configured, and the requests that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from rota.environment.clients.assignment import Claim, Metadata, assign
from rota.spec import (
    Call,
    HeartbeatRequest,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.messages import Request


@dataclass(frozen=True)
class Versions:
    """The versions that a client of one age speaks."""

    join_group: int
    sync_group: int
    heartbeat: int
    leave_group: int
    offset_commit: int
    offset_fetch: int


AGES = (
    Versions(0, 0, 0, 0, 2, 1),
    Versions(1, 0, 0, 0, 2, 1),
    Versions(2, 1, 1, 1, 3, 3),
    Versions(3, 2, 2, 2, 6, 5),
    Versions(4, 2, 2, 2, 6, 5),
    Versions(5, 3, 3, 2, 7, 5),
    Versions(6, 4, 4, 4, 8, 6),
    Versions(7, 5, 4, 4, 8, 7),
    Versions(8, 5, 4, 5, 8, 8),
    Versions(9, 5, 4, 5, 9, 9),
)
"""Kafka's clients 0.10.0, 0.10.1, 0.11, 2.1, 2.2, 2.3, 2.4, 2.5, 3.1, 3.5: by their version of JoinGroup."""

NO_CLAIMS: Mapping[str, Claim] = MappingProxyType({})


@dataclass(frozen=True)
class Subscription:
    """How a client is configured: what all its requests carry.

    client: its name, and the address of its connection; protocols: names of assignors in order of
    preference; join_version: of JoinGroup, and so its age; milliseconds; partitions: how many the topic has
    at first; group_instance_id: makes it a static member; offsets: whether it commits what it has read.
    """

    client: str
    protocols: tuple[str, ...]
    join_version: int
    session_timeout_ms: int
    rebalance_timeout_ms: int
    partitions: int
    group_id: str = "g"
    protocol_type: str = "consumer"
    group_instance_id: str | None = None
    offsets: bool = False

    @property
    def speaks(self) -> Versions:
        """The versions of its requests."""
        return AGES[self.join_version]

    def call(self, request: Request, version: int) -> Call:
        """A request on this client's connection."""
        return Call(request, self.client, version)

    def join(self, member_id: str, *, changed: bool, claims: Mapping[str, Claim] = NO_CLAIMS) -> Call:
        """JoinGroup, new or again.

        changed: with the metadata of its second subscription; claims: what it tells assignors, by name, that
        it owns.
        """
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            member_id=member_id,
            protocol_type=self.protocol_type,
            protocols=tuple(
                ProtocolMetadata(
                    name, Metadata(self.client, changed, claims.get(name), self.offsets).encode()
                )
                for name in self.protocols
            ),
            group_instance_id=self.group_instance_id,
        )
        return self.call(request, self.join_version)

    def sync(self, reply: JoinGroupReply, partitions: int) -> Call:
        """SyncGroup after a successful join: the leader assigns, followers send an empty list.

        partitions: how many the client knows of. A leader that is told to skip the assignment (KIP-814)
        sends an empty list as well. Below version 5 the protocol is not named.
        """
        assigns = reply.leader == reply.member_id and not reply.skip_assignment
        parts = assign(reply.generation_id, reply.protocol_name, reply.members, partitions) if assigns else ()
        names = self.speaks.sync_group >= 5
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=reply.generation_id,
            member_id=reply.member_id,
            assignments=tuple(MemberAssignment(*part) for part in parts),
            protocol_type=reply.protocol_type if names else None,
            protocol_name=reply.protocol_name if names else None,
            group_instance_id=self.group_instance_id,
        )
        return self.call(request, self.speaks.sync_group)

    def heartbeat(self, member_id: str, generation_id: int) -> Call:
        """Heartbeat."""
        request = HeartbeatRequest(self.group_id, generation_id, member_id, self.group_instance_id)
        return self.call(request, self.speaks.heartbeat)

    def leave(self, member_id: str) -> Call:
        """LeaveGroup."""
        return self.call(
            LeaveGroupRequest(self.group_id, (LeavingMember(member_id),)), self.speaks.leave_group
        )
