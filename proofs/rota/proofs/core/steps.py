"""Sentences about a step: the generation grows, what has been stays, and only the present is added to it."""

from __future__ import annotations

from dataclasses import dataclass

from rota.proofs.core.claims import Goal
from rota.proofs.core.logic import Term, both, either, implies, no
from rota.proofs.core.signature import SIGNATURE, State
from rota.proofs.core.words import follows


@dataclass(frozen=True)
class StepSentence:
    """A sentence about the states before and after a rule. reads: the names of which it speaks."""

    name: str
    statement: str
    goal: Goal
    reads: tuple[str, ...]


PAST = tuple(name for name, part in SIGNATURE.items() if part.role == "history")
OF_A_GENERATION = ("belonged", "seat", "led", "chosen", "proposed", "decided", "settled")
"""What is said of a generation, which is the first argument."""


def _grows(pre: State, post: State) -> Term:
    same = post.generation == pre.generation
    if isinstance(same, bool) or post.generation.eq(pre.generation):
        return True
    return either(same, follows(pre.u, pre.generation, post.generation))


def _stays(pre: State, post: State) -> Term:
    def kept(name: str) -> Term:
        return pre.u.every(
            SIGNATURE[name].domain, lambda *at: implies(pre.parts[name](*at), post.parts[name](*at))
        )

    return both(*(kept(name) for name in PAST if pre.parts[name] is not post.parts[name]))


def _closed(pre: State, post: State) -> Term:
    def only_now(name: str) -> Term:
        def added(g: Term, *rest: Term) -> Term:
            new = both(post.parts[name](g, *rest), no(pre.parts[name](g, *rest)))
            return implies(new, g == post.generation)

        return pre.u.every(SIGNATURE[name].domain, added)

    return both(*(only_now(name) for name in OF_A_GENERATION if pre.parts[name] is not post.parts[name]))


STEP_SENTENCES = (
    StepSentence("generation-grows", "the generation stays or grows by one", _grows, ("generation",)),
    StepSentence("past-stays", "what has been, and what was told, stays so", _stays, PAST),
    StepSentence(
        "past-is-closed",
        "members, leader, protocol and assignments are added to the group's own generation only",
        _closed,
        OF_A_GENERATION,
    ),
)
"""Proved of each rule that changes what they speak of."""
