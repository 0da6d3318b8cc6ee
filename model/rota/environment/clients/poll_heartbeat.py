"""The old client, before 0.10.1: it heartbeats only while the application polls (KIP-62 changed that)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rota.environment.clients.connection import turn
from rota.environment.clients.eager import EagerClient
from rota.environment.clients.state import Client, Phase
from rota.environment.messages import Evicted
from rota.kernel import Turn


@dataclass(frozen=True)
class OldClient(EagerClient):
    """The machine. While the application processes what it got, the client is silent, alive as it is.

    So its session may run out, and that is no fault of anybody's: it costs nothing. Only that the application
    takes so long is counted (`process`).
    """

    def _processing(self, value: Client) -> list[Turn]:
        return [turn(replace(value, phase=Phase.STABLE), "polls again")]

    def _suffers(self, value: Client, loss: Evicted) -> bool:
        return value.phase is not Phase.PROCESSING and super()._suffers(value, loss)
