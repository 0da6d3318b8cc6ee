"""What the application is told of its partitions, read off the client before and after a move.

Source: upstream ConsumerRebalanceListener and ConsumerCoordinator (onJoinPrepare, onJoinComplete,
onLeavePrepare). Nothing of it is kept in a state.
"""

from __future__ import annotations

from dataclasses import dataclass

from rota.environment.clients.state import Client, Phase
from rota.kernel import Word


class Callback(Word):
    """The three methods of a listener."""

    ASSIGNED = "onPartitionsAssigned"
    REVOKED = "onPartitionsRevoked"
    LOST = "onPartitionsLost"


@dataclass(frozen=True)
class ListenerCall:
    """A call of a listener."""

    callback: Callback
    partitions: frozenset[int]


def listener_calls(before: Client, after: Client) -> tuple[ListenerCall, ...]:
    """The calls that a client's move means, in order; none for an empty set, none of a process that died.

    Partitions that go while the client keeps its generation are revoked. Those of a client that was reset are
    lost: others may have them already. A client that leaves of its own accord revokes them. One that leaves
    because nobody polled has lost them; upstream tells the application when it polls again, the model at
    once.
    """
    had, has = frozenset(before.partitions), frozenset(after.partitions)
    calls = []
    if had - has and after.phase not in (Phase.CRASHED, Phase.FAILED):
        calls.append(ListenerCall(_farewell(after), had - has))
    if has - had:
        calls.append(ListenerCall(Callback.ASSIGNED, has - had))
    return tuple(calls)


def _farewell(after: Client) -> Callback:
    reset = after.generation_id < 0 and after.phase is not Phase.LEAVING
    return Callback.LOST if reset else Callback.REVOKED
