"""The raw client: it sends whatever it likes and forgets what it is told, but for where the coordinator is.

Polite clients cannot make every rule fire. A raw one can: each unit of the budget `odd` is one request of the
table in `rota.environment.clients.malformed_requests`, at any time, from a connection of its own that never
breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rota.environment.clients.malformed_requests import Odd, odd_requests
from rota.environment.clients.subscription import Subscription
from rota.environment.messages import Charge, Deliver
from rota.kernel import Message, Outcome, Send, Value, frozen, replace
from rota.spec import ErrorCode, FindCoordinatorReply


@frozen
class Raw:
    """A raw client remembers nothing but who it is, and where it was last told that the coordinator is."""

    name: str
    broker: int = 0


@dataclass(frozen=True)
class RawClient:
    """The machine. subscription: what the fields of its requests hold that are not odd.

    It has a role of its own: what is claimed of clients is not claimed of it.
    """

    subscription: Subscription
    role: str = "raw"

    @property
    def name(self) -> str:
        """`client/` and the client's name: ids are minted for it and answers addressed to it as to any."""
        return f"client/{self.subscription.client}"

    def initial(self) -> Sequence[Value]:
        """It has not asked for the coordinator yet."""
        return (Raw(self.subscription.client),)

    @cached_property
    def _table(self) -> tuple[Odd, ...]:
        return odd_requests(self.subscription)

    def actions(self, value: Raw) -> Sequence[Outcome]:
        """Any line of the table, as long as the budget allows one."""
        return [self._sends(value, line) for line in self._table]

    def _sends(self, value: Raw, line: Odd) -> Outcome:
        call = self.subscription.call(line.request, line.version)
        delivery = Send("coordinator", Deliver(call, (), value.broker))
        return Outcome(value, (Send("budget", Charge("odd")), delivery), f"{value.name} sends {line.what}")

    def receive(self, value: Raw, sender: str, message: Message) -> Sequence[Outcome]:
        """Answers and news go unread, but for where the coordinator is."""
        if not isinstance(message, FindCoordinatorReply):
            return (Outcome(value),)
        line = message.coordinators[0]
        found = line.error_code is ErrorCode.NONE
        return (Outcome(replace(value, broker=line.node.node_id) if found else value),)
