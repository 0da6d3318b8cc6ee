"""What consumers say of the topics that they read."""

from __future__ import annotations

import struct


def subscription(tag: str = "", topic: str = "topic") -> bytes:
    """Consumer-protocol metadata (schema version 0) for one topic; `tag` makes two of them differ."""
    name, data = topic.encode(), tag.encode()
    return struct.pack(">hih", 0, 1, len(name)) + name + struct.pack(">i", len(data)) + data
