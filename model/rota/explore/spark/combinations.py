"""What properties were judged on, as processes tell it each other. Standard library only.

A combination of what a property's views see has a key of 16 bytes, the same in every process: 112 bits of a
hash, the property's rank among those that are counted, and whether its premise was True. So a combination
counts once, however many processes met it, and nobody has to send what views have seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any
from uuid import uuid4

from rota.explore.spark.protocol import Judged
from rota.kernel import Property, System, encode, state_hash
from rota.kernel.structs import Frozen, parts_of

KEY = 16
"""Bytes of a key."""

RANK_BITS = 15
"""Bits of a property's rank in a key, above the lowest one, which says whether its premise was True."""

MARKED = (1 << RANK_BITS + 1) - 1
"""The bits of a key that are no hash."""

Lanes = tuple[int, int]
"""The hash of what one view sees, as `component_hash` gives it."""


def counted(system: System) -> tuple[Property, ...]:
    """The properties whose combinations are counted, by rank. Errors: OverflowError for too many."""
    found = tuple(prop for prop in system.properties if prop.counted)
    if len(found) >> RANK_BITS:
        raise OverflowError(f"system {system.name} has more than {1 << RANK_BITS} properties")
    return found


def lanes(seen: Any) -> Lanes:
    """The hash of what a view sees."""
    raw = blake2b(_told(seen), digest_size=16).digest()
    return int.from_bytes(raw[:8], "big"), int.from_bytes(raw[8:], "big")


def mark(rank: int, given: bool) -> int:
    """What a key says beside the hash."""
    return rank << 1 | given


def key_of(seen: Sequence[Lanes], rank: int, given: bool) -> bytes:
    """The key of a combination, from the hashes of what each view sees."""
    return (state_hash(seen) & ~MARKED | mark(rank, given)).to_bytes(KEY, "little")


def _told(seen: Any) -> bytes:
    """The canonical encoding; of what states may not contain, one that tells apart what engines do."""
    try:
        return encode(seen)
    except TypeError:
        parts = _parts(seen)
    return b"?%d:" % len(parts) + b"".join(b"%d:%b" % (len(part), part) for part in parts)


def _parts(seen: Any) -> list[bytes]:
    kind = type(seen)
    name = kind.__qualname__.encode()
    if isinstance(seen, frozenset):
        return [name, *sorted(map(_told, seen))]
    if isinstance(seen, Frozen):
        return [name, *map(_told, parts_of(seen))]
    if isinstance(seen, tuple):
        return [name, *map(_told, tuple(seen))]
    if isinstance(seen, Mapping):
        return [name, *map(_told, (*seen, *seen.values()))]
    if is_dataclass(seen):
        return [name, *(_told(getattr(seen, one.name)) for one in fields(seen))]
    return [name, repr(seen).encode("utf-8", "surrogatepass")]


class Journal:
    """All that a process has judged, in portions.

    Nothing is forgotten: a report may be lost, and to another driver, or the same one started again, all of
    it is news. What an earlier run of the same system has judged is what this one judges too, if it comes
    to its end.
    """

    def __init__(self) -> None:
        self._process = uuid4().hex
        self._portions: list[bytes] = []
        self._open: list[bytes] = []

    def note(self, keys: bytes) -> None:
        """There are further keys."""
        if keys:
            self._open.append(keys)

    def told(self, known: Mapping[str, int]) -> Judged:
        """What the driver has not got. known: by process, how many portions it has."""
        if self._open:
            self._portions.append(b"".join(self._open))
            self._open = []
        begin = known.get(self._process, 0)
        return Judged(self._process, len(self._portions), b"".join(self._portions[begin:]))
