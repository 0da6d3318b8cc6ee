"""The raw client: it sends whatever it likes and forgets what it is told.

Polite clients cannot make every rule fire. A raw one can: each unit of the budget `odd` is one request of the
table in `rota.environment.odd`, at any time, from a connection of its own that never breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rota.environment.odd import Odd, odd_requests
from rota.environment.signals import Charge, Deliver
from rota.environment.subscription import Subscription
from rota.kernel import Message, Send, Turn, Value


@dataclass(frozen=True)
class Raw:
    """A raw client remembers nothing but who it is."""

    name: str


@dataclass(frozen=True)
class RawClient:
    """The machine. subscription: where its requests are not odd they are like those of such a client.

    It has a role of its own: what is claimed of clients is not claimed of it.
    """

    subscription: Subscription
    role: str = "raw"

    @property
    def name(self) -> str:
        """`client/` and the client's name: ids are minted for it and answers addressed to it as to any."""
        return f"client/{self.subscription.client}"

    def initial(self) -> Sequence[Value]:
        """The only value there is."""
        return (Raw(self.subscription.client),)

    @cached_property
    def _choices(self) -> tuple[tuple[str, tuple[Send, ...]], ...]:
        return tuple((line.what, self._sends(line)) for line in odd_requests(self.subscription))

    def _sends(self, line: Odd) -> tuple[Send, ...]:
        call = self.subscription.call(line.request, line.version)
        return (Send("budget", Charge("odd")), Send("coordinator", Deliver(call, held=())))

    def offers(self, value: Raw) -> Sequence[Turn]:
        """Any line of the table, as long as the budget allows one."""
        return [Turn(value, sends, f"{value.name} sends {what}") for what, sends in self._choices]

    def receive(self, value: Raw, sender: str, message: Message) -> Sequence[Turn]:
        """Answers and news go unread."""
        return (Turn(value),)
