"""All properties of a configuration of the classic protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rota.environment.world import observed
from rota.invariants.safety import KNOWN_WEAKNESSES, SAFETY
from rota.invariants.shape import SHAPE
from rota.invariants.steps import STEPS
from rota.invariants.witnesses import ENDS, witnesses
from rota.kernel import Kind, Property


def classic(settings: Mapping[str, Any], *, strict: bool = False) -> tuple[Property, ...]:
    """The properties for these settings of `rota.environment.world`.

    strict: known weaknesses are properties like all others, and violated; else they must be found anew.
    """
    seen = observed(settings)
    weak: tuple[Property, ...] = KNOWN_WEAKNESSES if seen.budget.get("fault") else ()
    if not strict:
        weak = tuple(found_anew(weakness) for weakness in weak)
    return (*SHAPE, *SAFETY, *STEPS, *weak, *witnesses(seen), *ENDS)


def found_anew(weakness: Property) -> Property:
    """A known weakness as a witness: some state that breaks it must be reachable."""

    def broken(*views: Any) -> bool:
        return not weakness.test(*views)

    return replace(weakness, kind=Kind.WITNESS, test=broken)
