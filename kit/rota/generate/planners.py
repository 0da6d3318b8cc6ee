"""Plans of the protocols that are walked, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, islice

from rota.generate.cast import Terms
from rota.generate.consumer.planner import ConsumerPlanner
from rota.generate.plan import CLASSIC, CONSUMER, Plan
from rota.generate.planner import Planner
from rota.generate.transactions import TransactionPlanner
from rota.spec import Profile

BOTH = (CLASSIC, CONSUMER)

EVERY = 3
"""After so many plans of each protocol comes one with transactions."""


def plans_of(
    seed: int, terms: Terms, profile: Profile, protocols: Sequence[str] = BOTH, transactional: bool = True
) -> Iterator[Plan]:
    """Plans of the protocols in turn, without end; of the consumer protocol where the terms have it.

    Those of one protocol are the same whether the other one is walked or not. transactional: whether some of
    the classic protocol have transactions, where the terms have them.
    """
    drawing: list[Iterator[Plan]] = []
    if CLASSIC in protocols:
        drawing.append(Planner(seed, terms, profile).plans())
    if CONSUMER in protocols and terms.consumer is not None:
        drawing.append(ConsumerPlanner(seed, terms).plans())
    with_transactions = transactional and CLASSIC in protocols and terms.transactional
    others = TransactionPlanner(seed, terms, profile).plans() if with_transactions else iter(())
    for turn in count(1):
        for one in drawing:
            yield next(one)
        if turn % EVERY == 0:
            yield from islice(others, 1)
