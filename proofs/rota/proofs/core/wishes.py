"""Sentences that one would wish to be kept by every rule, and a rule that breaks each: planted false ones.

They are refuted as inductive: from a state in which the invariant and the wish hold, one step leads to one in
which the wish does not. That such a state is reached is not said here; exploration finds most of them, as
its known weaknesses.
"""

from __future__ import annotations

from dataclasses import dataclass

from rota.proofs.core.conjuncts import Conjunct, Formula
from rota.proofs.core.logic import Sort, Term, both, implies, no
from rota.proofs.core.signature import State
from rota.proofs.core.words import barrier, resting, static

M, G, A = Sort.MEMBER, Sort.GENERATION, Sort.ASSIGNMENT


@dataclass(frozen=True)
class Wish:
    """A false sentence. broken_by: the name of the move that breaks it; why: what happens."""

    name: str
    statement: str
    broken_by: str
    why: str
    formula: Formula

    @property
    def conjunct(self) -> Conjunct:
        """The wish as if it were part of the invariant."""
        return Conjunct(self.name, self.statement, self.formula, (self.broken_by, self.name))


def one_leader_by_id(s: State) -> Term:
    return s.u.every((G, M, M), lambda g, m, n: implies(both(s.led(g, m), s.led(g, n)), m == n))


def joins_only_while_preparing(s: State) -> Term:
    waits = s.u.every(M, lambda m: implies(s.joining(m), s.phase == s.u.PREPARING))
    return implies(resting(s), waits)


def debts_of_members(s: State) -> Term:
    return s.u.every(M, lambda m: implies(s.owes(m), s.member(m)))


def open_barrier_ends(s: State) -> Term:
    waits = both(resting(s), s.phase == s.u.PREPARING, no(s.initial))
    return implies(waits, no(barrier(s)))


def restart_names_the_leader(s: State) -> Term:
    return s.u.every((M, G, M), lambda m, g, n: implies(s.answered_restart(m, g, n), s.led(g, n)))


def always_covered(s: State) -> Term:
    u = s.u

    def has_one(g: Term, m: Term) -> Term:
        return implies(both(s.settled(g), s.belonged(g, m)), u.some(A, lambda a: s.decided(g, m, a)))

    return u.every((G, M), has_one)


def always_the_leaders(s: State) -> Term:
    return s.u.every((G, M, A), lambda g, m, a: implies(s.decided(g, m, a), s.proposed(g, m, a)))


def static_members_know(s: State) -> Term:
    def knows(g: Term, m: Term) -> Term:
        return implies(both(s.belonged(g, m), static(s.u, m)), s.answered_generation(m, g))

    return s.u.every((G, M), knows)


WISHES = (
    Wish(
        "one-leader-by-id",
        "a generation has one leader id",
        "static.replaced-in-stable",
        "a static leader that restarts in Stable leads on under its new id",
        one_leader_by_id,
    ),
    Wish(
        "joins-only-while-preparing",
        "JoinGroups are parked only while a rebalance is prepared",
        "static.replaced-in-stable",
        "that of a static member that restarts in Stable waits for the log",
        joins_only_while_preparing,
    ),
    Wish(
        "debts-of-members",
        "only members owe a SyncGroup",
        "static.replaced",
        "the former id stays among those that must still sync",
        debts_of_members,
    ),
    Wish(
        "open-barrier-ends",
        "a join phase whose barrier is open is over",
        "join.group-max-size-reached",
        "the Java coordinator does not look when it refuses the last that was missing",
        open_barrier_ends,
    ),
    Wish(
        "restart-names-the-leader",
        "the answer to a replacement's JoinGroup names a leader of the generation that it names",
        "static.replacement-stored",
        "it names the current generation, but who led before, or who leads until the next one",
        restart_names_the_leader,
    ),
    Wish(
        "always-covered",
        "in every generation that became Stable every member has an assignment",
        "persistence.assignment-stored",
        "a replacement that was undone meanwhile: the awaited record speaks of the new id",
        always_covered,
    ),
    Wish(
        "always-the-leaders",
        "what a member has is always what the leader handed in for it",
        "persistence.assignment-stored",
        "the same: the former id gets no bytes, which nobody handed in",
        always_the_leaders,
    ),
    Wish(
        "static-members-know",
        "every static member of a generation has been told of it",
        "join.next-generation",
        "one that has not joined stays in the group all the same",
        static_members_know,
    ),
)
"""Planted false ones."""
