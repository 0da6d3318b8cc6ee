"""Progress: one line on a terminal that is written over, into a pipe a line every ten seconds."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import perf_counter
from typing import TextIO

from rota.report.format import NARROWEST

LIVE_EVERY, PIPE_EVERY = 0.2, 10.0
"""Seconds between two lines."""

CLEAR = "\r\x1b[K"
"""To the start of the line, and erase it."""


class LiveLine:
    """Shows how far something is.

    Parameters: stream, usually stderr; silent, show nothing; clock, seconds, for tests.
    """

    def __init__(
        self, stream: TextIO, silent: bool = False, clock: Callable[[], float] = perf_counter
    ) -> None:
        self._stream, self._silent, self._clock = stream, silent, clock
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._shown = clock()
        self._drawn = False

    def postpone(self) -> None:
        """Show nothing before a whole interval has passed from now on."""
        self._shown = self._clock()

    def show(self, text: Callable[[], str]) -> None:
        """Show the text, which is only made if it is time for another line."""
        now = self._clock()
        if self._silent or now - self._shown < (LIVE_EVERY if self._live else PIPE_EVERY):
            return
        self._shown = now
        line = text()
        self._write(CLEAR + line[: self._columns() - 1] if self._live else line + "\n")
        self._drawn = self._live

    def _columns(self) -> int:
        """Of the terminal that the line is on, which stdout need not be."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or NARROWEST
        except (OSError, ValueError):
            return NARROWEST

    def clear(self) -> None:
        """Take the line away from a terminal, until the next one."""
        if self._drawn:
            self._write(CLEAR)
            self._drawn = False

    def note(self, text: str) -> None:
        """Write a line that stays."""
        self.clear()
        if not self._silent:
            self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
