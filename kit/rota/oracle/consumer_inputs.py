"""What happens to a group of the consumer protocol, as values that mean the same after others were left out.

Epochs are relative to the member's, what a member owns is told by a word, a timer by its member.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from rota.spec.vocabulary import AppendError


@dataclass(frozen=True)
class Settings:
    """A coordinator with these settings; only the first input."""

    max_size: int = 100
    interval_ms: int = 0


@dataclass(frozen=True)
class TopicIs:
    """A topic has so many partitions from now on, and the id of this number; none: it is gone."""

    topic: str = "t"
    number: int = 1
    partitions: int = 2


@dataclass(frozen=True)
class Beat:
    """ConsumerGroupHeartbeat.

    since: which epoch of the member, "current", "previous" or "zero", to which `ahead` is added; owned: what
    the member says to own, None nothing: "assigned", "held" (with what it is to give up), "part" (with one of
    that), "one" of what is assigned, "nothing", "foreign".
    """

    member_id: str = "m1"
    since: str = "current"
    ahead: int = 0
    names: tuple[str, ...] | None = None
    owned: str | None = None
    timeout_ms: int = -1
    assignor: str | None = None
    version: int = 1
    group_id: str = "g"
    rack_id: str | None = None
    instance_id: str | None = None
    regex: str | None = None


@dataclass(frozen=True)
class Leave:
    """LeaveGroup."""

    member_ids: tuple[str, ...] = ("m1",)


@dataclass(frozen=True)
class Classic:
    """A request of the classic protocol: "JoinGroup", "SyncGroup", "Heartbeat" or "DescribeGroups"."""

    api: str = "Heartbeat"
    version: int = 3


@dataclass(frozen=True)
class Commit:
    """OffsetCommit of one partition; since: as of `Beat`, "none" is an epoch of -1."""

    member_id: str = "m1"
    since: str = "current"
    ahead: int = 0
    topic: str = "t"
    index: int = 0
    version: int = 9


@dataclass(frozen=True)
class Fetch:
    """OffsetFetch; member_id None names nobody."""

    member_id: str | None = "m1"
    since: str = "current"
    ahead: int = 0


@dataclass(frozen=True)
class DeleteOffsets:
    """OffsetDelete of a topic."""

    topic: str = "t"


@dataclass(frozen=True)
class DeleteGroup:
    """DeleteGroups."""


@dataclass(frozen=True)
class Describe:
    """ConsumerGroupDescribe."""

    group_id: str = "g"


@dataclass(frozen=True)
class ListGroups:
    """ListGroups with these filters."""

    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClassicMember:
    """A member of the classic protocol comes where no group of the other is, or goes."""

    comes: bool = True


@dataclass(frozen=True)
class Due:
    """A timer of a member is due, "session" or "rebalance"; the clock moves to its deadline."""

    name: str = "session"
    member_id: str = "m1"


@dataclass(frozen=True)
class Waited:
    """Time goes by; timers that are due meanwhile are late."""

    ms: int = 1000


@dataclass(frozen=True)
class Stored:
    """The log has the oldest batch."""


@dataclass(frozen=True)
class Failed:
    """The log refuses the newest batches, and has those before them."""

    count: int = 1
    error: AppendError = AppendError.KAFKA_STORAGE_ERROR


@dataclass(frozen=True)
class Moved:
    """Another coordinator reads the log; of the batches on their way so many of the oldest are in it.

    kept: from which batch on the log has every record; before it, it was compacted. tombstones: whether
    those were kept.
    """

    stored: int = 0
    kept: int = 0
    tombstones: bool = True


@dataclass(frozen=True)
class Read:
    """Somebody reads the log up to a batch, and goes away again; kept, tombstones: as of `Moved`."""

    upto: int = 0
    kept: int = 0
    tombstones: bool = True


Query = Commit | Fetch | DeleteOffsets | DeleteGroup | Describe | ListGroups
Input = (
    Settings
    | TopicIs
    | Beat
    | Leave
    | Classic
    | Query
    | ClassicMember
    | Due
    | Waited
    | Stored
    | Failed
    | Moved
    | Read
)


def brief(one: Input) -> str:
    """An input in one line: its kind, and the fields that are not as usual; but always who is meant."""
    said = []
    for each in fields(one):
        value = getattr(one, each.name)
        if each.name in ("member_id", "member_ids", "topic"):
            said.append(" ".join(value) if isinstance(value, tuple) else str(value or "(nobody)"))
        elif value != each.default:
            said.append(f"{each.name}={value}")
    return " ".join((type(one).__name__, *said))
