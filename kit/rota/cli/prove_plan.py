"""What a call of `rota prove` asks: obligations by name, variants of them, lists and formulas of these."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path

from rota.cli.errors import NOTHING, UsageError
from rota.cli.prove_workers import Question
from rota.proofs import (
    WITHOUT,
    Asking,
    Obligation,
    UnknownObligation,
    family_of,
    select,
    smt2,
)
from rota.report.format import wrapped
from rota.report.prove_text import FEW, group_of


@dataclass(frozen=True)
class Item:
    """An obligation to be asked. variant: what is changed in it, see `Obligation.mutated`, '' for nothing."""

    obligation: Obligation
    variant: str = ""

    def question(self, asking: Asking) -> Question:
        """As it travels to a worker."""
        return Question(family_of(self.obligation), self.obligation.name, asking, self.variant)


def plan(names: Sequence[str], without: str | None, negative: bool) -> tuple[Item, ...]:
    """What is asked. Errors: UsageError for names that select nothing."""
    if without is not None and negative:
        raise UsageError("--without drops one assumption, --negative each of them; choose one of them")
    selected = _select(names)
    if negative:
        return _not_empty(list(_mutants(selected)), "nothing that is selected has a planted mistake")
    return tuple(map(Item, selected)) if without is None else _dropped(selected, without)


def _select(names: Sequence[str]) -> tuple[Obligation, ...]:
    try:
        return select(names)
    except UnknownObligation as error:
        near = f"; did you mean {' or '.join(error.near)}?" if error.near else ";"
        message = f"no obligation is named {error} or lies under it{near} `rota prove --list` names them all"
        raise UsageError(message, NOTHING) from None


def _mutants(selected: Sequence[Obligation]) -> Iterator[Item]:
    for one in selected:
        if one.expect == "proved":
            yield from (Item(one.mutated(mutant.name), mutant.name) for mutant in one.all_mutants())


def _dropped(selected: Sequence[Obligation], without: str) -> tuple[Item, ...]:
    """Those that assume it, without it, still said to be provable.

    Those that lie under its name, and say that it is kept, are left out: what is dropped need not be kept.
    """
    items, known = [], Counter[str]()
    for one in selected:
        its_own = without in one.name.split(".")
        assumed = {} if its_own or one.expect == "refuted" else one.build().assumptions
        known.update(assumed)
        if without in assumed:
            variant = WITHOUT + without
            items.append(Item(replace(one.mutated(variant), expect="proved"), variant))
    near = get_close_matches(without, known, 3, 0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    message = (
        f"nothing that is selected assumes {without!r}; {hint}`rota prove NAME --list -v` names assumptions"
    )
    return _not_empty(items, message)


def _not_empty(items: Sequence[Item], message: str) -> tuple[Item, ...]:
    if not items:
        raise UsageError(message, NOTHING)
    return tuple(items)


def questions(items: Sequence[Item], directory: Path) -> Iterator[tuple[Path, str]]:
    """A file for each in SMT-LIB 2, named after the obligation and what was changed in it."""
    for item in items:
        variant = "--" + re.sub(r"[^a-z0-9]+", "-", item.variant.lower()) if item.variant else ""
        path = directory / f"{item.obligation.name}{variant}.smt2"
        changed = f"; changed: {item.variant}\n" if item.variant else ""
        yield path, changed + smt2(item.obligation)


def listing(items: Sequence[Item], verbose: bool) -> Iterator[str]:
    """A line for each, or for many that have a sentence together one for the group."""
    few = verbose or len(items) <= FEW
    width = max(map(len, _labels(items, few)))
    for family, members in groupby(items, lambda item: family_of(item.obligation)):
        yield wrapped("", f"{family.name}: {family.about}")
        sentences = {} if few else family.sentences()
        members_of: Counter[str] = Counter(group_of(item.obligation.name) for item in items)
        for item in members:
            one, group = item.obligation, group_of(item.obligation.name)
            if group not in sentences:
                yield wrapped(f"{one.name:<{width}}  {one.expect:<7}  ", item.variant or one.statement)
                yield from _assumed(one) if verbose else ()
            elif members_of[group]:
                yield wrapped(f"{group:<{width}}  {members_of.pop(group):>7}  ", sentences[group])


def _labels(items: Sequence[Item], few: bool) -> Iterator[str]:
    """What stands at the beginning of the lines."""
    for item in items:
        name, family = item.obligation.name, family_of(item.obligation)
        yield name if few or group_of(name) not in family.sentences() else group_of(name)


def _assumed(obligation: Obligation) -> Iterator[str]:
    claim = obligation.build()
    parts = {
        "assumes": list(claim.assumptions),
        "lemmas": list(claim.lemmas),
        "mutants": [mutant.name for mutant in obligation.mutants],
    }
    for word, names in parts.items():
        if names:
            yield wrapped(f"      {word}: ", "; ".join(names))
