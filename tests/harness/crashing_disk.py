"""A file system in memory that keeps, when its power is cut, no more than POSIX promises.

Each call may be the last one: `cut_at` names it by its number, and a `PowerCut` comes instead of it. Of
what was not synced then, each 512-byte sector is as it was after any of the writes since the last sync, or
before them; the length of the file likewise; each name that was made, changed or taken away since the last
sync of its folder is so or is not. `Survival` chooses. `killed` is the milder end: the process is gone, the
system goes on.

Calls may also fail (`fail`), and room may end (`room`). After a sync that failed the writes before it are
forgotten silently, as Linux does: the next one succeeds without them.
"""

from __future__ import annotations

import errno
import os
import posixpath
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

SECTOR = 512

Choose = Callable[[int], int]


class PowerCut(BaseException):
    """The power went off instead of the call."""


@dataclass(frozen=True, slots=True)
class Survival:
    """What is left of unsynced work: choices of 0 (the newest) to n - 1 (as at the last sync).

    `all`: everything; `none`: nothing; `lose`: all but choice `number`; `keep`: nothing but choice `number`;
    `seed`: a random one.
    """

    kind: str = "all"
    number: int = 0

    def chooser(self) -> Choose:
        generator = random.Random(self.number)
        asked = -1

        def choose(count: int) -> int:
            nonlocal asked
            asked += 1
            if self.kind == "seed":
                return generator.randrange(count)
            newest = {"all": True, "none": False, "lose": asked != self.number, "keep": asked == self.number}
            return 0 if newest[self.kind] else count - 1

        return choose


@dataclass(slots=True)
class _Inode:
    """A file: what is seen, what is on the disk, and the states that it went through since."""

    seen: bytes = b""
    durable: bytes = b""
    since: list[bytes] = field(default_factory=list)

    def change(self, content: bytes) -> None:
        self.seen = content
        self.since.append(content)

    def sync(self) -> None:
        if self.since:
            self.durable = self.since[-1]
            self.since = []

    def lose(self) -> None:
        """A sync failed: what was written since the last one stays in the cache alone."""
        self.since = []

    def survives(self, choose: Choose) -> bytes:
        if not self.since:
            return self.durable
        states = [*reversed(self.since), self.durable]
        sizes = list(dict.fromkeys(map(len, states)))
        size = sizes[choose(len(sizes))] if len(sizes) > 1 else sizes[0]
        sectors = []
        for start in range(0, size, SECTOR):
            versions = list(
                dict.fromkeys(state[start : start + SECTOR].ljust(SECTOR, b"\0") for state in states)
            )
            sectors.append(versions[choose(len(versions))] if len(versions) > 1 else versions[0])
        return b"".join(sectors)[:size]


@dataclass(slots=True)
class _Folder:
    """A folder: its names as they are seen, those on the disk, and what happened to them since."""

    seen: dict[str, _Inode | _Folder] = field(default_factory=dict)
    durable: dict[str, _Inode | _Folder] = field(default_factory=dict)
    since: list[tuple[str, str, _Inode | _Folder | None]] = field(default_factory=list)

    def change(self, kind: str, name: str, what: _Inode | _Folder | None = None, new: str = "") -> None:
        self.since.append((kind, f"{name}/{new}", what))
        _apply(self.seen, self.since[-1])

    def sync(self) -> None:
        self.durable = dict(self.seen)
        self.since = []

    def survives(self, choose: Choose) -> _Folder:
        names = dict(self.durable)
        for change in self.since:
            if choose(2) == 0:
                _apply(names, change)
        left: dict[str, _Inode | _Folder] = {}
        for name, entry in names.items():
            if isinstance(entry, _Inode):
                content = entry.survives(choose)
                left[name] = _Inode(content, content)
            else:
                left[name] = entry.survives(choose)
        return _Folder(left, dict(left))


def _apply(names: dict[str, _Inode | _Folder], change: tuple[str, str, _Inode | _Folder | None]) -> None:
    kind, both, what = change
    old, _, new = both.partition("/")
    if kind == "create" and what is not None:
        names[old] = what
    elif kind == "unlink":
        names.pop(old, None)
    elif kind == "rename" and old in names:
        names[new] = names.pop(old)


