"""What tells one content from any other; the standard library is enough, so that every worker has it."""

from __future__ import annotations

from hashlib import blake2b

DIGEST = 32
"""Bytes of a digest."""


def digest_of(*parts: bytes | memoryview) -> str:
    """BLAKE2b of a content, which may be in parts, as hexadecimal digits."""
    hashed = blake2b(digest_size=DIGEST)
    for part in parts:
        hashed.update(part)
    return hashed.hexdigest()
