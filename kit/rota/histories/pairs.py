"""The pairs of a state and an input that a run has asked the spec of, each once however many tasks met it."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

NAME = "pairs.u64"
"""The file with the numbers of the pairs that were new to whoever judged a bucket, in order."""


def write(folder: Path, found: Iterable[int]) -> None:
    """Keep them beside a bucket's tables."""
    (folder / NAME).write_bytes(array("Q", sorted(found)).tobytes())


def read(folder: str | Path) -> array[int]:
    """Those of a bucket."""
    told = array("Q")
    told.frombytes(Path(folder, NAME).read_bytes())
    return told


def distinct(folders: Iterable[Path]) -> int:
    """How many there are in all buckets together."""
    return sum(1 for _ in groupby(heapq.merge(*map(read, folders))))
