"""The eager client: it gives up all that it consumes before it joins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rota.environment.clients.assignment import Claim
from rota.environment.clients.commits import settled
from rota.environment.clients.consumer import PoliteClient
from rota.environment.clients.state import Client
from rota.kernel import replace
from rota.spec import SyncGroupReply

STICKY = "sticky"


@dataclass(frozen=True)
class EagerClient(PoliteClient):
    """The machine. Source: upstream ConsumerCoordinator#onJoinPrepare and #onJoinComplete.

    The sticky assignor remembers what its member got last, and claims it (StickyAssignor).
    """

    def _give_up(self, value: Client) -> Client:
        return settled(replace(value, assignment=None))

    def _take_up(self, value: Client, reply: SyncGroupReply) -> Client:
        after = replace(value, assignment=reply.assignment)
        if STICKY not in self.subscription.protocols:
            return after
        return replace(after, remembered=Claim(after.partitions, after.generation_id))

    def _claims(self, value: Client) -> Mapping[str, Claim]:
        return {} if value.remembered is None else {STICKY: value.remembered}
