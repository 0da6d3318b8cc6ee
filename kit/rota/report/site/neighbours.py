"""What stands beside a rule: those that are tried before and after it, those that it asks and that ask it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from rota.spec import RULES
from rota.spec.handlers import HANDLERS


@dataclass(frozen=True)
class Place:
    """A rule among those of a handler, which are tried in order. before, after: empty at an end."""

    handler: str
    number: int
    of: int
    before: str
    after: str


def places(slug: str) -> Iterator[Place]:
    """Where a rule is tried."""
    for handler, slugs in HANDLERS.items():
        if slug in slugs:
            at = slugs.index(slug)
            after = slugs[at + 1] if at + 1 < len(slugs) else ""
            yield Place(handler, at + 1, len(slugs), slugs[at - 1] if at else "", after)


@cache
def asks() -> Mapping[str, tuple[str, ...]]:
    """Rule -> the rules whose slugs its code names, itself or by functions and tables of the spec."""
    return {slug: tuple(sorted(_named(one.function) - {slug})) for slug, one in RULES.items()}


def asked_by(slug: str) -> tuple[str, ...]:
    """The rules whose code names this one."""
    return tuple(one for one, named in asks().items() if slug in named)


def _named(function: object, seen: frozenset[str] = frozenset()) -> set[str]:
    """Slugs in the code of a function and of what it names; its decorator's own is not among them."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))  # type: ignore[arg-type]
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.FunctionDef)
    found: set[str] = set()
    for node in (inner for statement in tree.body for inner in ast.walk(statement)):
        if isinstance(node, ast.Constant) and node.value in RULES:
            found.add(str(node.value))
        elif isinstance(node, ast.Name) and node.id not in seen:
            found |= _behind(getattr(function, "__globals__", {}).get(node.id), seen | {node.id})
    return found


def _behind(value: object, seen: frozenset[str]) -> set[str]:
    """Slugs in what a name stands for: a table of them, or a function of the spec that is no rule itself."""
    if isinstance(value, tuple | frozenset | dict):
        return {one for one in value if isinstance(one, str) and one in RULES}
    of_the_spec = inspect.isfunction(value) and value.__module__.startswith("rota.spec")
    if of_the_spec and not hasattr(value, "__rota_rule__"):
        return _named(value, seen)
    return set()
