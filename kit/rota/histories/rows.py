"""The rows that travel between tasks: events as they were read, and what they mean for groups."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Final

import pyarrow as pa

from rota.history import Event, Source
from rota.history.pairs import connection_of

READ: Final = pa.schema(
    [
        ("part", pa.int32()),
        ("at", pa.float64()),
        ("source", pa.int32()),
        ("told", pa.string()),
        ("number", pa.int64()),
        ("line", pa.binary()),
        ("cluster", pa.string()),
        ("conversation", pa.int64()),
    ]
)
"""Events, in the order in which they are taken: `at` is the time of the moment (`rota.reading.merging`), then
where it stands. part: which task finds out what it is about; conversation: a digest of its connection."""

ROUTED: Final = pa.schema(
    [
        ("bucket", pa.int32()),
        ("cluster", pa.string()),
        ("group", pa.string()),
        ("at", pa.float64()),
        ("source", pa.int32()),
        ("told", pa.string()),
        ("number", pa.int64()),
        ("turn", pa.int32()),
        ("conversation", pa.int64()),
        ("part", pa.string()),
        ("weight", pa.int8()),
        ("connection", pa.string()),
        ("asked", pa.int64()),
        ("cause", pa.string()),
        ("line", pa.binary()),
    ]
)
"""What an event means for a group, as `Told` has it. turn: of several that one event means; bucket: which
task judges the group."""

LEFT: Final = "left"
"""The part of an event of no group that is not checked: the cause is why, `connection` the source."""

BROKEN: Final = "broken"
"""The part of an event that cannot be read, and is of nobody knows which group."""


@lru_cache(maxsize=100_000)
def digest(cluster: str, name: str) -> int:
    """A number of 63 bits."""
    hashed = blake2b(f"{cluster}\0{name}".encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(hashed.digest(), "big") >> 1


def conversation_of(cluster: str, event: Event) -> int:
    """What has to be looked at together: a connection's frames; of what are no frames a group's events."""
    if event.source is not Source.FRAMES:
        return digest(cluster, f"group {event.group}")
    return digest(cluster, connection_of(event) if "connection" in event.data else "")
