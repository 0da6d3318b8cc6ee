"""Starts the target that is walked on, again where it has died, and finds its coordinator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from rota.conformance.connections.connection import Closed, Garbage, NotListening
from rota.conformance.dialogues.failures import Deviation, Undecidable
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.target import Running
from rota.generate.life import Life
from rota.generate.player import Coordinator
from rota.generate.rest import processor_seconds

COMES_BACK = 3.0
"""Seconds in which a target that somebody else runs may be started again by whoever runs it."""

UNREACHED = (Undecidable, Deviation, Closed, Garbage, NotListening)
"""What is raised by who looks for a coordinator and finds none."""


@dataclass
class Host:
    """Parameters: start, gives a target that runs, of one that has died another; reach, finds the coordinator
    of one that runs. Attribute: coordinator, the one that was found last.
    """

    start: Callable[[], Running]
    reach: Callable[[Running], Coordinator]
    coordinator: Coordinator | None = None
    _running: Running | None = None

    def begin(self) -> Coordinator:
        """The coordinator of a target that is started now. Errors: NotStarted, one of `UNREACHED`."""
        self.stop()
        self._running = self.start()
        self.coordinator = self.reach(self._running)
        self.coordinator.life = Life(self._running)
        return self.coordinator

    async def again(self) -> Coordinator | None:
        """The coordinator, once the target is there again; None where nobody starts it."""
        loop = asyncio.get_running_loop()
        end = loop.time() + COMES_BACK
        while True:
            try:
                return await asyncio.to_thread(self.begin)
            except NotStarted:
                return None
            except UNREACHED:
                if loop.time() > end:
                    return None
            await asyncio.sleep(0.2)

    def processor_seconds(self) -> float | None:
        """What the target has used of processors, None where nobody can tell."""
        return None if self._running is None else processor_seconds(self._running)

    def stop(self) -> str:
        """End what was started; how it fails in that, if it does, which what is dead already may."""
        running, self._running = self._running, None
        try:
            if running is not None:
                running.stop()
        except Exception as error:
            return f"it failed by the time that it was stopped: {type(error).__name__}: {error}"
        return ""
