"""LeaveGroup (`rota.spec.classic.leave`): a batch of any length, identity by identity.

A coordinator that reacts after each identity (`Profile.leaves_one_by_one`) does what batches of one do.
"""

from __future__ import annotations

from rota.proofs.core.logic import Sort, both, either, ite, no
from rota.proofs.core.moves import Args, Effect, move
from rota.proofs.core.signature import State
from rota.proofs.core.words import fenced, resting, unknown, valid

M, INSTANCE = Sort.MEMBER, Sort.INSTANCE


@move("leave.batch", "begins")
def batch_begins(s: State, a: Args) -> Effect:
    """A LeaveGroup arrives."""
    return resting(s), s.but(point=s.u.BATCH, gone=False, returned=False)


@move("leave.batch", "ends")
def batch_ends(s: State, a: Args) -> Effect:
    """Everybody named has gone: the group reacts once, if anybody that counts has left."""
    u = s.u
    returned = both(s.returned, either(u.pending_leave_rebalances, s.phase == u.PREPARING))
    reacts = both(either(s.gone, returned), s.phase != u.EMPTY)
    return s.point == u.BATCH, s.but(point=ite(reacts, u.CHANGED, u.RESTING))


@move("leave.by-instance-id", holder=M)
def by_instance_id(s: State, a: Args) -> Effect:
    """An instance id alone: whoever holds it goes. holder: that member."""
    u = s.u
    guard = both(s.point == u.BATCH, s.member(a.holder), u.instance(a.holder) != u.dynamic)
    return guard, s.but(victim=a.holder, after=u.BATCH, point=u.REMOVING, gone=True)


@move("leave.pending-member", who=M)
def pending_member(s: State, a: Args) -> Effect:
    """An id that was not used is forgotten."""
    guard = both(s.point == s.u.BATCH, s.pending(a.who))
    return guard, s.drop("pending", a.who).but(returned=True)


@move("leave.fenced-instance-id", who=M, at=INSTANCE)
def fenced_instance_id(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(s.point == s.u.BATCH, a.who != s.u.nobody, no(s.pending(a.who)), fenced(s, a.who, a.at)), s


@move("leave.unknown-member", who=M, at=INSTANCE)
def unknown_member(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(s.point == s.u.BATCH, no(s.pending(a.who)), unknown(s, a.who, a.at)), s


@move("leave.member", who=M, at=INSTANCE)
def member(s: State, a: Args) -> Effect:
    """A member goes."""
    u = s.u
    guard = both(s.point == u.BATCH, no(s.pending(a.who)), valid(s, a.who, a.at))
    return guard, s.but(victim=a.who, after=u.BATCH, point=u.REMOVING, gone=True)
