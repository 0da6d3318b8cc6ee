"""Plans of the protocols that are walked, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rota.generate.cast import Terms
from rota.generate.consumer.planner import ConsumerPlanner
from rota.generate.plan import CLASSIC, CONSUMER, Plan
from rota.generate.planner import Planner
from rota.spec import Profile

BOTH = (CLASSIC, CONSUMER)


def plans_of(seed: int, terms: Terms, profile: Profile, protocols: Sequence[str] = BOTH) -> Iterator[Plan]:
    """Plans of the protocols in turn, without end; of the consumer protocol where the terms have it.

    Those of one protocol are the same whether the other one is walked or not.
    """
    drawing: list[Iterator[Plan]] = []
    if CLASSIC in protocols:
        drawing.append(Planner(seed, terms, profile).plans())
    if CONSUMER in protocols and terms.consumer is not None:
        drawing.append(ConsumerPlanner(seed, terms).plans())
    while True:
        for one in drawing:
            yield next(one)
