"""From the options of `rota check` to a plan: which configurations, or which foreign system."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from rota.cli.check_system import build_foreign, narrowed, parse_settings, resolve, saying_something
from rota.cli.choices import CLASSIC, ENGINES
from rota.cli.errors import NOTHING, UsageError, nearly
from rota.cli.options import Search, Selection
from rota.environment.world import SettingsError
from rota.explore import engines
from rota.explore.result import DEADLOCK
from rota.invariants import WEAKNESSES, beyond, classic, endless, known_weaknesses
from rota.invariants.weaknesses import judged
from rota.kernel import Kind, Liveness, Property, System
from rota.mutants import every_mutant, system
from rota.mutants.endless import ENDLESS_KILLS
from rota.mutants.mutant import CHECKLIST, SCENARIOS
from rota.report.check_model import Job, Plan
from rota.scopes import Configuration, Scope, load, names
from rota.spec import PROFILES, RULES

LASSO_STATES = 100_000
"""States up to which the graph of a configuration is searched for lassos, unless it or a bound was named."""

ANYHOW = Search()
"""A search of which nothing was asked."""


def plan(selection: Selection, search: Search = ANYHOW) -> Plan:
    """The plan. Errors: UsageError for whatever is not known or does not go together."""
    recognised("engine", search.engine, ENGINES)
    recognised("profile", selection.profile, PROFILES)
    if search.liveness and search.engine != "auto":
        raise UsageError(f"--liveness is a search of its own; leave --engine {search.engine} out")
    if selection.system is not None:
        return _foreign(selection, search, selection.system)
    if selection.mutant is not None:
        recognised(
            "mutant", selection.mutant, every_mutant(), remedy="`rota check --list-mutants` explains each"
        )
    lasting = search.liveness or _lasting(selection.only)
    scope = load(recognised("scope", selection.scope or ("endless" if lasting else "small"), names()))
    chosen, left_out = _configurations(selection, search, scope)
    overrides = parse_settings(selection.settings)
    weak = () if selection.strict or selection.only or search.reach else known_weaknesses(selection.profile)
    return Plan(
        design=CLASSIC,
        system=CLASSIC,
        engine=engines.LASSO if lasting else search.engine,
        jobs=tuple(_job(selection, overrides, *one) for one in chosen),
        scope=scope.name,
        profile=selection.profile,
        mutant=selection.mutant,
        replaced=every_mutant()[selection.mutant].slug if selection.mutant else None,
        known=frozenset(one.name for one in weak),
        sources={one.name: one.sentence.source for one in weak},
        rules=RULES,
        omitted=(*PROFILES[selection.profile].omitted, *left_out),
        only=selection.only,
        suite=not (selection.configurations or overrides),
        unclaimed={**beyond(selection.profile), **scope.unclaimed(selection.profile)},
    )


def recognised(what: str, name: str, there: Iterable[str], remedy: str = "") -> str:
    """The name, if it is one of those there are; else UsageError with the nearest and all of them."""
    choices = list(there)
    if name in choices:
        return name
    there_are = f"there {'are' if len(choices) > 1 else 'is'} {', '.join(choices)}"
    raise UsageError(f"there is no {what} {name!r}; {nearly(name, choices)}{remedy or there_are}")


def sizes_of(plan: Plan, most: int | None) -> dict[str, int | None]:
    """The states that each configuration will have, where they are pinned; most: where it is given up."""
    return {one.name: min(one.pinned, most or one.pinned) if one.pinned else None for one in plan.jobs}


def option_of(name: str) -> str | None:
    """The option that a name is for: of a scope, a mutant, a profile, a configuration or a property."""
    there = {
        "--scope": names(),
        "--mutant": every_mutant(),
        "--profile": PROFILES,
        "--engine": ENGINES,
        "--configuration": [one.name for scope in names() for one in load(scope).configurations],
        "--property": [*claimed({}), *(one.name for one in WEAKNESSES)],
    }
    return next((option for option, some in there.items() if name in some), None)


def claimed(settings: Mapping[str, Any]) -> frozenset[str]:
    """The names of what is judged in a configuration with these settings: `deadlock` for its ends."""
    properties, lively = classic(settings), endless(settings)
    names = (DEADLOCK if one.kind is Kind.TERMINAL else one.name for one in properties)
    return frozenset((*names, *(one.name for one in lively)))


def broken_in(settings: Mapping[str, Any]) -> frozenset[str]:
    """The names of the known weaknesses that are found anew in a configuration with these settings."""
    return frozenset(one.name for one, there in judged(settings) if there)


def _lasting(name: str | None) -> bool:
    """Whether it is a sentence about endless runs."""
    sentences: tuple[Property | Liveness, ...] = (*endless({}), *(one.sentence for one in WEAKNESSES))
    return any(one.name == name for one in sentences if isinstance(one, Liveness))


Chosen = list[tuple[str, Configuration]]
"""Configurations, each with the name of its scope."""


def _configurations(selection: Selection, search: Search, scope: Scope) -> tuple[Chosen, tuple[str, ...]]:
    """What is explored, first to last, and what is left out for its size."""
    pairs = _asked_for(selection, search, scope)
    if selection.only is not None:
        pairs = _about(selection.only, selection.profile, pairs)
    if selection.configurations or not (search.liveness or _lasting(selection.only)):
        return pairs, ()
    most = search.max_states or LASSO_STATES
    silent = [pair for pair in pairs if not endless(pair[1].settings_for(selection.profile))]
    large = [pair for pair in pairs if _size(pair) > most and pair not in silent]
    small = [pair for pair in pairs if pair not in silent and pair not in large]
    if not small:
        cause = f"no configuration of scope {scope.name} has so few states"
        raise UsageError(f"{cause}; raise --max-states", NOTHING)
    reasons = (
        (f"endless runs of configurations with more than {most:,} states", large),
        ("endless runs beside a raw client, which owes nothing", silent),
    )
    return small, tuple(f"{why} ({', '.join(one.name for _, one in some)})" for why, some in reasons if some)


def _size(pair: tuple[str, Configuration]) -> int:
    """The distinct states of a configuration, as pinned; 0 if nobody knows."""
    return pair[1].size or 0


def _asked_for(selection: Selection, search: Search, scope: Scope) -> Chosen:
    """Those named, else all that are for the profile; for a mutant first the one that kills it."""
    there = {one.name: one for one in scope.configurations}
    if selection.configurations:
        chosen = [_named(name, there, scope) for name in dict.fromkeys(selection.configurations)]
        for one in chosen:
            if not one.is_for(selection.profile):
                fit = " or ".join(one.profiles)
                raise UsageError(
                    f"configuration {one.name} is not for {selection.profile}; say --profile {fit}"
                )
        return [(scope.name, one) for one in chosen]
    every = [(scope.name, one) for one in scope.configurations if one.is_for(selection.profile)]
    if selection.mutant is None:
        return every
    name = _dies_in(selection, search)
    if name in (CHECKLIST, SCENARIOS):
        return every
    others = [(other, one) for other in names() for one in load(other).configurations]
    first = next(pair for pair in (*every, *others) if pair[1].name == name)
    return [first, *(pair for pair in every if pair[1].name != name)]


def _named(name: str, there: Mapping[str, Configuration], scope: Scope) -> Configuration:
    """A configuration. Errors: UsageError, with the scope that has one of that name."""
    others = (other for other in names() if name in [one.name for one in load(other).configurations])
    if name not in there and (other := next(others, None)):
        raise UsageError(f"configuration {name} is not in scope {scope.name}; say --scope {other}")
    return there[recognised(f"configuration in scope {scope.name} called", name, there)]


def _dies_in(selection: Selection, search: Search) -> str:
    """The configuration in which a mutant is known to die first."""
    assert selection.mutant is not None
    kills = [one for one in ENDLESS_KILLS if one.mutant == selection.mutant]
    if search.liveness or _lasting(selection.only):
        named = [one for one in kills if selection.only in (None, one.by)]
        return named[0].configuration if named else "core"
    return every_mutant()[selection.mutant].configuration


def _about(name: str, profile: str, pairs: Chosen) -> Chosen:
    """The configurations in which a property is judged, and what shows a known weakness, smallest first.

    Errors: UsageError where there is none.
    """
    known = {one.name for one in known_weaknesses(profile)}
    if name in known:
        found = [pair for pair in pairs if name in broken_in(pair[1].settings_for(profile))]
        if not found:
            cause = f"no configuration asked for allows what {name} takes"
            raise UsageError(f"{cause}; leave --configuration and --scope out", NOTHING)
        return sorted(found, key=lambda pair: (pair[1].expected or {}).get("distinct", math.inf))
    seen = [(pair, claimed(pair[1].settings_for(profile))) for pair in pairs]
    there = dict.fromkeys(name for _, names in seen for name in names)
    recognised("property", name, [*there, *known], remedy="docs/reference/properties.md lists them all")
    return [pair for pair, names in seen if name in names]


def built(make: Callable[[], System], name: str, selection: Selection) -> System:
    """The system of a configuration. Errors: UsageError, where the settings that are asked for do not fit."""
    try:
        return make()
    except SettingsError as error:
        raise UsageError(str(error)) from error
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        if not selection.settings:
            raise
        cause = f"cannot build {name} with these settings ({type(error).__name__}: {error})"
        raise UsageError(f"{cause}; check --set {' --set '.join(selection.settings)}") from error


def _job(selection: Selection, overrides: Mapping[str, Any], scope: str, configuration: Configuration) -> Job:
    settings = {**configuration.settings_for(selection.profile), **overrides}
    changed = selection.mutant is not None or overrides
    counts = configuration.counts(selection.profile)
    countable = selection.mutant is not None and counts and not overrides and selection.only is None

    make = partial(system, settings, selection.mutant, strict=selection.strict, only=selection.only)
    return Job(
        name=configuration.name,
        build=partial(built, make, configuration.name, selection),
        scope=scope,
        feature=configuration.feature,
        compared_with=configuration.compared_with,
        expected=None if changed else counts,
        size=(counts or {}).get("distinct", configuration.size),
        sound=counts if countable else None,
        build_countable=partial(system, settings, selection.mutant, settled=True) if countable else None,
    )


def _foreign(selection: Selection, search: Search, name: str) -> Plan:
    """A plan for a system from outside of rota."""
    for option, given in (("--mutant", selection.mutant), ("--configuration", selection.configurations),
                          ("--scope", selection.scope)):  # fmt: skip
        if given:
            raise UsageError(f"{option} is for rota's own system; leave it out with --system")
    settings = parse_settings(selection.settings)
    factory = resolve(name)

    def build() -> System:
        made = build_foreign(name, factory, settings)
        if search.liveness and not made.liveness:
            raise UsageError(
                f"{name} says nothing of endless runs (System.liveness is empty); leave --liveness out"
            )
        made = made if selection.only is None else narrowed(made, selection.only)
        return made if search.reach else saying_something(made, search.liveness)

    job = Job(name=name.partition(":")[2], build=build)
    engine = engines.LASSO if search.liveness else search.engine
    return Plan(design="-", system=name, engine=engine, jobs=(job,), origin=name, only=selection.only)
