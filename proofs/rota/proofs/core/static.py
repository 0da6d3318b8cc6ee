"""Static members: restarts, and what the log says to them (`rota.spec.classic.static`,
`rota.spec.classic.replacement`).
"""

from __future__ import annotations

from rota.proofs.core.join import OFFERED
from rota.proofs.core.logic import Sort, Term, both, either, ite, no
from rota.proofs.core.moves import Args, Effect, move
from rota.proofs.core.signature import State
from rota.proofs.core.words import candidate, fits, in_generation, resting, unused

M, INSTANCE, G, P, R = Sort.MEMBER, Sort.INSTANCE, Sort.GENERATION, Sort.PROTOCOL, Sort.RECORD


def renamed(s: State, old: Term, new: Term, joins: bool, is_new: Term) -> State:
    """A member under another id, with its assignment, and with the lead if it had it.

    joins: whether its JoinGroup is parked; is_new: whether it still is. `owes` stays as it is.
    """
    post = s
    for name in ("member", "joining", "syncing", "is_new"):
        post = post.drop(name, old).drop(name, new)
    post = post.put("member", new)
    post = post.put("joining", new) if joins else post
    new_before = post.is_new
    return post.but(
        is_new=lambda m: either(new_before(m), both(m == new, is_new)),
        assigned=lambda m: ite(m == new, s.assigned(old), s.assigned(m)),
        leader=ite(s.leader == old, new, s.leader),
    )


@move("static.replaced", fresh=M, holder=M, who=M, at=INSTANCE, offered=OFFERED, room=None, record=R)
def replaced(s: State, a: Args) -> Effect:
    """A static member that comes without a member id takes its own place under a new one.

    holder: its former id, which still owes a SyncGroup unless that is mended. record: what would be written
    of it, used in Stable only.
    """
    u, r = s.u, a.record
    here = both(s.member(a.holder), u.instance(a.holder) == a.at, a.at != u.dynamic)
    fresh = unused(s, a.fresh, a.at)
    keeps = u.every(P, lambda p: u.former_supports(r, p) == s.supports(a.holder, p))
    content = both(u.newcomer(r) == a.fresh, u.former(r) == a.holder, u.led_then(r) == s.leader, keeps)
    request = both(resting(s), a.room, fits(s, a.offered), a.who == u.nobody)
    still_new = both(u.replaced_member_stays_new, s.is_new(a.holder))
    post = renamed(s, a.holder, a.fresh, True, still_new)
    post = post.but(
        supports=lambda m, p: ite(m == a.fresh, a.offered(p), s.supports(m, p)),
        owes=lambda m: both(s.owes(m), either(u.replaced_owes_sync, m != a.holder)),
        victim=a.holder,
        subject=a.fresh,
        change=r,
        point=u.REPLACED,
    )
    return both(request, here, fresh, content), post


@move("static.replaced-while-preparing")
def replaced_while_preparing(s: State, a: Args) -> Effect:
    """While a rebalance is prepared the barrier may be open now."""
    return both(s.point == s.u.REPLACED, s.phase == s.u.PREPARING), s.but(point=s.u.CHANGED)


@move("static.replaced-while-completing")
def replaced_while_completing(s: State, a: Args) -> Effect:
    """In CompletingRebalance a rebalance begins."""
    return both(s.point == s.u.REPLACED, s.phase == s.u.COMPLETING), s.but(point=s.u.BEGINNING)


@move("static.replaced-changed-vote")
def replaced_changed_vote(s: State, a: Args) -> Effect:
    """In Stable, where a vote may choose another protocol, a rebalance begins. Any candidate may win."""
    other = s.u.some(P, lambda p: both(p != s.protocol, candidate(s, p)))
    loses = either(no(candidate(s, s.protocol)), other)
    return both(s.point == s.u.REPLACED, s.phase == s.u.STABLE, loses), s.but(point=s.u.CHANGED)


def takes_place(s: State, old: Term, new: Term) -> State:
    """In the history of the current generation the new id is what the old one was."""
    g0 = s.generation

    def as_old(g: Term, m: Term, was: Term) -> Term:
        return both(g == g0, m == new, was)

    return s.but(
        belonged=lambda g, m: either(s.belonged(g, m), as_old(g, m, s.belonged(g0, old))),
        led=lambda g, m: either(s.led(g, m), as_old(g, m, s.led(g0, old))),
        proposed=lambda g, m, what: either(s.proposed(g, m, what), as_old(g, m, s.proposed(g0, old, what))),
        decided=lambda g, m, what: either(s.decided(g, m, what), as_old(g, m, s.decided(g0, old, what))),
    )


