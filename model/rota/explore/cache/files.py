"""Named arrays and bytes as one file, which is read only if it is as it was written.

A file is its digest and what the digest is of: a table of contents in JSON, and the parts end to end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rota.explore.cache.digest import DIGEST, digest_of

MAGIC = b"rota kept 1\n"
Parts = Mapping[str, Any]
"""Arrays of numpy and bytes by name."""

NUMBERS = frozenset("biu")
"""The kinds of what arrays have, as numpy calls them: truth values and integers."""


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
    return MAGIC + bytes.fromhex(digest_of(content)) + content


def unpacked(raw: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was packed: about, and the parts. Errors: Damaged."""
    start = len(MAGIC) + DIGEST
    if raw[: len(MAGIC)] != MAGIC:
        raise Damaged("does not begin like a file of tables")
    if bytes.fromhex(digest_of(memoryview(raw)[start:])) != raw[len(MAGIC) : start]:
        raise Damaged("is not as it was written")
    try:
        return _parted(raw, start)
    except Exception as error:  # somebody else's file, with a digest: it may break in any way
        raise Damaged(f"is no file of this kind ({type(error).__name__}: {error})") from error


def _parted(raw: bytes, start: int) -> tuple[dict[str, Any], dict[str, Any]]:
    at = start + 8 + int.from_bytes(raw[start : start + 8], "big")
    head = json.loads(raw[start + 8 : at])
    parts: dict[str, Any] = {}
    for name, size, shape in head["parts"]:
        body = raw[at : at + size]
        parts[name] = body if shape is None else _array(body, shape)
        at += size
    if at != len(raw):
        raise Damaged("has another length than it says")
    return dict(head["about"]), parts


def _array(body: bytes, shape: Sequence[Any]) -> Any:
    kind = np.dtype(shape[0])
    if kind.kind not in NUMBERS:
        raise Damaged(f"has an array of {kind}")
    return np.frombuffer(body, kind).reshape(shape[1:])


def end_to_end(name: str, raws: Sequence[bytes]) -> dict[str, Any]:
    """Pieces of bytes as parts of a file."""
    return {name: b"".join(raws), f"{name} ends": np.cumsum([len(raw) for raw in raws], dtype=np.int64)}


def apart(name: str, parts: Parts) -> list[bytes]:
    """What `end_to_end` was given. Errors: Damaged for parts that have it not."""
    raw, ends = parts.get(name), parts.get(f"{name} ends")
    if not isinstance(raw, bytes) or not isinstance(ends, np.ndarray) or ends.ndim != 1:
        raise Damaged(f"has no pieces that are called {name}")
    places = [0, *ends.tolist()]
    if places != sorted(places) or places[-1] != len(raw):
        raise Damaged(f"has pieces called {name} that do not follow each other")
    return [raw[start:end] for start, end in pairwise(places)]
