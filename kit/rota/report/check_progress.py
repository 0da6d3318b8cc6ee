"""Progress of an exploration: one live line on a terminal, into a pipe a line every ten seconds."""

from __future__ import annotations

import os
from collections.abc import Callable
from shutil import get_terminal_size
from time import perf_counter
from typing import TextIO

LIVE_EVERY, PIPE_EVERY = 0.2, 10.0
"""Seconds between two lines."""

CLEAR = "\r\x1b[K"
"""To the start of the line, and erase it."""


class Meter:
    """Shows how far an exploration is.

    Parameters: stream, usually stderr; silent, show nothing; clock, seconds, for tests.
    """

    def __init__(
        self, stream: TextIO, silent: bool = False, clock: Callable[[], float] = perf_counter
    ) -> None:
        self._stream, self._silent, self._clock = stream, silent, clock
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._name = ""
        self._expected: int | None = None
        self._shown = clock()
        self._drawn = False

    def begin(self, name: str, expected: int | None) -> None:
        """A new exploration. expected: distinct states that it should have, if that is known."""
        self._name, self._expected = name, expected
        self._shown = self._clock()

    def level(self, depth: int, distinct: int, frontier: int, generated: int, seconds: float) -> None:
        """What engines call after each level, see `rota.explore.Progress`."""
        now = self._clock()
        if self._silent or now - self._shown < (LIVE_EVERY if self._live else PIPE_EVERY):
            return
        self._shown = now
        line = self._line(depth, distinct, frontier, max(seconds, 1e-6))
        columns = get_terminal_size().columns
        self._stream.write(CLEAR + line[: columns - 1] if self._live else line + "\n")
        self._stream.flush()
        self._drawn = self._live

    def end(self) -> None:
        """Take the live line away."""
        if self._drawn:
            self._stream.write(CLEAR)
            self._stream.flush()
            self._drawn = False

    def _line(self, depth: int, distinct: int, frontier: int, seconds: float) -> str:
        rate = distinct / seconds
        parts = [
            f"{self._name}: {distinct:,} states",
            f"depth {depth}",
            f"frontier {frontier:,}",
            f"{rate:,.0f} states/s",
            f"{seconds:.0f} s",
        ]
        if self._expected is not None and self._expected > distinct:
            parts.append(f"about {(self._expected - distinct) / rate:.0f} s left")
        return ", ".join(parts)
