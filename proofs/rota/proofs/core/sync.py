"""SyncGroup (`rota.spec.classic.sync`). Abstraction: whether the protocol that is named `fits` may be
either.
"""

from __future__ import annotations

from rota.proofs.core.logic import Sort, Term, both, either, implies, no
from rota.proofs.core.moves import Args, Effect, move
from rota.proofs.core.signature import State
from rota.proofs.core.words import fenced, resting, unknown, valid

M, INSTANCE, G, A, R = Sort.MEMBER, Sort.INSTANCE, Sort.GENERATION, Sort.ASSIGNMENT, Sort.RECORD


@move("sync.fenced-instance-id", who=M, at=INSTANCE)
def fenced_instance_id(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(resting(s), fenced(s, a.who, a.at)), s


@move("sync.unknown-member", who=M, at=INSTANCE)
def unknown_member(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(resting(s), unknown(s, a.who, a.at)), s


@move("sync.illegal-generation", who=M, at=INSTANCE, of=G)
def illegal_generation(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(resting(s), valid(s, a.who, a.at), a.of != s.generation), s


def _current(s: State, a: Args) -> Term:
    return both(resting(s), valid(s, a.who, a.at), a.of == s.generation)


@move("sync.inconsistent-protocol", who=M, at=INSTANCE, of=G, fits=None)
def inconsistent_protocol(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(_current(s, a), no(a.fits)), s


@move("sync.rebalance-in-progress", who=M, at=INSTANCE, of=G, fits=None)
def rebalance_in_progress(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(_current(s, a), a.fits, s.phase == s.u.PREPARING), s


@move("sync.stable", who=M, at=INSTANCE, of=G, fits=None)
def stable(s: State, a: Args) -> Effect:
    """In Stable the stored assignment is answered at once."""
    guard = both(_current(s, a), a.fits, s.phase == s.u.STABLE)
    post = s.drop("owes", a.who).put("answered_sync", a.who, s.generation, s.assigned(a.who))
    return guard, post


def _waits(s: State, a: Args) -> State:
    """The request is parked in place of an earlier one, and the member has synced."""
    return s.put("syncing", a.who).drop("owes", a.who)


def _completing(s: State, a: Args) -> Term:
    return both(_current(s, a), a.fits, s.phase == s.u.COMPLETING)


@move("sync.follower-waits", who=M, at=INSTANCE, of=G, fits=None)
def follower_waits(s: State, a: Args) -> Effect:
    """A follower waits."""
    return both(_completing(s, a), a.who != s.leader), _waits(s, a)


@move("sync.leader-assigns", who=M, at=INSTANCE, of=G, fits=None, given=(M, A), record=R)
def leader_assigns(s: State, a: Args) -> Effect:
    """The leader's assignment is on its way to the log: a line for each member, whatever the leader gives."""
    u, r = s.u, a.record
    lines = u.every(
        M,
        lambda m: both(u.covers(r, m) == s.member(m), implies(s.member(m), u.gives(r, m) == a.given(m))),
    )
    written = both(no(s.appended(r)), u.kind(r) == u.ASSIGNMENT, u.written_in(r) == s.generation, lines)
    proposed = s.proposed
    post = _waits(s, a).put("appended", r)
    post = post.but(
        proposed=lambda g, m, what: either(
            proposed(g, m, what), both(g == s.generation, s.member(m), what == a.given(m))
        )
    )
    return both(_completing(s, a), a.who == s.leader, written), post
