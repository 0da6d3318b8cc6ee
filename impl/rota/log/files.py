"""The file system as the log sees it: a dozen calls, each of which may fail, and power before and after it.

What is written is only sure to be there after `sync` of the file, and the file's name only after
`sync_folder` of the folder that it is in; a rename or deletion too. Paths are strings with slashes.
"""

from __future__ import annotations

import os
from typing import Protocol


class Readable(Protocol):
    """A file that is open for reading. Errors: OSError, of every call."""

    def read_at(self, position: int, size: int) -> bytes:
        """At most `size` bytes from `position` on; fewer only at the end."""

    def size(self) -> int:
        """How long the file is."""


class OpenFile(Readable, Protocol):
    """A file that is open for reading and writing. Errors: OSError, of every call."""

    def append(self, data: bytes) -> int:
        """Writes at the end; returns how many bytes of `data` it took, which may be fewer than all."""

    def write_at(self, position: int, data: bytes) -> int:
        """Writes over what is there; returns how many bytes it took."""

    def truncate(self, size: int) -> None:
        """Cuts the file to `size` bytes."""

    def sync(self) -> None:
        """Returns when content and length are on the disk."""

    def close(self) -> None:
        """Gives the file back; nothing is synced by it."""


class Files(Protocol):
    """Folders and their names. Errors: OSError, of every call."""

    def open(self, path: str, create: bool = False) -> OpenFile:
        """Opens a file; with `create` an empty one is made if there is none."""

    def rename(self, old: str, new: str) -> None:
        """Gives a file another name, in place of a file that may have had it; at once, or not at all."""

    def unlink(self, path: str) -> None:
        """Takes a file's name away."""

    def names(self, folder: str) -> list[str]:
        """What is in a folder, sorted."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder of that name."""

    def make_folder(self, path: str) -> None:
        """Makes one folder; the one that it is in must be there."""

    def sync_folder(self, path: str) -> None:
        """Returns when the folder's names are on the disk as they are now."""


class _DiskFile:
    """A file descriptor."""

    def __init__(self, path: str, create: bool) -> None:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        self._descriptor = os.open(path, flags, 0o644)
        self._end = os.fstat(self._descriptor).st_size

    def append(self, data: bytes) -> int:
        written = os.pwrite(self._descriptor, data, self._end)
        self._end += written
        return written

    def write_at(self, position: int, data: bytes) -> int:
        written = os.pwrite(self._descriptor, data, position)
        self._end = max(self._end, position + written)
        return written

    def read_at(self, position: int, size: int) -> bytes:
        return os.pread(self._descriptor, size, position)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)
        self._end = size

    def sync(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class Disk:
    """The operating system's file system."""

    def open(self, path: str, create: bool = False) -> OpenFile:
        return _DiskFile(path, create)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def names(self, folder: str) -> list[str]:
        return sorted(os.listdir(folder))

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def make_folder(self, path: str) -> None:
        os.mkdir(path, 0o755)

    def sync_folder(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
