"""A group of the consumer protocol: what its records amount to, kept so that no heartbeat scans the group.

Every change is a record that is put in; what is counted from the records follows. Source: upstream's
ConsumerGroup (module group-coordinator).
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from enum import StrEnum

from rota.coordinator.consumer.records import (
    CurrentAssignment,
    Entry,
    GroupEpoch,
    Key,
    MemberMetadata,
    MemberState,
    Place,
    TargetAssignment,
    TargetEpoch,
    Value,
    current_key,
)
from rota.coordinator.group import Group
from rota.coordinator.memory import GROUP_BYTES, MEMBER_BYTES

FIRST_EPOCH = 1
"""The epoch of a group that has no record yet, and of its target (KAFKA-20268)."""

FIRST_OF_GROUP, FIRST_OF_TARGET = GroupEpoch(FIRST_EPOCH), TargetEpoch(FIRST_EPOCH)

PLACE_BYTES = 256
"""What a partition counts for that a member has or shall have."""


class ConsumerGroupState(StrEnum):
    """The states of a group, by their names on the wire."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


@dataclass(eq=False, slots=True)
class Write:
    """An append that the log has not answered, or an answer that waits for one.

    `before`: what each key had. `error`: with which it has failed as an earlier one did.
    """

    entries: tuple[Entry, ...]
    before: tuple[Entry, ...]
    error: int = 0


@dataclass(eq=False, slots=True)
class ConsumerGroup:
    """Read its fields freely, change it by `put`.

    members: what each has told; targets: what each shall have; current: what each has. owners: who has a
    partition, by the last record that says so. subscribers: how many members name a topic; wishes: how many
    ask for an assignor. revoking: members whose rebalance timer runs, and the epoch at which it began.
    seen_version: of the topics when the hash was computed. writes: what the log has not answered. replaced:
    the Empty classic group that was here, until the log has taken the first record.
    """

    group_id: str
    epoch: GroupEpoch = FIRST_OF_GROUP
    target_epoch: TargetEpoch = FIRST_OF_TARGET
    members: dict[str, MemberMetadata] = field(default_factory=dict)
    targets: dict[str, frozenset[Place]] = field(default_factory=dict)
    current: dict[str, CurrentAssignment] = field(default_factory=dict)
    owners: dict[Place, str] = field(default_factory=dict)
    subscribers: Counter[str] = field(default_factory=Counter)
    wishes: Counter[str] = field(default_factory=Counter)
    revoking: dict[str, int] = field(default_factory=dict)
    seen_version: int = -1
    writes: deque[Write] = field(default_factory=deque)
    replaced: Group | None = None
    members_bytes: int = 0

    @property
    def state(self) -> ConsumerGroupState:
        """A function of members and epochs, and of nothing else."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch.epoch > self.target_epoch.epoch:
            return ConsumerGroupState.ASSIGNING
        reconciled = all(self.is_reconciled(member_id) for member_id in self.members)
        return ConsumerGroupState.STABLE if reconciled else ConsumerGroupState.RECONCILING

    @property
    def held(self) -> int:
        """What it takes of memory, in bytes."""
        return GROUP_BYTES + len(self.group_id) + self.members_bytes

    @property
    def wished_assignor(self) -> str | None:
        """The assignor that most members ask for, None if nobody asks.

        Of a tie it is uniform, the last by name; in a broker its table of hashes has that first.
        """
        return max(self.wishes, key=lambda name: (self.wishes[name], name), default=None)

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members subscribe to the same topics."""
        return all(count == len(self.members) for count in self.subscribers.values())

    def current_of(self, member_id: str) -> CurrentAssignment:
        """What a member has; nothing, at epoch 0, if no record says."""
        return self.current.get(member_id) or CurrentAssignment()

    def is_reconciled(self, member_id: str) -> bool:
        """Whether a member is Stable at the epoch of the target."""
        current = self.current_of(member_id)
        return current.state is MemberState.STABLE and current.epoch == self.target_epoch.epoch

    def is_free(self, place: Place) -> bool:
        """Whether nobody has a partition."""
        return place not in self.owners

    @property
    def is_new(self) -> bool:
        """Whether there is no record of it."""
        return not self.members and self.epoch == FIRST_OF_GROUP

    def get(self, key: Key) -> Value | None:
        """The last record of a key, None if there is none."""
        kind, member_id = key
        if kind == "group":
            return self.epoch
        if kind == "target":
            return self.target_epoch
        if kind == "member":
            return self.members.get(member_id)
        if kind == "target of":
            places = self.targets.get(member_id)
            return None if places is None else TargetAssignment(places)
        return self.current.get(member_id) if kind == "current of" else None

    def put(self, key: Key, value: Value | None) -> None:
        """A record counts from now on; None ends what was there, if anything was."""
        if key.kind == "group":
            self.epoch = value if isinstance(value, GroupEpoch) else FIRST_OF_GROUP
        elif key.kind == "target":
            self.target_epoch = value if isinstance(value, TargetEpoch) else FIRST_OF_TARGET
        elif key.kind == "member":
            self._put_member(key.member_id, value if isinstance(value, MemberMetadata) else None)
        elif key.kind == "target of":
            self._put_target(key.member_id, value if isinstance(value, TargetAssignment) else None)
        elif key.kind == "current of":
            self._put_current(key.member_id, value if isinstance(value, CurrentAssignment) else None)

    def _put_member(self, member_id: str, metadata: MemberMetadata | None) -> None:
        before = self.members.pop(member_id, None)
        for told, one in ((before, -1), (metadata, 1)):
            if told is not None:
                self.members_bytes += one * metadata_bytes(member_id, told)
                _count(self.subscribers, told.topics, one)
                _count(self.wishes, () if told.server_assignor is None else (told.server_assignor,), one)
        if metadata is not None:
            self.members[member_id] = metadata

    def _put_target(self, member_id: str, target: TargetAssignment | None) -> None:
        before = self.targets.pop(member_id, frozenset())
        self.members_bytes -= PLACE_BYTES * len(before)
        if target is not None:
            self.targets[member_id] = target.places
            self.members_bytes += PLACE_BYTES * len(target.places)

    def _put_current(self, member_id: str, current: CurrentAssignment | None) -> None:
        before = self.current.pop(member_id, None)
        for place in () if before is None else before.owned:
            self.members_bytes -= PLACE_BYTES
            if self.owners.get(place) == member_id:
                del self.owners[place]
        if current is not None:
            self.current[member_id] = current
            for place in current.owned:
                self.members_bytes += PLACE_BYTES
                self.owners[place] = member_id

    def keys_of(self, member_id: str) -> tuple[Key, Key, Key]:
        """The keys of all that there is of a member, from the inside out."""
        return current_key(member_id), Key("target of", member_id), Key("member", member_id)


def metadata_bytes(member_id: str, told: MemberMetadata) -> int:
    """What a member counts for by what it has told."""
    texts = (told.client_id, told.rack_id or "", told.instance_id or "", told.regex)
    names = sum(2 * len(name) + 128 for name in told.topics)
    return MEMBER_BYTES + len(member_id) + sum(map(len, texts)) + names


def _count(counter: Counter[str], names: tuple[str, ...], one: int) -> None:
    for name in names:
        counter[name] += one
        if not counter[name]:
            del counter[name]
