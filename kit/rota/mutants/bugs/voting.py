"""Mistakes in the vote on the assignment protocol."""

from __future__ import annotations

from collections.abc import Sequence

from rota.mutants.mutant import bug
from rota.spec.classic import voting as voting_rules
from rota.spec.classic.voting import Lists


@bug("voting.candidates", dies_in="overlap", by="voting.chosen-supported-by-all")
def vote_by_union(lists: Lists) -> tuple[str, ...]:
    """Candidates are the protocols that any member supports."""
    return tuple(sorted({name for names in lists for name in names}))


@bug("voting.tally", dies_in="overlap", by="voting.chosen-supported-by-all")
def favourites_counted(lists: Lists, among: Sequence[str]) -> tuple[str, ...]:
    """A member votes for the first protocol in its list, candidate or not."""
    return voting_rules.tally(lists, [name for names in lists for name in names])


@bug("voting.supports", dies_in="no-common-protocol", by="voting.common-protocol")
def newcomers_unchecked(lists: Lists, names: Sequence[str]) -> bool:
    """Any protocol list is accepted."""
    return True
