"""A partition's folder and the names in it, which are Kafka's."""

from __future__ import annotations

import posixpath
import re
from contextlib import closing
from dataclasses import dataclass

from rota.log.files import Files, OpenFile

LOG, CLEANED, SWAP = ".log", ".log.cleaned", ".log.swap"
_INDEXES = (".index", ".timeindex", ".txnindex")
_NAME = re.compile(r"(\d{20})(\.log|\.log\.cleaned|\.log\.swap)")


def segment_name(base: int, suffix: str = LOG) -> str:
    """The file of the segment that begins with that offset."""
    return f"{base:020}{suffix}"


@dataclass(frozen=True, slots=True)
class Folder:
    """The calls of `Files` for what is in one folder."""

    files: Files
    path: str

    def of(self, name: str) -> str:
        """The path of what is in it."""
        return f"{self.path}/{name}"

    def make(self) -> None:
        """Makes the folder if it is not there, and sees to it that its name is on the disk either way."""
        if not self.files.exists(self.path):
            self.files.make_folder(self.path)
        self.files.sync_folder(posixpath.dirname(self.path) or ".")

    def names(self) -> list[str]:
        """What is in it, sorted."""
        return self.files.names(self.path)

    def bases(self, suffix: str = LOG) -> list[int]:
        """The base offsets of all segments whose file has that suffix, ascending."""
        found = (_NAME.fullmatch(one) for one in self.names())
        return [int(match[1]) for match in found if match and match[2] == suffix]

    def exists(self, name: str) -> bool:
        """Whether it is there."""
        return self.files.exists(self.of(name))

    def open(self, name: str, create: bool = False) -> OpenFile:
        """Opens one of its files."""
        return self.files.open(self.of(name), create)

    def read(self, name: str) -> bytes:
        """All of a small file."""
        with closing(self.open(name)) as file:
            return file.read_at(0, file.size())

    def rename(self, old: str, new: str) -> None:
        """Another name for one of its files."""
        self.files.rename(self.of(old), self.of(new))

    def unlink(self, name: str) -> None:
        """Takes a name out of it."""
        self.files.unlink(self.of(name))

    def drop_indexes(self, base: int) -> None:
        """Deletes what Kafka knew of a segment that is about to be another; it makes them anew."""
        for suffix in _INDEXES:
            if self.exists(name := f"{base:020}{suffix}"):
                self.unlink(name)

    def sync(self) -> None:
        """Returns when its names are on the disk."""
        self.files.sync_folder(self.path)
