"""cooperative-sticky: no partition is given to a member before another has given it up.

One partition, any one; any number of members. Somebody may *hold* it (reads it). Members join without giving
it up and *claim* what they hold, with the generation in which they got it. A claim *counts* if it is of a
higher generation than all others. The leader wants it to go to one member, its *target*, and gives it that
unless somebody else's claim stands against that. Then members take up what they were given, one after
the other: at each moment those in `took` have. What is proved of one generation is proved of the next one,
for the holders after it are the holders before that: who joins again takes up no part of before.

Assumed: who holds the partition takes part in the join phase and claims it, and no claim of another is as new
as the holder's. Cooperative clients claim what they hold, with the generation that they are in, and drop it
when they learn that they are out of the group; between being removed and learning that they still read
(docs/limits.md: so does any client). Both are refuted when dropped.
Source: KIP-429, KIP-792; upstream CooperativeStickyAssignor#adjustAssignment,
#computePartitionsTransferringOwnership, AbstractStickyAssignor#allSubscriptionsEqual.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import z3

from rota.proofs.obligations import Claim, Formula, Mutant, Obligation
from rota.proofs.vote.encoding import MEMBER, Rule
from rota.proofs.vote.small_groups import group_claim

ALICE, BOB, CID = (z3.Const(name, MEMBER) for name in ("alice", "bob", "cid"))
_m, _o = z3.Const("m", MEMBER), z3.Const("o", MEMBER)

holds = z3.Function("holds", MEMBER, z3.BoolSort())
claims = z3.Function("claims", MEMBER, z3.BoolSort())
generation = z3.Function("generation", MEMBER, z3.IntSort())
target = z3.Function("target", MEMBER, z3.BoolSort())
took = z3.Function("took", MEMBER, z3.BoolSort())
claims_next = z3.Function("claims_next", MEMBER, z3.BoolSort())
generation_next = z3.Function("generation_next", MEMBER, z3.IntSort())
target_next = z3.Function("target_next", MEMBER, z3.BoolSort())
took_next = z3.Function("took_next", MEMBER, z3.BoolSort())


@dataclass(frozen=True)
class Round:
    """What the leader of one generation reads and wants: predicates of members, and their generations."""

    claims: Rule
    generation: Rule
    target: Rule

    def claimed(self) -> Formula:
        """Somebody claims the partition."""
        return z3.Exists([_o], self.claims(_o))

    def counts(self, member: Formula) -> Formula:
        """The member's claim is newer than all others."""
        older = z3.Implies(
            z3.And(self.claims(_o), _o != member), self.generation(_o) < self.generation(member)
        )
        return z3.And(self.claims(member), z3.ForAll([_o], older))

    def given(self, member: Formula) -> Formula:
        """The member gets the partition: its claim counts, or nobody has one."""
        return z3.And(self.target(member), z3.Or(self.counts(member), z3.Not(self.claimed())))

    def given_by_difference(self, member: Formula) -> Formula:
        """Upstream, where subscriptions differ: held back is what is new for one and lost for another."""
        lost = z3.Exists([_o], z3.And(self.claims(_o), z3.Not(self.target(_o))))
        return z3.And(self.target(member), z3.Or(self.claims(member), z3.Not(lost)))

    def given_at_once(self, member: Formula) -> Formula:
        """As an eager assignor does: whatever is claimed."""
        return self.target(member)

    def given_to_first_of_equals(self, member: Formula) -> Formula:
        """For a mutant: a claim counts if none is newer."""
        newer = z3.And(self.claims(_o), self.generation(_o) > self.generation(member))
        mine = z3.And(self.claims(member), z3.Not(z3.Exists([_o], newer)))
        return z3.And(self.target(member), z3.Or(mine, z3.Not(self.claimed())))


FIRST = Round(claims, generation, target)
SECOND = Round(claims_next, generation_next, target_next)


