"""What a verdict rests on: the text of all that was loaded, versions, what was asked for."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rota.explore.cache.sources import Unknowable, origins, sources
from rota.kernel import System

SHORT = 12
"""Digits of the hash that a line names."""

UNKNOWN = "unknown"

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "fast": ("numpy", "numba"),
    "numpy": ("numpy",),
    "spark": ("pyspark", "numpy", "numba"),
    "lasso": ("numpy", "numba", "networkx"),
}
"""Engine -> the distributions that it uses where they are installed."""


@dataclass(frozen=True)
class Identity:
    """What a verdict rests on.

    Parameters: sources, a hash of the text of all that was loaded, and of what it leads to; versions, by
    name; settings, what was asked for; why, where the sources are not known.
    """

    sources: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""

    @property
    def short(self) -> str:
        """The beginning of the hash of sources."""
        return self.sources[:SHORT] if self.sources else UNKNOWN

    def as_json(self) -> dict[str, Any]:
        """For programs. unknown: why sources are null."""
        return {
            "sources": self.sources,
            "unknown": self.why or None,
            "versions": dict(self.versions),
            "settings": dict(self.settings),
        }

    def words(self) -> str:
        """For people."""
        named = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        why = f" ({self.why})" if self.why else ""
        return f"sources {self.short}{why}, {named}"


UNIDENTIFIED = Identity()
"""Of what nobody has asked for."""


def identified(
    verb: str, systems: Iterable[System], distributions: Iterable[str], settings: Mapping[str, Any]
) -> Identity:
    """The identity of what a verb said of some systems.

    Parameters: verb, its module, which leads to all that judges and reports; distributions, those that were
    used beside rota; settings, as JSON can say them.
    """
    told = {"rota": _version("rota"), "python": platform.python_version()}
    used = ((name, _version(name)) for name in dict.fromkeys(distributions))
    told |= {name: number for name, number in used if number != UNKNOWN}
    try:
        found = sources({verb}.union(*map(origins, systems)))
    except Unknowable as error:
        return Identity(None, told, settings, str(error))
    if not found.settled:
        return Identity(None, told, settings, "changed since this process began")
    return Identity(found.code, told, settings)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return UNKNOWN