@move("static.replaced-in-stable")
def replaced_in_stable(s: State, a: Args) -> Effect:
    """In Stable, where a vote may choose the same protocol, nobody rebalances and the log is told."""
    u, r = s.u, s.change
    covers = u.every(M, lambda m: u.covers(r, m) == s.member(m))
    written = both(no(s.appended(r)), u.kind(r) == u.REPLACEMENT, u.written_in(r) == s.generation, covers)
    guard = both(s.point == u.REPLACED, s.phase == u.STABLE, candidate(s, s.protocol), written)
    return guard, takes_place(s, s.victim, s.subject).put("appended", r).but(point=u.RESTING)


def _answered(s: State, a: Args) -> Term:
    return both(resting(s), s.appended(a.record), s.u.kind(a.record) == s.u.REPLACEMENT)


@move("static.replacement-stored", "late", record=R)
def replacement_stored_late(s: State, a: Args) -> Effect:
    """Nobody waits any more, or upstream cannot answer: nothing changes."""
    u = s.u
    new = u.newcomer(a.record)
    stuck = both(u.skips(a.record), s.leader == new, s.phase == u.PREPARING)
    return both(_answered(s, a), either(no(s.joining(new)), stuck)), s.drop("appended", a.record)


@move("static.replacement-stored", record=R)
def replacement_stored(s: State, a: Args) -> Effect:
    """Its JoinGroup is answered with what the group is now; to an old version, with who led before."""
    u, g0 = s.u, s.generation
    new, skips = u.newcomer(a.record), u.skips(a.record)
    stuck = both(skips, s.leader == new, s.phase == u.PREPARING)
    named = ite(skips, s.leader, u.led_then(a.record))
    leads = both(skips, s.leader == new)

    def in_list(m: Term, g: Term, entry: Term) -> Term:
        return both(leads, m == new, g == g0, entry)

    post = s.drop("appended", a.record).drop("joining", new)
    post = post.put("answered_generation", new, g0).put("answered_protocol", new, g0, s.protocol)
    post = post.put("answered_restart", new, g0, named)
    post = post.but(
        answered_list=lambda m, g: either(s.answered_list(m, g), in_list(m, g, True)),
        listed=lambda m, g, n: either(s.listed(m, g, n), in_list(m, g, s.member(n))),
        listed_seat=lambda m, g, i: either(s.listed_seat(m, g, i), in_list(m, g, s.held(i))),
    )
    return both(_answered(s, a), s.member(new), s.joining(new), no(stuck)), post


@move("static.replacement-failed", "late", record=R)
def replacement_failed_late(s: State, a: Args) -> Effect:
    """The new id is gone, or a generation has answered it and that stays: nothing changes."""
    gone = no(s.member(s.u.newcomer(a.record)))
    return both(_answered(s, a), either(gone, _stays(s, a))), s.drop("appended", a.record)


def _stays(s: State, a: Args) -> Term:
    """Mended, a replacement is not undone in a later generation."""
    return both(no(s.u.late_failure_undoes), s.u.written_in(a.record) != s.generation)


@move("static.replacement-failed", record=R, keeps=None)
def replacement_failed(s: State, a: Args) -> Effect:
    """The former id is back, whatever happened since. keeps: whether the new protocols stay."""
    u, r = s.u, a.record
    new, old = u.newcomer(r), u.former(r)

    def others(p: Term) -> Term:
        return u.every(M, lambda m: either(no(s.member(m)), m == new, s.supports(m, p)))

    def shared(p: Term) -> Term:
        return both(p != u.no_protocol, u.former_supports(r, p), others(p))

    fits_all = either(
        both(s.phase == u.PREPARING, u.some(P, lambda p: shared(p))),
        both(in_generation(s), shared(s.protocol)),
    )
    guard = both(
        _answered(s, a),
        s.member(new),
        no(_stays(s, a)),
        a.keeps == either(u.failed_replacement_keeps_protocols, no(fits_all)),
    )
    post = renamed(s, new, old, False, s.is_new(new))
    post = takes_place(post, new, old).drop("appended", r)
    before = s.undone
    return guard, post.but(
        supports=lambda m, p: ite(
            m == old, ite(a.keeps, s.supports(new, p), u.former_supports(r, p)), s.supports(m, p)
        ),
        undone=lambda g: either(before(g), both(g == s.generation, s.phase == u.COMPLETING)),
    )
