"""A group of the consumer protocol as its coordinator holds it: no more than what its records say.

Left out: static members and regular expressions (refused, see `membership`), members of the classic protocol
in such a group, client ids and hosts, and the deadline at which upstream looks at topics again: it is kept
where topics change, and here they are looked at in each heartbeat, which comes to the same.
"""

from __future__ import annotations

from rota.kernel import FrozenMap, frozen
from rota.spec.consumer.state import Holding, Member, MemberState, Partition, partitions
from rota.spec.consumer.vocabulary import GroupState

MetadataHash = tuple[tuple[str, str, int], ...]
"""Name, id and partitions of each subscribed topic that exists. Kafka keeps a hash of it."""

GONE = -1
"""The assignment epoch of a group that is being deleted."""


@frozen
class Metadata:
    """What a member has said of itself."""

    subscribed_topic_names: frozenset[str] = frozenset()
    rebalance_timeout_ms: int = -1
    rack_id: str | None = None
    server_assignor: str | None = None


@frozen
class Current:
    """A member's current assignment: `state.Member` without what is derived."""

    state: MemberState = MemberState.STABLE
    epoch: int = 0
    previous_epoch: int = 0
    assigned: frozenset[Holding] = frozenset()
    pending: frozenset[Holding] = frozenset()

    @property
    def owned(self) -> frozenset[Partition]:
        """The partitions that have this member as their owner."""
        return partitions(self.assigned | self.pending)

    def subscribed_to(self, topics: frozenset[str]) -> Member:
        """The member for `reconcile`."""
        return Member(self.state, self.epoch, self.previous_epoch, self.assigned, self.pending, topics)


def current_of(member: Member) -> Current:
    """What is kept of a member that was reconciled."""
    return Current(member.state, member.epoch, member.previous_epoch, member.assigned, member.pending)


@frozen
class ConsumerGroup:
    """A group.

    epoch, metadata_hash: of the group; target_epoch: the assignment epoch; computed: whether a target was
    computed since the group was empty; members, targets, current: by member id; owners: the map of
    partitions, each with the member epoch of its owner.
    """

    epoch: int = 1
    metadata_hash: MetadataHash = ()
    target_epoch: int = 1
    computed: bool = False
    members: FrozenMap[str, Metadata] = FrozenMap()
    targets: FrozenMap[str, frozenset[Partition]] = FrozenMap()
    current: FrozenMap[str, Current] = FrozenMap()
    owners: FrozenMap[Partition, int] = FrozenMap()

    @property
    def state(self) -> GroupState:
        """The state. Source: upstream ConsumerGroup#maybeUpdateGroupState."""
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        led = all(self.reconciled(one) for one in self.members)
        return GroupState.STABLE if led else GroupState.RECONCILING

    def reconciled(self, member_id: str) -> bool:
        """Whether a member has what its target says."""
        now = self.current.get(member_id, Current())
        return now.state is MemberState.STABLE and now.epoch == self.target_epoch


@frozen
class ClassicGroup:
    """A group of the classic protocol that a request meets here; empty: it has no members."""

    empty: bool


AnyGroup = ConsumerGroup | ClassicGroup


def shape(group: ConsumerGroup) -> tuple[str, ...]:
    """What is wrong with a group, in sentences; nothing, if the rules are right.

    What the map of partitions says is what members hold: upstream once gave a partition to two members since
    its map had forgotten one (KAFKA-16147).
    """
    held = [(one, now.epoch) for now in group.current.values() for one in sorted(now.owned)]
    led = [now for now in group.current.values() if now.state is MemberState.STABLE]
    said = {
        "a partition has two owners": len({one for one, _ in held}) == len(held),
        "the map of partitions is not what members hold": FrozenMap(held) == group.owners,
        "the target's epoch is above the group's": group.target_epoch <= group.epoch,
        "a member's epoch is above the target's": all(
            now.epoch <= group.target_epoch for now in group.current.values()
        ),
        "a previous epoch is above the member's": all(
            now.previous_epoch <= now.epoch for now in group.current.values()
        ),
        "a partition is held since an epoch above its member's": all(
            one.epoch <= now.epoch for now in group.current.values() for one in now.assigned
        ),
        "who has something to give up is not waited for": not any(now.pending for now in led),
        "a target is of nobody": group.targets.keys() <= group.members.keys(),
        "a member has no current assignment": group.members.keys() == group.current.keys(),
    }
    return tuple(sentence for sentence, holds in said.items() if not holds)
