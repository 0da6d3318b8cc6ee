"""A recorded request about a group."""

from __future__ import annotations

from msgspec import Struct

from rota.linearise import Sent
from rota.spec import Call
from rota.spec.messages import Request


class Asked(Struct, frozen=True):
    """A request about a group. weight: whether it counts as an event, or another group's part of it does;
    broker: who is asked, as the source names it."""

    number: int
    at: float
    connection: int
    client: str
    api: str
    version: int
    request: Request
    weight: int
    origin: str
    broker: str = ""

    def sent(self, request: Request | None = None, until: float | None = None) -> Sent:
        """As the judge has it. until: as of `Sent`."""
        call = Call(request or self.request, str(self.number), self.version)
        return Sent(self.at, self.number, self.connection, self.client, call, until)
