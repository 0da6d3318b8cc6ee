"""All properties of a configuration of the consumer protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from rota.environment.consumer.world import chosen_from
from rota.invariants.catalog import found_anew
from rota.invariants.consumer.commits import COMMITS
from rota.invariants.consumer.liveness import LIVENESS
from rota.invariants.consumer.loading import Load, loads
from rota.invariants.consumer.safety import SAFETY, caused
from rota.invariants.consumer.shape import SHAPE
from rota.invariants.consumer.steps import STEPS
from rota.invariants.consumer.weaknesses import WEAKNESSES, leave_may_fail
from rota.invariants.consumer.witnesses import end, witnesses
from rota.kernel import Liveness, Property
from rota.spec.consumer.records import load as load_records


def most_causes(chosen: Mapping[str, Any]) -> int:
    """How many things may ask for a new target: joins, a topic, and for each fault a removal and a join."""
    budget = dict(chosen["budget"])
    return int(chosen["clients"] + bool(chosen["grown"]) + 2 * sum(budget.values()))


def consumer(
    settings: Mapping[str, Any], *, strict: bool = False, load: Load = load_records
) -> tuple[Property, ...]:
    """The properties for these settings of `rota.environment.consumer.world`.

    strict: known weaknesses are properties like all others, and violated; else they must be found anew.
    load: how a log is loaded.
    """
    chosen = chosen_from(settings)
    return (
        *SHAPE,
        *SAFETY,
        caused(1 + most_causes(chosen)),
        *STEPS,
        *(COMMITS if chosen["commits"] else ()),
        *((loads(load),) if chosen["log"] else ()),
        *_weak(chosen, strict),
        *witnesses(chosen),
        end(watched=not leave_may_fail(chosen)),
    )


def _weak(chosen: Mapping[str, Any], strict: bool) -> Iterator[Property]:
    for one in WEAKNESSES:
        broken = one.broken_in(chosen)
        if broken is not None and isinstance(one.sentence, Property):
            yield found_anew(one.sentence) if broken and not strict else one.sentence


def endless(settings: Mapping[str, Any], *, strict: bool = False) -> tuple[Liveness, ...]:
    """The sentences about endless runs for these settings.

    None where a new target may be put off: that this ends is nothing that a transition says. None where a
    member may stay that nobody watches.
    """
    chosen = chosen_from(settings)
    if chosen["assignment_interval_ms"] or leave_may_fail(chosen):
        return ()
    weak = (
        replace(one.sentence, broken=bool(one.broken_in(chosen)) and not strict)
        for one in WEAKNESSES
        if isinstance(one.sentence, Liveness)
    )
    return (*LIVENESS, *weak)


def meanings() -> dict[str, str]:
    """Every sentence that some configuration judges, by name."""
    weak = [one.sentence for one in WEAKNESSES]
    every = [*SHAPE, *SAFETY, caused(0), *STEPS, *COMMITS, loads(load_records), *weak, *LIVENESS]
    return {one.name: one.meaning for one in every}
