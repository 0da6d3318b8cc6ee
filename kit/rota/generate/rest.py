"""Whether a target that the kit has started comes back to rest when nobody asks anything."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from rota.conformance.targets.remote import Embedded
from rota.conformance.targets.restarting import Alone, Guest
from rota.conformance.targets.target import Running

WINDOW = 1.0
"""Seconds over which the use of processors is measured."""

WITHIN = 15.0
"""Seconds in which a target has to come to rest."""

BUSY = 0.3
"""Processors that a target uses on average which is not at rest."""

_SESSION, _USER, _SYSTEM = 3, 11, 12
"""Fields of a process's `stat`, counted behind its name."""


@runtime_checkable
class OfASession(Protocol):
    """A target whose processes are in a session of their own."""

    @property
    def session(self) -> int:
        """Its number."""


@dataclass(frozen=True)
class Rest:
    """How many processors a target used in the quietest second of so many after the last request."""

    processors: float
    seconds: float

    @property
    def harm(self) -> str:
        """What is wrong with it, in words; empty if nothing."""
        if self.processors <= BUSY:
            return ""
        return f"{self.seconds:.0f} s after the last request it still uses {self.processors:.2f} processors"

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        told = {"processors": round(self.processors, 3), "seconds": round(self.seconds, 1)}
        return {**told, "harm": self.harm or None}


async def rest(used: Callable[[], float | None], within: float = WITHIN) -> Rest | None:
    """Watch a target until it rests, or for so many seconds. used: processor seconds until now; None where
    nobody can tell.
    """
    began, least = time.monotonic(), float("inf")
    while True:
        since, before = time.monotonic(), used()
        await asyncio.sleep(WINDOW)
        now, after = time.monotonic(), used()
        if before is None or after is None:
            return None
        least = min(least, (after - before) / (now - since))
        if least <= BUSY or now - began > within:
            return Rest(least, now - began)


def processor_seconds(running: Running) -> float | None:
    """What a target has used of processors; None where nobody can tell, as of one that somebody else runs."""
    if isinstance(running, Embedded):
        return time.process_time()
    server = running.server if isinstance(running, Guest | Alone) else running
    if not isinstance(server, OfASession):
        return None
    ticks = [*_ticks(server.session)]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None


def _ticks(session: int) -> Iterator[int]:
    """What the processes of a session have used, where the system says so."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        if int(fields[_SESSION]) == session:
            yield int(fields[_USER]) + int(fields[_SYSTEM])
