"""The join phase: how a rebalance begins, when it ends, what its end does (`rota.spec.classic.rebalance`)."""

from __future__ import annotations

from collections.abc import Callable

from rota.proofs.core.logic import Sort, Term, both, either, implies, ite, no
from rota.proofs.core.moves import Args, Effect, move
from rota.proofs.core.signature import State
from rota.proofs.core.words import barrier, candidate, follows, static

M, G, P = Sort.MEMBER, Sort.GENERATION, Sort.PROTOCOL


@move("join.rebalance-or-complete", open=None)
def rebalance_or_complete(s: State, a: Args) -> Effect:
    """Begin a rebalance, or end the one that is prepared if its barrier is open; not in an initial delay."""
    u = s.u
    ends = both(no(s.initial), a.open)
    point = ite(s.phase != u.PREPARING, u.BEGINNING, ite(ends, u.ENDING, u.RESTING))
    return both(s.point == u.CHANGED, a.open == barrier(s)), s.but(point=point)


@move("join.complete-if-all-joined", open=None)
def complete_if_all_joined(s: State, a: Args) -> Effect:
    """After an expiry: end the phase if the barrier is open."""
    u = s.u
    runs_on = both(s.initial, no(u.expiry_ends_initial_delay))
    ends = both(s.phase == u.PREPARING, no(runs_on), a.open)
    guard = both(s.point == u.CHECKING, a.open == barrier(s))
    return guard, s.but(point=ite(ends, u.ENDING, u.RESTING))


def syncs_sent_back(s: State, where: Term) -> State:
    """Parked SyncGroups are answered with an error, and no member has an assignment. where: only then."""
    u = s.u
    return s.but(
        syncing=lambda m: both(s.syncing(m), no(where)),
        assigned=lambda m: ite(both(where, s.member(m)), u.nothing, s.assigned(m)),
    )


@move("join.prepare-rebalance", open=None)
def prepare_rebalance(s: State, a: Args) -> Effect:
    """A rebalance begins; from Empty with an initial delay, else it may end at once."""
    u = s.u
    empty = s.phase == u.EMPTY
    guard = both(s.point == u.BEGINNING, a.open == barrier(s))
    post = syncs_sent_back(s, s.phase == u.COMPLETING).none("owes")
    point = ite(both(no(empty), a.open), u.ENDING, u.RESTING)
    return guard, post.but(phase=u.PREPARING, initial=empty, point=point)


def stays(s: State, m: Term) -> Term:
    """A member is not dropped when the phase ends: it has joined, or it is static."""
    return both(s.member(m), either(s.joining(m), static(s.u, m)))


@move("join.complete-phase", some_stay=None, some_came=None)
def complete_phase(s: State, a: Args) -> Effect:
    """Who has not rejoined is out, but for static members."""
    u = s.u
    guard = both(
        s.point == u.ENDING,
        a.some_stay == u.some(M, lambda m: stays(s, m)),
        a.some_came == u.some(M, lambda m: both(s.member(m), s.joining(m))),
    )
    post = s.but(
        member=lambda m: stays(s, m),
        is_new=lambda m: both(s.is_new(m), stays(s, m)),
        syncing=lambda m: both(s.syncing(m), stays(s, m)),
        initial=False,
        point=ite(no(a.some_stay), u.EMPTYING, ite(a.some_came, u.ELECTING, u.ABSENT)),
    )
    return guard, post


@move("join.empty", next=G)
def empty(s: State, a: Args) -> Effect:
    """Nobody is left: Empty, one generation on."""
    u = s.u
    post = s.put("chosen", a.next, u.no_protocol)
    post = post.but(
        phase=u.EMPTY, generation=a.next, protocol=u.no_protocol, leader=u.nobody, point=u.RESTING
    )
    return both(s.point == u.EMPTYING, follows(u, s.generation, a.next)), post


@move("static.nobody-joined", heir=M)
def nobody_joined(s: State, a: Args) -> Effect:
    """Only absent static members are left: the phase goes on, and one of them leads."""
    u = s.u
    leads = either(
        both(s.member(s.leader), a.heir == s.leader), both(no(s.member(s.leader)), s.member(a.heir))
    )
    return both(s.point == u.ABSENT, leads), s.but(leader=a.heir, point=u.RESTING)


