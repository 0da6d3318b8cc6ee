"""Named arrays and bytes as one file, which is read only if it is as it was written.

A file is its digest and what the digest is of: a table of contents in JSON, and the parts end to end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

MAGIC = b"rota kept 1\n"
DIGEST = 32
Parts = Mapping[str, Any]
"""Arrays of numpy and bytes by name."""


class Damaged(ValueError):
    """A file is not as it was written; the message says in what."""


def digest_of(content: bytes | memoryview) -> str:
    """What tells this content from any other."""
    return blake2b(content, digest_size=DIGEST).hexdigest()


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
