"""Rules and their table: slug -> function, the one way in which a transition is found.

A mutant, a variant or a profile is a table with some entries replaced, addressed by name, so that any
process can rebuild it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Rule:
    """A named rule.

    slug: `part.name`; since: the versions it is about; source: where it is public; decides: it is a
    function that other rules ask (a vote, a barrier), not a transition of its own.
    """

    slug: str
    function: Callable[..., Any]
    since: str
    source: str
    decides: bool = False

    @property
    def part(self) -> str:
        """The part of the protocol, and the name of the file in every package."""
        return self.slug.split(".", 1)[0]

    @property
    def text(self) -> str:
        """The rule in words: its docstring, without indentation."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def title(self) -> str:
        """The first line of the rule in words."""
        return self.text.partition("\n")[0]


class RuleTable(Mapping[str, Rule]):
    """An immutable table slug -> rule, in order of definition."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules: dict[str, Rule] = {}
        for one in rules:
            if one.slug in self._rules:
                raise ValueError(f"two rules are called {one.slug}; a slug names one rule")
            self._rules[one.slug] = one

    def __getitem__(self, slug: str) -> Rule:
        return self._rules[slug]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def replaced(self, slug: str, function: Callable[..., Any]) -> RuleTable:
        """This table with the function of one rule exchanged. Errors: KeyError for an unknown slug."""
        old = self._rules[slug]
        return RuleTable(
            [*(r for r in self._rules.values() if r is not old), replace(old, function=function)]
        )


def rule(slug: str, *, source: str, since: str = "all versions", decides: bool = False) -> Callable[[F], F]:
    """Mark a function as the rule `slug`; `collect` finds it.

    Parameters: slug, `part.name`; source, the public origin (a KIP, an upstream class and method);
    since, the API versions or brokers that have it; decides, see `Rule`.
    """

    def mark(function: F) -> F:
        function.__rota_rule__ = Rule(slug, function, since, source, decides)  # type: ignore[attr-defined]
        return function

    return mark


def collect(*modules: Any) -> RuleTable:
    """The table of all functions marked with `rule` in the given modules, in order of definition."""
    found = []
    for module in modules:
        found += [
            value.__rota_rule__
            for value in vars(module).values()
            if callable(value) and hasattr(value, "__rota_rule__") and value.__module__ == module.__name__
        ]
    return RuleTable(found)
