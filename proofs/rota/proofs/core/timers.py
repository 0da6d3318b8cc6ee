"""What happens when a timer is due (`rota.spec.classic.timers`).

Abstraction: timers are not part of the state. One may be due whenever the group's state calls for it, which
is what the property `timers.match-state` says of all explored states.
"""

from __future__ import annotations

from rota.proofs.core.logic import Sort, both, either, ite, no
from rota.proofs.core.moves import Args, Effect, move
from rota.proofs.core.signature import State
from rota.proofs.core.words import resting

M = Sort.MEMBER


@move("timers.initial-delay-extended")
def initial_delay_extended(s: State, a: Args) -> Effect:
    """One more window: nothing changes but the time that is left."""
    return both(resting(s), s.phase == s.u.PREPARING, s.initial), s


@move("timers.initial-delay-over")
def initial_delay_over(s: State, a: Args) -> Effect:
    """The first join phase ends."""
    return both(resting(s), s.phase == s.u.PREPARING, s.initial), s.but(point=s.u.ENDING)


@move("timers.join-timeout")
def join_timeout(s: State, a: Args) -> Effect:
    """The join phase ends with those who came."""
    return both(resting(s), s.phase == s.u.PREPARING, no(s.initial)), s.but(point=s.u.ENDING)


@move("timers.sync-timeout", "begins")
def sync_timeout_begins(s: State, a: Args) -> Effect:
    """Somebody has not synced in time."""
    return both(resting(s), s.u.some(M, lambda m: s.owes(m))), s.but(point=s.u.SWEEPING)


@move("timers.sync-timeout", "removes", who=M)
def sync_timeout_removes(s: State, a: Args) -> Effect:
    """A member that has not is removed; in any order, which decides nothing."""
    u = s.u
    guard = both(s.point == u.SWEEPING, s.member(a.who), s.owes(a.who))
    return guard, s.but(victim=a.who, after=u.SWEEPING, point=u.REMOVING)


@move("timers.sync-timeout", "ends")
def sync_timeout_ends(s: State, a: Args) -> Effect:
    """The rest rebalance."""
    u = s.u
    rest = u.every(M, lambda m: no(both(s.member(m), s.owes(m))))
    return both(s.point == u.SWEEPING, rest), s.but(point=u.BEGINNING)


@move("timers.session-ignored", who=M)
def session_ignored(s: State, a: Args) -> Effect:
    """The member waits for an answer: nothing changes."""
    waits = either(s.joining(a.who), s.syncing(a.who))
    return both(resting(s), s.member(a.who), no(s.is_new(a.who)), waits), s


def _removed(s: State, a: Args) -> State:
    u = s.u
    then = ite(s.phase == u.PREPARING, u.CHECKING, u.BEGINNING)
    return s.but(victim=a.who, after=then, point=u.REMOVING)


@move("timers.session-expired", who=M)
def session_expired(s: State, a: Args) -> Effect:
    """A silent member is removed."""
    waits = either(s.joining(a.who), s.syncing(a.who))
    guard = both(resting(s), s.member(a.who), no(s.is_new(a.who)), no(waits))
    return guard, _removed(s, a)


@move("timers.new-member-expired", who=M)
def new_member_expired(s: State, a: Args) -> Effect:
    """A new member whose first join phase lasts too long is removed."""
    return both(resting(s), s.member(a.who), s.is_new(a.who)), _removed(s, a)


@move("timers.pending-expired", who=M)
def pending_expired(s: State, a: Args) -> Effect:
    """An id that was not used in time is forgotten."""
    return both(resting(s), s.pending(a.who)), s.drop("pending", a.who).but(point=s.u.CHECKING)
