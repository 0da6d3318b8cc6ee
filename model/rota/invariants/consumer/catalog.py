"""All properties of a configuration of the consumer protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rota.environment.consumer.world import chosen_from
from rota.invariants.catalog import found_anew
from rota.invariants.consumer.liveness import LIVENESS
from rota.invariants.consumer.safety import SAFETY, caused
from rota.invariants.consumer.shape import SHAPE
from rota.invariants.consumer.steps import STEPS
from rota.invariants.consumer.weaknesses import WEAKNESSES
from rota.invariants.consumer.witnesses import ENDS, witnesses
from rota.kernel import Liveness, Property


def most_causes(chosen: Mapping[str, Any]) -> int:
    """How many things may ask for a new target: joins, a topic, and for each fault a removal and a join."""
    budget = dict(chosen["budget"])
    return int(chosen["clients"] + bool(chosen["grown"]) + 2 * sum(budget.values()))


def consumer(settings: Mapping[str, Any], *, strict: bool = False) -> tuple[Property, ...]:
    """The properties for these settings of `rota.environment.consumer.world`.

    strict: known weaknesses are properties like all others, and violated; else they must be found anew.
    """
    chosen = chosen_from(settings)
    return (
        *SHAPE,
        *SAFETY,
        caused(1 + most_causes(chosen)),
        *STEPS,
        *_weak(chosen, strict),
        *witnesses(chosen),
        *ENDS,
    )


def _weak(chosen: Mapping[str, Any], strict: bool) -> Iterator[Property]:
    for one in WEAKNESSES:
        broken = one.broken_in(chosen)
        if broken is not None:
            yield found_anew(one.sentence) if broken and not strict else one.sentence


def endless(settings: Mapping[str, Any]) -> tuple[Liveness, ...]:
    """The sentences about endless runs for these settings.

    None where a new target may be put off: that this ends is nothing that a transition says.
    """
    return () if chosen_from(settings)["assignment_interval_ms"] else LIVENESS


def meanings() -> dict[str, str]:
    """Every sentence that some configuration judges, by name."""
    lasting = {one.name: one.meaning for one in LIVENESS}
    every = [*SHAPE, *SAFETY, caused(0), *STEPS, *(one.sentence for one in WEAKNESSES)]
    return {**{one.name: one.meaning for one in every}, **lasting}
