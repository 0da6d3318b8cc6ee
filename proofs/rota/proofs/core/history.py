"""Conjuncts about what has been: generations, their members, leaders, protocols and assignments."""

from __future__ import annotations

from rota.proofs.core.conjuncts import conjunct, every_append, every_member, in_force
from rota.proofs.core.logic import Sort, Term, both, either, implies, no
from rota.proofs.core.signature import State
from rota.proofs.core.words import calm, in_generation, same, static, up_to

M, INSTANCE, G = Sort.MEMBER, Sort.INSTANCE, Sort.GENERATION
P, A, R = Sort.PROTOCOL, Sort.ASSIGNMENT, Sort.RECORD


def as_itself(s: State, generation: Term, member: Term) -> Term:
    """It belongs to the generation and is not static."""
    return both(s.belonged(generation, member), no(static(s.u, member)))


@conjunct(
    "nothing-ahead",
    "whatever has been was in the group's generation or before",
    needed_by=("join.next-generation", "one-leader"),
)
def nothing_ahead(s: State) -> Term:
    u, now = s.u, s.generation
    return both(
        u.every((G, M), lambda g, m: implies(s.belonged(g, m), up_to(u, g, now))),
        u.every((G, INSTANCE), lambda g, i: implies(s.seat(g, i), up_to(u, g, now))),
        u.every((G, P), lambda g, p: implies(s.chosen(g, p), up_to(u, g, now))),
        u.every(G, lambda g: implies(s.settled(g), up_to(u, g, now))),
        u.every(R, lambda r: implies(s.appended(r), up_to(u, u.written_in(r), now))),
    )


@conjunct(
    "one-leader",
    "a generation has one leader, which may have had several ids of one instance",
    needed_by=("join.next-generation", "one-leader"),
)
def one_leader(s: State) -> Term:
    u = s.u
    return u.every((G, M, M), lambda g, m, n: implies(both(s.led(g, m), s.led(g, n)), same(u, m, n)))


@conjunct(
    "leader-belongs",
    "the leader of a generation is one of its members",
    needed_by=("join.next-generation", "one-leader"),
)
def leader_belongs(s: State) -> Term:
    return s.u.every((G, M), lambda g, m: implies(s.led(g, m), s.belonged(g, m)))


@conjunct(
    "one-protocol",
    "a generation has one protocol",
    needed_by=("join.next-generation", "one-protocol"),
)
def one_protocol(s: State) -> Term:
    return s.u.every((G, P, P), lambda g, p, q: implies(both(s.chosen(g, p), s.chosen(g, q)), p == q))


@conjunct(
    "members-belong",
    "the members of a group with a generation belong to it",
    needed_by=("join.unchanged", "answered-generation"),
)
def members_belong(s: State) -> Term:
    return implies(in_force(s), every_member(s, lambda m: s.belonged(s.generation, m)))


@conjunct(
    "dynamic-stay",
    "who belongs to the generation and is not static is a member still",
    needed_by=("join.unchanged", "list-is-complete"),
)
def dynamic_stay(s: State) -> Term:
    g0 = s.generation
    return implies(in_force(s), s.u.every(M, lambda m: implies(as_itself(s, g0, m), s.member(m))))


@conjunct(
    "seats-are-held",
    "the instance ids of the generation are exactly those that are held",
    needed_by=("join.unchanged", "list-is-complete"),
)
def seats_are_held(s: State) -> Term:
    return implies(in_force(s), s.u.every(INSTANCE, lambda i: s.seat(s.generation, i) == s.held(i)))


@conjunct(
    "static-have-seats",
    "who belongs to a generation under an instance id has its seat",
    needed_by=("join.next-generation", "static-have-seats"),
)
def static_have_seats(s: State) -> Term:
    u = s.u

    def seated(g: Term, m: Term) -> Term:
        return implies(both(s.belonged(g, m), static(u, m)), s.seat(g, u.instance(m)))

    return u.every((G, M), seated)


@conjunct(
    "records-cover",
    "a written assignment has a line for exactly the members of its generation",
    needed_by=("sync.leader-assigns", "records-cover"),
)
def records_cover(s: State) -> Term:
    u = s.u

    def exactly(r: Term) -> Term:
        g = u.written_in(r)
        inside = u.every(M, lambda m: implies(u.covers(r, m), s.belonged(g, m)))
        return both(inside, u.every(M, lambda m: implies(as_itself(s, g, m), u.covers(r, m))))

    return every_append(s, u.ASSIGNMENT, exactly)


@conjunct(
    "decided-belong",
    "only members of a generation have an assignment in it",
    needed_by=("persistence.assignment-stored", "decided-belong"),
)
def decided_belong(s: State) -> Term:
    return s.u.every((G, M, A), lambda g, m, a: implies(s.decided(g, m, a), s.belonged(g, m)))


@conjunct(
    "decided-once",
    "nobody has two assignments in a generation, not even under two ids",
    needed_by=("persistence.assignment-stored", "decided-once"),
)
def decided_once(s: State) -> Term:
    u = s.u

    def once(g: Term, m: Term, n: Term, a: Term, b: Term) -> Term:
        return implies(both(s.decided(g, m, a), s.decided(g, n, b), same(u, m, n)), a == b)

    return u.every((G, M, M, A, A), once)


@conjunct(
    "decided-for-all",
    "in a generation that became Stable every member has one, unless a replacement was undone meanwhile",
    needed_by=("persistence.assignment-stored", "decided-for-all"),
)
def decided_for_all(s: State) -> Term:
    u = s.u

    def has_one(g: Term, m: Term) -> Term:
        due = both(s.settled(g), no(s.undone(g)), s.belonged(g, m))
        return implies(due, u.some(A, lambda a: s.decided(g, m, a)))

    return u.every((G, M), has_one)


