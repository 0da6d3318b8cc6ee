"""What the log has of a group: a value for each key, the last one counts, and none ends it.

Source: upstream's GroupCoordinatorRecordHelpers and the schemas ConsumerGroup…Key and …Value (module
group-coordinator).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Literal, NamedTuple
from uuid import UUID

Place = tuple[UUID, int]
"""A partition: the id of its topic, and its index."""

Kind = Literal["classic", "group", "topics", "member", "target", "target of", "current of"]
"""classic: the record of a group of the classic protocol that was here before; it is only ever ended, and so
is topics, which older brokers wrote."""


class Key(NamedTuple):
    """What a record is about: the group as a whole, or one of its members."""

    kind: Kind
    member_id: str = ""


GROUP, TARGET, CLASSIC, TOPICS = Key("group"), Key("target"), Key("classic"), Key("topics")


def member_key(member_id: str) -> Key:
    """The key of what a member has told."""
    return Key("member", member_id)


def target_key(member_id: str) -> Key:
    """The key of a member's part of the target."""
    return Key("target of", member_id)


def current_key(member_id: str) -> Key:
    """The key of what a member has."""
    return Key("current of", member_id)


class MemberState(IntEnum):
    """The states of a member, by their numbers in the log."""

    STABLE = 0
    UNREVOKED = 1
    UNRELEASED = 2


@dataclass(frozen=True, slots=True)
class GroupEpoch:
    """The group's epoch, and a hash of the topics that it subscribes to; 0 for none."""

    epoch: int
    metadata_hash: int = 0


@dataclass(frozen=True, slots=True)
class TargetEpoch:
    """The epoch for which the target was made, and when by the wall clock; 0 if none has to be waited for."""

    epoch: int
    timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class MemberMetadata:
    """What a member has told of itself; names are sorted, each once."""

    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] = ()
    server_assignor: str | None = None
    rack_id: str | None = None
    instance_id: str | None = None
    regex: str = ""


@dataclass(frozen=True, slots=True)
class TargetAssignment:
    """What a member shall have."""

    places: frozenset[Place] = frozenset()


NOTHING: Mapping[Place, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CurrentAssignment:
    """What a member has, and what it was told to give up; each with the epoch at which it was given it.

    `epoch` is the member's, `previous_epoch` what it was before this was written.
    """

    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Mapping[Place, int] = field(default_factory=lambda: NOTHING)
    pending_revocation: Mapping[Place, int] = field(default_factory=lambda: NOTHING)

    @property
    def owned(self) -> dict[Place, int]:
        """What nobody else can be given."""
        return {**self.assigned, **self.pending_revocation}


Value = GroupEpoch | TargetEpoch | MemberMetadata | TargetAssignment | CurrentAssignment
Entry = tuple[Key, Value | None]


@dataclass(frozen=True, slots=True)
class ConsumerBatch:
    """Records of one group that are written together or not at all."""

    entries: tuple[Entry, ...]


def by_topic(places: Iterable[Place]) -> list[tuple[UUID, tuple[int, ...]]]:
    """Partitions by topic, both in order."""
    found: dict[UUID, list[int]] = {}
    for topic_id, index in sorted(places):
        found.setdefault(topic_id, []).append(index)
    return [(topic_id, tuple(indexes)) for topic_id, indexes in found.items()]
