"""Which pairs of a state and an input the spec is asked of: what is distinct in histories after renaming.

A pair is named by a number of 64 bits that is the same in every process, so that what several have met can be
put together: of n pairs two share a number with a chance of n² / 2^65.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import msgspec

from rota.kernel import FrozenMap

BYTES = 8


def _told(value: Any) -> Any:
    """A type by its name, and a map by its pairs, which are in the order of their keys. Errors: TypeError for
    what neither states nor inputs have."""
    if isinstance(value, FrozenMap):
        return (*value.items(),)
    if isinstance(value, type):
        return value.__qualname__
    raise TypeError(f"{value!r} is in no state, and nothing that is asked")


encode = msgspec.msgpack.Encoder(enc_hook=_told, order="deterministic").encode
"""The bytes of a value, the same for equal ones in every process: sets are in the order of their elements."""


@dataclass
class _Asked:
    """run: for which all that this process has learned was counted, None for none; found: the pairs that are
    counted now, None where nobody counts."""

    run: Hashable = None
    found: set[int] | None = field(default=None)


_ASKED = _Asked()


def is_new(run: Hashable) -> bool:
    """Whether this process may have learned something that was not counted for this run."""
    return run is None or run != _ASKED.run


@contextmanager
def counted(run: Hashable) -> Iterator[set[int]]:
    """Within, the pairs that are asked for the first time are counted. Where it is left by an error nothing
    was counted, and `is_new` says so."""
    before, _ASKED.found, _ASKED.run = _ASKED.found, set(), None
    try:
        yield _ASKED.found
        _ASKED.run = run
    finally:
        _ASKED.found = before


def counts() -> bool:
    """Whether somebody counts what is learned now. If not, what is learned is not counted for any run."""
    if _ASKED.found is None:
        _ASKED.run = None
    return _ASKED.found is not None


def hashed(state: tuple[Any, ...]) -> Any:
    """A state, of which `note` is told what is asked in it."""
    return blake2b(encode(state), digest_size=BYTES)


def note(state: Any, asked: Any) -> None:
    """The spec is asked what comes of something in a state, both under the names that histories share.

    state: as of `hashed`. Somebody `counts`.
    """
    assert _ASKED.found is not None, "somebody counts"
    pair = state.copy()
    pair.update(encode(asked))
    _ASKED.found.add(int.from_bytes(pair.digest(), "big"))
