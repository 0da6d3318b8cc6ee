"""The log of group records: appends in flight, answered in order, some time later, well or badly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rota.environment.signals import Append, Appended, ForgetAppends
from rota.kernel import Message, Send, Turn, Value
from rota.spec import GroupRecord
from rota.spec.vocabulary import AppendError

Appends = tuple[GroupRecord, ...]


@dataclass(frozen=True)
class Log:
    """The machine. failure: how an append fails when it does.

    The price of a failure is charged where it does something (`Broker.receive`): one that comes too late to
    matter must not use up a fault, or a state without the dead append would differ from one with it.
    """

    failure: AppendError
    name: str = "log"
    role: str = "log"

    def initial(self) -> Sequence[Value]:
        """Nothing in flight."""
        return ((),)

    def offers(self, value: Appends) -> Sequence[Turn]:
        """The oldest append is answered: stored, or failed."""
        if not value:
            return ()
        record, rest = value[0], value[1:]
        stored = Send("coordinator", Appended(record, None))
        failed = Send("coordinator", Appended(record, self.failure))
        what = f"the assignment of generation {record.generation_id}"
        return (
            Turn(rest, (stored,), f"log stores {what}"),
            Turn(rest, (failed,), f"log fails to store {what}"),
        )

    def receive(self, value: Appends, sender: str, message: Message) -> Sequence[Turn]:
        """One more append, or all in flight have become pointless."""
        if isinstance(message, Append):
            return (Turn((*value, message.record)),)
        if isinstance(message, ForgetAppends):
            return (Turn(()),)
        raise TypeError(f"the log does not take {message!r}")
