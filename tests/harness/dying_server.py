"""`rota serve --data-dir` as a process that kills itself within a call to the file system, when told to.

A `Doom` names what the log is doing then and the how manyth call of it is the last one; of a write it does a
part first. The signal is SIGKILL, so nothing is closed, flushed or said.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from dataclasses import dataclass

import rota.server.group_log as group_log
import rota.server.storage as storage
from rota.cli.serve import serve
from rota.coordinator import Append
from rota.log import Disk, OpenFile

DOING = {"compacting": "compaction", "roll": "roll", "append_all": "append", "sync_if_due": "append"}
"""A function of the log that is being called → what the log is doing, the first that is found counts."""


@dataclass(frozen=True, slots=True)
class Doom:
    """Where a process ends: in the call of that number (from 1) while it does that."""

    doing: str
    call: int
    seed: int


class _Dying:
    """Counts the calls, and ends the process at one."""

    def __init__(self, doom: Doom) -> None:
        self._doom = doom
        self._calls = 0

    def due(self) -> bool:
        """Whether this call is the last one."""
        self._calls += _doing() == self._doom.doing
        return self._calls >= self._doom.call

    def end(self) -> None:
        """Ends the process."""
        os.kill(os.getpid(), signal.SIGKILL)

    def part(self, data: bytes) -> bytes:
        """What of a write is done before."""
        return data[: random.Random(self._doom.seed).randint(0, len(data))]


def _doing() -> str:
    frame = sys._getframe(3)
    while frame is not None and frame.f_code.co_name != "run":
        if frame.f_code.co_name in DOING:
            return DOING[frame.f_code.co_name]
        frame = frame.f_back  # type: ignore[assignment]
    return ""


class _DyingFile:
    """An open file."""

    def __init__(self, file: OpenFile, dying: _Dying) -> None:
        self._file = file
        self._dying = dying

    def append(self, data: bytes) -> int:
        if self._dying.due():
            self._file.append(self._dying.part(data))
            self._dying.end()
        return self._file.append(data)

    def sync(self) -> None:
        if self._dying.due():
            self._dying.end()
        self._file.sync()

    def truncate(self, size: int) -> None:
        if self._dying.due():
            self._dying.end()
        self._file.truncate(size)

    def write_at(self, position: int, data: bytes) -> int:
        if self._dying.due():
            self._dying.end()
        return self._file.write_at(position, data)

    def read_at(self, position: int, size: int) -> bytes:
        return self._file.read_at(position, size)

    def size(self) -> int:
        return self._file.size()

    def close(self) -> None:
        self._file.close()


class DyingDisk(Disk):
    """The system's file system, until then."""

    def __init__(self, doom: Doom) -> None:
        self._dying = _Dying(doom)

    def open(self, path: str, create: bool = False) -> OpenFile:
        if create and self._dying.due():
            self._dying.end()
        return _DyingFile(super().open(path, create), self._dying)

    def rename(self, old: str, new: str) -> None:
        if self._dying.due():
            self._dying.end()
        super().rename(old, new)

    def unlink(self, path: str) -> None:
        if self._dying.due():
            self._dying.end()
        super().unlink(path)

    def sync_folder(self, path: str) -> None:
        if self._dying.due():
            self._dying.end()
        super().sync_folder(path)


def _answer_first(log: group_log.DiskLog, append: Append) -> None:
    """The mistake: an append is answered at once and written later."""
    log._loop.call_soon(log._answered, append.append_id, 0)
    log._loop.call_later(0.05, lambda: log._thread.submit(log._storage.write, [append]))


def main(arguments: list[str], errors: str, doom: Doom | None, forgetful: bool) -> None:
    """Runs `rota serve` with these arguments; what it says goes to the file `errors`."""
    descriptor = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    group_log.COMPACTION_SECONDS = 0.02
    if forgetful:
        group_log.DiskLog.append = _answer_first  # type: ignore[method-assign]
    if doom is not None:
        storage.Disk = lambda: DyingDisk(doom)  # type: ignore[misc, assignment]
    serve.main(arguments, standalone_mode=False)
