"""From the options of `rota check` to a plan: of the protocol that is meant, or of both together.

Where `--protocol` does not say it, what is asked for does: a bug, a property, a configuration or a setting
that one protocol alone has, a profile or a scope. What fits both is explored of both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches

from rota.cli import check_consumer, check_plan
from rota.cli.check_plan import ANYHOW, recognised
from rota.cli.check_reach import searching
from rota.cli.check_system import parse_settings
from rota.cli.choices import CLASSIC, CONSUMER, PROTOCOLS
from rota.cli.options import Search, Selection
from rota.environment.consumer.world import DEFAULTS as OF_CONSUMER_WORLDS
from rota.environment.world import DEFAULTS as OF_CLASSIC_WORLDS
from rota.explore.result import DEADLOCK
from rota.invariants import WEAKNESSES
from rota.mutants import MUTANTS, Mutant, every_mutant
from rota.mutants.consumer import BUGS, meanings
from rota.report.check_model import Job, Plan
from rota.scopes import OF_CONSUMER, Scope, load, names
from rota.scopes import consumer as load_consumer

OF = f"{CONSUMER}/"
"""What the names of the consumer protocol's configurations begin with in a plan of both."""


def plan(selection: Selection, search: Search = ANYHOW) -> Plan:
    """The plan. Errors: UsageError for whatever is not known or does not go together."""
    if selection.protocol is not None:
        recognised("protocol", selection.protocol, PROTOCOLS)
    makers = {CLASSIC: check_plan.plan, CONSUMER: check_consumer.plan}
    shares = _shares(selection, search)
    plans = [makers[one](replace(selection, configurations=some), search) for one, some in shares.items()]
    made = plans[0] if len(plans) == 1 else _together(*plans)
    return searching(made, search.reach) if search.reach else made


def bugs_of(protocol: str | None) -> Mapping[str, Mutant]:
    """The bugs that can be planted in a protocol, or in either. Errors: UsageError for another one."""
    if protocol is None:
        of_consumer = {name: replace(bug, configuration=OF + bug.configuration) for name, bug in BUGS.items()}
        return {**MUTANTS, **of_consumer}
    return BUGS if recognised("protocol", protocol, PROTOCOLS) == CONSUMER else MUTANTS


def _shares(selection: Selection, search: Search) -> dict[str, tuple[str, ...]]:
    """The protocols that are meant, one at least, each with the configurations that are asked of it."""
    meant = _meant(selection)
    if len(meant) == 1:
        named = selection.configurations
        return {meant[0]: tuple(name.removeprefix(OF) for name in named) if meant == [CONSUMER] else named}
    if not selection.configurations:
        return dict.fromkeys(meant, ())
    shares: dict[str, tuple[str, ...]] = {}
    for name in selection.configurations:
        protocol = _home(name, selection, search)
        shares[protocol] = (*shares.get(protocol, ()), name.removeprefix(OF))
    return {one: shares[one] for one in meant if one in shares}


def _meant(selection: Selection) -> list[str]:
    """The protocols that have all that is asked for; where none has, that of what comes first in the list."""
    if selection.protocol is not None:
        return [selection.protocol]
    if selection.system is not None:
        return [CLASSIC]
    asked = list(_narrowing(selection))
    return [one for one in PROTOCOLS if all(one in some for some in asked)] or list(asked[0])


def _narrowing(selection: Selection) -> Iterator[Collection[str]]:
    """For each thing that is asked for, the protocols that have it; what neither has is the classic one's."""
    if selection.mutant is not None:
        yield [CONSUMER if _is_of_consumer(selection.mutant, BUGS, every_mutant()) else CLASSIC]
    if selection.only is not None and selection.only != DEADLOCK:
        known = {*check_plan.claimed({}), *(one.name for one in WEAKNESSES)}
        yield [CONSUMER if _is_of_consumer(selection.only, meanings(), known) else CLASSIC]
    if selection.settings:
        given = set(parse_settings(selection.settings))
        there = {CLASSIC: OF_CLASSIC_WORLDS, CONSUMER: OF_CONSUMER_WORLDS}
        yield [one for one, some in there.items() if given <= set(some)] or [CLASSIC]
    if selection.profile != check_consumer.PROFILE or selection.scope not in (None, *OF_CONSUMER):
        yield [CLASSIC]


def _is_of_consumer(name: str, there: Collection[str], of_classic: Collection[str]) -> bool:
    """Whether a name is one of the consumer protocol's, or rather a slip of one of those."""
    nearest = get_close_matches(name, [*of_classic, *there], n=1)
    return bool(nearest) and nearest[0] in there and name not in of_classic


def _home(name: str, selection: Selection, search: Search) -> str:
    """The protocol of a configuration; by a name that both have in these scopes the classic one is meant."""
    if name.startswith(OF):
        return CONSUMER
    usual = "endless" if search.liveness else "small"
    if name in _named_in(load(selection.scope or usual)):
        return CLASSIC
    if name in _named_in(load_consumer(selection.scope or "small")):
        return CONSUMER
    classic = [one for scope in names() for one in _named_in(load(scope))]
    others = [one for scope in OF_CONSUMER for one in _named_in(load_consumer(scope))]
    return CONSUMER if name not in classic and _is_of_consumer(name, others, classic) else CLASSIC


def _named_in(scope: Scope) -> list[str]:
    return [one.name for one in scope.configurations]


def _together(classic: Plan, consumer: Plan) -> Plan:
    """One plan of both; the consumer protocol's configurations are named with `consumer/`."""
    left_out = f"of the consumer protocol: {', '.join(consumer.omitted)}"
    return replace(
        classic,
        design=f"{classic.design}+{consumer.design}",
        system=f"{classic.system}+{consumer.system}",
        jobs=(*classic.jobs, *map(_of_both, consumer.jobs)),
        scope="+".join(dict.fromkeys(filter(None, (classic.scope, consumer.scope)))),
        known=classic.known | consumer.known,
        sources={**classic.sources, **consumer.sources},
        rules={**classic.rules, **consumer.rules},
        omitted=(*classic.omitted, left_out),
        suite=classic.suite and consumer.suite,
        unclaimed={**classic.unclaimed, **consumer.unclaimed},
    )


def _of_both(job: Job) -> Job:
    """A job of the consumer protocol under a name that no other has."""
    beside = job.compared_with and OF + job.compared_with
    return replace(job, name=OF + job.name, compared_with=beside)
