"""Commands that must not outlive us.

Usage: `python -m rota.conformance.targets.guard FOLDER COMMAND… [-- COMMAND…]`.

Runs the commands one after the other in the folder, for as long as its own standard input is open, and
removes the folder when it is over. Whoever holds the other end of that pipe may die in any way, even of
SIGKILL: the pipe closes with it, and what was started goes too.

The signal `IN_GOOD_ORDER` has the command end by SIGTERM and keeps the folder, for another start.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from itertools import groupby

IN_GOOD_ORDER = signal.SIGUSR1
"""What the guard is sent for an end that keeps the folder."""

NEXT = "--"
"""Stands between two commands; the second starts when the first has ended with exit code 0."""


def guarded(folder: str, commands: Sequence[Sequence[str]]) -> list[str]:
    """The command line of a guard for these commands."""
    words = [word for command in commands for word in (NEXT, *command)]
    return [sys.executable, "-m", "rota.conformance.targets.guard", folder, *words[1:]]


class Guard:
    """Runs commands until they are abandoned."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal's handler may come while the main thread holds it
        self._abandoned = False
        self.keeps = False
        self._process: subprocess.Popen[bytes] | None = None

    def abandon(self) -> None:
        """End what runs, by force, and start nothing more. For any thread, and for signal handlers."""
        with self._lock:
            self._abandoned = True
            self.keeps = False
            if self._process is not None:
                self._process.kill()

    def end(self) -> None:
        """Have what runs end in good order, start nothing more, and keep the folder. For signal handlers."""
        with self._lock:
            self.keeps = True
            if self._process is not None:
                self._process.terminate()

    def run(self, command: Sequence[str], folder: str) -> int:
        """Start a command and wait for its end; its exit code. What it prints goes to standard error."""
        with self._lock:
            if self._abandoned or self.keeps:
                return -signal.SIGKILL
            self._process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno()
            )
            if self._abandoned:  # by a signal while the command was being started
                self._process.kill()
            elif self.keeps:
                self._process.terminate()
        return self._process.wait()


def main(arguments: Sequence[str]) -> int:
    """Run the commands; the exit code of the last one that ran, 128 + N if signal N ended it."""
    folder, *words = arguments
    guard = Guard()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: guard.abandon())
    signal.signal(IN_GOOD_ORDER, lambda *_: guard.end())
    threading.Thread(target=_until_abandoned, args=(guard,), daemon=True).start()
    code = 0
    try:
        for command in _split(words):
            code = guard.run(command, folder)
            if code != 0:
                break
    finally:
        if not guard.keeps:
            shutil.rmtree(folder, ignore_errors=True)
    return code if code >= 0 else 128 - code


def _split(words: Sequence[str]) -> Iterator[list[str]]:
    for between, command in groupby(words, lambda word: word == NEXT):
        if not between:
            yield list(command)


def await_end_of_stdin() -> None:
    """Reads without the buffer of sys.stdin, whose lock would be in the way when the interpreter ends.

    For a thread that is a daemon. Errors: OSError where standard input was closed from the start.
    """
    while os.read(0, 4096):
        pass


def _until_abandoned(guard: Guard) -> None:
    await_end_of_stdin()
    guard.abandon()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
