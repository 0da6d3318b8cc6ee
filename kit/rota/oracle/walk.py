"""A walk: the machine run for a number of examples, always the same ones, with what it reached and found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from rota.coordinator import UNMENDED, GroupCoordinator, Mends
from rota.mutants.core import BESIDE_MEMBERS
from rota.oracle.machine import CoordinatorFollowsSpec
from rota.oracle.minimise import minimised
from rota.oracle.report import Divergence
from rota.oracle.shadow import Make
from rota.spec import RULES

OUT_OF_REACH = {
    "hosting.inactive": "the core is not asked before it runs",
    "hosting.loading": "the core is not asked while it loads",
    "hosting.elsewhere": "the core is asked for its own groups only",
    "hosting.find-coordinator": "the server answers, without the core",
    "offsets.rebalance-before-membership": "brokers before Kafka 2.5 do so",
    "offsets.deleted-at-once": "brokers with the Scala coordinator do so",
}
"""Rules that no machine reaches, and why."""


def judged() -> set[str]:
    """Slugs of all rules of members, by which the machine judges a coordinator."""
    return {slug for slug in RULES if not slug.startswith(BESIDE_MEMBERS)}


def judged_beside() -> set[str]:
    """Slugs of all other rules, by which the machine of everything judges it."""
    return RULES.keys() - judged() - OUT_OF_REACH.keys()


@dataclass
class Walk:
    """What a walk did. examples: inputs of each; visited: pairs (slug, state); found: ends the last one."""

    examples: list[list[Any]] = field(default_factory=list)
    visited: set[tuple[str, str]] = field(default_factory=set)
    found: Divergence | None = None

    @property
    def rules(self) -> set[str]:
        """Slugs of all rules used."""
        return {slug for slug, _ in self.visited}

    @property
    def inputs(self) -> int:
        """How many there were."""
        return sum(map(len, self.examples))


def walk(
    examples: int,
    steps: int = 40,
    make: Make = GroupCoordinator,
    mends: Mends = UNMENDED,
    machine: type[CoordinatorFollowsSpec] = CoordinatorFollowsSpec,
) -> Walk:
    """Run the machine, derandomized: the same examples every time. Stops at the first divergence, shortened.

    Parameters: examples, how many; steps, of each, at most; make, builds the core, which has these mends;
    machine, which one.
    """
    result = Walk()

    class Recorded(machine):  # type: ignore[valid-type, misc]
        def teardown(self) -> None:
            if result.found is None:
                result.examples.append(self.lockstep.inputs)
                result.visited |= self.lockstep.shadow.oracle.visited
                result.found = next(iter(self.lockstep.shadow.divergences), None)

    Recorded.make = staticmethod(make)
    Recorded.mends = mends
    try:
        run(Recorded, examples, steps)
    except Divergence as found:
        shortest = minimised(result.examples[-1], found, make, mends, machine.kind)
        result.examples[-1], result.found = shortest
    return result


def run(machine: type[RuleBasedStateMachine], examples: int, steps: int) -> None:
    """So many examples of a machine, the same ones every time. Errors: what the machine raises."""
    with no_constants_of_sources():
        run_state_machine_as_test(machine, settings=_settings(examples, steps))


@contextmanager
def no_constants_of_sources() -> Iterator[None]:
    """Keep Hypothesis from mixing in numbers and texts of the sources that happen to be imported.

    It has no setting for that, and examples would depend on what ran before in the same process.
    """
    before = providers._get_local_constants
    providers._get_local_constants = Constants
    providers.CONSTANTS_CACHE.cache.clear()
    try:
        yield
    finally:
        providers._get_local_constants = before
        providers.CONSTANTS_CACHE.cache.clear()


def _settings(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        report_multiple_bugs=False,
        derandomize=True,
        database=None,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
