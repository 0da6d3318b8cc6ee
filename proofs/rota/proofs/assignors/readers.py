"""Claims about cooperative-sticky that are false, each refuted by two members and one partition."""

from __future__ import annotations

from functools import partial
from typing import Any

import z3

from rota.proofs.assignors.cooperative import (
    ALICE,
    BOB,
    FIRST,
    after,
    all_took,
    claims,
    generation,
    holders_claim,
    holds,
    one,
    others_older,
    target,
    took,
)
from rota.proofs.obligations import Claim, Formula, Obligation
from rota.proofs.story import Story
from rota.proofs.vote.encoding import MEMBER, Rule
from rota.proofs.vote.small_groups import World

PAIR = World(("alice", "bob"), ("cooperative-sticky",))
_m = z3.Const("m", MEMBER)


def _in_pair(goal: Formula, **facts: Formula) -> Claim:
    """A claim about two members, one of which holds the partition, with the fewest and oldest claims."""
    members = [PAIR.member(name) for name in PAIR.members]
    known = {
        "one holder before": one(holds),
        "one target": one(target),
        "generations": z3.And([generation(member) >= 1 for member in members]),
    }
    size = z3.Sum([generation(member) + z3.If(claims(member), 1, 0) for member in members])
    return PAIR.ground_claim(Claim(known | facts, goal, measure=size))


def _one_reads(given: Rule) -> Formula:
    return z3.Implies(z3.And(after(ALICE, given), after(BOB, given)), ALICE == BOB)


def eager() -> Claim:
    """What is claimed is given away at once."""
    return _in_pair(_one_reads(FIRST.given_at_once), claims=holders_claim(), older=others_older())


def unclaimed() -> Claim:
    """The holder does not claim: it lies, or it was removed from the group and does not know."""
    return _in_pair(_one_reads(FIRST.given), older=others_older())


def newer() -> Claim:
    """Somebody claims what another holds, with a newer generation."""
    return _in_pair(_one_reads(FIRST.given), claims=holders_claim())


def by_difference() -> Claim:
    """Upstream with different subscriptions: an old claim is enough to be given the partition at once."""
    return _in_pair(_one_reads(FIRST.given_by_difference), claims=holders_claim(), older=others_older())


def one_generation() -> Claim:
    """What moves is nobody's when all have taken up their parts of the first generation."""
    somebody = z3.Exists([_m], after(_m, FIRST.given))
    wanted = z3.Exists([_m], target(_m))
    facts = {"claims": holders_claim(), "older": others_older(), "wanted": wanted, "all_took": all_took()}
    return _in_pair(somebody, held=z3.Exists([_m], holds(_m)), **facts)


def _tell(given: Rule, model: Any) -> Story:
    """The partition's way from the holder to the readers."""

    def who(rule: Rule) -> list[str]:
        terms = {name: PAIR.ground(rule(PAIR.member(name))) for name in PAIR.members}
        return [n for n, term in terms.items() if z3.is_true(model.eval(term, model_completion=True))]

    def number(name: str) -> int:
        age: int = model.eval(generation(PAIR.member(name)), model_completion=True).as_long()
        return age

    claiming = [f"{name} with generation {number(name)}" for name in who(claims)]
    figures = {
        "holds": _names(who(holds)),
        "claims": _names(claiming),
        "meant_for": _names(who(target)),
        "given_to": _names(who(given)),
        "has_taken_up": _names(who(took)),
        "reads": _names(who(lambda member: after(member, given))),
    }
    return Story(
        (
            f"before: {figures['holds']} reads the partition; it is claimed by {figures['claims']}",
            f"it is meant for {figures['meant_for']} and given to {figures['given_to']}",
            f"when {figures['has_taken_up']} took up what was given: {figures['reads']} read it",
        ),
        tuple(figures.items()),
    )


def _names(names: list[str]) -> str:
    return " and ".join(names) or "nobody"


READERS = (
    Obligation(
        "assignors.cooperative.eager",
        "an assignment that takes no heed of claims keeps a partition with one reader if members do not give "
        "up what they hold before they join",
        "refuted",
        eager,
        explain=partial(_tell, FIRST.given_at_once),
    ),
    Obligation(
        "assignors.cooperative.unclaimed",
        "a partition has one reader though its holder does not claim it, because it lies or was removed and "
        "has not heard of it",
        "refuted",
        unclaimed,
        explain=partial(_tell, FIRST.given),
    ),
    Obligation(
        "assignors.cooperative.newer-claim",
        "a partition has one reader though another than its holder claims it with a newer generation",
        "refuted",
        newer,
        explain=partial(_tell, FIRST.given),
    ),
    Obligation(
        "assignors.cooperative.old-claim",
        "with upstream's rule for different subscriptions a partition has one reader though another claims "
        "it from an older generation",
        "refuted",
        by_difference,
        explain=partial(_tell, FIRST.given_by_difference),
    ),
    Obligation(
        "assignors.cooperative.one-generation",
        "every partition that is meant for somebody is read after one generation",
        "refuted",
        one_generation,
        explain=partial(_tell, FIRST.given),
    ),
)
"""What is refuted, and must be."""
