"""A target that is a process of its own: started, waited for, looked at after its death, stopped."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import IO

_ORPHANS = 3.0
"""Seconds that a process's children have to end after it; where nobody reaps them they never seem to."""


class NotStarted(Exception):
    """The process ended, or did not get as far as it should, before anything could be asked of it.

    `remedy` is what a user may do about it.
    """

    def __init__(self, cause: str, remedy: str = "try it by hand") -> None:
        super().__init__(cause)
        self.remedy = remedy


class Process:
    """A running command; its standard error is kept for the post-mortem."""

    def __init__(self, command: Sequence[str], stdout: int = subprocess.DEVNULL) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=stdout, stderr=self._errors, start_new_session=True
            )
        except OSError as error:
            self._errors.close()
            raise NotStarted(f"{command[0]}: {error.strerror}") from error

    @property
    def session(self) -> int:
        """The session in which it is with all that it starts."""
        return self._process.pid

    def first_line(self, within: float) -> str:
        """The first line on its standard output; raises `NotStarted` if it ends without one."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + within
        line = self._process.stdout.readline().decode(errors="replace").strip()
        if not line or time.monotonic() > deadline:
            raise NotStarted(self.post_mortem(grace=1.0) or "it printed nothing")
        return line

    def listens(self, address: tuple[str, int], within: float) -> None:
        """Wait until something accepts at the address; raises `NotStarted` if the process ends before."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            if (obituary := self.post_mortem(grace=0)) is not None:
                raise NotStarted(obituary)
            with contextlib.suppress(OSError), socket.create_connection(address, timeout=1):
                return
            time.sleep(0.05)
        raise NotStarted(f"nothing listens at {address[0]}:{address[1]} after {within:g} s")

    def post_mortem(self, grace: float) -> str | None:
        """How the process ended and its last words, or None if it still runs after `grace` seconds."""
        try:
            code = self._process.wait(timeout=grace)
        except subprocess.TimeoutExpired:
            return None
        end = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        last = self._last_words()
        return f"the process ended with {end}" + (f": {last}" if last else "")

    def end(self, number: signal.Signals, within: float, alone: bool = False) -> None:
        """Have a signal end the process and what it started, or the process `alone`, which ends the others.

        Raises `NotStarted` if that takes longer; `stop` is still to be called.
        """
        if alone:
            self._process.send_signal(number)
        else:
            self._signal(number)
        try:
            self._process.wait(timeout=within)
        except subprocess.TimeoutExpired:
            raise NotStarted(f"the process did not end within {within:g} s of {number.name}") from None
        deadline = time.monotonic() + _ORPHANS
        while self._signal(0) and time.monotonic() < deadline:
            time.sleep(0.02)

    def stop(self) -> None:
        """End the process and what it started, by force if it does not go within three seconds."""
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
        self._signal(signal.SIGKILL)  # what it left behind
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def _signal(self, number: int) -> bool:
        """To the whole session of the process, a shell script's children too; whether anybody is there."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, number)
            return True
        return False

    def _last_words(self) -> str:
        self._errors.seek(0)
        return last_words(self._errors.read().decode(errors="replace"))


_CRASH = re.compile(
    r"^panic: |^fatal error: "  # Go
    r"|^thread '.*' (\(\d+\) )?panicked at"  # Rust
    r"|^Exception in thread |OutOfMemoryError"  # Java
    r"|Assertion .* failed"  # C
)
"""What begins to tell of a crash, in the runtimes of several languages; a trace of calls comes after it."""

_TRACE = re.compile(r"at \S+\(|\.\.\. \d+ more$")
"""Lines of a trace of Java's, below the line that says what happened."""

_SHOWN = 300
"""Letters of last words that are shown."""


def last_words(text: str) -> str:
    """The lines of what a process wrote that name its crash, else the last one."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    for number, line in enumerate(lines):
        if _CRASH.search(line):
            why = lines[number + 1 : number + 2] if line.endswith(":") else []  # Rust: the message is below
            return " ".join((line, *why))[:_SHOWN]
    told = [line for line in lines if not _TRACE.match(line)]
    return (told or lines)[-1][:_SHOWN] if lines else ""


class Started:
    """A target that is a process of ours."""

    def __init__(self, process: Process, address: tuple[str, int]) -> None:
        self._process = process
        self.address = address

    @property
    def session(self) -> int:
        """As of `Process`."""
        return self._process.session

    def post_mortem(self, grace: float) -> str | None:
        """As `Process.post_mortem`."""
        return self._process.post_mortem(grace)

    def stop(self) -> None:
        """End the process."""
        self._process.stop()
