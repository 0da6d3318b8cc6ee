"""All obligations, in the order in which they build on each other."""

from __future__ import annotations

from collections.abc import Sequence

from rota.proofs.counterexamples import REFUTED
from rota.proofs.counters import COUNTERS
from rota.proofs.obligations import Obligation
from rota.proofs.voting import VOTE

OBLIGATIONS: tuple[Obligation, ...] = VOTE + COUNTERS + REFUTED


class UnknownObligation(ValueError):
    """No obligation has this name or lies under it."""


def select(names: Sequence[str]) -> tuple[Obligation, ...]:
    """Those with these names or under them (`voting.tally` is both its base and its step); all for none.

    Errors: UnknownObligation.
    """
    for name in names:
        if not any(_under(obligation, name) for obligation in OBLIGATIONS):
            raise UnknownObligation(name)
    return tuple(o for o in OBLIGATIONS if not names or any(_under(o, name) for name in names))


def _under(obligation: Obligation, name: str) -> bool:
    return obligation.name == name or obligation.name.startswith(f"{name}.")
