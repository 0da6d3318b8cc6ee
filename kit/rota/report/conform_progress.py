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


class ConformProgress:
    """Shows done, of how many, rate, time left, and what is being played for longest.

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
            now = self._clock()
            seconds = max(now - self._began, 1e-6)
            parts = [f"{self._done} of {self._of} cases", f"{self._done / seconds:.1f}/s"]
            if self._failed:
                parts.append(f"{self._failed} failed")
            left = self._left(now)
            parts += [f"about {left:.0f} s left"] if left >= 1 else []  # else something takes its time
            if self._running:
                longest = min(self._running, key=lambda script: self._running[script][0])
                others = len(self._running) - 1
                parts.append(f"{longest} for {now - self._running[longest][0]:.0f} s")
                parts += [f"{others} more at once"] if others else []
        return ", ".join(parts)

    def _begun(self, script: Script) -> None:
        with self._lock:
            self._running[script.id] = (self._clock(), self._waiting.pop(script.id))

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
