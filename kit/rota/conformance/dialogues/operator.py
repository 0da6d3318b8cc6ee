"""Who can end the target of a dialogue and start it again."""

from __future__ import annotations

from typing import Protocol

BACK_SECONDS = 40.0
"""How long it may take until a group has a coordinator again.

A cluster notices a death after seconds. A broker of Kafka 3 that is back after SIGKILL listens, but answers
nothing until the session of its former self is over (ClusterControlManager.registerBroker), nine seconds.
"""


class Operator(Protocol):
    """What a dialogue asks for that restarts its target."""

    @property
    def signal(self) -> str:
        """The signal that ends the target."""

    @property
    def who(self) -> str:
        """What is ended, in words."""

    @property
    def back(self) -> str:
        """What is there afterwards, in words."""

    def end(self, address: tuple[str, int]) -> None:
        """End the target, of a cluster the broker that listens at the address; returns when it is no more."""

    def start_again(self, ready: bool) -> tuple[str, int]:
        """Start it again, or wait for the brokers that are left; the address of the group's coordinator.

        ready: whether it has to coordinate the group by then.
        """
