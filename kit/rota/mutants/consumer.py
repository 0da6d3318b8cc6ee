"""Planted bugs in the rules of the consumer protocol, and how its world is built with one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rota.environment.consumer import world
from rota.explore.result import DEADLOCK, DEADLOCK_CLAIM
from rota.invariants import consumer as claims
from rota.invariants.consumer import consumer, endless
from rota.kernel import Kind, Property, System, SystemRef
from rota.mutants.bugs import consumer as bugs
from rota.mutants.mutant import Mutant, collect
from rota.spec.consumer.handlers import CONSUMER_RULES

BUGS: Mapping[str, Mutant] = collect(bugs)


def system(
    settings: Mapping[str, Any], mutant: str | None = None, *, strict: bool = False, only: str | None = None
) -> System:
    """The world of a configuration with its properties, and a mutant in it if one is named.

    strict: known weaknesses count as violations; only: the property that is judged, or `deadlock`; a known
    weakness as a violation. Errors: KeyError for an unknown mutant, SettingsError.
    """
    rules = CONSUMER_RULES
    if mutant is not None:
        rules = rules.replaced(BUGS[mutant].slug, BUGS[mutant].function)
    shipped = (("settings", tuple(sorted(settings.items()))), ("mutant", mutant), ("strict", strict))
    ref = SystemRef("rota.mutants.consumer:rebuild", (*shipped, ("only", only)))
    properties = consumer(settings, strict=strict or only is not None)
    if only is not None:
        properties = tuple(one for one in properties if _name(one) == only)
    lively = tuple(one for one in endless(settings) if only in (None, one.name))
    return replace(world(properties, rules=rules, ref=ref, **settings), liveness=lively)


def meanings() -> dict[str, str]:
    """Every sentence that is judged somewhere, by name."""
    return {DEADLOCK: DEADLOCK_CLAIM, **claims.meanings()}


def claimed(settings: Mapping[str, Any]) -> frozenset[str]:
    """The names of what is judged in a configuration: `deadlock` for its ends."""
    return frozenset((*map(_name, consumer(settings)), *(one.name for one in endless(settings))))


def _name(one: Property) -> str:
    return DEADLOCK if one.kind is Kind.TERMINAL else one.name


def rebuild(
    settings: tuple[tuple[str, Any], ...], mutant: str | None, strict: bool, only: str | None
) -> System:
    """`system`, from settings that were shipped to another process."""
    return system(dict(settings), mutant, strict=strict, only=only)
