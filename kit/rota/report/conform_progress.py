"""How far a conformance run is, in the words of a live line."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import monotonic

from rota.conformance.dialogues.script import Script
from rota.conformance.results import Verdict
from rota.conformance.runner import Watch
from rota.report.events import CaseFinished, Event
from rota.report.live_line import LiveLine
from rota.report.progress import Progress, duration


class ConformProgress:
    """Shows done, of how many, time left, failures, and what is being played for longest.

    Parameters: line, on which it is shown; scripts, all that are played, so many at a time as `parallel`;
    clock, seconds, for tests.
    """

    def __init__(
        self,
        line: LiveLine,
        scripts: Sequence[Script],
        parallel: int,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._line, self._parallel, self._clock = line, parallel, clock
        self._lock = threading.Lock()
        self._began = clock()
        self._waiting = {script.id: _planned(script) for script in scripts}
        self._running: dict[str, tuple[float, float]] = {}
        self._of = len(scripts)
        self._done, self._failed = 0, 0
        self._over_planned = 0.0

    @property
    def watch(self) -> Watch:
        """What the run tells of itself."""
        return Watch(self._begun, self._over, lambda: self._line.show(self.text))

    def on(self, event: Event) -> None:
        """Count failures, as a reader of the run's events."""
        if isinstance(event, CaseFinished) and event.result.verdict in (Verdict.FAIL, Verdict.DIED):
            self._failed += 1

    def text(self) -> str:
        """All of it in one line."""
        with self._lock:
            clock = self._clock()
            now = [f"{self._failed} failed"] if self._failed else []
            if self._running:
                longest = min(self._running, key=lambda script: self._running[script][0])
                others = len(self._running) - 1
                now.append(f"{longest} for {duration(clock - self._running[longest][0])}")
                now += [f"{others} more at once"] if others else []
            seconds, left = clock - self._began, self._left(clock)
            far = Progress("conform", self._done, self._of, "cases", seconds, left=left, now=now)
        return far.line()

    def _begun(self, script: Script) -> None:
        """It may begin again, alone: when a target died that others had a part in, it counts once."""
        with self._lock:
            planned = _planned(script)
            if self._waiting.pop(script.id, None) is None:
                self._done -= 1
                self._over_planned -= planned
            self._running[script.id] = (self._clock(), planned)

    def _over(self, script: Script) -> None:
        with self._lock:
            _, planned = self._running.pop(script.id)
            self._done += 1
            self._over_planned += planned

    def _left(self, now: float) -> float:
        """Seconds: the work that is left, in planned seconds, at the rate at which it was done so far."""
        done, running = self._over_planned, list(self._running.values())
        done += sum(min(now - began, planned) for began, planned in running)
        rests = [*self._waiting.values(), *(max(planned - (now - began), 0.0) for began, planned in running)]
        rate = done / (now - self._began) if done else self._parallel
        return max([*rests, sum(rests) / rate], default=0.0)


def _planned(script: Script) -> float:
    return script.seconds + script.initial_delay_ms / 1000
