"""The cooperative client: it consumes while it joins, and gives up only what it is to lose (KIP-429)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rota.environment.clients.assignment import Claim
from rota.environment.clients.commits import settled
from rota.environment.clients.consumer import PoliteClient
from rota.environment.clients.state import Client
from rota.kernel import replace
from rota.spec import SyncGroupReply

COOPERATIVE_STICKY = "cooperative-sticky"


@dataclass(frozen=True)
class CooperativeClient(PoliteClient):
    """The machine. Source: upstream ConsumerCoordinator#onJoinPrepare, #onJoinComplete and #metadata.

    It claims what it owns under the generation that it is in. That may be one in which it got no assignment
    because its SyncGroup was told to join again: then it still owns what it had in the generation before, and
    since it claimed that, nobody else was given it. A client that was reset has lost all that it owned and
    claims nothing. Its only topic stays subscribed, so nothing is given up before joining.
    """

    def _give_up(self, value: Client) -> Client:
        return value

    def _take_up(self, value: Client, reply: SyncGroupReply) -> Client:
        """What the new assignment lacks is revoked, and the client joins again, so that others get it."""
        after = settled(replace(value, assignment=reply.assignment))
        return self._rejoin(after) if set(value.partitions) - set(after.partitions) else after

    def _claims(self, value: Client) -> Mapping[str, Claim]:
        owned = value.partitions
        return {COOPERATIVE_STICKY: Claim(owned, value.generation_id)} if owned else {}
