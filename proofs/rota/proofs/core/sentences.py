"""What one wants to know, and which conjuncts it follows from."""

from __future__ import annotations

from dataclasses import dataclass

from rota.proofs.core.conjuncts import Formula, in_force
from rota.proofs.core.logic import Sort, Term, both, either, implies, no
from rota.proofs.core.signature import State
from rota.proofs.core.words import calm, same, static, up_to

M, INSTANCE, G = Sort.MEMBER, Sort.INSTANCE, Sort.GENERATION
P, A = Sort.PROTOCOL, Sort.ASSIGNMENT


@dataclass(frozen=True)
class Sentence:
    """A sentence about every state. uses: the conjuncts that it follows from, each needed."""

    name: str
    statement: str
    uses: tuple[str, ...]
    formula: Formula


def _believes_to_lead(s: State, m: Term, g: Term) -> Term:
    """It was told that it leads, however."""
    return either(s.answered_leader(m, g, m), s.answered_restart(m, g, m), s.answered_list(m, g))


def one_believes(s: State) -> Term:
    u = s.u

    def one(m: Term, n: Term, g: Term) -> Term:
        return implies(both(_believes_to_lead(s, m, g), _believes_to_lead(s, n, g)), same(u, m, n))

    return u.every((M, M, G), one)


def leader_answered_is_a_member(s: State) -> Term:
    return s.u.every((M, G, M), lambda m, g, n: implies(s.answered_leader(m, g, n), s.belonged(g, n)))


def same_leader_answered(s: State) -> Term:
    u = s.u

    def agree(m: Term, n: Term, g: Term, k: Term, other: Term) -> Term:
        return implies(both(s.answered_leader(m, g, k), s.answered_leader(n, g, other)), same(u, k, other))

    return u.every((M, M, G, M, M), agree)


def same_protocol_answered(s: State) -> Term:
    def agree(m: Term, n: Term, g: Term, p: Term, q: Term) -> Term:
        return implies(both(s.answered_protocol(m, g, p), s.answered_protocol(n, g, q)), p == q)

    return s.u.every((M, M, G, P, P), agree)


def list_is_the_membership(s: State) -> Term:
    u, g0 = s.u, s.generation

    def ids(m: Term, n: Term) -> Term:
        dynamic = both(s.answered_list(m, g0), no(static(u, n)))
        return implies(dynamic, s.listed(m, g0, n) == s.member(n))

    def instances(m: Term, i: Term) -> Term:
        return implies(s.answered_list(m, g0), s.listed_seat(m, g0, i) == s.held(i))

    return implies(in_force(s), both(u.every((M, M), ids), u.every((M, INSTANCE), instances)))


def assignments_cover(s: State) -> Term:
    u = s.u

    def exactly(g: Term, m: Term) -> Term:
        has_one = u.some(A, lambda a: s.decided(g, m, a))
        return implies(both(s.settled(g), no(s.undone(g))), s.belonged(g, m) == has_one)

    return u.every((G, M), exactly)


def own_assignment(s: State) -> Term:
    def own(m: Term, g: Term, a: Term) -> Term:
        return implies(
            both(s.answered_sync(m, g, a), no(s.undone(g))), both(s.proposed(g, m, a), s.belonged(g, m))
        )

    return s.u.every((M, G, A), own)


def one_assignment(s: State) -> Term:
    u = s.u

    def one(m: Term, n: Term, g: Term, a: Term, b: Term) -> Term:
        return implies(both(s.answered_sync(m, g, a), s.answered_sync(n, g, b), same(u, m, n)), a == b)

    return u.every((M, M, G, A, A), one)


def as_stored(s: State) -> Term:
    def stored(m: Term, a: Term) -> Term:
        return implies(both(s.member(m), s.answered_sync(m, s.generation, a)), a == s.assigned(m))

    stable = both(calm(s), s.phase == s.u.STABLE)
    return implies(stable, s.u.every((M, A), stored))


def not_ahead(s: State) -> Term:
    u = s.u

    def reached(m: Term, g: Term) -> Term:
        return implies(either(s.answered_generation(m, g), s.answered_alive(m, g)), up_to(u, g, s.generation))

    return u.every((M, G), reached)


def everybody_knows(s: State) -> Term:
    def knows(m: Term) -> Term:
        return implies(both(s.member(m), no(static(s.u, m))), s.answered_generation(m, s.generation))

    return implies(in_force(s), s.u.every(M, knows))


SENTENCES = (
    Sentence(
        "one-believes-to-lead",
        "of those who are told that they lead a generation all are one member",
        ("one-leader", "answered-leader", "answered-restart", "list-for-the-leader"),
        one_believes,
    ),
    Sentence(
        "named-leader-is-a-member",
        "whom a JoinGroup's answer names as the leader is a member of that generation",
        ("answered-leader", "leader-belongs"),
        leader_answered_is_a_member,
    ),
    Sentence(
        "same-leader-for-all",
        "all answers to JoinGroups name the same leader of a generation, but those to restarted members",
        ("answered-leader", "one-leader"),
        same_leader_answered,
    ),
    Sentence(
        "same-protocol-for-all",
        "all answers to JoinGroups name the same protocol of a generation",
        ("answered-protocol", "one-protocol"),
        same_protocol_answered,
    ),
    Sentence(
        "list-is-the-membership",
        "the list that the leader of the current generation was given is the membership",
        (
            "list-is-complete",
            "listed-belong",
            "members-belong",
            "dynamic-stay",
            "seats-are-held",
        ),
        list_is_the_membership,
    ),
    Sentence(
        "assignments-cover",
        "in a generation that became Stable exactly its members have assignments, unless a replacement was "
        "undone while SyncGroups were awaited",
        ("decided-for-all", "decided-belong"),
        assignments_cover,
    ),
    Sentence(
        "own-assignment",
        "what a SyncGroup is answered is what the leader of that generation handed in for this member, with "
        "the same exception",
        ("answered-sync", "decided-by-the-leader", "decided-belong"),
        own_assignment,
    ),
    Sentence(
        "one-assignment",
        "all answers to the SyncGroups of a member in one generation carry the same",
        ("answered-sync", "decided-once"),
        one_assignment,
    ),
    Sentence(
        "as-stored",
        "what a member was told in the Stable generation is what the coordinator has of it",
        ("answered-sync", "decided-once", "stable-is-decided"),
        as_stored,
    ),
    Sentence(
        "client-not-ahead",
        "nobody is told of a generation that the group has not reached",
        ("answered-generation", "answered-alive", "nothing-ahead"),
        not_ahead,
    ),
    Sentence(
        "everybody-knows",
        "every dynamic member of a generation that is in force has been told of it",
        ("members-belong", "no-bystander"),
        everybody_knows,
    ),
)
"""What follows from the invariant, beside the conjuncts that are wanted for themselves."""