class CrashingDisk:
    """`rota.log.Files` in memory; the folder "/data" is there from the beginning.

    `cut_at` is the number of the call (from 0) that the power goes off at, `fail` maps numbers of calls to an
    errno that they raise instead, `room` is how many bytes may still be written. `calls` has what was called.
    What `ignores` says (of a sync or truncate and its path) is not done, as if a caller had forgotten it.
    """

    def __init__(self, root: _Folder | None = None) -> None:
        if root is None:
            root = _Folder()
            root.change("create", "data", _Folder())
            root.sync()
        self.root = root
        self.calls: list[str] = []
        self.cut_at: int | None = None
        self.fail: dict[int, int] = {}
        self.room: int | None = None
        self.read_only = False
        self.ignores: Callable[[str, str], bool] = lambda what, path: False

    def powered_again(self, survival: Survival) -> CrashingDisk:
        """The disk after the power was cut, with what survived."""
        return CrashingDisk(self.root.survives(survival.chooser()))

    def killed(self) -> CrashingDisk:
        """The disk after the process was killed: all is as it was seen, and unsynced still."""
        return CrashingDisk(self.root)

    def unsynced(self) -> bool:
        """Whether a power failure could take anything."""
        return any(inode.since for inode in self._inodes(self.root)) or _unsynced_names(self.root)

    def content(self, path: str) -> bytes:
        """What is in a file, without calling."""
        return self._inode(path).seen

    def plant(self, path: str, content: bytes) -> None:
        """Changes a file behind the log's back, for good."""
        self._inode(path).seen = self._inode(path).durable = content

    def open(self, path: str, create: bool = False) -> CrashingFile:
        self.called("open", path, changes=create and path not in self)
        folder, name = self._at(path)
        if name not in folder.seen:
            if not create:
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            folder.change("create", name, _Inode())
        return CrashingFile(self, path, self._inode(path))

    def rename(self, old: str, new: str) -> None:
        self.called("rename", old)
        folder, name = self._at(old)
        self._inode(old)
        folder.change("rename", name, new=posixpath.basename(new))

    def unlink(self, path: str) -> None:
        self.called("unlink", path)
        folder, name = self._at(path)
        self._inode(path)
        folder.change("unlink", name)

    def names(self, folder: str) -> list[str]:
        self.called("names", folder, changes=False)
        return sorted(self._folder(folder).seen)

    def exists(self, path: str) -> bool:
        self.called("exists", path, changes=False)
        return path in self

    def make_folder(self, path: str) -> None:
        self.called("make_folder", path)
        folder, name = self._at(path)
        folder.change("create", name, _Folder())

    def sync_folder(self, path: str) -> None:
        self.called("sync_folder", path, changes=False)
        if not self.ignores("sync_folder", path):
            self._folder(path).sync()

    def called(self, what: str, path: str, changes: bool = True) -> None:
        """Each call begins here. Raises PowerCut, or OSError."""
        number = len(self.calls)
        if self.cut_at is not None and number >= self.cut_at:
            raise PowerCut
        self.calls.append(f"{what} {posixpath.basename(path)}")
        if number in self.fail:
            self._fail(what, path, self.fail[number])
        if self.read_only and changes:
            self._fail(what, path, errno.EROFS)

    def _fail(self, what: str, path: str, number: int) -> None:
        if what == "sync":
            self._inode(path).lose()
        raise OSError(number, os.strerror(number), path)

    def __contains__(self, path: str) -> bool:
        folder, name = self._at(path)
        return name in folder.seen

    def _at(self, path: str) -> tuple[_Folder, str]:
        return self._folder(posixpath.dirname(path)), posixpath.basename(path)

    def _folder(self, path: str) -> _Folder:
        folder = self.root
        for name in filter(None, path.split("/")):
            found = folder.seen.get(name)
            if not isinstance(found, _Folder):
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            folder = found
        return folder

    def _inode(self, path: str) -> _Inode:
        folder, name = self._at(path)
        found = folder.seen.get(name)
        if not isinstance(found, _Inode):
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return found

    def _inodes(self, folder: _Folder) -> Iterator[_Inode]:
        for entry in folder.seen.values():
            if isinstance(entry, _Folder):
                yield from self._inodes(entry)
            else:
                yield entry


def _unsynced_names(folder: _Folder) -> bool:
    inner = (entry for entry in folder.seen.values() if isinstance(entry, _Folder))
    return bool(folder.since) or any(map(_unsynced_names, inner))


class CrashingFile:
    """An open file of it."""

    def __init__(self, disk: CrashingDisk, path: str, inode: _Inode) -> None:
        self._disk = disk
        self._path = path
        self._inode = inode

    def append(self, data: bytes) -> int:
        return self._write("append", len(self._inode.seen), data)

    def write_at(self, position: int, data: bytes) -> int:
        return self._write("write_at", position, data)

    def _write(self, what: str, position: int, data: bytes) -> int:
        self._disk.called(what, self._path)
        seen = self._inode.seen
        more = max(0, position + len(data) - len(seen))
        if self._disk.room is not None:
            if more and not self._disk.room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)
            data = data[: len(data) - max(0, more - self._disk.room)]
            self._disk.room -= min(more, self._disk.room)
        self._inode.change(seen[:position] + data + seen[position + len(data) :])
        return len(data)

    def read_at(self, position: int, size: int) -> bytes:
        self._disk.called("read_at", self._path, changes=False)
        return self._inode.seen[position : position + size]

    def size(self) -> int:
        self._disk.called("size", self._path, changes=False)
        return len(self._inode.seen)

    def truncate(self, size: int) -> None:
        self._disk.called("truncate", self._path)
        if self._disk.ignores("truncate", self._path):
            return
        self._inode.change(self._inode.seen[:size].ljust(size, b"\0"))

    def sync(self) -> None:
        self._disk.called("sync", self._path, changes=False)
        if not self._disk.ignores("sync", self._path):
            self._inode.sync()

    def close(self) -> None:
        """Closing does nothing to a disk, so it is no call."""
