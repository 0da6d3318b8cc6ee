"""From the options of `rota check --protocol consumer` to a plan."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rota.cli import check_plan
from rota.cli.check_plan import ANYHOW, LASSO_STATES, recognised
from rota.cli.check_reach import searching
from rota.cli.check_system import parse_settings
from rota.cli.choices import CONSUMER, ENGINES, PROTOCOLS
from rota.cli.errors import UsageError, nearly
from rota.cli.options import Search, Selection
from rota.explore import engines
from rota.invariants.consumer import WEAKNESSES, endless
from rota.invariants.consumer.liveness import LIVENESS, USES_ITS_PART
from rota.mutants.consumer import BUGS, claimed, meanings, system
from rota.report.check_model import Job, Plan
from rota.scopes import Configuration
from rota.scopes import consumer as suite
from rota.spec.consumer.handlers import CONSUMER_RULES

PROFILE = "kafka-4.x"
"""The line of brokers that the spec is about."""

OMITTED = (
    "fetches of offsets",
    "static members",
    "regular expressions",
    "groups of both protocols",
    "more than two clients",
)


def plan(selection: Selection, search: Search = ANYHOW) -> Plan:
    """The plan for either protocol. Errors: UsageError for whatever is not known or does not go together."""
    if recognised("protocol", selection.protocol, PROTOCOLS) == CONSUMER:
        return _consumer(selection, search)
    return check_plan.plan(selection, search)


def _consumer(selection: Selection, search: Search) -> Plan:
    _fits(selection, search)
    bug, whole = selection.mutant, suite()
    if bug is not None:
        how = "`rota check --protocol consumer --list-mutants` explains each"
        recognised("mutant of the consumer protocol", bug, BUGS, remedy=how)
    lasting = search.liveness or selection.only in {one.name for one in (*LIVENESS, USES_ITS_PART)}
    chosen, left_out = list(_configurations(selection)), []
    if lasting and not selection.configurations:
        left_out = [one for one in chosen if not _is_for_lassos(one, search)]
        chosen = [one for one in chosen if one not in left_out]
    weak = () if selection.strict or selection.only or search.reach else WEAKNESSES
    made = Plan(
        design=CONSUMER,
        system=CONSUMER,
        engine=engines.LASSO if lasting else search.engine,
        jobs=tuple(_job(selection, one) for one in chosen),
        scope=whole.name,
        profile=PROFILE,
        mutant=bug,
        replaced=BUGS[bug].slug if bug else None,
        known=frozenset(one.sentence.name for one in weak),
        sources={one.sentence.name: one.sentence.source for one in weak},
        rules=CONSUMER_RULES,
        omitted=(*OMITTED, *(f"endless runs of {one.name}" for one in left_out)),
        only=selection.only,
        suite=not (selection.configurations or selection.settings),
        unclaimed=whole.unclaimed(PROFILE),
    )
    return searching(made, search.reach) if search.reach else made


def _fits(selection: Selection, search: Search) -> None:
    """Errors: UsageError for options that do not go with this protocol."""
    recognised("engine", search.engine, ENGINES)
    if search.liveness and search.engine != "auto":
        raise UsageError(f"--liveness is a search of its own; leave --engine {search.engine} out")
    if selection.system is not None:
        raise UsageError("--system is a system by itself; leave --protocol out")
    if selection.profile != PROFILE:
        raise UsageError(f"--protocol consumer is there for --profile {PROFILE} only; leave --profile out")
    if selection.scope not in (None, CONSUMER):
        raise UsageError(f"--protocol consumer has one scope, {CONSUMER}; leave --scope out")


def _is_for_lassos(one: Configuration, search: Search) -> bool:
    """Whether something is said of its endless runs, and its graph is small enough."""
    return bool(endless(one.settings)) and (one.size or 0) <= (search.max_states or LASSO_STATES)


def _configurations(selection: Selection) -> Iterator[Configuration]:
    """Those named, else all; for a mutant first the one that kills it."""
    whole = suite()
    there = {one.name: one for one in whole.configurations}
    if selection.configurations:
        names = [
            recognised(f"configuration in scope {whole.name} called", name, there)
            for name in dict.fromkeys(selection.configurations)
        ]
    else:
        first = (BUGS[selection.mutant].configuration,) if selection.mutant else ()
        names = [*dict.fromkeys((*first, *there))]
    if selection.only is not None:
        names = _about(selection.only, [there[name] for name in names])
    return (there[name] for name in names)


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


def _job(selection: Selection, one: Configuration) -> Job:
    overrides = parse_settings(selection.settings)
    changed = selection.mutant is not None or overrides

    settings = {**one.settings, **overrides}
    make = partial(system, settings, selection.mutant, strict=selection.strict, only=selection.only)
    return Job(
        name=one.name,
        build=partial(check_plan.built, make, one.name, selection),
        scope=CONSUMER,
        feature=one.feature,
        compared_with=one.compared_with,
        expected=None if changed else one.expected,
        size=one.size,
    )
