"""Planted bugs in the rules of the consumer protocol, and how its world is built with one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rota.environment.consumer import world
from rota.environment.consumer.client import ConsumerClient
from rota.environment.consumer.world import MakeClient
from rota.explore.result import DEADLOCK, DEADLOCK_CLAIM
from rota.invariants import consumer as claims
from rota.invariants.consumer import consumer, endless
from rota.kernel import Kind, Property, System, SystemRef
from rota.mutants.bugs import consumer as bugs
from rota.mutants.bugs import consumer_clients, consumer_upstream
from rota.mutants.mutant import Mutant, collect
from rota.spec.consumer.handlers import CONSUMER_RULES
from rota.spec.consumer.records import load as load_records

BUGS: Mapping[str, Mutant] = collect(bugs, consumer_upstream, consumer_clients)

OF_CLIENTS, OF_LOADING = "client.consumer", "log.load"
"""Slugs of mutants that are no rules: of what makes a client, and of what makes a group of a log."""


def system(
    settings: Mapping[str, Any], mutant: str | None = None, *, strict: bool = False, only: str | None = None
) -> System:
    """The world of a configuration with its properties, and a mutant in it if one is named.

    strict: known weaknesses count as violations; only: the property that is judged, or `deadlock`; a known
    weakness as a violation. Errors: KeyError for an unknown mutant, SettingsError.
    """
    rules, load = CONSUMER_RULES, load_records
    client: MakeClient = ConsumerClient
    if mutant is not None:
        bug = BUGS[mutant]
        if bug.slug == OF_CLIENTS:
            client = bug.function
        elif bug.slug == OF_LOADING:
            load = bug.function
        else:
            rules = rules.replaced(bug.slug, bug.function)
    shipped = (("settings", tuple(sorted(settings.items()))), ("mutant", mutant), ("strict", strict))
    ref = SystemRef("rota.mutants.consumer:rebuild", (*shipped, ("only", only)))
    properties = consumer(settings, strict=strict or only is not None, load=load)
    if only is not None:
        properties = tuple(one for one in properties if _name(one) == only)
    lively = tuple(
        one for one in endless(settings, strict=strict or only is not None) if only in (None, one.name)
    )
    made = world(properties, rules=rules, client=client, ref=ref, **settings)
    return replace(made, liveness=lively)


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
