"""Long answers that have not left: what they may take of memory together, and whose connection ends first.

What was encoded for one client is counted; records that a Fetch is answered with are the log's own and not.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

MAX_BYTES = 256 << 20
"""What the long answers of all connections may take before one that takes nothing of its own is closed."""


class Reader(Protocol):
    """A connection that answers wait for; hashed by identity."""

    def close_as_slow(self) -> None:
        """Closes it, for others need the room; it gives back what it holds at once."""


class Unsent:
    """What each connection still has to take, in bytes; those first that have taken nothing for longest."""

    def __init__(self, most: int = MAX_BYTES) -> None:
        self._most = most
        self._held: OrderedDict[Reader, int] = OrderedDict()
        self.total = 0

    def put(self, reader: Reader, size: int) -> None:
        """So much is left for this connection, which has just taken some, or been answered."""
        self.total += size - self._held.pop(reader, 0)
        if size:
            self._held[reader] = size
        while self.total > self._most and len(self._held) > 1:
            slowest, left = self._held.popitem(last=False)
            self.total -= left
            slowest.close_as_slow()
