"""From the options of `rota check --protocol consumer` to a plan."""

from __future__ import annotations

import math
from functools import partial

from rota.cli import check_plan
from rota.cli.check_plan import ANYHOW, LASSO_STATES, recognised
from rota.cli.check_system import parse_settings
from rota.cli.choices import CONSUMER, ENGINES
from rota.cli.errors import NOTHING, UsageError, nearly
from rota.cli.options import Search, Selection
from rota.explore import engines
from rota.invariants.consumer import WEAKNESSES, endless
from rota.invariants.consumer.liveness import LIVENESS, USES_ITS_PART
from rota.mutants.consumer import BUGS, claimed, meanings, system
from rota.report.check_model import Job, Plan
from rota.scopes import OF_CONSUMER, Configuration, Scope
from rota.scopes import consumer as load
from rota.spec.consumer.handlers import CONSUMER_RULES

Chosen = list[Configuration]
"""Configurations, first to last."""

PROFILE = "kafka-4.x"
"""The line of brokers that the spec is about."""

OMITTED = ("fetches of offsets", "static members", "regular expressions", "groups of both protocols")

PREFIX = f"{CONSUMER}."
"""What the names of its rules begin with, as in `rota rules`."""


def plan(selection: Selection, search: Search = ANYHOW) -> Plan:
    """The plan. Errors: UsageError for whatever is not known or does not go together."""
    _fits(selection, search)
    bug, whole = selection.mutant, load(selection.scope or "small")
    if bug is not None:
        how = "`rota check --protocol consumer --list-mutants` explains each"
        recognised("mutant of the consumer protocol", bug, BUGS, remedy=how)
    lasting = search.liveness or selection.only in {one.name for one in (*LIVENESS, USES_ITS_PART)}
    chosen = _configurations(selection, whole)
    left_out: tuple[str, ...] = ()
    if lasting and not selection.configurations:
        chosen, left_out = _for_lassos(chosen, search)
    weak = () if selection.strict or selection.only or search.reach else WEAKNESSES
    return Plan(
        design=CONSUMER,
        system=CONSUMER,
        engine=engines.LASSO if lasting else search.engine,
        jobs=tuple(_job(selection, whole.name, one) for one in chosen),
        scope=whole.name,
        profile=PROFILE,
        mutant=bug,
        replaced=BUGS[bug].slug if bug else None,
        known=frozenset(one.sentence.name for one in weak),
        sources={one.sentence.name: one.sentence.source for one in weak},
        rules={PREFIX + slug: rule for slug, rule in CONSUMER_RULES.items()},
        omitted=(*OMITTED, *left_out),
        only=selection.only,
        suite=not (selection.configurations or selection.settings),
        unclaimed=whole.unclaimed(PROFILE),
    )


def _fits(selection: Selection, search: Search) -> None:
    """Errors: UsageError for options that do not go with this protocol."""
    recognised("engine", search.engine, ENGINES)
    if search.liveness and search.engine != "auto":
        raise UsageError(f"--liveness is a search of its own; leave --engine {search.engine} out")
    if selection.system is not None:
        raise UsageError("--system is a system by itself; leave --protocol out")
    if selection.profile != PROFILE:
        raise UsageError(f"--protocol consumer is there for --profile {PROFILE} only; leave --profile out")
    if selection.scope not in (None, *OF_CONSUMER):
        there = ", ".join(OF_CONSUMER)
        raise UsageError(f"--protocol consumer has the scopes {there}; say one of them, or leave --scope out")


def _for_lassos(chosen: Chosen, search: Search) -> tuple[Chosen, tuple[str, ...]]:
    """Those whose endless runs are judged, and what is left out; as of the classic protocol."""
    most = search.max_states or LASSO_STATES
    silent = [one for one in chosen if not endless(one.settings)]
    large = [one for one in chosen if one not in silent and (one.size or math.inf) > most]
    small = [one for one in chosen if one not in silent and one not in large]
    if not small:
        cause = "no configuration asked for has so few states, and endless runs of which something is said"
        raise UsageError(f"{cause}; raise --max-states", NOTHING)
    reasons = (
        (f"endless runs of configurations with more than {most:,} states", large),
        ("endless runs of which nothing is said", silent),
    )
    return small, tuple(f"{why} ({', '.join(one.name for one in some)})" for why, some in reasons if some)


def _configurations(selection: Selection, whole: Scope) -> Chosen:
    """Those named, else all; for a mutant first the one that kills it."""
    there = {one.name: one for one in (*whole.configurations, *load().configurations)}
    if selection.configurations:
        names = [_named(name, whole) for name in dict.fromkeys(selection.configurations)]
    else:
        first = (BUGS[selection.mutant].configuration,) if selection.mutant else ()
        names = [*dict.fromkeys((*first, *(one.name for one in whole.configurations)))]
    if selection.only is not None:
        names = _about(selection.only, [there[name] for name in names])
    return [there[name] for name in names]


def _named(name: str, whole: Scope) -> str:
    """The name, if the scope has such a configuration. Errors: UsageError, with the scope that has one."""
    there = [one.name for one in whole.configurations]
    homes = (scope for scope in OF_CONSUMER if name in [one.name for one in load(scope).configurations])
    if name not in there and (home := next(homes, None)):
        raise UsageError(f"configuration {name} is not in scope {whole.name}; say --scope {home}")
    return recognised(f"configuration of the consumer protocol in scope {whole.name} called", name, there)


def _about(name: str, configurations: list[Configuration]) -> list[str]:
    """The names of configurations in which a property is judged; of a known weakness those that break it."""
    known = {one.sentence.name: one for one in WEAKNESSES}
    if name in known:
        found = [one.name for one in configurations if known[name].broken_in(one.settings)]
    else:
        found = [one.name for one in configurations if name in claimed(one.settings)]
    if not found and name not in meanings():
        raise UsageError(
            f"there is no property {name!r}; {nearly(name, meanings())}docs/consumer-protocol.md has them"
        )
    if not found:
        raise UsageError(f"no configuration asked for says anything of {name}; leave --configuration out")
    return found


def _job(selection: Selection, scope: str, one: Configuration) -> Job:
    overrides = parse_settings(selection.settings)
    changed = selection.mutant is not None or overrides

    settings = {**one.settings, **overrides}
    make = partial(system, settings, selection.mutant, strict=selection.strict, only=selection.only)
    return Job(
        name=one.name,
        build=partial(check_plan.built, make, one.name, selection),
        scope=scope,
        feature=one.feature,
        compared_with=one.compared_with,
        expected=None if changed else one.expected,
        size=one.size,
        prefix=PREFIX,
    )
