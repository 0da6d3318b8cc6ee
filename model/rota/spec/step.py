"""What a rule returns: the next group and its effects.

Timers and records are blind effects: a rule says what it arms, cancels and appends and never reads what is
armed or in flight. Within one step the last word on a timer wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from rota.spec.messages import ProtocolMetadata, ReplyMessage
from rota.spec.state import Group

if TYPE_CHECKING:
    from rota.spec.offset_state import ForOffsets


class TimerKind(Enum):
    """The timers of a group; all but the first three are per member."""

    INITIAL_JOIN = "initial_join"
    JOIN = "join"
    SYNC = "sync"
    SESSION = "session"
    NEW_MEMBER = "new_member"
    PENDING = "pending"


@dataclass(frozen=True, order=True)
class Timer:
    """The name of a timer; at most one of a name is armed. member_id is empty for the group's own."""

    name: str
    member_id: str = ""

    @property
    def kind(self) -> TimerKind:
        """Which kind it is."""
        return TimerKind(self.name)


def timer(kind: TimerKind, member_id: str = "") -> Timer:
    """The timer of a kind, for a member where the kind is per member."""
    return Timer(kind.value, member_id)


@dataclass(frozen=True)
class Arm:
    """(Re)start a timer. delay_ms: until it is due."""

    timer: Timer
    delay_ms: int


@dataclass(frozen=True)
class Cancel:
    """Stop a timer; no error where it is not armed."""

    timer: Timer


@dataclass(frozen=True)
class Reply:
    """An answer. to: the address that came with the request."""

    to: str
    message: ReplyMessage


@dataclass(frozen=True)
class MemberRecord:
    """A member as a record keeps it. subscription: its metadata for the group's protocol; milliseconds."""

    member_id: str
    assignment: bytes
    subscription: bytes = b""
    group_instance_id: str | None = None
    rebalance_timeout_ms: int = 0
    session_timeout_ms: int = 0


class RecordKind(Enum):
    """Why a group record is written, which decides what its answer does."""

    CREATION = "creation"
    ASSIGNMENT = "assignment"
    EMPTIED = "emptied"
    REPLACEMENT = "replacement"
    DELETION = "deletion"
    """The group is gone, a record without content: nothing is loaded after it."""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class GroupRecord:
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


@dataclass(frozen=True)
class Step:
    """One allowed outcome of a rule: the next group, answers, timers and records in the order given.

    offsets: what the offsets are told, in order: to write something to the log, or to answer a question.
    """

    group: Group | None
    replies: tuple[Reply, ...] = ()
    timers: tuple[Arm | Cancel, ...] = ()
    records: tuple[GroupRecord, ...] = ()
    offsets: tuple[ForOffsets, ...] = ()
    rules: tuple[str, ...] = ()

    @property
    def live(self) -> Group:
        """The group, which this step knows to exist."""
        if self.group is None:
            raise AssertionError("a step on a missing group must not touch it")
        return self.group

    def to(self, group: Group) -> Step:
        """With another group."""
        return replace(self, group=group)

    def answer(self, address: str | None, message: ReplyMessage) -> Step:
        """With one more answer; to nobody where nothing was parked."""
        return self if address is None else replace(self, replies=(*self.replies, Reply(address, message)))

    def arm(self, kind: TimerKind, delay_ms: int, member_id: str = "") -> Step:
        """With a timer (re)started."""
        return replace(self, timers=(*self.timers, Arm(timer(kind, member_id), delay_ms)))

    def cancel(self, kind: TimerKind, member_id: str = "") -> Step:
        """With a timer stopped."""
        return replace(self, timers=(*self.timers, Cancel(timer(kind, member_id))))

    def append(self, record: GroupRecord) -> Step:
        """With one more record for the log."""
        return replace(self, records=(*self.records, record))

    def tell_offsets(self, word: ForOffsets) -> Step:
        """With one more word to the offsets."""
        return replace(self, offsets=(*self.offsets, word))

    def fired(self, *slugs: str) -> Step:
        """With the rules that took part, for coverage and traces."""
        return replace(self, rules=(*self.rules, *slugs))


Steps = tuple[Step, ...]
