"""How far explorations and walks are, in the words of a live line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

from rota.report.live_line import LiveLine
from rota.report.progress import Progress


@dataclass
class Level:
    """How far one exploration is. expected: distinct states that it should have, if that is known."""

    expected: float | None
    depth: int = 0
    distinct: int = 0
    frontier: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Distinct states per second."""
        return self.distinct / max(self.seconds, 1e-6)

    @property
    def states(self) -> str:
        """The states until now, of how many if that is known."""
        known = self.expected is not None and self.expected >= self.distinct
        return f"{self.distinct:,}{f' of {self.expected:,.0f}' if known else ''} states"


def explored(at: Level) -> str:
    """How far an exploration is, when it is the only one."""
    return f"{at.states}, depth {at.depth}, frontier {at.frontier:,}, {at.rate:,.0f} states/s"


def walked(at: Level) -> str:
    """How far random walks are: what is called depth counts walks there, and frontier steps."""
    return f"{at.depth:,} walks, {at.distinct:,} states met, {at.frontier:,} steps"


def distinct(at: Level) -> float:
    """What an exploration has done: of its expected states."""
    return at.distinct


def cost(states: float) -> float:
    """How much work so many states are, beside others: what is learned of machines at first is used again.

    The exponent is that of the seconds of standard's and nightly's configurations over their states
    (docs/scopes.md): 0.59 in the least squares of their logarithms.
    """
    return float(states**0.6)


class Explorations:
    """All explorations of a verb, and how far those are that are under way, one or several at a time.

    Parameters: line, on which they are shown; verb; sizes, of all explorations by name: distinct states that
    it should have, or as many as `amount` comes to at its end, None if nobody knows; alone, the words for
    one when it is the only one under way; amount, how much of its size an exploration has done; work, that a
    size is; clock, seconds, for tests.
    """

    def __init__(
        self,
        line: LiveLine,
        verb: str,
        sizes: Mapping[str, float | None],
        alone: Callable[[Level], str] = explored,
        amount: Callable[[Level], float] = distinct,
        work: Callable[[float], float] = cost,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.line = line
        self._verb, self._sizes = verb, sizes
        self._alone, self._amount, self._work, self._clock = alone, amount, work, clock
        self._running: dict[str, Level] = {}
        self._over = set[str]()
        self._predictable = True
        self._began = clock()

    def begin(self, name: str) -> None:
        """An exploration begins, or does so once more."""
        if not self._running:
            self.line.postpone()
        self._over.discard(name)
        self._running[name] = Level(self._sizes[name])

    def level(
        self, name: str, depth: int, distinct: int, frontier: int, generated: int, seconds: float
    ) -> None:
        """What engines call after each level (`rota.explore.result.Progress`); name: of the exploration."""
        self._running[name] = Level(self._sizes[name], depth, distinct, frontier, seconds)
        self.waiting()

    def waiting(self) -> None:
        """Time passes."""
        self.line.show(self.text)

    def end(self, name: str, again: bool = False) -> None:
        """An exploration is over, or is of no interest any more. again: it was lost, and will begin anew."""
        self._running.pop(name, None)
        if not again:
            self._over.add(name)
        self.line.clear()

    def unpredictable(self) -> None:
        """From now on explorations end earlier than where they have visited all: something was found."""
        self._predictable = False

    def text(self) -> str:
        """All of it in one line."""
        seconds = self._clock() - self._began
        done, of = len(self._over), len(self._sizes)
        now = list(self._under_way())
        return Progress(self._verb, done, of, "configurations", seconds, self._share(), now=now).line()

    def _share(self) -> float | None:
        """How much of all is done; None where the size of one is not known, or does not matter any more."""
        sizes = {name: size for name, size in self._sizes.items() if size}
        if not self._predictable or len(sizes) < len(self._sizes):
            return None
        done = sum(self._work(sizes[name]) for name in self._over)
        done += sum(self._work(min(self._amount(at), sizes[name])) for name, at in self._running.items())
        return done / sum(map(self._work, sizes.values()))

    def _under_way(self) -> list[str]:
        if not any(at.seconds for at in self._running.values()):
            return [f"exploring {', '.join(self._running)}"] if self._running else []
        if len(self._running) == 1:
            ((name, at),) = self._running.items()
            return [f"{name}: {self._alone(at)}"]
        rate = sum(at.rate for at in self._running.values())
        return [*(f"{name}: {at.states}" for name, at in self._running.items()), f"{rate:,.0f} states/s"]
