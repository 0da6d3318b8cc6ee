"""The log of group records: appends in flight, answered in order some time later, as stored or as failed.

What it has stored matters only where the coordinator may still move to another broker: then the last stored
record is what the next coordinator loads, and of the appends in flight any prefix has reached that broker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rota.environment.messages import (
    Append,
    Appended,
    Charge,
    ForgetAppends,
    Loaded,
    Moved,
    Owed,
    Read,
    Recall,
    Recalled,
    Unreachable,
)
from rota.kernel import Message, Outcome, Refusal, Send, Value, frozen, replace
from rota.spec.effects import Record
from rota.spec.kind import GroupKind
from rota.spec.vocabulary import AppendError

Appends = tuple[Record, ...]


@frozen
class Records:
    """The log's part of the state.

    appends: in flight, oldest first; durable: the group's last stored record, None where there is none or
    where no fail-over can come any more; epoch: how many fail-overs there have been.
    """

    appends: Appends = ()
    durable: Record | None = None
    epoch: int = 0


@dataclass(frozen=True)
class Prospects:
    """What may still happen to the log, which decides what of it is dead data.

    moves: how many fail-overs there may be in all; failures: whether an append may fail.
    """

    moves: int = 0
    failures: bool = True

    def may_move(self, epoch: int) -> bool:
        """Whether the coordinator may move on from an epoch."""
        return epoch < self.moves

    def counts(self, groups: GroupKind, record: Record, epoch: int) -> bool:
        """Whether a record, or the log's answer to it, can do anything.

        Where the coordinator may move every record counts, for it replaces the one before it. Else only its
        answer does.
        """
        return self.may_move(epoch) or groups.answer_counts(record, self.failures)


DEFAULT = Prospects()


@dataclass(frozen=True)
class Log:
    """The machine.

    Parameters: groups, what records mean; failure, how an append fails when it does; prospects; settle:
    clear dead data.

    The price of a failure is charged where it does something (`Broker.receive`): one that comes too late to
    matter must not use up a fault, or a state without the dead append would differ from one with it. Where
    the coordinator may still move every failure does something, and is charged here.
    """

    groups: GroupKind
    failure: AppendError
    prospects: Prospects = DEFAULT
    settle: bool = True
    name: str = "log"
    role: str = "log"

    def initial(self) -> Sequence[Value]:
        """Nothing is stored, nothing in flight."""
        return (Records(),)

    def actions(self, value: Records) -> Sequence[Outcome]:
        """The oldest append is answered, or another broker takes the log over."""
        return [*self._answers(value), *self._moves(value)]

    def _answers(self, value: Records) -> list[Outcome]:
        """The oldest append is answered: stored, or failed."""
        if not value.appends:
            return []
        record, rest = value.appends[0], replace(value, appends=value.appends[1:])
        stored = Send("coordinator", Appended(record, None))
        failed = Send("coordinator", Appended(record, self.failure))
        price = (Send("budget", Charge("append")),) if self._may_move(value) else ()
        what = self.groups.record_text(record)
        return [
            Outcome(self._with_durable(rest, (record,)), (stored,), f"log stores {what}"),
            Outcome(rest, (*price, failed), f"log fails to store {what}"),
        ]

    def _moves(self, value: Records) -> list[Outcome]:
        """Another broker leads the log: some prefix of what is in flight has reached it.

        The old coordinator stops in the same instant. A real one may go on for a while. That adds nothing: it
        can store no more records, so whatever it still does without one could have happened just before the
        move.
        """
        if not self._may_move(value):
            return []
        outcomes = []
        sends = (Send("budget", Charge("failover")), Send("coordinator", Moved(value.appends)))
        for survive in range(len(value.appends) + 1):
            there = self._with_durable(Records((), value.durable, value.epoch), value.appends[:survive])
            lost = len(value.appends) - survive
            what = f"the coordinator moves to another broker{f', {lost} appends are lost' if lost else ''}"
            outcomes.append(Outcome(replace(there, epoch=value.epoch + 1), sends, what))
        return outcomes

    def receive(self, value: Records, sender: str, message: Message) -> Sequence[Outcome]:
        """One more append; what has become pointless; a question of the coordinator."""
        if isinstance(message, Append):
            return (Outcome(replace(value, appends=(*value.appends, message.record))),)
        if isinstance(message, ForgetAppends):
            kept = tuple(r for r in value.appends if r.kind not in message.kinds)
            return (Outcome(replace(value, appends=kept)),)
        if isinstance(message, Unreachable):
            return (Outcome(replace(value, appends=self._to_nobody(value, message.client))),)
        if isinstance(message, Owed):
            return () if any(_waits(message.client, r) for r in value.appends) else (Outcome(value),)
        if isinstance(message, Recall):
            return (Outcome(value, (Send("coordinator", self._recalled(value, message)),)),)
        if isinstance(message, Read):
            return (self._read(value),)
        raise TypeError(f"the log does not take {message!r}")

    def refusals(self, value: Records) -> Sequence[Refusal]:
        """What it does with appends without any, and moves without any left."""
        refused = []
        if not value.appends:
            refused.append(Refusal("log stores a record, or fails to", "no append is in flight"))
        if not self._may_move(value):
            moves = self.prospects.moves
            why = f"no fail-over left of {moves}" if moves else "this configuration has no fail-over"
            refused.append(Refusal("the coordinator moves to another broker", why))
        return refused

    def why_refused(self, value: Records, sender: str, message: Message) -> str | None:
        """A client gives up waiting only where no answer comes."""
        return owed(message)

    def _may_move(self, value: Records) -> bool:
        return self.prospects.may_move(value.epoch)

    def _with_durable(self, value: Records, stored: Appends) -> Records:
        """What is durable with these records on top."""
        if not stored or not self._may_move(value):
            return value
        return replace(value, durable=self.groups.as_stored(stored[-1]))

    def _to_nobody(self, value: Records, client: str) -> Appends:
        """The appends in flight after the connection of a client that waits for one of them is gone."""
        after = tuple(_without_answer(r, client) for r in value.appends)
        if not self.settle:
            return after
        return tuple(r for r in after if self.prospects.counts(self.groups, r, value.epoch))

    def _read(self, value: Records) -> Outcome:
        """The coordinator loads the group. What the last one has loaded is never looked at again."""
        after = value if self._may_move(value) or not self.settle else replace(value, durable=None)
        return Outcome(after, (Send("coordinator", Loaded(value.durable)),))

    def _recalled(self, value: Records, message: Recall) -> Recalled:
        """The ids that could come back: with a record that is loaded, or when a replacement fails."""
        named = set(message.request.held)
        if self._may_move(value):
            records = value.appends if value.durable is None else (value.durable, *value.appends)
            named.update(*(self.groups.ids_in(record) for record in records))
        named.update(*(self.groups.ids_restored(record) for record in value.appends))
        return Recalled(replace(message.request, held=tuple(sorted(named))), message.client)


def owed(message: Message) -> str | None:
    """Why a question whether a client is owed an answer is refused: it is."""
    if not isinstance(message, Owed):
        return None
    return f"an answer to {message.client} waits for the log, so it will come"


def _waits(client: str, record: Record) -> bool:
    return record.answer is not None and record.answer.to == client


def _without_answer(record: Record, client: str) -> Record:
    if record.answer is None or record.answer.to != client:
        return record
    return record.without_answer()