def one(rule: Rule) -> Formula:
    """At most one member."""
    return z3.ForAll([_m, _o], z3.Implies(z3.And(rule(_m), rule(_o)), _m == _o))


def holders_claim() -> Formula:
    """Who holds the partition claims it."""
    return z3.ForAll([_m], z3.Implies(holds(_m), claims(_m)))


def others_older() -> Formula:
    """Where somebody holds the partition, other claims are older."""
    stale = z3.Implies(z3.And(holds(_m), claims(_o), _o != _m), generation(_o) < generation(_m))
    return z3.ForAll([_m, _o], stale)


def after(member: Formula, given: Rule) -> Formula:
    """Who holds the partition when some have taken up what they were given."""
    return z3.If(took(member), given(member), holds(member))


def all_took() -> Formula:
    """Everybody has."""
    return z3.ForAll([_m], took(_m))


def one_holder(given: Rule = FIRST.given) -> Claim:
    """One generation, at any moment while members take up their parts."""
    facts = {
        "one target": one(target),
        "holders claim": holders_claim(),
        "other claims are older": others_older(),
    }
    both = z3.And(after(ALICE, given), after(BOB, given))
    return group_claim(facts, z3.Implies(both, ALICE == BOB))


def by_difference() -> Claim:
    """Upstream's other rule: right if nobody claims but the holder."""
    facts = {
        "one holder before": one(holds),
        "one target": one(target),
        "claims are true": z3.ForAll([_m], claims(_m) == holds(_m)),
    }
    both = z3.And(after(ALICE, FIRST.given_by_difference), after(BOB, FIRST.given_by_difference))
    return group_claim(facts, z3.Implies(both, ALICE == BOB))


def honest_next(forgets: bool = False) -> Claim:
    """What is assumed of claims holds again if everybody claims just what it holds.

    forgets: (for a mutant) who has taken up its part claims nothing.
    """
    held = z3.And(holds(ALICE), z3.Not(z3.And(forgets, took(ALICE))))
    facts = {
        "one holder": one(holds),
        "claims are true": z3.ForAll([_m], z3.Implies(_m != ALICE, claims(_m) == holds(_m))),
        "as are alice's": claims(ALICE) == held,
    }
    return group_claim(facts, z3.And(holders_claim(), others_older()))


def two_generations(given_next: Rule = SECOND.given) -> Claim:
    """Some take up parts of the first, all claim what they hold, some take up parts of the second."""
    facts = {
        "one holder before": one(holds),
        "claims are true": z3.ForAll([_m], claims(_m) == holds(_m)),
        "claims are true again": z3.ForAll([_m], claims_next(_m) == after(_m, FIRST.given)),
        "one target": one(target),
        "one target again": one(target_next),
    }

    def last(member: Formula) -> Formula:
        return z3.If(took_next(member), given_next(member), after(member, FIRST.given))

    return group_claim(facts, z3.Implies(z3.And(last(ALICE), last(BOB)), ALICE == BOB))


def not_before_revoked(given: Rule = FIRST.given) -> Claim:
    """Who is given the partition is the only one that holds it, if anybody does."""
    facts = {"holders claim": holders_claim(), "other claims are older": others_older()}
    return group_claim(facts, z3.Implies(z3.And(given(ALICE), holds(BOB)), ALICE == BOB))


def keeps(given: Rule = FIRST.given) -> Claim:
    """Who holds it and is to have it has it at every moment."""
    facts = {
        "holders claim": holders_claim(),
        "other claims are older": others_older(),
        "alice holds it": holds(ALICE),
        "it is meant for her": target(ALICE),
    }
    return group_claim(facts, after(ALICE, given))


