"""What a mutant is, and the mark that makes a function one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

CHECKLIST, SCENARIOS = "checklist", "scenarios"
"""Where a mutant dies that no configuration shows: in a row of the checklist, or in a scenario."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Mutant:
    """A planted bug.

    slug: the rule that it replaces, or `client.` and the kind of client; meaning: the mistake in one
    sentence; configuration: where it dies first, in the order of the scope small, or `CHECKLIST` or
    `SCENARIOS`; killer: the property that reports it there, or the dialogue; seen_in: where such a bug was
    met, if it was.
    """

    name: str
    slug: str
    function: Callable[..., Any]
    configuration: str
    killer: str
    seen_in: str = ""

    @property
    def meaning(self) -> str:
        """The mistake in one sentence."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]


def bug(slug: str, *, dies_in: str, by: str, seen_in: str = "") -> Callable[[F], F]:
    """Mark a function as a mutant of the rule `slug`; `collect` finds it, under its name with hyphens.

    Parameters: dies_in, a configuration; by, a property; seen_in; see `Mutant`.
    """

    def mark(function: F) -> F:
        name = function.__name__.replace("_", "-")
        mutant = Mutant(name, slug, function, dies_in, by, seen_in)
        function.__rota_mutant__ = mutant  # type: ignore[attr-defined]
        return function

    return mark


def collect(*modules: Any) -> dict[str, Mutant]:
    """All functions marked with `bug` in the given modules, by name, in order of definition."""
    found: dict[str, Mutant] = {}
    for module in modules:
        for value in vars(module).values():
            one = getattr(value, "__rota_mutant__", None)
            if isinstance(one, Mutant) and value.__module__ == module.__name__:
                if one.name in found:
                    raise ValueError(f"two mutants are called {one.name}; a name is one mutant's")
                found[one.name] = one
    return found
