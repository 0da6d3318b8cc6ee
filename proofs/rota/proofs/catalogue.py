"""All obligations by family, in the order in which they build on each other; families load when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from rota.proofs.obligations import Obligation


@dataclass(frozen=True)
class Family:
    """Obligations that belong together.

    Parameters: name, the first part of their names; about, in words; parts, MODULE:NAME of its tuples of
    obligations.
    """

    name: str
    about: str
    parts: tuple[str, ...]

    def obligations(self) -> tuple[Obligation, ...]:
        """Import and join the parts."""
        found: tuple[Obligation, ...] = ()
        for part in self.parts:
            module, _, name = part.partition(":")
            found += getattr(import_module(module), name)
        return found


FAMILIES = (
    Family(
        "voting",
        "the vote on the assignment protocol, for any number of members and protocols",
        (
            "rota.proofs.voting:VOTE",
            "rota.proofs.counters:COUNTERS",
            "rota.proofs.counterexamples:REFUTED",
        ),
    ),
)
"""What `rota prove` runs; a new family is one entry here."""


class UnknownObligation(ValueError):
    """No obligation has this name or lies under it."""


def select(names: Sequence[str] = ()) -> tuple[Obligation, ...]:
    """Those with these names or under them (`voting.tally` is both its base and its step); all for none.

    Errors: UnknownObligation.
    """
    heads = {name.partition(".")[0] for name in names}
    known = [o for family in FAMILIES if not names or family.name in heads for o in family.obligations()]
    for name in names:
        if not any(_under(obligation, name) for obligation in known):
            raise UnknownObligation(name)
    return tuple(o for o in known if not names or any(_under(o, name) for name in names))


def _under(obligation: Obligation, name: str) -> bool:
    return obligation.name == name or obligation.name.startswith(f"{name}.")
