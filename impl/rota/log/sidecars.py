"""Two small files beside the segments, so that nothing that was once synced can change without being seen.

A batch's own CRC does not cover its base offset, and a file that ends early between two batches looks
whole. So `rota-segments` lists the segments that are ended, with size and checksum, and says which one is
active; it is replaced as a whole when a segment is begun or compacted, and is the moment at which either
happens. `rota-synced` says up to where the active segment was synced, with the checksum up to there. It is
written over after each sync, one sector, and not synced itself: then it lags, and what is behind it is
judged less strictly. Kafka ignores both names.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from rota.log.errors import DamagedLog
from rota.log.files import OpenFile
from rota.log.folder import Folder
from rota.wire.records import checksum

SEGMENTS = "rota-segments"
NEW_SEGMENTS = SEGMENTS + ".new"
SYNCED = "rota-synced"

_TITLE = "rota segments 1"


class ListUncertain(OSError):
    """A list of segments took another's place, and perhaps not for good: a sync of the folder failed."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A segment that nothing is appended to any more."""

    base: int
    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class Segments:
    """All segments: those that are ended, ascending, and the base offset of the active one.

    `clean_to` is the offset up to which a compaction has been.
    """

    active: int
    sealed: tuple[Sealed, ...] = ()
    clean_to: int = 0

    def encoded(self) -> bytes:
        lines = [_TITLE, f"clean {self.clean_to}"]
        lines += [f"sealed {one.base:020} {one.size} {one.crc:08x}" for one in self.sealed]
        lines += [f"active {self.active:020}", ""]
        text = "\n".join(lines).encode()
        return text + f"crc {checksum(text):08x}\n".encode()


def decoded(path: str, data: bytes) -> Segments:
    """What `encoded` wrote. Errors: DamagedLog for anything else."""
    text, _, check = data.rpartition(b"crc ")
    if check != f"{checksum(text):08x}\n".encode():
        remedy = "If the segments are sound, delete it: the log is then opened by the batches' own checksums."
        raise DamagedLog(path, 0, 0, "the list of segments is not as it was written", remedy)
    title, clean, *sealed, active = text.decode().splitlines()
    if title != _TITLE:
        raise DamagedLog(path, 0, 0, f"a list of segments that says {title!r}", "Use the rota that wrote it.")
    rows = (line.split()[1:] for line in sealed)
    return Segments(
        int(active.split()[1]),
        tuple(Sealed(int(base), int(size), int(crc, 16)) for base, size, crc in rows),
        int(clean.split()[1]),
    )


def read_segments(folder: Folder) -> Segments | None:
    """The list of segments, None if there is none."""
    return decoded(folder.of(SEGMENTS), folder.read(SEGMENTS)) if folder.exists(SEGMENTS) else None


def write_segments(folder: Folder, segments: Segments) -> None:
    """Puts a new list in the place of the old one; both are there or the new one, at any time.

    Errors: OSError, the old list being in force; ListUncertain if nobody can say which.
    """
    with closing(folder.open(NEW_SEGMENTS, create=True)) as file:
        file.truncate(0)
        write_all(file, segments.encoded())
        file.sync()
    try:
        folder.rename(NEW_SEGMENTS, SEGMENTS)
        folder.sync()
    except OSError as error:
        if folder.exists(NEW_SEGMENTS):
            raise
        raise ListUncertain(error.errno, error.strerror) from error


def write_all(file: OpenFile, data: bytes) -> None:
    """Appends all of it. Errors: OSError, after which part of it may be there."""
    done = 0
    while done < len(data):
        taken = file.append(data[done:] if done else data)
        if taken <= 0:
            raise OSError(f"{len(data) - done} bytes were not taken")
        done += taken


@dataclass(frozen=True, slots=True)
class Synced:
    """Up to `position` the active segment of that base was synced; `next_offset` follows there."""

    base: int
    position: int
    crc: int
    next_offset: int

    def encoded(self) -> bytes:
        text = f"{self.base:020} {self.position:012} {self.crc:08x} {self.next_offset:020} ".encode()
        return text + f"{checksum(text):08x}\n".encode()


def read_synced(file: OpenFile) -> Synced | None:
    """The point that was noted last, None if none can be read."""
    data = file.read_at(0, SYNCED_SIZE)
    if data[-9:] != f"{checksum(data[:-9]):08x}\n".encode():
        return None
    base, position, crc, next_offset, _ = data.decode().split()
    return Synced(int(base), int(position), int(crc, 16), int(next_offset))


SYNCED_SIZE = len(Synced(0, 0, 0, 0).encoded())
