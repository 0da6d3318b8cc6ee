"""Performances on a server with a bug, and what the spec says to what a coordinator did in one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.clients.meddler import BUGS, Meddler
from rota.clients.performances import Case, Played
from rota.clients.producers import Producers
from rota.oracle.shadow import Shadow

IMPATIENT = 12.0
"""Seconds that a step may take where a bug is planted, so that a step which never comes costs little."""


@dataclass(frozen=True)
class Planted(Case):
    """A performance with a bug: a name of BUGS, planted by a proxy between clients and server."""

    bug: str = ""

    def __str__(self) -> str:
        return f"{super().__str__()}-{self.bug}".replace(" ", "_")

    @property
    def second_chance(self) -> bool:
        return False

    def play(self, address: str, producers: Producers) -> Played:
        with Meddler(address, BUGS[self.bug]) as meddler:
            return self.perform(meddler.address, producers, IMPATIENT)


def judged(played: Played, shadows: Iterable[Shadow]) -> None:
    """Nothing, if what the coordinator did in its group is what the spec allows. Errors: Divergence."""
    history = played.world.history.events()
    for shadow in shadows:
        found = shadow.followed.get(played.world.group_id)
        if found is not None and found.divergence is not None:
            raise found.divergence
        assert found is not None or all(event.generation < 1 for event in history), "nobody has looked"
