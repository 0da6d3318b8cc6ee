"""Small versions of a claim, in which a counterexample is looked for first, so that it is readable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import z3

from rota.proofs.core.logic import CONSTANTS, Sort, Term, either, no, symbol
from rota.proofs.core.signature import SIGNATURE, State
from rota.proofs.obligations import Claim

ELEMENTS = {
    Sort.MEMBER: ("nobody", "ann", "ben", "cid"),
    Sort.INSTANCE: ("dynamic", "x"),
    Sort.GENERATION: ("first", "g", "h"),
    Sort.PROTOCOL: ("no_protocol", "range", "sticky"),
    Sort.ASSIGNMENT: ("nothing", "this", "that"),
    Sort.RECORD: ("r",),
}
"""What there is at most, by sort; names of `CONSTANTS` are those."""


def elements(sort: Sort) -> list[Any]:
    """The constants of a sort."""
    return [symbol(name if name in CONSTANTS else f"small {name}", (), sort) for name in ELEMENTS[sort]]


def _among(known: list[Any], one: Term) -> Term:
    return either(*(one == other for other in known))


def few(s: State) -> Term:
    """There is no more than `ELEMENTS`, these differ, and nobody is nobody."""
    everything = [s.u.every(sort, partial(_among, elements(sort))) for sort in ELEMENTS]
    differ = [z3.Distinct(elements(sort)) for sort in ELEMENTS if len(ELEMENTS[sort]) > 1]
    relations = ("member", "pending", "joining", "syncing", "owes", "is_new")
    nobody = [no(s.parts[name](s.u.nobody)) for name in relations]
    return z3.And([*everything, *differ, *nobody, s.u.instance(s.u.nobody) == s.u.dynamic])


NOISE = (
    "undone",
    "proposed",
    "answered_restart",
    "answered_sync",
    "answered_alive",
    "pending",
    "is_new",
    "owes",
)
"""Relations that most counterexamples do without."""


def quiet(s: State) -> Term:
    """Relations without rows that would tell nothing."""
    silent = (
        s.u.every(SIGNATURE[name].domain, lambda *at, name=name: no(s.parts[name](*at))) for name in NOISE
    )
    return z3.And([*silent, no(s.initial)])


def readable(claim: Claim, s: State) -> Claim:
    """The claim with its small versions, where a counterexample is looked for."""
    return replace(claim, instances=versions(s))


@cache
def versions(s: State) -> tuple[Callable[[Claim], Claim], ...]:
    """What makes small versions of a claim about this state: first one without noise, then any."""

    def within(extra: dict[str, Term]) -> Callable[[Claim], Claim]:
        return lambda whole: replace(whole, assumptions={**whole.assumptions, **extra}, instances=())

    small = {"there are few": few(s)}
    return within({**small, "and quiet": quiet(s)}), within(small)
