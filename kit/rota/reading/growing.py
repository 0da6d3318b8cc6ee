"""A file that grows while it is read: at its end is waited, also when it is cut or another takes its
place."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from rota.reading.errors import ReadingError
from rota.reading.opening import PACKED, Contents

PAUSE = 0.25
"""Seconds between two looks, where nobody says otherwise."""

Idle = Callable[[], bool]
"""Is called while nothing new is there; True ends the reading."""


def growing(path: Path, idle: Idle | None) -> Contents:
    """The contents of a file that is written to. Errors: ReadingError."""
    try:
        raw = path.open("rb")
    except OSError as error:
        raise ReadingError(f"cannot read {path}: {error.strerror}; give the path of a file") from None
    if raw.peek(8)[:6].startswith(tuple(PACKED)):
        raw.close()
        raise ReadingError(f"{path} is packed, and what is packed does not grow; leave --follow out")
    return Growing(path, raw, idle or _pause)


class Growing(Contents):
    """What is in a file, and what will be."""

    def __init__(self, path: Path, raw: BinaryIO, idle: Idle) -> None:
        super().__init__(raw)
        self._path, self._file, self._idle = path, raw, idle
        self._last = b"\n"

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while True:
            read = self._more(len(buffer))
            if read:
                buffer[: len(read)] = read
                self._last = read[-1:]
                return len(read)
            if self._idle():
                return 0

    def _more(self, size: int) -> bytes:
        """What is there now, of this file or of the one that has taken its place."""
        read = self._file.read(size)
        if read:
            return read
        try:
            there, here = os.stat(self._path), os.fstat(self._file.fileno())
        except OSError:
            return b""  # between the old one and the new one
        if (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino):
            return self._ended() or self._other(size)
        if here.st_size < self._file.tell():  # it was cut, and is written anew
            self._file.seek(0)
            return self._ended() or self._file.read(size)
        return b""

    def _other(self, size: int) -> bytes:
        try:
            file = self._path.open("rb")
        except OSError:
            return b""
        self._file.close()
        self._file = self._inner = file
        return file.read(size)

    def _ended(self) -> bytes:
        """The end of a line that nobody will write any more."""
        return b"" if self._last == b"\n" else b"\n"


def _pause() -> bool:
    time.sleep(PAUSE)
    return False
