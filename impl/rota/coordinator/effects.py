"""What a step asks of the world: replies, timers and appends, collected while the rules run.

A rule never waits and never reads what it armed or appended: it hands wishes to a Step, and the caller of the
core carries them out after the call has returned. What every heartbeat makes is a named tuple: these are made
and hashed in a fraction of the time that a frozen dataclass takes.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from rota.coordinator.admin_messages import AdminReply, GroupTombstone
from rota.coordinator.config import CoordinatorConfig
from rota.coordinator.ledger import Assigned, Created, InLine, Ledger, Outstanding, Replaced
from rota.coordinator.messages import LeaveGroupReply, MembershipReply
from rota.coordinator.offset_messages import OffsetBatch, OffsetReply, TransactionMarker

Token = Hashable
Reply = MembershipReply | OffsetReply | AdminReply
TimerKind = Literal["initial_join", "join", "sync", "session", "new_member", "pending"]


class TimerId(NamedTuple):
    """The name of a timer; `member_id` is "" for the three kinds that belong to the group as a whole.

    initial_join: end of the (extended) delay of a rebalance from Empty. join: end of any other join phase.
    sync: members that have not sent SyncGroup are out. pending: a handed-out member id was not used in time.
    new_member: a new member has been parked for too long. session: a member was not heard from for too long.
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A group's entry in the log: a generation with its assignment, or an Empty group (without members).

    `members` are in order of id. A group that a JoinGroup has just made has generation 0 and the type "".
    """

    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str | None
    members: tuple[MemberRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Append:
    """Write a record or a batch; the log's answer is to be told under this id, once. Ids grow by one."""

    append_id: int
    group_id: str
    record: GroupRecord | OffsetBatch | GroupTombstone | TransactionMarker


class Effects(NamedTuple):
    """All wishes of one step, each list in the order to carry it out; every timer is named at most once."""

    replies: tuple[tuple[Token, Reply], ...] = ()
    timers: tuple[Arm | Cancel, ...] = ()
    appends: tuple[Append, ...] = ()


class Choices(Protocol):
    """Decisions that Kafka leaves open or to chance; the core draws none of them itself.

    A method is called only where its answer takes effect, and `protocol` and `leader` only with two
    candidates or more, sorted, one of which they return.
    """

    def new_member_id(self, prefix: str) -> str:
        """A member id never given before; a broker answers the prefix, a hyphen and a random UUID.

        The prefix is the group instance id of a static member, the client id of any other.
        """

    def protocol(self, tied: tuple[str, ...]) -> str:
        """The winner among protocols with equally many votes."""

    def leader(self, candidates: tuple[str, ...]) -> str:
        """The successor of a leader that is gone, among member ids."""


class Parked(NamedTuple):
    """Where and how to answer a request: the caller's token and the request's version."""

    token: Token
    version: int


class Step:
    """One holding of the group's lock: what the rules may use, and the wishes collected so far."""

    __slots__ = ("_appends", "_ledger", "_replies", "_timers", "choices", "config")

    def __init__(self, config: CoordinatorConfig, choices: Choices, ledger: Ledger) -> None:
        self.config = config
        self.choices = choices
        self._ledger = ledger
        self._replies: list[tuple[Token, Reply]] = []
        self._timers: dict[TimerId, Arm | Cancel] = {}
        self._appends: list[Append] = []

    def reply(self, parked: Parked, reply: Reply) -> None:
        """Answer a request, in the form that its version can carry."""
        self._replies.append((parked.token, reply.for_version(parked.version)))

    def arm(self, kind: TimerKind, group_id: str, delay_ms: int, member_id: str = "") -> None:
        """Arm a timer, or arm it again."""
        self._timer(Arm(TimerId(kind, group_id, member_id), delay_ms))

    def cancel(self, kind: TimerKind, group_id: str, member_id: str = "") -> None:
        """Cancel a timer that is armed."""
        self._timer(Cancel(TimerId(kind, group_id, member_id)))

    def append(
        self, group_id: str, record: GroupRecord, about: Assigned | Created | Replaced | None = None
    ) -> None:
        """Append a group's record; `about` is what the log's answer decides, None for nothing."""
        append_id = self._ledger.open(Outstanding(group_id, about))
        self._appends.append(Append(append_id, group_id, record))

    def reply_when_stored(self, parked: Parked, reply: LeaveGroupReply) -> None:
        """Answer a LeaveGroup when the log has answered what this step appends; now if that is nothing."""
        entry = self._ledger.outstanding[self._appends[-1].append_id] if self._appends else None
        if isinstance(entry, Outstanding):
            entry.leaving = parked, reply
        else:
            self.reply(parked, reply)

    def append_in_line(
        self, group_id: str, record: OffsetBatch | GroupTombstone | TransactionMarker, entry: InLine
    ) -> None:
        """Append what is no group's state; the answer is to be kept in the entry."""
        self._appends.append(Append(self._ledger.open(entry), group_id, record))

    def forget(self, group_id: str) -> None:
        """Answers to records of this group that are under way are to change nothing any more."""
        self._ledger.forget(group_id)

    def effects(self) -> Effects:
        """Everything asked for."""
        return Effects(tuple(self._replies), tuple(self._timers.values()), tuple(self._appends))

    def _timer(self, wish: Arm | Cancel) -> None:
        # The last word on a timer counts, in the place where it was said.
        self._timers.pop(wish.timer_id, None)
        self._timers[wish.timer_id] = wish
