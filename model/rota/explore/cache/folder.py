"""A folder of files that several processes write at once: each file is whole, and all together have a bound.

What was used least lately goes first.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SUFFIX = ".tables"
"""How names of files of tables end."""

HALF = ".half"
"""How names of files end that are not written yet."""

ABANDONED = 3600.0
"""Seconds after which such a file is of a writer that was killed."""

MOST = 512 << 20
"""Bytes of all tables together."""


def write(path: Path, content: bytes) -> None:
    """Put a file in its place at once; what else is written there at the same time is whole too.

    Errors: OSError.
    """
    half = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}{HALF}")
    try:
        half.write_bytes(content)
        half.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # a full disk names none
        raise
    finally:
        half.unlink(missing_ok=True)


def make_room(folder: Path, most: int = MOST) -> None:
    """Delete what was used least lately until no more bytes than that are left, and what killed writers left.

    Others may do the same at the same time.
    """
    now = time.time()
    for path, status in _files(folder, HALF):
        if now - status.st_mtime > ABANDONED:
            path.unlink(missing_ok=True)
    files = sorted(_files(folder, SUFFIX), key=lambda one: one[1].st_mtime)
    total = sum(status.st_size for _, status in files)
    for path, status in files:
        if total <= most:
            return
        path.unlink(missing_ok=True)
        total -= status.st_size


def clear(folder: Path) -> tuple[int, int]:
    """Delete all files of a folder; returns how many that were, and their bytes. Errors: OSError."""
    found = [*_files(folder, SUFFIX), *_files(folder, HALF)]
    for path, _ in found:
        path.unlink(missing_ok=True)
    return len(found), sum(status.st_size for _, status in found)


def _files(folder: Path, suffix: str) -> Iterator[tuple[Path, os.stat_result]]:
    for path in folder.glob(f"*{suffix}"):
        with suppress(OSError):  # somebody else has just deleted it
            yield path, path.stat()
