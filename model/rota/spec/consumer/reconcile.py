"""Reconciliation as a table: place × guards → move, the first line that fits.

A place is the state in which a heartbeat finds the member, or one of two junctions, at which lines of several
states go on. A guard is a question about a `Question`, a move makes the member as it is written afterwards.
What is drawn and what is judged are these lines; `reconcile` only follows them.

Left out: the state UNKNOWN, and assignments by regular expressions that are not resolved.

Source: KIP-848, KIP-1251; upstream CurrentAssignmentBuilder#build, #updateCurrentAssignment and
#computeNextAssignment, ConsumerGroupMember.Builder#updateMemberEpoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum

from rota.spec.consumer.state import Holding, Member, MemberState, Question


class Junction(StrEnum):
    """Where lines of several states go on."""

    NEXT = "next"
    """The member has nothing left to acknowledge and is led towards its target."""
    UNSUBSCRIBED = "unsubscribed"
    """The member has changed its subscription, and there is no new target for that yet."""


Place = MemberState | Junction


class Guard(Enum):
    """A guard and its words."""

    AT_TARGET = "its epoch is the target's"
    SAME_SUBSCRIPTION = "subscription unchanged"
    OWNS_PENDING = "may still use what it was told to give up"
    DROPS = "has partitions of topics it left, or left all topics"
    OWNS_DROPPED = "may still use some of them, or of what is pending"
    OWNS_LEAVING = "may still use what is not in the target"
    SOME_TAKEN = "something missing is owned by others"

    def __call__(self, asked: Question) -> bool:
        """Whether it holds."""
        member = asked.member
        match self:
            case Guard.AT_TARGET:
                return member.epoch == asked.target.epoch
            case Guard.SAME_SUBSCRIPTION:
                return not asked.subscription_changed
            case Guard.OWNS_PENDING:
                # A member that is waited for and says nothing has not acknowledged.
                return asked.owned is None or asked.still_owns(member.pending)
            case Guard.DROPS:
                return bool(asked.unsubscribed) or not (member.topics or member.pending)
            case Guard.OWNS_DROPPED:
                return asked.still_owns(member.pending | asked.unsubscribed)
            case Guard.OWNS_LEAVING:
                return asked.still_owns(asked.leaving)
            case Guard.SOME_TAKEN:
                return asked.free != asked.missing


class Move(Enum):
    """A move and its words."""

    STAY = "nothing is written"
    REVOKE_DROPPED = "told to give up what it left as well"
    FORGET_DROPPED = "what it left is gone at once"
    REVOKE = "told to give up what is not in the target"
    TAKE_AND_WAIT = "to the target's epoch, takes what is free and waits for the rest"
    TAKE = "to the target's epoch, takes what is missing"

    def __call__(self, asked: Question) -> Member:
        """The member afterwards."""
        member, state = asked.member, MemberState
        match self:
            case Move.STAY:
                return member
            case Move.REVOKE_DROPPED:
                left = asked.unsubscribed
                told = _written(member, member.epoch, state.UNREVOKED_PARTITIONS, member.assigned - left)
                return replace(told, pending=member.pending | left)
            case Move.FORGET_DROPPED:
                kept = _written(member, member.epoch, member.state, member.assigned - asked.unsubscribed)
                return replace(kept, pending=member.pending)
            case Move.REVOKE:
                told = _written(member, member.epoch, state.UNREVOKED_PARTITIONS, asked.kept)
                return replace(told, pending=asked.leaving)
            case Move.TAKE_AND_WAIT:
                return _led(asked, state.UNRELEASED_PARTITIONS)
            case Move.TAKE:
                return _led(asked, state.STABLE)


def _led(asked: Question, state: MemberState) -> Member:
    """The member at the target's epoch, with what it keeps and what is free."""
    new = frozenset(Holding(one, asked.target.epoch) for one in asked.free)
    return _written(asked.member, asked.target.epoch, state, asked.kept | new)


def _written(member: Member, epoch: int, state: MemberState, assigned: frozenset[Holding]) -> Member:
    """A member with nothing pending, written anew: its epoch becomes the previous one, even if it stays."""
    return Member(state, epoch, member.epoch, assigned, frozenset(), member.topics)


@dataclass(frozen=True)
class Line:
    """One line of the table; `then` is a move, or the junction at which it goes on."""

    name: str
    at: Place
    guards: tuple[Guard, ...]
    then: Move | Junction


_STABLE, _UNREVOKED, _UNRELEASED = MemberState
_NEXT, _LEFT = Junction

TABLE = (
    Line("stable.settled", _STABLE, (Guard.AT_TARGET, Guard.SAME_SUBSCRIPTION), Move.STAY),
    Line("stable.unsubscribed", _STABLE, (Guard.AT_TARGET,), _LEFT),
    Line("stable.behind", _STABLE, (), _NEXT),
    Line("unrevoked.waited-for", _UNREVOKED, (Guard.OWNS_PENDING, Guard.SAME_SUBSCRIPTION), Move.STAY),
    Line("unrevoked.unsubscribed", _UNREVOKED, (Guard.OWNS_PENDING,), _LEFT),
    Line("unrevoked.acknowledged", _UNREVOKED, (), _NEXT),
    Line("unreleased.asks-again", _UNRELEASED, (), _NEXT),
    Line("unsubscribed.revoke", _LEFT, (Guard.DROPS, Guard.OWNS_DROPPED), Move.REVOKE_DROPPED),
    Line("unsubscribed.forget", _LEFT, (Guard.DROPS,), Move.FORGET_DROPPED),
    Line("unsubscribed.nothing", _LEFT, (), Move.STAY),
    Line("next.revoke", _NEXT, (Guard.OWNS_LEAVING,), Move.REVOKE),
    Line("next.wait", _NEXT, (Guard.SOME_TAKEN,), Move.TAKE_AND_WAIT),
    Line("next.settle", _NEXT, (), Move.TAKE),
)
"""The lines, each place's in order; the last one of a place has no guard."""


def steps(asked: Question, table: Sequence[Line] = TABLE) -> Iterator[Line]:
    """The lines that a heartbeat follows, the last of which is a move."""
    place: Place = asked.member.state
    while True:
        line = next(one for one in table if one.at == place and all(guard(asked) for guard in one.guards))
        yield line
        if isinstance(line.then, Move):
            return
        place = line.then


def reconcile(asked: Question, table: Sequence[Line] = TABLE) -> Member:
    """The member as this heartbeat leaves it. Errors: ValueError for a table that leads back to a state."""
    *_, last = steps(asked, table)
    if not isinstance(last.then, Move):
        raise ValueError(f"the line {last.name} is no move")
    return last.then(asked)
