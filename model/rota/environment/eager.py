"""The eager client: it gives up all that it consumes before it joins."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rota.environment.client import Client
from rota.environment.polite import PoliteClient
from rota.spec import SyncGroupReply


@dataclass(frozen=True)
class EagerClient(PoliteClient):
    """The machine. Source: upstream ConsumerCoordinator#onJoinPrepare and #onJoinComplete."""

    def _give_up(self, value: Client) -> Client:
        return replace(value, assignment=None)

    def _take_up(self, value: Client, reply: SyncGroupReply) -> Client:
        return value
