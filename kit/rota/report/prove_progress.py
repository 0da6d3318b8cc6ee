"""Progress of proofs: one live line on a terminal, into a pipe a line every ten seconds."""

from __future__ import annotations

import os
from collections.abc import Callable
from shutil import get_terminal_size
from time import perf_counter
from typing import TextIO

from rota.report.check_progress import CLEAR, LIVE_EVERY, PIPE_EVERY


class Progress:
    """Shows how many obligations are decided, and what is asked just now.

    Parameters: stream, usually stderr; total, of obligations; silent, show nothing; clock, seconds, for
    tests.
    """

    def __init__(
        self, stream: TextIO, total: int, silent: bool = False, clock: Callable[[], float] = perf_counter
    ) -> None:
        self._stream, self._total, self._silent, self._clock = stream, total, silent, clock
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._shown = clock()
        self._drawn = False

    def show(self, decided: int, running: list[tuple[str, float]]) -> None:
        """running: (name, seconds since it began) of what is asked."""
        now = self._clock()
        if self._silent or now - self._shown < (LIVE_EVERY if self._live else PIPE_EVERY):
            return
        self._shown = now
        asked = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in running)
        line = f"{decided} of {self._total}; asking {asked}"
        self._stream.write(CLEAR + line[: get_terminal_size().columns - 1] if self._live else line + "\n")
        self._stream.flush()
        self._drawn = self._live

    def clear(self) -> None:
        """Take the live line away."""
        if self._drawn:
            self._stream.write(CLEAR)
            self._stream.flush()
            self._drawn = False