def moved() -> Claim:
    """bob holds what is meant for alice; all take up their parts, claim them and join again."""
    taken = z3.ForAll([_m], claims_next(_m) == after(_m, FIRST.given))
    facts = {
        "holders claim": holders_claim(),
        "other claims are older": others_older(),
        "one target": one(target),
        "bob holds it": holds(BOB),
        "it is meant for alice": z3.And(target(ALICE), ALICE != BOB),
        "parts are claimed": taken,
        "all have taken up": all_took(),
    }
    return group_claim(facts, SECOND.given(CID) == target_next(CID))


def settled() -> Claim:
    """The second leader leaves the partition to whom the first gave it: that is what sticky does."""
    stays = z3.ForAll([_m], z3.Implies(FIRST.given(_m), target_next(_m)))
    facts = {
        "one target again": one(target_next),
        "parts are claimed": z3.ForAll([_m], claims_next(_m) == FIRST.given(_m)),
        "sticky": stays,
    }
    return group_claim(facts, SECOND.given(CID) == target_next(CID))


def contradiction(given: Rule = FIRST.given) -> Claim:
    """alice and bob claim it with the same generation, the newest: no claim counts and both give it up."""
    newest = z3.ForAll([_m], z3.Implies(claims(_m), generation(_m) <= generation(ALICE)))
    facts = {
        "both claim it": z3.And(claims(ALICE), claims(BOB), ALICE != BOB),
        "with one generation": generation(BOB) == generation(ALICE),
        "the newest": newest,
        "all have taken up": all_took(),
    }
    return group_claim(facts, z3.Not(after(CID, given)))


COOPERATIVE = (
    Obligation(
        "assignors.cooperative.one-holder",
        "at every moment while members take up their parts of a generation, in any order, at most one member "
        "reads a partition",
        "proved",
        one_holder,
        (
            Mutant("as an eager assignor", partial(one_holder, FIRST.given_at_once)),
            Mutant("any claim of its own will do", partial(one_holder, FIRST.given_by_difference)),
        ),
    ),
    Obligation(
        "assignors.cooperative.honest-next",
        "members that claim what they hold meet what is assumed of claims, so the same holds of every "
        "further generation",
        "proved",
        honest_next,
        (Mutant("who has taken up its part claims nothing", partial(honest_next, True)),),
    ),
    Obligation(
        "assignors.cooperative.two-generations",
        "over two generations of members that claim what they hold at most one reads a partition, whoever "
        "has taken up its part when the second begins",
        "proved",
        two_generations,
        (Mutant("the second as an eager assignor", partial(two_generations, SECOND.given_at_once)),),
    ),
    Obligation(
        "assignors.cooperative.by-difference",
        "upstream's rule for different subscriptions keeps it too if nobody claims what it does not hold",
        "proved",
        by_difference,
    ),
    Obligation(
        "assignors.cooperative.not-before-revoked",
        "no partition is given to a member while another that claims it has not revoked it",
        "proved",
        not_before_revoked,
        (Mutant("as an eager assignor", partial(not_before_revoked, FIRST.given_at_once)),),
    ),
    Obligation(
        "assignors.cooperative.keeps",
        "nobody loses what it holds and is to have, not even for a moment",
        "proved",
        keeps,
        (
            Mutant(
                "everything claimed is held back",
                partial(keeps, lambda member: z3.And(target(member), z3.Not(FIRST.claimed()))),
            ),
        ),
    ),
    Obligation(
        "assignors.cooperative.moved",
        "a partition that moves is given in the second generation, to whomever it is meant for then",
        "proved",
        moved,
    ),
    Obligation(
        "assignors.cooperative.settled",
        "if the second leader leaves everybody what the first one gave, it holds nothing back",
        "proved",
        settled,
    ),
    Obligation(
        "assignors.cooperative.contradiction",
        "if two members claim a partition with the same, newest generation, nobody has it when all have "
        "taken up their parts",
        "proved",
        contradiction,
        (Mutant("of equals one counts", partial(contradiction, FIRST.given_to_first_of_equals)),),
    ),
)
"""What is proved of cooperative-sticky."""
