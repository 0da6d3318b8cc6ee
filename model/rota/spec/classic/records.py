"""What the log keeps of a classic group: the records that rules append, and what their answers need."""

from __future__ import annotations

from collections.abc import Mapping

from rota.kernel import frozen, replace
from rota.spec.classic.messages import ProtocolMetadata
from rota.spec.classic.state import Group
from rota.spec.classic.vocabulary import RecordKind
from rota.spec.effects import Record, Reply


@frozen
class MemberRecord:
    """A member as a record keeps it. subscription: its metadata for the group's protocol; milliseconds."""

    member_id: str
    assignment: bytes
    subscription: bytes = b""
    group_instance_id: str | None = None
    rebalance_timeout_ms: int = 0
    session_timeout_ms: int = 0


@frozen
class Replacement:
    """What the log's answer to a static member's replacement needs. Milliseconds.

    member_id: the new id; former_id: the replaced one; leader: who led before it; skips_assignment: whether
    the request's version has SkipAssignment (KIP-814); the rest is what a failure restores.
    """

    member_id: str
    former_id: str
    leader: str | None
    skips_assignment: bool
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[ProtocolMetadata, ...]


@frozen
class GroupRecord(Record):
    """A record for the log: the group as it will be after a fail-over. Source: upstream GroupMetadataValue.

    members: in order of ids; kind: not part of what is stored; answer: what is answered when the log has
    stored it, None where nobody waits for it; replacement: with a record of that kind only, whose answer
    goes to the member's parked JoinGroup and is made when the log answers.
    """

    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    members: tuple[MemberRecord, ...] = ()
    kind: RecordKind = RecordKind.ASSIGNMENT
    answer: Reply | None = None
    replacement: Replacement | None = None

    @property
    def handler(self) -> str:
        """The end of a group is the administration's, everything else the group's own."""
        return "deletion" if self.kind is RecordKind.DELETION else "append"

    def without_answer(self) -> GroupRecord:
        """The same record, for nobody who waits for it."""
        return replace(self, answer=None)

    @property
    def assignments(self) -> dict[str, bytes]:
        """Each member's assignment by id."""
        return {member.member_id: member.assignment for member in self.members}


def record_of(
    group: Group, assignments: Mapping[str, bytes], kind: RecordKind = RecordKind.ASSIGNMENT
) -> GroupRecord:
    """The group as it is written to the log, with an assignment for each of its members."""
    members = tuple(
        MemberRecord(
            member_id=member_id,
            assignment=assignments[member_id],
            subscription=member.metadata(group.protocol_name),
            group_instance_id=member.group_instance_id,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            session_timeout_ms=member.session_timeout_ms,
        )
        for member_id, member in group.members.items()
    )
    return GroupRecord(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader,
        members=members,
        kind=kind,
    )
