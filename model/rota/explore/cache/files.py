"""Files of named arrays and bytes: written whole under another name first, read only if nothing changed.

A file is its digest and what the digest is of: a table of contents in JSON, and the parts end to end. A
folder of them has a bound; what was used least lately goes first.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"rota kept 1\n"
DIGEST = 32
HALF = ".half"
"""How names of files end that are not written yet."""

ABANDONED = 3600.0
"""Seconds after which such a file is of a writer that was killed."""

Parts = Mapping[str, Any]
"""Arrays of numpy and bytes by name."""


class Damaged(ValueError):
    """A file is not as it was written; the message says in what."""


def packed(about: Mapping[str, Any], parts: Parts) -> bytes:
    """The content of a file. about: what JSON can say."""
    table, bodies = [], []
    for name, part in parts.items():
        raw = part if isinstance(part, bytes) else np.ascontiguousarray(part).tobytes()
        shape = None if isinstance(part, bytes) else [part.dtype.str, *part.shape]
        table.append((name, len(raw), shape))
        bodies.append(raw)
    head = json.dumps({"about": about, "parts": table}).encode()
    content = b"".join((len(head).to_bytes(8, "big"), head, *bodies))
    return MAGIC + blake2b(content, digest_size=DIGEST).digest() + content


def unpacked(raw: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was packed: about, and the parts. Errors: Damaged."""
    start = len(MAGIC) + DIGEST
    if raw[: len(MAGIC)] != MAGIC:
        raise Damaged("does not begin like a file of tables")
    if blake2b(memoryview(raw)[start:], digest_size=DIGEST).digest() != raw[len(MAGIC) : start]:
        raise Damaged("is not as it was written")
    at = start + 8 + int.from_bytes(raw[start : start + 8], "big")
    head = json.loads(raw[start + 8 : at])
    parts: dict[str, Any] = {}
    for name, size, shape in head["parts"]:
        body = raw[at : at + size]
        parts[name] = body if shape is None else np.frombuffer(body, shape[0]).reshape(shape[1:])
        at += size
    return head["about"], parts


def write(path: Path, content: bytes) -> None:
    """Put a file in its place at once; what else is written there at the same time is whole too.

    Errors: OSError.
    """
    half = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}{HALF}")
    try:
        half.write_bytes(content)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def make_room(folder: Path, suffix: str, most: int) -> None:
    """Delete what was used least lately until no more bytes than that are left, and what killed writers left.

    Others may do the same at the same time.
    """
    now = time.time()
    for path, status in _files(folder, HALF):
        if now - status.st_mtime > ABANDONED:
            path.unlink(missing_ok=True)
    files = sorted(_files(folder, suffix), key=lambda one: one[1].st_mtime)
    total = sum(status.st_size for _, status in files)
    for path, status in files:
        if total <= most:
            return
        path.unlink(missing_ok=True)
        total -= status.st_size


def clear(folder: Path, suffix: str) -> tuple[int, int]:
    """Delete all files of a folder; returns how many that were, and their bytes. Errors: OSError."""
    found = [*_files(folder, suffix), *_files(folder, HALF)]
    for path, _ in found:
        path.unlink(missing_ok=True)
    return len(found), sum(status.st_size for _, status in found)


def _files(folder: Path, suffix: str) -> Iterator[tuple[Path, os.stat_result]]:
    for path in folder.glob(f"*{suffix}"):
        with suppress(OSError):  # somebody else has just deleted it
            yield path, path.stat()
