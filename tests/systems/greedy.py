"""A toy that needs memory of its own to find out what can happen; a module for workers to import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import toys

from rota.kernel import Outcome, System, SystemRef


def counters(mib: int) -> System:
    """Counters, the first of which allocates so many MiB for a moment whenever it is asked for moves."""
    base = toys.counters()

    def moves(value: int) -> Sequence[Outcome]:
        np.empty(mib << 20, np.uint8)
        return base.machines[0].actions(value)

    machines = (replace(base.machines[0], moves=moves), *base.machines[1:])  # type: ignore[type-var]
    return replace(base, machines=machines, ref=SystemRef("greedy:counters", (("mib", mib),)))
