"""Words that rules and sentences share: who is static, whose request is valid, when a barrier opens."""

from __future__ import annotations

from collections.abc import Callable

from rota.proofs.core.logic import Sort, Term, Universe, both, either, implies, no
from rota.proofs.core.signature import State

M, G, P, R = Sort.MEMBER, Sort.GENERATION, Sort.PROTOCOL, Sort.RECORD


def static(u: Universe, member: Term) -> Term:
    """The id was made for a group instance id."""
    return u.instance(member) != u.dynamic


def same(u: Universe, one: Term, other: Term) -> Term:
    """The same member: one id, or two ids of one instance."""
    return either(one == other, both(static(u, one), u.instance(one) == u.instance(other)))


def up_to(u: Universe, one: Term, other: Term) -> Term:
    """The one generation is not after the other."""
    return either(one == other, u.before(one, other))


def follows(u: Universe, one: Term, following: Term) -> Term:
    """The one generation is directly before the other."""
    between = u.every(G, lambda g: either(up_to(u, g, one), up_to(u, following, g)))
    return both(u.before(one, following), between)


def resting(s: State) -> Term:
    """Between two steps."""
    return s.point == s.u.RESTING


def in_generation(s: State) -> Term:
    """CompletingRebalance or Stable."""
    return either(s.phase == s.u.COMPLETING, s.phase == s.u.STABLE)


def calm(s: State) -> Term:
    """Nobody has come or gone in this step: between two, or where only unused ids have been forgotten."""
    return either(resting(s), both(s.point == s.u.BATCH, no(s.gone)), s.point == s.u.CHECKING)


def fenced(s: State, who: Term, instance: Term) -> Term:
    """`static.validate` says FENCED_INSTANCE_ID: another member holds the instance id."""
    own = both(s.member(who), s.u.instance(who) == instance)
    return both(instance != s.u.dynamic, s.held(instance), no(own))


def unknown(s: State, who: Term, instance: Term) -> Term:
    """`static.validate` says UNKNOWN_MEMBER_ID."""
    vacant = both(instance != s.u.dynamic, no(s.held(instance)))
    return either(vacant, both(no(fenced(s, who, instance)), no(s.member(who))))


def valid(s: State, who: Term, instance: Term) -> Term:
    """`static.validate` says NONE."""
    return both(s.member(who), either(instance == s.u.dynamic, s.u.instance(who) == instance))


def unused(s: State, fresh: Term, instance: Term) -> Term:
    """A member id, made for this instance, that nobody has, nor is to get when the log answers.

    Upstream draws ids at random so that none comes twice; that those who left have had it is not excluded.
    """
    u = s.u
    restarts = u.every(
        R, lambda r: no(both(s.appended(r), u.kind(r) == u.REPLACEMENT, u.newcomer(r) == fresh))
    )
    free = both(fresh != u.nobody, no(s.member(fresh)), no(s.pending(fresh)), restarts)
    return both(free, u.instance(fresh) == instance)


def barrier(s: State) -> Term:
    """`join.barrier`: every member has a parked JoinGroup, and no handed-out id is unused."""
    return s.u.every(M, lambda m: both(no(s.pending(m)), implies(s.member(m), s.joining(m))))


def candidate(s: State, protocol: Term) -> Term:
    """`voting.candidates`: every member supports it."""
    u = s.u
    return both(
        protocol != u.no_protocol, u.every(M, lambda m: implies(s.member(m), s.supports(m, protocol)))
    )


def fits(s: State, offered: Callable[[Term], Term]) -> Term:
    """`join.inconsistent-protocol` lets pass: a protocol that all support, in an Empty group any at all."""
    u = s.u
    empty = s.phase == u.EMPTY
    shared = u.some(P, lambda p: both(offered(p), either(empty, candidate(s, p))))
    return both(shared, no(offered(u.no_protocol)))
