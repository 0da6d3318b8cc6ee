"""The clients on a stage: what they remember, and the requests that they make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rota import coordinator as core
from rota.spec import JoinGroupReply
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

if TYPE_CHECKING:
    from stage import Stage

GROUP_ID = "g"


@dataclass(eq=False)
class Asked:
    """A request; its answer when there is one."""

    client: Client
    address: str
    request: Any
    version: int
    reply: Any = None

    @property
    def waits(self) -> bool:
        """Whether it is not answered: parked, or replaced and forgotten."""
        return self.reply is None

    @property
    def error(self) -> str:
        """The name of the answer's error code; where the top says NONE, or nothing, the first one below
        it."""
        assert self.reply is not None, f"{self.address} of {self.client.name} is not answered"
        return next((name for name in (self.top, *self.errors) if name != "NONE"), "NONE")

    @property
    def top(self) -> str:
        """The name of the error code for the whole answer; NONE where there is no such thing."""
        code = getattr(self.reply, "error_code", None)
        return "NONE" if code is None else str(code.name)

    @property
    def errors(self) -> list[str]:
        """The names of the error codes of a LeaveGroup's members, of the partitions of a commit or
        deletion."""
        if isinstance(self.request, core.LeaveGroup):
            return [outcome.error_code.name for outcome in self.reply.members]
        if isinstance(self.reply, OffsetCommitReply | TxnOffsetCommitReply | OffsetDeleteReply):
            return [each.error_code.name for topic in self.reply.topics for each in topic.partitions]
        return []

    @property
    def offsets(self) -> dict[str, tuple[int, str]]:
        """Of an OffsetFetch: partition, as "topic-0" → offset and name of the error."""
        return {
            f"{topic.name}-{each.partition_index}": (each.committed_offset, each.error_code.name)
            for topic in self.reply.topics
            for each in topic.partitions
        }


@dataclass(eq=False)
class Client:
    """A consumer that knows its id, generation and protocol from its last JoinGroup answer.

    protocols: its list, each as "name" or "name:metadata"; instance: its group instance id, if it is static.
    """

    stage: Stage
    name: str
    protocols: tuple[str, ...] = ("range",)
    session: int = 10_000
    rebalance: int = 60_000
    protocol_type: str = "consumer"
    member_id: str = ""
    generation: int = -1
    protocol: str | None = "range"
    instance: str | None = None

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

    def join(self, version: int | None = None, picks: tuple[int, ...] = (), **changes: Any) -> Asked:
        """JoinGroup as the client is, in the newest version unless said; `changes` overwrite fields."""
        pairs = (entry.partition(":") for entry in self.protocols)
        fields = {
            "group_id": GROUP_ID,
            "session_timeout_ms": self.session,
            "rebalance_timeout_ms": self.rebalance,
            "member_id": self.member_id,
            "protocol_type": self.protocol_type,
            "protocols": tuple(core.JoinGroupProtocol(name, data.encode()) for name, _, data in pairs),
            "group_instance_id": self.instance,
        }
        return self.stage.ask(self, core.JoinGroup(**fields | changes), version, picks)

    def enter(self) -> Asked:
        """A newcomer's JoinGroup, which is returned; before it the handshake, unless the client is static."""
        self.member_id = ""
        if self.instance is None and self.stage.profile.member_id_handshake:
            assert self.join().error == "MEMBER_ID_REQUIRED"
        return self.join()

    def sync(
        self, parts: Mapping[Client, str] | None = None, version: int | None = None, **changes: Any
    ) -> Asked:
        """SyncGroup; `parts` are a leader's assignments."""
        version = self.stage.version("SyncGroup", version)
        given = {client.member_id: part.encode() for client, part in (parts or {}).items()}
        fields = {
            "group_id": GROUP_ID,
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
        fields = {
            "group_id": GROUP_ID,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
        }
        return self.stage.ask(self, core.Heartbeat(**fields | changes))

    def leave(self, *others: Any, group_id: str = GROUP_ID, picks: tuple[int, ...] = ()) -> Asked:
        """LeaveGroup of this one, or of the others: clients, member ids, (member id, instance id)."""
        pairs = [_identity(other) for other in others or (self,)]
        request = core.LeaveGroup(group_id, tuple(core.MemberIdentity(*pair) for pair in pairs))
        return self.stage.ask(self, request, picks=picks)

    def commit(self, *offsets: Offset, version: int | None = None, **changes: Any) -> Asked:
        """OffsetCommit of a member; `changes` overwrite fields."""
        fields = {
            "group_id": GROUP_ID,
            "topics": _topics(offsets or (("t", 0, 1),)),
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
        }
        return self.stage.ask(self, OffsetCommitRequest(**fields | changes), version)

    def commit_in(self, producer_id: int, *offsets: Offset, **changes: Any) -> Asked:
        """TxnOffsetCommit of a member, in the open transaction of a producer; `changes` overwrite fields."""
        fields = {
            "group_id": GROUP_ID,
            "producer_id": producer_id,
            "topics": _topics(offsets or (("t", 0, 1),)),
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
        }
        return self.stage.ask(self, TxnOffsetCommitRequest(**fields | changes))

    def fetch(self, *topics: tuple[str, int], stable: bool = False, group_id: str = GROUP_ID) -> Asked:
        """OffsetFetch of these partitions, of all that there are where none is named."""
        asked = tuple(TopicPartitions(name, (index,)) for name, index in topics) or None
        return self.stage.ask(self, OffsetFetchRequest(group_id, asked, stable))

    def delete_offsets(self, *topics: tuple[str, int]) -> Asked:
        """OffsetDelete."""
        named = tuple(TopicPartitions(name, (index,)) for name, index in topics)
        return self.stage.ask(self, OffsetDeleteRequest(GROUP_ID, named))

    def describe(self) -> Asked:
        """DescribeGroups."""
        return self.stage.ask(self, DescribeGroupsRequest(GROUP_ID))

    def list_groups(self, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> Asked:
        """ListGroups."""
        return self.stage.ask(self, ListGroupsRequest(GROUP_ID, states, types))

    def delete_group(self, group_id: str = GROUP_ID) -> Asked:
        """DeleteGroups."""
        return self.stage.ask(self, DeleteGroupsRequest(group_id))


Offset = tuple[str, int, int] | tuple[str, int, int, str]
"""Topic, partition, offset, and metadata if any."""


def _topics(offsets: tuple[Offset, ...]) -> tuple[OffsetCommitTopic, ...]:
    return tuple(
        OffsetCommitTopic(name, (OffsetCommitPartition(index, offset, -1, *metadata),))
        for name, index, offset, *metadata in offsets
    )


def _identity(who: str | Client | tuple[str, str]) -> tuple[str, str | None]:
    if isinstance(who, tuple):
        return who
    return (who, None) if isinstance(who, str) else (who.member_id, None)
