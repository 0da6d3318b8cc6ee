"""What goes in and out of the core beside requests: effects of a step, choices that are made outside.

What every heartbeat makes is a named tuple: these are made and hashed in a fraction of the time that a frozen
dataclass takes.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from rota.coordinator.admin_messages import AdminReply, GroupTombstone
from rota.coordinator.consumer.messages import ConsumerReply
from rota.coordinator.consumer.records import ConsumerBatch
from rota.coordinator.messages import MembershipReply
from rota.coordinator.notices import Notice
from rota.coordinator.offset_messages import OffsetBatch, OffsetReply, TransactionMarker
from rota.coordinator.purgatory import Token
from rota.coordinator.values import value

Reply = MembershipReply | OffsetReply | AdminReply | ConsumerReply
TimerKind = Literal[
    "initial_join",
    "join",
    "sync",
    "session",
    "new_member",
    "pending",
    "consumer_session",
    "consumer_rebalance",
]


class TimerId(NamedTuple):
    """The name of a timer; `member_id` is "" for the three kinds that belong to the group as a whole.

    initial_join: end of the (extended) delay of a rebalance from Empty. join: end of any other join phase.
    sync: members that have not sent SyncGroup are out. pending: a pending member has not
    come back with its id in time. new_member: a new member has been parked for too long. session: a member
    was not heard from for too long. consumer_session, consumer_rebalance: the same for a member of the
    consumer protocol, and the time that it has to give up partitions.
    """

    kind: TimerKind
    group_id: str
    member_id: str = ""


class Arm(NamedTuple):
    """Fire this timer after a delay, counted from now; an armed timer of the same id is replaced."""

    timer_id: TimerId
    delay_ms: int


class Cancel(NamedTuple):
    """Forget this timer. It has not fired; armed in this very step, the caller has not seen it yet."""

    timer_id: TimerId


@value
class MemberRecord:
    """A member in a group's record; `subscription` is its metadata for the record's protocol."""

    member_id: str
    assignment: bytes
    subscription: bytes
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    group_instance_id: str | None = None


@value
class GroupRecord:
    """A group's entry in the log: a generation with its assignment, or an Empty group (without members).

    `members` are in order of id. A group that a JoinGroup has just made has generation 0 and the type "".
    `state_timestamp_ms` is the wall clock when the group entered the state that it was in, -1 where that is
    not known (old records do not say).
    """

    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    members: tuple[MemberRecord, ...] = ()
    state_timestamp_ms: int = -1


@value
class Append:
    """Write a record or a batch; the log's answer goes to `appended` with this id, once. Ids grow by one."""

    append_id: int
    group_id: str
    record: GroupRecord | OffsetBatch | GroupTombstone | TransactionMarker | ConsumerBatch


class Effects(NamedTuple):
    """All effects of one step, each list in the order to carry it out; every timer is named at most once.

    `notices` ask for nothing: they tell what happened, to whoever keeps a log of it.
    dropped: requests that are answered no more, as in the broker: there is nothing left to wait for.
    `replies` may be taken later, after other steps: they tell what this one has settled.
    """

    replies: Sequence[tuple[Token, Reply]] = ()
    timers: tuple[Arm | Cancel, ...] = ()
    appends: tuple[Append, ...] = ()
    notices: tuple[Notice, ...] = ()
    dropped: tuple[Token, ...] = ()


class Choices(Protocol):
    """Decisions that Kafka leaves open or to chance, and the time; the core draws none of them itself.

    A method is called only where its answer takes effect, and `protocol` and `leader` only with two
    candidates or more, sorted, one of which they return.
    """

    def now_ms(self) -> int:
        """The wall clock; asked when a group enters a state, which is noted with the time. -1: not known."""

    def new_member_id(self, prefix: str) -> str:
        """A member id never given before; a broker answers the prefix, a hyphen and a random UUID.

        The prefix is the group instance id of a static member, the client id of any other.
        """

    def protocol(self, tied: tuple[str, ...]) -> str:
        """The winner among protocols with equally many votes."""

    def leader(self, candidates: tuple[str, ...]) -> str:
        """The successor of a leader that is gone, among member ids."""
