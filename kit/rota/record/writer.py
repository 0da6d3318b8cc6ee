"""What was recorded, kept as whole lines whatever happens to the disk."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from rota.history import Event, line_of

AT_ONCE = 64 * 2**10
"""Bytes of lines that wait at most before they are written."""


class CannotRecord(Exception):
    """The lines cannot be written any more: why. What was written before are whole lines."""


class Lines:
    """Events as lines of a file, of a pipe or of a terminal.

    descriptor: where they go; name: of what they make, part of each event's origin; number: of lines.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self.name, self.number = name, 0
        self._descriptor = descriptor
        self._waiting: list[bytes] = []
        self._size = 0
        self._can_be_cut = stat.S_ISREG(os.fstat(descriptor).st_mode)

    @property
    def origin(self) -> str:
        """Where the next line will stand."""
        return f"{self.name}#{self.number + 1}"

    def take(self, event: Event) -> None:
        """One line more. Errors: CannotRecord."""
        line = line_of(event).encode("utf-8", "backslashreplace") + b"\n"
        self.number += 1
        self._waiting.append(line)
        self._size += len(line)
        if self._size >= AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what waits. Errors: CannotRecord; BrokenPipeError where nobody reads any more."""
        data = b"".join(self._waiting)
        self._waiting, self._size = [], 0
        written = 0
        try:
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except BrokenPipeError:
            raise
        except OSError as error:
            self._keep_whole_lines(data, written)
            raise CannotRecord(error.strerror or str(error)) from error

    def _keep_whole_lines(self, data: bytes, written: int) -> None:
        whole = data.rfind(b"\n", 0, written) + 1
        self.number -= data.count(b"\n", whole)
        if self._can_be_cut and whole < written:
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - (written - whole))


def opened(path: Path) -> int:
    """A new file for a recording, for its owner alone to read. Errors: FileExistsError, OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    except FileExistsError:
        if path.is_file() and path.stat().st_size:
            raise
        return os.open(path, os.O_WRONLY | os.O_APPEND)  # empty, or a device as /dev/null
