"""The clients on a stage: what they remember, and the requests that they make of it."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from rota import coordinator as core
from rota.spec import FindCoordinatorRequest, Hosting, JoinGroupReply, Node, Profile
from rota.spec.admin_messages import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitReply,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetDeleteReply,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TopicPartitions,
    TxnOffsetCommitReply,
    TxnOffsetCommitRequest,
)

HANDSHAKE = 4
"""The first version of JoinGroup in which a newcomer is given an id before it is admitted."""


@dataclass(eq=False)
class Asked:
    """A request; its answer when there is one.

    hosting: what the broker is to the group that it reaches; led_by: who leads the group's partition, if that
    is said.
    """

    client: Client
    address: str
    request: Any
    version: int
    reply: Any = None
    hosting: Hosting = Hosting.ACTIVE
    led_by: Node | None = None

    @property
    def waits(self) -> bool:
        """Whether it is not answered: parked, or replaced and forgotten."""
        return self.reply is None

    @property
    def error(self) -> str:
        """The name of the answer's error code; where the top says NONE, or nothing, the first one below
        it."""
        return next((name for name in (self.top, *self.errors) if name != "NONE"), "NONE")

    @property
    def top(self) -> str:
        """The name of the error code for the whole answer; NONE where there is no such thing."""
        code = getattr(self._answer, "error_code", None)
        return "NONE" if code is None else str(code.name)

    @property
    def errors(self) -> list[str]:
        """The names of the error codes of a LeaveGroup's members, of the partitions of a commit or
        deletion."""
        if isinstance(self.request, core.LeaveGroup):
            return [outcome.error_code.name for outcome in self._answer.members]
        if isinstance(self.reply, OffsetCommitReply | TxnOffsetCommitReply | OffsetDeleteReply):
            return [each.error_code.name for topic in self.reply.topics for each in topic.partitions]
        return []

    @property
    def offsets(self) -> dict[str, tuple[int, str]]:
        """Of an OffsetFetch: partition, as "topic-0" → offset and name of the error."""
        return {
            f"{topic.name}-{each.partition_index}": (each.committed_offset, each.error_code.name)
            for topic in self._answer.topics
            for each in topic.partitions
        }

    @property
    def _answer(self) -> Any:
        """The answer, which there must be."""
        assert self.reply is not None, f"{self.address} of {self.client.name} is not answered"
        return self.reply


class Broker(Protocol):
    """What a client asks: the stage that it is on, with the group of the dialogue."""

    group_id: str

    @property
    def profile(self) -> Profile:
        """The line of brokers."""

    def version(self, api: str, version: int | None) -> int:
        """The version of a request, the newest where none is named."""

    def ask(self, client: Client, request: Any, version: int | None = None, fresh: str = "") -> Asked:
        """A request arrives."""


@dataclass(eq=False)
class Client:
    """A consumer that knows its id, generation and protocol from its last JoinGroup answer.

    protocols: its list, each as "name" or "name:metadata"; instance: its group instance id, if it is static;
    topics: what its metadata say that it subscribes to, instead of the metadata above.
    """

    stage: Broker
    name: str
    protocols: tuple[str, ...] = ("range",)
    session: int = 10_000
    rebalance: int = 60_000
    protocol_type: str = "consumer"
    member_id: str = ""
    generation: int = -1
    protocol: str | None = "range"
    instance: str | None = None
    topics: tuple[str, ...] = ()

    def restart(self, *protocols: str) -> Client:
        """The process is started anew: id and generation are forgotten; with another list if one is given."""
        self.member_id, self.generation = "", -1
        self.protocols = protocols or self.protocols
        return self

    def told(self, reply: JoinGroupReply) -> None:
        """What a JoinGroup answer says is remembered."""
        if reply.error_code.name in ("NONE", "MEMBER_ID_REQUIRED"):
            self.member_id, self.generation = reply.member_id, reply.generation_id
            self.protocol = reply.protocol_name or self.protocol

    def join(self, version: int | None = None, **changes: Any) -> Asked:
        """JoinGroup as the client is, in the newest version unless said; `changes` overwrite fields."""
        pairs = (entry.partition(":") for entry in self.protocols)
        fields: dict[str, Any] = {
            "group_id": self.stage.group_id,
            "session_timeout_ms": self.session,
            "rebalance_timeout_ms": self.rebalance,
            "member_id": self.member_id,
            "protocol_type": self.protocol_type,
            "protocols": tuple(
                core.JoinGroupProtocol(name, subscription(*self.topics) if self.topics else data.encode())
                for name, _, data in pairs
            ),
            "group_instance_id": self.instance,
        }
        return self.stage.ask(self, core.JoinGroup(**fields | changes), version)

    def enter(self, version: int | None = None) -> Asked:
        """A newcomer's JoinGroup, which is returned; before it the handshake, unless the client is static, or
        old: in a version before the handshake it is admitted with its first request."""
        self.member_id = ""
        old = version is not None and version < HANDSHAKE
        if self.instance is None and self.stage.profile.member_id_handshake and not old:
            assert self.join(version).error == "MEMBER_ID_REQUIRED"
        return self.join(version)

    def sync(
        self, parts: Mapping[Client, str] | None = None, version: int | None = None, **changes: Any
    ) -> Asked:
        """SyncGroup; `parts` are a leader's assignments."""
        version = self.stage.version("SyncGroup", version)
        given = {client.member_id: part.encode() for client, part in (parts or {}).items()}
        fields: dict[str, Any] = {
            "group_id": self.stage.group_id,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "assignments": tuple(core.SyncGroupAssignment(*pair) for pair in given.items()),
            "group_instance_id": self.instance,
        }
        if version >= 5:
            fields |= {"protocol_type": self.protocol_type, "protocol_name": self.protocol}
        return self.stage.ask(self, core.SyncGroup(**fields | changes), version)

    def heartbeat(self, **changes: Any) -> Asked:
        """Heartbeat."""
        fields: dict[str, Any] = {
            "group_id": self.stage.group_id,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
        }
        return self.stage.ask(self, core.Heartbeat(**fields | changes))

    def leave(self, *others: Any, group_id: str | None = None) -> Asked:
        """LeaveGroup of this one, or of the others: clients, member ids, (member id, instance id)."""
        pairs = [_identity(other) for other in others or (self,)]
        group = self.stage.group_id if group_id is None else group_id
        request = core.LeaveGroup(group, tuple(core.MemberIdentity(*pair) for pair in pairs))
        return self.stage.ask(self, request)

    def commit(self, *offsets: Offset, version: int | None = None, **changes: Any) -> Asked:
        """OffsetCommit of a member; `changes` overwrite fields."""
        fields: dict[str, Any] = {
            "group_id": self.stage.group_id,
            "topics": _topics(offsets or (("t", 0, 1),)),
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
        }
        return self.stage.ask(self, OffsetCommitRequest(**fields | changes), version)

    def commit_in(self, producer_id: int, *offsets: Offset, **changes: Any) -> Asked:
        """TxnOffsetCommit of a member, in the open transaction of a producer; `changes` overwrite fields."""
        fields: dict[str, Any] = {
            "group_id": self.stage.group_id,
            "producer_id": producer_id,
            "topics": _topics(offsets or (("t", 0, 1),)),
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
        }
        return self.stage.ask(self, TxnOffsetCommitRequest(**fields | changes))

    def fetch(self, *topics: tuple[str, int], stable: bool = False) -> Asked:
        """OffsetFetch of these partitions, of all that there are where none is named."""
        asked = tuple(TopicPartitions(name, (index,)) for name, index in topics) or None
        return self.stage.ask(self, OffsetFetchRequest(self.stage.group_id, asked, stable))

    def delete_offsets(self, *topics: tuple[str, int]) -> Asked:
        """OffsetDelete."""
        named = tuple(TopicPartitions(name, (index,)) for name, index in topics)
        return self.stage.ask(self, OffsetDeleteRequest(self.stage.group_id, named))

    def find(self) -> Asked:
        """FindCoordinator, which any broker answers."""
        return self.stage.ask(self, FindCoordinatorRequest((self.stage.group_id,)))

    def describe(self) -> Asked:
        """DescribeGroups."""
        return self.stage.ask(self, DescribeGroupsRequest(self.stage.group_id))

    def list_groups(self, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> Asked:
        """ListGroups."""
        return self.stage.ask(self, ListGroupsRequest(self.stage.group_id, states, types))

    def delete_group(self) -> Asked:
        """DeleteGroups."""
        return self.stage.ask(self, DeleteGroupsRequest(self.stage.group_id))


Offset = tuple[str, int, int] | tuple[str, int, int, str] | tuple[str, int, int, str, int]
"""Topic, partition, offset, and metadata and leader epoch if any."""


def _topics(offsets: tuple[Offset, ...]) -> tuple[OffsetCommitTopic, ...]:
    return tuple(OffsetCommitTopic(name, (_partition(*rest),)) for name, *rest in offsets)


def _partition(index: int, offset: int, metadata: str = "", epoch: int = -1) -> OffsetCommitPartition:
    return OffsetCommitPartition(index, offset, epoch, metadata)


def subscription(*topics: str) -> bytes:
    """A consumer's metadata in the coordinator's reading: version 0, topics, no user data."""
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


def _identity(who: str | Client | tuple[str, str]) -> tuple[str, str | None]:
    if isinstance(who, tuple):
        return who
    return (who, None) if isinstance(who, str) else (who.member_id, None)