@conjunct(
    "decided-by-the-leader",
    "what a member has is what the leader handed in for it, with the same exception",
    needed_by=("persistence.assignment-stored", "decided-by-the-leader"),
)
def decided_by_the_leader(s: State) -> Term:
    def handed_in(g: Term, m: Term, a: Term) -> Term:
        return implies(both(s.decided(g, m, a), no(s.undone(g))), s.proposed(g, m, a))

    return s.u.every((G, M, A), handed_in)


@conjunct(
    "leader-leads",
    "the group's leader leads its generation",
    why="whom answers name, and whose assignment counts",
    needed_by=("join.unchanged", "answered-leader"),
)
def leader_leads(s: State) -> Term:
    return implies(in_force(s), s.led(s.generation, s.leader))


@conjunct(
    "protocol-is-chosen",
    "the group's protocol is that of its generation, also while the next one is prepared",
    why="what answers name",
    needed_by=("join.unchanged", "answered-protocol"),
)
def protocol_is_chosen(s: State) -> Term:
    return either(s.point == s.u.COUNTING, s.chosen(s.generation, s.protocol))


@conjunct(
    "nobody-renamed-while-completing",
    "in CompletingRebalance whoever belongs to the generation is a member, but for an undone replacement",
    why="the assignment that is awaited speaks of the ids of its time",
    needed_by=("persistence.assignment-stored", "decided-for-all"),
)
def nobody_renamed(s: State) -> Term:
    g0 = s.generation
    awaited = both(calm(s), s.phase == s.u.COMPLETING, no(s.undone(g0)))
    return implies(awaited, s.u.every(M, lambda m: implies(s.belonged(g0, m), s.member(m))))


@conjunct(
    "awaited-record-matches",
    "the awaited assignment has a line for exactly the members, but for an undone replacement",
    why="so each gets what the leader handed in for it",
    needed_by=("persistence.assignment-stored", "decided-by-the-leader"),
)
def awaited_record_matches(s: State) -> Term:
    u, g0 = s.u, s.generation

    def matches(r: Term) -> Term:
        return implies(u.written_in(r) == g0, u.every(M, lambda m: u.covers(r, m) == s.member(m)))

    awaited = both(calm(s), s.phase == u.COMPLETING, no(s.undone(g0)))
    return implies(awaited, every_append(s, u.ASSIGNMENT, matches))


@conjunct(
    "records-proposed",
    "the lines of a written assignment are what the leader handed in",
    why="what is stored is what is written",
    needed_by=("persistence.assignment-stored", "decided-by-the-leader"),
)
def records_proposed(s: State) -> Term:
    u = s.u

    def lines(r: Term) -> Term:
        g = u.written_in(r)
        return u.every(M, lambda m: implies(u.covers(r, m), s.proposed(g, m, u.gives(r, m))))

    return every_append(s, u.ASSIGNMENT, lines)


@conjunct(
    "undecided-while-completing",
    "before a generation is Stable nothing is decided in it",
    why="a generation is decided once",
    needed_by=("persistence.assignment-stored", "decided-once"),
)
def undecided(s: State) -> Term:
    g0 = s.generation
    nothing = s.u.every((M, A), lambda m, a: no(s.decided(g0, m, a)))
    return implies(s.phase == s.u.COMPLETING, both(no(s.settled(g0)), nothing))


@conjunct(
    "stable-is-decided",
    "in Stable the coordinator has of each member what was decided",
    why="what a late SyncGroup is answered",
    needed_by=("sync.stable", "answered-sync"),
)
def stable_is_decided(s: State) -> Term:
    decided = every_member(s, lambda m: s.decided(s.generation, m, s.assigned(m)))
    return implies(both(calm(s), s.phase == s.u.STABLE), decided)


@conjunct(
    "restarted-belong",
    "a static member whose replacement the log has not answered belongs to the current generation",
    why="it may be told of that one at any time",
    needed_by=("static.replacement-stored", "answered-generation"),
)
def restarted_belong(s: State) -> Term:
    u = s.u

    def belongs(r: Term) -> Term:
        return implies(s.member(u.newcomer(r)), s.belonged(s.generation, u.newcomer(r)))

    return every_append(s, u.REPLACEMENT, belongs)


@conjunct(
    "successor-takes-the-place",
    "in the midst of a replacement the generation is as before, with the former id in the new one's place",
    why="the new id then is what the former one was",
    needed_by=("static.replaced-in-stable", "leader-leads"),
)
def successor_takes_the_place(s: State) -> Term:
    u, g0, new, old = s.u, s.generation, s.subject, s.victim
    stable = s.phase == u.STABLE

    def stands(m: Term) -> Term:
        return both(s.belonged(g0, m), implies(stable, s.decided(g0, m, s.assigned(m))))

    former = both(s.belonged(g0, old), implies(stable, s.decided(g0, old, s.assigned(new))))
    here = both(
        every_member(s, lambda m: either(m == new, stands(m))),
        former,
        _leads(s),
        u.every(M, lambda m: implies(as_itself(s, g0, m), s.member(m))),
        u.every(INSTANCE, lambda i: s.seat(g0, i) == s.held(i)),
    )
    return implies(both(s.point == u.REPLACED, in_generation(s)), here)


def _leads(s: State) -> Term:
    """The former id led if the new one does."""
    g0 = s.generation
    other = both(s.leader != s.subject, s.led(g0, s.leader))
    return either(other, both(s.leader == s.subject, s.led(g0, s.victim)))