@move("join.leader", heir=M)
def elect_leader(s: State, a: Args) -> Effect:
    """The leader stays if it has rejoined, else any member that has takes its place."""
    u = s.u
    joined = both(s.member(s.leader), s.joining(s.leader))
    leads = either(both(joined, a.heir == s.leader), both(no(joined), s.member(a.heir), s.joining(a.heir)))
    return both(s.point == u.ELECTING, leads), s.but(leader=a.heir, point=u.VOTING)


@move("join.protocol", winner=P)
def choose_protocol(s: State, a: Args) -> Effect:
    """Any candidate may win; who may is the business of the proofs of the vote. None where there is none."""
    u = s.u
    without = both(a.winner == u.no_protocol, no(u.some(P, lambda p: candidate(s, p))))
    guard = both(s.point == u.VOTING, either(candidate(s, a.winner), without))
    return guard, s.but(protocol=a.winner, point=u.COUNTING)


@move("join.next-generation", next=G)
def next_generation(s: State, a: Args) -> Effect:
    """The generation grows and all parked JoinGroups are answered; the leader gets the list."""
    u = s.u
    answered = answered_current(s.but(generation=a.next), lambda m: both(s.member(m), s.joining(m)))
    post = answered.put("led", a.next, s.leader).put("chosen", a.next, s.protocol)
    post = post.but(
        phase=u.COMPLETING,
        point=u.RESTING,
        joining=lambda m: both(s.joining(m), no(s.member(m))),
        is_new=lambda m: both(s.is_new(m), no(s.member(m))),
        owes=lambda m: both(u.sync_timer, s.member(m)),
        belonged=lambda g, m: either(s.belonged(g, m), both(g == a.next, s.member(m))),
        seat=lambda g, i: either(s.seat(g, i), both(g == a.next, s.held(i))),
    )
    return both(s.point == u.COUNTING, follows(u, s.generation, a.next)), post


def answered_current(s: State, answered: Callable[[Term], Term]) -> State:
    """Successful answers to JoinGroups with what the group is now; the leader's has the member list.

    answered: which members are.
    """
    g0, leader = s.generation, s.leader
    to_leader = answered(leader)

    def now(before: Term, g: Term, m: Term) -> Term:
        return either(before, both(g == g0, answered(m)))

    def in_list(before: Term, m: Term, g: Term, entry: Term) -> Term:
        return either(before, both(g == g0, m == leader, to_leader, entry))

    return s.but(
        answered_generation=lambda m, g: now(s.answered_generation(m, g), g, m),
        answered_leader=lambda m, g, n: either(
            s.answered_leader(m, g, n), both(g == g0, answered(m), n == leader)
        ),
        answered_protocol=lambda m, g, p: either(
            s.answered_protocol(m, g, p), both(g == g0, answered(m), p == s.protocol)
        ),
        answered_list=lambda m, g: in_list(s.answered_list(m, g), m, g, True),
        listed=lambda m, g, n: in_list(s.listed(m, g, n), m, g, s.member(n)),
        listed_seat=lambda m, g, i: in_list(s.listed_seat(m, g, i), m, g, s.held(i)),
    )


@move("leave.remove-member", heir=M)
def remove_member(s: State, a: Args) -> Effect:
    """A member goes; if it led, any other takes the lead, rejoined or not."""
    u, who = s.u, s.victim
    alone = u.every(M, lambda m: implies(s.member(m), m == who))
    inherits = either(both(s.member(a.heir), a.heir != who), both(a.heir == u.nobody, alone))
    leads = either(both(s.leader != who, a.heir == s.leader), both(s.leader == who, inherits))
    post = s
    for name in ("member", "joining", "syncing", "is_new", "owes"):
        post = post.drop(name, who)
    post = post.drop("held", u.instance(who))
    return both(s.point == u.REMOVING, leads), post.but(leader=a.heir, point=s.after)
