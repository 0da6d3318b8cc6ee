"""All that is claimed of the protocol, in whatever configuration, and what each claim kills."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from rota.conformance.rules import CONSUMER
from rota.explore.result import DEADLOCK, DEADLOCK_MEANING
from rota.invariants import WEAKNESSES, classic, endless
from rota.invariants import consumer as of_consumer
from rota.kernel import Liveness, Property
from rota.mutants import MUTANTS, Mutant
from rota.mutants.consumer import BUGS
from rota.mutants.endless import ENDLESS_KILLS
from rota.scopes import consumer as consumer_suite
from rota.scopes import load
from rota.spec import PROFILES

Claim = Property | Liveness


@cache
def claims() -> Mapping[str, Claim]:
    """Every property by name, in order of first appearance; last the sentences that brokers break."""
    weak: dict[str, Claim] = {one.name: one.sentence for one in WEAKNESSES}
    found: dict[str, Claim] = {}
    for profile in PROFILES:
        for one in load("endless").configurations:
            if one.is_for(profile):
                settings = one.settings_for(profile)
                some: tuple[Claim, ...] = (*classic(settings, strict=True), *endless(settings, strict=True))
                found |= {claim.name: claim for claim in some if claim.name not in found}
    return {**{name: claim for name, claim in found.items() if name not in weak}, **weak}


@cache
def consumer_claims() -> Mapping[str, Claim]:
    """The same of the consumer protocol."""
    weak: dict[str, Claim] = {one.sentence.name: one.sentence for one in of_consumer.WEAKNESSES}
    found: dict[str, Claim] = {}
    for one in consumer_suite().configurations:
        judged = of_consumer.consumer(one.settings, strict=True)
        some: tuple[Claim, ...] = (*judged, *of_consumer.endless(one.settings))
        found |= {claim.name: claim for claim in some if claim.name not in found}
    return {**{name: claim for name, claim in found.items() if name not in weak}, **weak}


@cache
def guarding() -> Mapping[str, tuple[str, ...]]:
    """Rule, `consumer.` before it in the consumer protocol -> the properties that name it."""
    named: dict[str, list[str]] = defaultdict(list)
    for before, some in (("", claims()), (f"{CONSUMER}.", consumer_claims())):
        for name, claim in some.items():
            for slug in claim.rules:
                named[f"{before}{slug}"].append(name)
    return {slug: tuple(names) for slug, names in named.items()}


@cache
def kills() -> Mapping[str, tuple[str, ...]]:
    """Property -> the mutants that it is the first to report, and for endless runs those that are known."""
    found = _by_killer(MUTANTS.values())
    for one in ENDLESS_KILLS:
        if one.mutant not in found[one.by]:
            found[one.by].append(one.mutant)
    return {name: tuple(mutants) for name, mutants in found.items()}


@cache
def consumer_kills() -> Mapping[str, tuple[str, ...]]:
    """Property of the consumer protocol -> the mutants that it is the first to report."""
    return {name: tuple(mutants) for name, mutants in _by_killer(BUGS.values()).items()}


def _by_killer(mutants: Iterable[Mutant]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for mutant in mutants:
        found[mutant.killer].append(mutant.name)
    return found


DEADLOCKS = (DEADLOCK, DEADLOCK_MEANING)
"""What engines add to the properties: name and sentence."""
