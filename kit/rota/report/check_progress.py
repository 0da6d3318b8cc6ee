"""Progress of explorations: one live line on a terminal, into a pipe a line every ten seconds."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from shutil import get_terminal_size
from time import perf_counter
from typing import TextIO

LIVE_EVERY, PIPE_EVERY = 0.2, 10.0
"""Seconds between two lines."""

CLEAR = "\r\x1b[K"
"""To the start of the line, and erase it."""


@dataclass
class _Level:
    """How far one exploration is. expected: distinct states that it should have, if that is known."""

    expected: int | None
    depth: int = 0
    distinct: int = 0
    frontier: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.distinct / max(self.seconds, 1e-6)


class Meter:
    """Shows how far explorations are, one or several at a time.

    Parameters: stream, usually stderr; silent, show nothing; clock, seconds, for tests.
    """

    def __init__(
        self, stream: TextIO, silent: bool = False, clock: Callable[[], float] = perf_counter
    ) -> None:
        self._stream, self._silent, self._clock = stream, silent, clock
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._running: dict[str, _Level] = {}
        self._began = self._shown = clock()
        self._drawn = False

    def begin(self, name: str, expected: int | None) -> None:
        """A new exploration. expected: distinct states that it should have, if that is known."""
        if not self._running:
            self._shown = self._clock()
        self._running[name] = _Level(expected)

    def level(
        self, name: str, depth: int, distinct: int, frontier: int, generated: int, seconds: float
    ) -> None:
        """What engines call after each level, see `rota.explore.Progress`; name: of the exploration."""
        self._running[name] = _Level(self._running[name].expected, depth, distinct, frontier, seconds)
        now = self._clock()
        if self._silent or now - self._shown < (LIVE_EVERY if self._live else PIPE_EVERY):
            return
        self._shown = now
        line = self._one() if len(self._running) == 1 else self._several()
        columns = get_terminal_size().columns
        self._stream.write(CLEAR + line[: columns - 1] if self._live else line + "\n")
        self._stream.flush()
        self._drawn = self._live

    def end(self, name: str) -> None:
        """An exploration is over."""
        self._running.pop(name, None)
        self.clear()

    def clear(self) -> None:
        """Take the live line away, until the next level."""
        if self._drawn:
            self._stream.write(CLEAR)
            self._stream.flush()
            self._drawn = False

    def note(self, text: str) -> None:
        """A line that stays."""
        self.clear()
        if not self._silent:
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def _one(self) -> str:
        ((name, at),) = self._running.items()
        parts = [
            f"{name}: {at.distinct:,} states",
            f"depth {at.depth}",
            f"frontier {at.frontier:,}",
            f"{at.rate:,.0f} states/s",
            f"{at.seconds:.0f} s",
        ]
        if at.expected is not None and at.expected > at.distinct:
            parts.append(f"about {(at.expected - at.distinct) / at.rate:.0f} s left")
        return ", ".join(parts)

    def _several(self) -> str:
        parts = []
        for name, at in self._running.items():
            of = f" of {at.expected:,}" if at.expected is not None and at.expected > at.distinct else ""
            parts.append(f"{name}: {at.distinct:,}{of} states")
        rate = sum(at.rate for at in self._running.values())
        return ", ".join([*parts, f"{rate:,.0f} states/s", f"{self._clock() - self._began:.0f} s in all"])
