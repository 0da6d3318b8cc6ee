"""Opening of files: compressed or not, and damage at their end told in place of raised."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, cast

from rota.reading.errors import ReadingError

BUFFER = 1 << 20

PACKED: Mapping[bytes, Callable[[BinaryIO], io.BufferedIOBase]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"]\x00\x00": lzma.LZMAFile,
}
"""First bytes → what unpacks it."""

FOREIGN = {
    b"\x28\xb5\x2f\xfd": ("packed with zstd", "zstd -dc"),
    b"\x04\x22\x4d\x18": ("packed with lz4", "lz4 -dc"),
    b"PK\x03\x04": ("a zip archive", "unzip -p"),
    b"\xff\xfe": ("text in UTF-16, as PowerShell writes it", "iconv -f utf-16 -t utf-8"),
    b"\xfe\xff": ("text in UTF-16", "iconv -f utf-16 -t utf-8"),
}
"""First bytes → what it is, and the command that makes of it what can be read."""


class Contents(io.RawIOBase):
    """The unpacked bytes of a file. trouble: why it ended before its end, None: it did not."""

    def __init__(self, inner: BinaryIO | io.BufferedIOBase) -> None:
        super().__init__()
        self._inner = inner
        self.trouble: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            read = cast(io.BufferedReader, self._inner).read1(len(buffer))
        except EOFError:
            self.trouble = "the packed file is cut off"
            return 0
        except (OSError, zlib.error, lzma.LZMAError) as error:
            self.trouble = f"the file cannot be read on: {error}"
            return 0
        buffer[: len(read)] = read
        return len(read)

    def close(self) -> None:
        self._inner.close()
        super().close()


def open_path(path: Path) -> Contents:
    """The contents of a file. Errors: ReadingError."""
    try:
        raw = path.open("rb")
    except OSError as error:
        raise _unreadable(str(path), error) from None
    return contents(str(path), raw)


def contents(name: str, raw: BinaryIO) -> Contents:
    """What is in a file, unpacked. raw: can be peeked into, as a BufferedReader. Errors: ReadingError."""
    try:
        first = cast(io.BufferedReader, raw).peek(8)[:8]
    except OSError as error:
        raise _unreadable(name, error) from None
    for magic, (what, command) in FOREIGN.items():
        if first.startswith(magic):
            raise ReadingError(f"{name} is {what}; pipe it: `{command} {name} | rota … -`")
    for magic, unpacked in PACKED.items():
        if first.startswith(magic):
            return Contents(unpacked(raw))
    return Contents(raw)


def _unreadable(name: str, error: OSError) -> ReadingError:
    forbidden = isinstance(error, PermissionError)
    remedy = "let it be read, as by `sudo`" if forbidden else "give the path of a file or folder"
    return ReadingError(f"cannot read {name}: {error.strerror}; {remedy}")
