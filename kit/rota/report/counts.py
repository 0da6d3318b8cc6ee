"""Counts of an exploration beside the pinned ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rota.explore import Result

PINNED = ("distinct", "generated", "depth", "digest")
"""The counts that a scope states for its configurations."""


def differing(pinned: Mapping[str, Any], result: Result) -> dict[str, tuple[Any, Any]]:
    """The counts that are not the pinned ones, each with what it is and what is pinned."""
    both = {name: (getattr(result, name), pinned.get(name)) for name in PINNED}
    return {name: (got, wanted) for name, (got, wanted) in both.items() if wanted not in (None, got)}


@dataclass(frozen=True)
class Noticed:
    """A mutant's counts that are not those of the sound system, in a configuration: see `differing`."""

    configuration: str
    counts: Mapping[str, tuple[Any, Any]]
