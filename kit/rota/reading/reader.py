"""What a reader is: it recognises a kind of source and makes events of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

from rota.history import Event
from rota.reading.source import OpenSource


class Reader(Protocol):
    """Makes events of one kind of source."""

    @property
    def name(self) -> str:
        """As people give it with --format."""

    @property
    def rotated(self) -> bool:
        """Whether files that were rotated (x.log.2, x.log.1, x.log) are one source, the oldest first."""

    def recognises(self, name: str, head: bytes) -> bool:
        """Whether this is such a source. name: the file's, without a folder; head: its first bytes."""

    def read(self, source: OpenSource) -> Iterator[Event]:
        """Its events, in the order in which they stand there.

        What is broken never ends it: `source.quarantine` counts that. What is about groups and unknown
        becomes an event of the kind UNREAD.
        """


@runtime_checkable
class AddressReader(Reader, Protocol):
    """A reader of what is no path: an address, as in `kafka://HOST:PORT`."""

    def recognises_address(self, path: str) -> bool:
        """Whether this is such an address. Then `read` gets a source of this name, without a path."""


@runtime_checkable
class FolderReader(Reader, Protocol):
    """A reader of folders that are one source as a whole, as a partition's folder is."""

    def recognises_folder(self, folder: Path) -> bool:
        """Whether this is such a folder. Then `read` gets a source with its path and no lines."""


@runtime_checkable
class WholeFileReader(Reader, Protocol):
    """A reader of files of which the first bytes do not tell enough, as their columns stand at their end."""

    def recognises_file(self, path: Path) -> bool:
        """Whether a file that `recognises` takes for such a source is one."""
