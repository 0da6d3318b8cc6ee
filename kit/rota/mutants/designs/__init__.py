"""Planted bugs in the models of the older designs, and how a world with one of them is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota.designs.suites import DESIGNS
from rota.kernel import System, SystemRef
from rota.mutants.designs import server_side, watchers
from rota.mutants.mutant import Mutant, collect

BUGS: Mapping[str, Mapping[str, Mutant]] = {
    "watchers": collect(watchers),
    "server-side": collect(server_side),
}
"""Design -> name -> mutant."""

__all__ = ["BUGS", "rebuild", "system"]


def system(design: str, settings: Mapping[str, Any], mutant: str) -> System:
    """The world of a design with a mutant in it. Errors: KeyError for an unknown one."""
    one, bug = DESIGNS[design], BUGS[design][mutant]
    shipped = (("design", design), ("settings", tuple(sorted(settings.items()))), ("mutant", mutant))
    ref = SystemRef("rota.mutants.designs:rebuild", shipped)
    return one.world(one.rules.replaced(bug.slug, bug.function), ref, **settings)


def rebuild(design: str, settings: tuple[tuple[str, Any], ...], mutant: str) -> System:
    """`system`, from settings that were shipped to another process."""
    return system(design, dict(settings), mutant)
