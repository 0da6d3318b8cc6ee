"""How far explorations and walks are, in the words of a live line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from rota.report.live_line import LiveLine


@dataclass
class Level:
    """How far one exploration is. expected: distinct states that it should have, if that is known."""

    expected: int | None
    depth: int = 0
    distinct: int = 0
    frontier: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Distinct states per second."""
        return self.distinct / max(self.seconds, 1e-6)


def explored(at: Level) -> str:
    """How far an exploration is, when it is the only one."""
    parts = [
        f"{at.distinct:,} states",
        f"depth {at.depth}",
        f"frontier {at.frontier:,}",
        f"{at.rate:,.0f} states/s",
        f"{at.seconds:.0f} s",
    ]
    if at.expected is not None and at.expected > at.distinct:
        parts.append(f"about {(at.expected - at.distinct) / at.rate:.0f} s left")
    return ", ".join(parts)


def walked(at: Level) -> str:
    """How far random walks are: what is called depth counts walks there, and frontier steps."""
    return f"{at.depth:,} walks, {at.distinct:,} states met, {at.frontier:,} steps, {at.seconds:.0f} s"


class Explorations:
    """Those that are under way, one or several at a time, each with how far it is.

    Parameters: line, on which they are shown; alone, the words for one when it is the only one; clock,
    seconds, for tests.
    """

    def __init__(
        self,
        line: LiveLine,
        alone: Callable[[Level], str] = explored,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.line = line
        self._alone, self._clock = alone, clock
        self._running: dict[str, Level] = {}
        self._began = clock()

    def begin(self, name: str, expected: int | None) -> None:
        """A new exploration. expected: distinct states that it should have, if that is known."""
        if not self._running:
            self.line.postpone()
        self._running[name] = Level(expected)

    def level(
        self, name: str, depth: int, distinct: int, frontier: int, generated: int, seconds: float
    ) -> None:
        """What engines call after each level (`rota.explore.result.Progress`); name: of the exploration."""
        self._running[name] = Level(self._running[name].expected, depth, distinct, frontier, seconds)
        self.line.show(self._text)

    def finished(self, done: int, of: int) -> None:
        """So many explorations are over; nobody says how far those are that run."""
        self.line.show(
            lambda: (
                f"{done} of {of} configurations, exploring {', '.join(self._running)}; "
                f"{self._clock() - self._began:.0f} s"
            )
        )

    def end(self, name: str) -> None:
        """An exploration is over."""
        self._running.pop(name, None)
        self.line.clear()

    def _text(self) -> str:
        if len(self._running) == 1:
            ((name, at),) = self._running.items()
            return f"{name}: {self._alone(at)}"
        parts = []
        for name, at in self._running.items():
            of = f" of {at.expected:,}" if at.expected is not None and at.expected > at.distinct else ""
            parts.append(f"{name}: {at.distinct:,}{of} states")
        rate = sum(at.rate for at in self._running.values())
        return ", ".join([*parts, f"{rate:,.0f} states/s", f"{self._clock() - self._began:.0f} s in all"])
