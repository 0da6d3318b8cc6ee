"""A group and its members: the state that the rules change, kept so that no request scans the group.

Requests that wait are in purgatories of the group, by member id: how many members await an answer is a
length. How many members list each protocol is counted as members come, go and change. Everything here keeps
this right; what a change means for the protocol is decided elsewhere.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, TypeVar

from rota.coordinator.effects import Arm, GroupRecord, MemberRecord
from rota.coordinator.memory import GROUP_BYTES, PENDING_BYTES, list_bytes, member_bytes
from rota.coordinator.messages import ErrorCode, JoinGroup, JoinGroupProtocol
from rota.coordinator.purgatory import ParkedRequest, Purgatory

T = TypeVar("T", bound=Hashable)


CONSUMER = "consumer"
"""The protocol type of consumers, whose metadata are subscriptions to topics."""


class GroupState(StrEnum):
    """The states of a group, by their names on the wire.

    Nothing in this package makes a group Dead: one that is deleted or unloaded is forgotten at once. The
    requests' answers for it are here.
    """

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_BEFORE_REBALANCE = (GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
_WITH_GENERATION = (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
"""Looked up once: a member of an enum takes five times as long as another attribute."""


@dataclass(slots=True)
class Member:
    """A member of a group; it is static if it has a group instance id.

    is_new: it has not been part of a generation yet. timer: the kind of its armed timer, None when its
    session ran out while a request of it was parked. listed_bytes: what its list takes of memory. session:
    how its session's timer is armed, once it has been.
    """

    member_id: str
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[JoinGroupProtocol, ...]
    group_instance_id: str | None = None
    assignment: bytes = b""
    is_new: bool = True
    timer: Literal["session", "new_member"] | None = None
    listed_bytes: int = field(init=False, compare=False)
    session: Arm | None = field(init=False, compare=False, default=None)

    def __post_init__(self) -> None:
        self.listed_bytes = list_bytes(self.protocols)

    @property
    def held(self) -> int:
        """What it takes of memory, in bytes, beside its assignment."""
        return member_bytes(self.listed_bytes, self.member_id, self.client_id, self.group_instance_id)

    @property
    def protocol_names(self) -> tuple[str, ...]:
        """Names that it lists, in order of preference; one that is listed twice counts once."""
        return tuple(dict.fromkeys([protocol.name for protocol in self.protocols]))

    def metadata(self, protocol_name: str) -> bytes:
        """Its metadata for a protocol that it lists."""
        return metadata_for(protocol_name, self.protocols)


def metadata_for(protocol_name: str, listed: tuple[JoinGroupProtocol, ...]) -> bytes:
    """The metadata in the first entry of that name, which the list has to have."""
    for entry in listed:
        if entry.name == protocol_name:
            return entry.metadata
    raise KeyError(protocol_name)


@dataclass(slots=True)
class Group:
    """A group of the classic protocol; read its fields freely, change members only through its methods.

    parked_joins, parked_syncs: requests of members that wait for an answer, by member id; one that is
    replaced by a later one of its member is dropped, and answered if that is mended. static_members:
    member id by group instance id. supporters: number of members per protocol name. ballots: number of
    members per list of names. pending_members: ids of members that are to come back with them.
    pending_sync_members: ids whose SyncGroup has not come since the join phase ended; that of a static member
    that was replaced since stays there, as in the broker. previous_state: the state before the current one; a
    join phase entered from Empty is initial. subscriptions: its consumers' metadata when the generation
    began; None before the first, and where the members are no consumers. join_timer, sync_timer: what is
    armed. state_since_ms: the wall clock when it entered its state, -1 where that is not known.
    initial_delay_ms, initial_remaining_ms: the initial delay that is running, and what is left for
    extensions after it. members_bytes: what its members take of memory.
    """

    group_id: str
    state: GroupState = GroupState.EMPTY
    previous_state: GroupState = GroupState.DEAD
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    pending_members: set[str] = field(default_factory=set)
    pending_sync_members: set[str] = field(default_factory=set)
    parked_joins: Purgatory[str, ParkedRequest] = field(default_factory=Purgatory)
    parked_syncs: Purgatory[str, ParkedRequest] = field(default_factory=Purgatory)
    subscriptions: tuple[bytes, ...] | None = None
    supporters: Counter[str] = field(default_factory=Counter)
    ballots: Counter[tuple[str, ...]] = field(default_factory=Counter)
    new_member_added: bool = False
    join_timer: Literal["initial_join", "join"] | None = None
    sync_timer: bool = False
    state_since_ms: int = -1
    initial_delay_ms: int = 0
    initial_remaining_ms: int = 0
    members_bytes: int = 0
    _in_order: list[Member] | None = field(default=None, init=False, repr=False, compare=False)

    def transition_to(self, state: GroupState, now_ms: int) -> None:
        """Enter a state, and remember the one left and when that was, by the wall clock."""
        self.previous_state, self.state = self.state, state
        self.state_since_ms = now_ms

    @property
    def can_rebalance(self) -> bool:
        """Whether a join phase can start now (it can't while one is running)."""
        return self.state in _BEFORE_REBALANCE

    @property
    def has_generation(self) -> bool:
        """Whether its members have a generation, and none is being prepared."""
        return self.state in _WITH_GENERATION

    @property
    def is_initial_join(self) -> bool:
        """Whether a join phase is running that began with an Empty group."""
        return self.state is GroupState.PREPARING_REBALANCE and self.previous_state is GroupState.EMPTY

    @property
    def all_members_joined(self) -> bool:
        """Whether every member awaits its JoinGroup's answer and no pending member is still to come."""
        return len(self.parked_joins) == len(self.members) and not self.pending_members

    @property
    def max_rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the members, at least 0. Scans: asked for once a phase."""
        return max(0, max([member.rebalance_timeout_ms for member in self.members.values()], default=0))

    @property
    def held(self) -> int:
        """What it takes of memory, in bytes."""
        return (
            GROUP_BYTES + len(self.group_id) + self.members_bytes + PENDING_BYTES * len(self.pending_members)
        )

    def member_error(self, member_id: str, group_instance_id: str | None) -> int:
        """Whether a request comes from a member: NONE, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.

        An instance id, if it is given, has to be that of the member; a static member may leave its own out.
        """
        if group_instance_id is not None:
            holder = self.static_members.get(group_instance_id)
            if holder is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if holder != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def add(self, member: Member, protocol_type: str | None) -> None:
        """Take in a member; the first one leads and sets the protocol type."""
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self._enter(member)
        self._count_support(member.protocol_names)

    def remove(self, member: Member) -> ParkedRequest | None:
        """Take out a member that has no parked JoinGroup. voting.elect_leader says who leads then.

        Returns its parked SyncGroup, which nothing will answer any more. That it is pending in the sync phase
        is forgotten with the phase: there a removal is always followed by a rebalance.
        """
        self._withdraw_support(member.protocol_names)
        return self._exit(member)

    def rename(self, member: Member, member_id: str) -> Member:
        """Give a static member, that has nothing parked, another id; returns it as it is then.

        All else stays, where it comes from included, and it leads if it led. It does not count as new, and no
        timer of its is armed.
        """
        renamed = replace(member, member_id=member_id, is_new=False, timer=None)
        if self.leader == member.member_id:
            self.leader = member_id
        self._exit(member)
        self._enter(renamed)
        return renamed

    def update(
        self,
        member: Member,
        protocols: tuple[JoinGroupProtocol, ...],
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
    ) -> None:
        """Exchange a member's list and timeouts."""
        before = member.protocols
        if before != protocols:
            listed = list_bytes(protocols)
            self.members_bytes += listed - member.listed_bytes
            member.listed_bytes = listed
            renamed = [each.name for each in before] != [each.name for each in protocols]
            if renamed:
                self._withdraw_support(member.protocol_names)
            member.protocols = protocols
            if renamed:
                self._count_support(member.protocol_names)
        member.session_timeout_ms = session_timeout_ms
        member.rebalance_timeout_ms = rebalance_timeout_ms

    def update_and_park(
        self, member: Member, request: JoinGroup, parked: ParkedRequest
    ) -> ParkedRequest | None:
        """Take over a known member's list and timeouts from its JoinGroup, and park that.

        Returns the one that it replaces, if another was parked.
        """
        self.update(member, request.protocols, request.session_timeout_ms, request.rebalance_timeout_ms)
        return self.parked_joins.park(member.member_id, parked)

    def awaits_answer(self, member_id: str) -> bool:
        """Whether a request of the member is parked."""
        return member_id in self.parked_joins or member_id in self.parked_syncs

    def note_subscriptions(self) -> None:
        """Remember the metadata with which a generation begins: members may change theirs later, or go."""
        name = self.protocol_name
        self.subscriptions = None
        if self.protocol_type == CONSUMER:
            self.subscriptions = tuple(member.metadata(name) for member in self.members.values() if name)

    def members_by_id(self) -> Sequence[Member]:
        """All members in order of id: the order of everything that goes out in one step."""
        if self._in_order is None:
            self._in_order = [self.members[member_id] for member_id in sorted(self.members)]
        return self._in_order

    def record(self, assignments: Mapping[str, bytes]) -> GroupRecord:
        """The group as it is written to the log, with an assignment for each of its members."""
        name = self.protocol_name
        return GroupRecord(
            generation_id=self.generation_id,
            protocol_type=self.protocol_type,
            protocol_name=name,
            leader=self.leader,
            members=tuple(
                MemberRecord(
                    member_id=member.member_id,
                    assignment=assignments[member.member_id],
                    subscription=member.metadata(name) if name is not None else b"",
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout_ms=member.rebalance_timeout_ms,
                    session_timeout_ms=member.session_timeout_ms,
                    group_instance_id=member.group_instance_id,
                )
                for member in self.members_by_id()
            ),
            state_timestamp_ms=self.state_since_ms,
        )

    def _enter(self, member: Member) -> None:
        self.members[member.member_id] = member
        self._in_order = None
        self.members_bytes += member.held
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id

    def _exit(self, member: Member) -> ParkedRequest | None:
        del self.members[member.member_id]
        self._in_order = None
        self.members_bytes -= member.held
        if member.group_instance_id is not None:
            del self.static_members[member.group_instance_id]
        return self.parked_syncs.take(member.member_id)

    def _count_support(self, names: tuple[str, ...]) -> None:
        self.ballots[names] += 1
        for name in names:
            self.supporters[name] += 1

    def _withdraw_support(self, names: tuple[str, ...]) -> None:
        _uncount(self.ballots, names)
        for name in names:
            _uncount(self.supporters, name)


def _uncount(counter: Counter[T], key: T) -> None:
    """One less; at none the key goes, since a group that lives long must not collect what nobody lists."""
    left = counter[key] - 1
    if left:
        counter[key] = left
    else:
        del counter[key]
