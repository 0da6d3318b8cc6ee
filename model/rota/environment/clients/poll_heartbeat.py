"""The old client, before 0.10.1: it heartbeats only while the application polls (KIP-62 changed that)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rota.environment.clients.connection import outcome
from rota.environment.clients.eager import EagerClient
from rota.environment.clients.refusals import OLD_MOVES, Move
from rota.environment.clients.state import Client, Phase
from rota.environment.messages import Evicted
from rota.kernel import Outcome, replace


@dataclass(frozen=True)
class OldClient(EagerClient):
    """The machine. While the application processes what it got, the client is alive but sends no heartbeats.

    Its session may run out meanwhile, and that is not charged as a fault: the budget counts only how often
    the application takes so long (`process`).
    """

    def _processing(self, value: Client) -> list[Outcome]:
        return [outcome(replace(value, phase=Phase.STABLE), "polls again")]

    @property
    def _moves(self) -> Sequence[Move]:
        return OLD_MOVES

    def _suffers(self, value: Client, loss: Evicted) -> bool:
        return value.phase is not Phase.PROCESSING and super()._suffers(value, loss)
