"""The state of one group.

A group that does not exist is None. Timers and in-flight appends are not part of it: rules arm, cancel and
append blindly (see `rota.spec.effects`), whoever holds the group folds these effects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from rota.kernel import FrozenMap, frozen, replace
from rota.spec.classic.messages import MemberMetadata, ProtocolMetadata
from rota.spec.classic.vocabulary import GroupState


@frozen
class Member:
    """A member. Timeouts in milliseconds.

    awaiting_join, awaiting_sync: the address of the parked request, None where none is parked;
    is_new: from admission to the end of its first join phase; group_instance_id: of a static member
    (KIP-345). Source: upstream `ClassicGroupMember`.
    """

    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[ProtocolMetadata, ...]
    assignment: bytes = b""
    awaiting_join: str | None = None
    awaiting_sync: str | None = None
    is_new: bool = False
    group_instance_id: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The protocols' names in order of preference."""
        return tuple(protocol.name for protocol in self.protocols)

    def metadata(self, name: str | None) -> bytes:
        """The metadata that this member sent for a protocol; empty where it did not list it."""
        return next((p.metadata for p in self.protocols if p.name == name), b"")


@frozen
class InitialJoin:
    """The join phase of a group that was Empty.

    delay_ms: the window that is running; remaining_ms: what further windows may use.
    """

    delay_ms: int
    remaining_ms: int


@frozen
class Group:
    """A group. Source: upstream `ClassicGroup`.

    protocol_type outlives the members, protocol_name is the last completed phase's; pending: ids that
    were handed out and not used; pending_sync: members that have not sent SyncGroup since the last join
    phase; initial_join: set while preparing a rebalance that began in Empty; new_member_added: somebody
    joined during the current initial window (upstream never clears it at completion, nor do we);
    subscriptions: the members' metadata for the chosen protocol when the generation began, () for an Empty
    group of consumers, None where it is not known.
    """

    state: GroupState = GroupState.EMPTY
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str | None = None
    members: FrozenMap[str, Member] = field(default_factory=FrozenMap)
    pending: frozenset[str] = frozenset()
    pending_sync: frozenset[str] = frozenset()
    initial_join: InitialJoin | None = None
    new_member_added: bool = False
    subscriptions: tuple[bytes, ...] | None = None

    def with_member(self, member_id: str, member: Member) -> Group:
        """This group with a member put or exchanged."""
        return replace(self, members=self.members.set(member_id, member))

    def with_each(self, members: Iterable[tuple[str, Member]]) -> Group:
        """This group with exactly the given members."""
        return replace(self, members=FrozenMap(members))

    def holder(self, group_instance_id: str | None) -> str | None:
        """The member id that a group instance id stands for; None where it is nobody's."""
        if group_instance_id is None:
            return None
        return next((i for i, m in self.members.items() if m.group_instance_id == group_instance_id), None)

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance may begin: it is not already being prepared."""
        return self.state is not GroupState.PREPARING_REBALANCE

    @property
    def awaiting_join(self) -> tuple[str, ...]:
        """Ids of the members with a parked JoinGroup."""
        return tuple(i for i, m in self.members.items() if m.awaiting_join is not None)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The largest rebalance timeout of the members, at least 0."""
        return max(0, *(m.rebalance_timeout_ms for m in self.members.values())) if self.members else 0

    def member_list(self) -> tuple[MemberMetadata, ...]:
        """What the leader gets: every member with its metadata for the chosen protocol."""
        return tuple(
            MemberMetadata(i, m.metadata(self.protocol_name), m.group_instance_id)
            for i, m in self.members.items()
        )
