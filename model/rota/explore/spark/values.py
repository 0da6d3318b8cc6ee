"""Values between processes: canonical encodings, read back by the kernel's decoder. Standard library only.

The types that it makes come from the system in this process, or from other processes by Spark's own way of
sending classes; never from a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rota.explore.spark.protocol import Damaged, NotShippable
from rota.kernel.decoding import DecodeError, Decoder, kinds_within


class Reader:
    """Makes values of the types that it was told of. kinds: these."""

    def __init__(self, kinds: Iterable[type] = ()) -> None:
        self.kinds: frozenset[type] = frozenset()
        self._decoder = Decoder(())
        self.learn(frozenset(kinds))

    def learn(self, kinds: frozenset[type]) -> None:
        """Make values of these types too. Errors: NotShippable for two of one name."""
        if kinds <= self.kinds:
            return
        self.kinds |= kinds
        try:
            self._decoder = Decoder(self.kinds)
        except DecodeError as error:
            raise _not_shippable(error) from error

    def look_at(self, values: Iterable[Any]) -> None:
        """Learn the types that values are made of. Errors: NotShippable for what could not be read back."""
        try:
            self.learn(frozenset(kinds_within(values)))
        except DecodeError as error:
            raise _not_shippable(error) from error

    def value(self, raw: bytes) -> Any:
        """The value with this encoding. Errors: Damaged."""
        try:
            return self._decoder.decode(raw)
        except DecodeError as error:
            raise Damaged(f"a value {error}") from error


def _not_shippable(error: DecodeError) -> NotShippable:
    return NotShippable(f"values of this system cannot be sent to other processes: {error}")
