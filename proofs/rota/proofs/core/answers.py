"""Conjuncts about answers that were sent (`answered_…`): each was true of the generation that it names."""

from __future__ import annotations

from rota.proofs.core.conjuncts import conjunct
from rota.proofs.core.logic import Sort, Term, both, implies, no
from rota.proofs.core.signature import State
from rota.proofs.core.words import static

M, INSTANCE, G = Sort.MEMBER, Sort.INSTANCE, Sort.GENERATION
P, A = Sort.PROTOCOL, Sort.ASSIGNMENT


@conjunct(
    "answered-generation",
    "who is told that it is in a generation is one of its members",
    needed_by=("join.unchanged", "answered-generation"),
)
def answered_generation(s: State) -> Term:
    return s.u.every((M, G), lambda m, g: implies(s.answered_generation(m, g), s.belonged(g, m)))


@conjunct(
    "answered-leader",
    "who is named as its leader leads it",
    needed_by=("join.unchanged", "answered-leader"),
)
def answered_leader(s: State) -> Term:
    return s.u.every((M, G, M), lambda m, g, n: implies(s.answered_leader(m, g, n), s.led(g, n)))


@conjunct(
    "answered-restart",
    "a restarted static member that is told that it leads does",
    needed_by=("static.replacement-stored", "answered-restart"),
)
def answered_restart(s: State) -> Term:
    return s.u.every((M, G), lambda m, g: implies(s.answered_restart(m, g, m), s.led(g, m)))


@conjunct(
    "answered-protocol",
    "what is named as its protocol is",
    needed_by=("join.unchanged", "answered-protocol"),
)
def answered_protocol(s: State) -> Term:
    return s.u.every((M, G, P), lambda m, g, p: implies(s.answered_protocol(m, g, p), s.chosen(g, p)))


@conjunct(
    "list-for-the-leader",
    "only the leader is given the list of members",
    needed_by=("join.next-generation", "list-is-complete"),
)
def list_for_the_leader(s: State) -> Term:
    return s.u.every((M, G), lambda m, g: implies(s.answered_list(m, g), s.led(g, m)))


@conjunct(
    "listed-belong",
    "who is on the list is a member of that generation",
    needed_by=("join.unchanged", "listed-belong"),
)
def listed_belong(s: State) -> Term:
    ids = s.u.every((M, G, M), lambda m, g, n: implies(s.listed(m, g, n), s.belonged(g, n)))
    return both(
        ids, s.u.every((M, G, INSTANCE), lambda m, g, i: implies(s.listed_seat(m, g, i), s.seat(g, i)))
    )


@conjunct(
    "list-is-complete",
    "every member of the generation is on it, a static one by its instance id",
    needed_by=("join.unchanged", "list-is-complete"),
)
def list_is_complete(s: State) -> Term:
    u = s.u

    def by_id(m: Term, g: Term, n: Term) -> Term:
        return implies(both(s.answered_list(m, g), s.belonged(g, n), no(static(u, n))), s.listed(m, g, n))

    def by_instance(m: Term, g: Term, i: Term) -> Term:
        return implies(both(s.answered_list(m, g), s.seat(g, i)), s.listed_seat(m, g, i))

    return both(u.every((M, G, M), by_id), u.every((M, G, INSTANCE), by_instance))


@conjunct(
    "answered-sync",
    "what a SyncGroup is answered is the member's own assignment in that generation",
    needed_by=("sync.stable", "answered-sync"),
)
def answered_sync(s: State) -> Term:
    return s.u.every((M, G, A), lambda m, g, a: implies(s.answered_sync(m, g, a), s.decided(g, m, a)))


@conjunct(
    "answered-alive",
    "whose Heartbeat is told that all is well is a member of the generation that it names",
    needed_by=("heartbeat.alive", "answered-alive"),
)
def answered_alive(s: State) -> Term:
    return s.u.every((M, G), lambda m, g: implies(s.answered_alive(m, g), s.belonged(g, m)))


@conjunct(
    "no-bystander",
    "every dynamic member of a generation has been told so",
    needed_by=("join.next-generation", "no-bystander"),
)
def no_bystander(s: State) -> Term:
    def knows(g: Term, m: Term) -> Term:
        return implies(both(s.belonged(g, m), no(static(s.u, m))), s.answered_generation(m, g))

    return s.u.every((G, M), knows)
