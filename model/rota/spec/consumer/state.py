"""What reconciliation reads and writes: a member's current assignment, its target, one heartbeat of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class MemberState(StrEnum):
    """What a member still has to do for its target. Kafka writes it into the log as 0, 1 and 2.

    The state UNKNOWN of a broker that reads a newer one's log has no place here.
    """

    STABLE = "Stable"
    UNREVOKED_PARTITIONS = "UnrevokedPartitions"
    UNRELEASED_PARTITIONS = "UnreleasedPartitions"


@dataclass(frozen=True, order=True)
class Partition:
    """A partition of a topic; the topic is what Kafka has an id for."""

    topic: str
    index: int


@dataclass(frozen=True, order=True)
class Holding:
    """A partition that a member owns, since the target of this epoch (KIP-1251)."""

    partition: Partition
    epoch: int


@dataclass(frozen=True)
class Member:
    """A member's current assignment, as the broker keeps it.

    assigned: what it may use. pending: what it was told to give up and has not. topics: the existing ones
    that it subscribes to now.
    """

    state: MemberState
    epoch: int
    previous_epoch: int
    assigned: frozenset[Holding]
    pending: frozenset[Holding]
    topics: frozenset[str]


@dataclass(frozen=True)
class Target:
    """What the assignor gave a member, and the assignment epoch of the group that it belongs to."""

    epoch: int
    partitions: frozenset[Partition]


@dataclass(frozen=True)
class Question:
    """One heartbeat of a member, when its fields are stored and the target is computed.

    subscription_changed: by this heartbeat. owned: what it says that it owns, None where it says nothing.
    taken: the partitions that have an owner by the coordinator's map, its own included.
    """

    member: Member
    target: Target
    subscription_changed: bool
    owned: frozenset[Partition] | None
    taken: frozenset[Partition]

    @cached_property
    def wanted(self) -> frozenset[Partition]:
        """The target without topics that the member does not subscribe to now."""
        return frozenset(one for one in self.target.partitions if one.topic in self.member.topics)

    @cached_property
    def kept(self) -> frozenset[Holding]:
        """Assigned, and in the target."""
        return frozenset(one for one in self.member.assigned if one.partition in self.wanted)

    @cached_property
    def leaving(self) -> frozenset[Holding]:
        """Assigned, and not in the target."""
        return self.member.assigned - self.kept

    @cached_property
    def missing(self) -> frozenset[Partition]:
        """In the target, and not assigned."""
        return self.wanted - partitions(self.member.assigned)

    @cached_property
    def free(self) -> frozenset[Partition]:
        """Of the missing those that nobody owns, or that the member itself has not given up yet."""
        own = partitions(self.member.pending)
        return frozenset(one for one in self.missing if one not in self.taken or one in own)

    @cached_property
    def unsubscribed(self) -> frozenset[Holding]:
        """Assigned, of topics that the member no longer subscribes to."""
        return frozenset(one for one in self.member.assigned if one.partition.topic not in self.member.topics)

    def still_owns(self, holdings: frozenset[Holding]) -> bool:
        """Whether the member may still use some of these: it says so, or says nothing."""
        return bool(holdings) and (self.owned is None or bool(self.owned & partitions(holdings)))


def partitions(holdings: frozenset[Holding]) -> frozenset[Partition]:
    """The partitions that are held."""
    return frozenset(one.partition for one in holdings)
