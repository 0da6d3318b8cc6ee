"""All that is claimed of the protocol, in whatever configuration, and what each claim kills."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

from rota.explore.result import DEADLOCK, DEADLOCK_MEANING
from rota.invariants import WEAKNESSES, classic, endless
from rota.kernel import Liveness, Property
from rota.mutants import MUTANTS
from rota.mutants.endless import ENDLESS_KILLS
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
def guarding() -> Mapping[str, tuple[str, ...]]:
    """Rule -> the properties that name it."""
    named: dict[str, list[str]] = defaultdict(list)
    for name, claim in claims().items():
        for slug in claim.rules:
            named[slug].append(name)
    return {slug: tuple(names) for slug, names in named.items()}


@cache
def kills() -> Mapping[str, tuple[str, ...]]:
    """Property -> the mutants that it is the first to report, and for endless runs those that are known."""
    found: dict[str, list[str]] = defaultdict(list)
    for mutant in MUTANTS.values():
        found[mutant.killer].append(mutant.name)
    for one in ENDLESS_KILLS:
        if one.mutant not in found[one.by]:
            found[one.by].append(one.mutant)
    return {name: tuple(mutants) for name, mutants in found.items()}


DEADLOCKS = (DEADLOCK, DEADLOCK_MEANING)
"""What engines add to the properties: name and sentence."""
