"""An opened source, as readers get it: a file, files that were rotated, standard input or a folder."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

from rota.reading.growing import growing
from rota.reading.opening import BUFFER, Contents, open_path
from rota.reading.options import ReadOptions
from rota.reading.tally import Tally

MOST_BYTES = 256 << 20
"""Of one line; longer ones are quarantined."""

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Part:
    """A file of a source. path: None for standard input; opened: its contents where they are open already,
    head: what was read of them."""

    name: str
    path: Path | None
    opened: Contents | None = None
    head: bytes = b""

    def contents(self) -> Contents:
        """Its contents, from where they were not read yet. Errors: ReadingError."""
        if self.opened is not None:
            return self.opened
        assert self.path is not None, "what has no path is open already"
        return open_path(self.path)


class OpenSource:
    """A source. Read it once, by `lines` or by `stream`.

    name: as people know it; path: of the file (the newest of those that were rotated) or folder, None for
    standard input; options: as given; tally: what was met; is_cut: whether the line that `lines` gave last
    has no end, as where a writer was killed.
    """

    def __init__(self, name: str, parts: Sequence[Part], options: ReadOptions, tally: Tally) -> None:
        self.name = name
        self.options = options
        self.tally = tally
        self._parts = parts
        self._part = name
        self._line = 0
        self.is_cut = False

    @property
    def path(self) -> Path | None:
        """Of the file or folder."""
        return self._parts[-1].path

    @property
    def parts(self) -> Sequence[Part]:
        """Its files, the oldest first."""
        return self._parts

    def origin(self) -> str:
        """Where the line stands that `lines` gave last, as "server.log:1203"."""
        return f"{self._part}:{self._line}"

    def quarantine(self, reason: str, origin: str | None = None, also_told: bool = False) -> None:
        """Count what cannot be read. origin: where, None: the line that `lines` gave last; also_told: it is
        an event as well."""
        self.tally.quarantine(self.origin() if origin is None else origin, reason, also_told)

    def lines(self) -> Iterator[bytes]:
        """Line after line, without their ends. Damage that ends a file is quarantined."""
        for part in self._parts:
            self._part, self._line = part.name, 0
            opened = self._opened(part)
            for line in _lines(opened, part.head):
                self._line += 1
                self.is_cut = not line.endswith(b"\n")
                if len(line) < MOST_BYTES:
                    yield line.rstrip(b"\r\n")
                else:
                    self.quarantine(f"a line of more than {MOST_BYTES} bytes")
            self._ended(opened)

    def _opened(self, part: Part) -> Contents:
        """The contents of a part; of the last one also what will be written, where that is wanted."""
        if self.options.follow and part is self._parts[-1] and part.path is not None:
            return growing(part.path, self.options.idle)
        return part.contents()

    def stream(self) -> BinaryIO:
        """All bytes. Damage ends them; ask `damaged` when they have ended."""
        return cast(BinaryIO, io.BufferedReader(_Bytes(self), BUFFER))

    def pieces(self) -> Iterator[bytes]:
        """All bytes, some at a time."""
        for part in self._parts:
            self._part = part.name
            opened = part.contents()
            yield from chain([part.head] if part.head else [], iter(partial(opened.read, BUFFER), b""))
            self._ended(opened)

    def _ended(self, opened: Contents) -> None:
        if opened.trouble is not None:
            self.quarantine(opened.trouble)
        opened.close()


def _lines(opened: Contents, head: bytes) -> Iterator[bytes]:
    buffered = io.BufferedReader(_Again(opened, head) if head else opened, BUFFER)
    first = buffered.readline(MOST_BYTES)
    yield from (first.removeprefix(BOM),) if first else ()
    too_long = len(first) == MOST_BYTES
    for line in iter(lambda: buffered.readline(MOST_BYTES), b""):
        rest_of_one, too_long = too_long, len(line) == MOST_BYTES and not line.endswith(b"\n")
        if not rest_of_one:
            yield line


class _Again(io.RawIOBase):
    """What was read of a file, then the rest of it."""

    def __init__(self, rest: Contents, head: bytes) -> None:
        super().__init__()
        self._rest, self._head = rest, head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        if not self._head:
            return self._rest.readinto(buffer)
        taken, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)


class _Bytes(io.RawIOBase):
    """A source's pieces as a file."""

    def __init__(self, source: OpenSource) -> None:
        super().__init__()
        self._pieces = source.pieces()
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        taken, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)
