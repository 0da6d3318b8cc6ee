"""What whoever holds a group asks its protocol, whichever kind of group it is.

Rules say what happens; these questions are about a group at rest or in flight: which of its timers may be
due, what of its data no rule can read any more, who waits for an answer, what a record is worth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from rota.kernel import frozen
from rota.spec.effects import Record, Timer

AnyGroup = Any
"""A group of any kind; each kind's room has its class."""

AnyStep = Any
"""A step of any kind: `Effects` and the next `group`."""


@dataclass(frozen=True)
class Live:
    """What else is in scope than the requests of members.

    names: a SyncGroup that names a protocol does not fit a group without one (with the Scala coordinator;
    this is a matter of the profile, not of the scope); statics: there may be static members; offsets:
    OffsetDelete and expiry ask what a group has subscribed to; describe: DescribeGroups shows assignments and
    the protocol in every state; failover: another broker may load what was written.
    """

    names: bool = False
    statics: bool = False
    offsets: bool = False
    describe: bool = False
    failover: bool = False


MEMBERSHIP = Live()


@frozen
class Loss:
    """A member id that a timer took from its owner. parked: a request of the member waited for its answer."""

    member_id: str
    parked: bool


class GroupKind(Protocol):
    """The questions. All are pure functions; a group is None where there is none."""

    def may_be_due(self, group: AnyGroup, timer: Timer) -> bool:
        """Whether an armed timer may run out before what it guards has been answered."""
        ...

    def timer_text(self, timer: Timer) -> str:
        """That a timer is due, in the words of a trace."""
        ...

    def losses(self, before: AnyGroup, after: AnyGroup | None) -> tuple[Loss, ...]:
        """The ids that a due timer took from their owners or left out of a generation, in order."""
        ...

    def owes(self, group: AnyGroup | None, address: str) -> bool:
        """Whether a request from an address is parked."""
        ...

    def readdressed(self, group: AnyGroup | None, address: str, to: str) -> AnyGroup | None:
        """The group with what is parked for one address parked for another."""
        ...

    def settled(self, group: AnyGroup, live: Live) -> AnyGroup:
        """The group without dead fields."""
        ...

    def settled_timers(self, group: AnyGroup | None, armed: Iterable[Timer]) -> frozenset[Timer]:
        """The armed timers that can do something."""
        ...

    def ended_by_barrier(self, before: bool, step: AnyStep) -> bool:
        """A history variable: whether the join phase that a step's generation came from ended by its
        barrier.
        """
        ...

    def dead_appends(self, before: AnyGroup | None, after: AnyGroup | None) -> frozenset[Enum]:
        """The kinds of records whose answers can do nothing any more, since the group has gone on."""
        ...

    def record_text(self, record: Record) -> str:
        """What a record says, in the words of a trace."""
        ...

    def answer_counts(self, record: Record, failures: bool) -> bool:
        """Whether the log's answer to a record can do anything. failures: an append may fail."""
        ...

    def as_stored(self, record: Record) -> Record | None:
        """A record without what only its answer needs; None where it says that the group is deleted."""
        ...

    def ids_in(self, record: Record) -> frozenset[str]:
        """The member ids that a group has after it was loaded from a record."""
        ...

    def ids_restored(self, record: Record) -> frozenset[str]:
        """The member ids that come back if the append of a record fails."""
        ...
