"""JoinGroup: refusals, newcomers, and rejoining in every state (`rota.spec.classic.join`,
`rota.spec.classic.admission`).

Abstractions: whether there is `room` for the requester and whether its list has `changed` (order and bytes
included) are arguments that may be either, within the limits that the guards state. Timeouts, and whether a
newcomer extends an initial delay, are left out: they decide when timers are due, and a timer may be due at
any time here.
"""

from __future__ import annotations

from rota.proofs.core.logic import Sort, Term, both, either, ite, no
from rota.proofs.core.moves import Args, Effect, move
from rota.proofs.core.rebalance import answered_current
from rota.proofs.core.signature import State
from rota.proofs.core.words import fenced, fits, in_generation, resting, static, unknown, unused, valid

M, INSTANCE, P = Sort.MEMBER, Sort.INSTANCE, Sort.PROTOCOL
OFFERED = (P,)
"""The sort of a request's protocols: a set."""


def _considered(s: State, a: Args) -> Term:
    """A JoinGroup that there is room for and whose protocols fit."""
    return both(resting(s), a.room, fits(s, a.offered))


def _comes_without_id(s: State, a: Args) -> Term:
    return both(_considered(s, a), a.who == s.u.nobody)


def _comes_with_id(s: State, a: Args) -> Term:
    return both(_considered(s, a), a.who != s.u.nobody)


def _known(s: State, a: Args) -> Term:
    """A JoinGroup that gets as far as rejoining."""
    return both(_comes_with_id(s, a), no(s.pending(a.who)), valid(s, a.who, a.at))


@move("join.inconsistent-protocol", who=M, at=INSTANCE, offered=OFFERED, room=None)
def inconsistent_protocol(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(resting(s), a.room, no(fits(s, a.offered))), s


@move("join.fenced-instance-id", who=M, at=INSTANCE, offered=OFFERED, room=None)
def fenced_instance_id(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(_comes_with_id(s, a), no(s.pending(a.who)), fenced(s, a.who, a.at)), s


@move("join.unknown-member", who=M, at=INSTANCE, offered=OFFERED, room=None)
def unknown_member(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(_comes_with_id(s, a), no(s.pending(a.who)), unknown(s, a.who, a.at)), s


@move("static.pending-with-instance", who=M, at=INSTANCE, offered=OFFERED, room=None)
def pending_with_instance(s: State, a: Args) -> Effect:
    """Refused: nothing changes."""
    return both(_comes_with_id(s, a), s.pending(a.who), a.at != s.u.dynamic), s


@move("join.group-max-size-reached", who=M)
def group_max_size_reached(s: State, a: Args) -> Effect:
    """A full group takes nobody: who asked is pending or a member no more.

    Of members only such can be refused as have not rejoined while a rebalance is prepared.
    """
    u = s.u
    late = both(s.phase == u.PREPARING, s.member(a.who), no(s.joining(a.who)))
    guard = both(resting(s), s.phase != u.EMPTY, either(no(s.member(a.who)), late))
    then = ite(both(u.refusal_completes_phase, s.phase == u.PREPARING), u.CHANGED, u.RESTING)
    post = s.drop("pending", a.who).but(victim=a.who, after=then)
    return guard, post.but(point=ite(s.member(a.who), u.REMOVING, then))


@move("join.member-id-required", fresh=M, who=M, at=INSTANCE, offered=OFFERED, room=None, shakes=None)
def member_id_required(s: State, a: Args) -> Effect:
    """A newcomer is sent away with an id."""
    u = s.u
    guard = both(_comes_without_id(s, a), a.shakes, a.at == u.dynamic, unused(s, a.fresh, u.dynamic))
    return guard, s.put("pending", a.fresh)


@move("join.new-member", fresh=M, who=M, at=INSTANCE, offered=OFFERED, room=None, shakes=None)
def new_member(s: State, a: Args) -> Effect:
    """A newcomer without the handshake is admitted at once."""
    u = s.u
    guard = both(_comes_without_id(s, a), no(a.shakes), a.at == u.dynamic, unused(s, a.fresh, u.dynamic))
    return guard, admitted(s, a, a.fresh)


@move("static.new-member", fresh=M, who=M, at=INSTANCE, offered=OFFERED, room=None)
def new_static_member(s: State, a: Args) -> Effect:
    """A newcomer with an instance id that nobody holds is admitted at once."""
    vacant = both(a.at != s.u.dynamic, no(s.held(a.at)))
    return both(_comes_without_id(s, a), vacant, unused(s, a.fresh, a.at)), admitted(s, a, a.fresh)


@move("join.pending-member", who=M, at=INSTANCE, offered=OFFERED, room=None)
def pending_member(s: State, a: Args) -> Effect:
    """A newcomer comes back with the id it was given."""
    guard = both(_comes_with_id(s, a), s.pending(a.who), a.at == s.u.dynamic)
    return guard, admitted(s, a, a.who)


def admitted(s: State, a: Args, who: Term) -> State:
    """One member more, its JoinGroup parked; the first one leads."""
    u, old = s.u, s
    post = s.put("member", who).put("joining", who).drop("pending", who)
    return post.but(
        syncing=lambda m: both(old.syncing(m), m != who),
        is_new=lambda m: ite(m == who, u.new_member_timer, old.is_new(m)),
        supports=lambda m, p: ite(m == who, a.offered(p), old.supports(m, p)),
        assigned=lambda m: ite(m == who, u.nothing, old.assigned(m)),
        held=lambda i: either(old.held(i), both(i == u.instance(who), static(u, who))),
        leader=ite(old.leader == u.nobody, who, old.leader),
        point=u.CHANGED,
    )


def _rejoined(s: State, a: Args) -> State:
    """The new list holds and the request is parked, in place of an earlier one."""
    post = s.put("joining", a.who)
    return post.but(supports=lambda m, p: ite(m == a.who, a.offered(p), s.supports(m, p)), point=s.u.CHANGED)


@move("join.while-preparing", who=M, at=INSTANCE, offered=OFFERED, room=None)
def while_preparing(s: State, a: Args) -> Effect:
    """While a rebalance is prepared a member's JoinGroup is parked."""
    return both(_known(s, a), s.phase == s.u.PREPARING), _rejoined(s, a)


@move("join.leader-rejoins", who=M, at=INSTANCE, offered=OFFERED, room=None)
def leader_rejoins(s: State, a: Args) -> Effect:
    """In Stable the leader's JoinGroup begins a rebalance."""
    return both(_known(s, a), s.phase == s.u.STABLE, a.who == s.leader), _rejoined(s, a)


def _same_generation(s: State, a: Args) -> Term:
    leads_stable = both(s.phase == s.u.STABLE, a.who == s.leader)
    return both(_known(s, a), in_generation(s), no(leads_stable))


@move("join.changed-protocols", who=M, at=INSTANCE, offered=OFFERED, room=None, changed=None)
def changed_protocols(s: State, a: Args) -> Effect:
    """With a generation, another list begins a rebalance."""
    return both(_same_generation(s, a), a.changed), _rejoined(s, a)


@move("join.unchanged", who=M, at=INSTANCE, offered=OFFERED, room=None, changed=None)
def unchanged(s: State, a: Args) -> Effect:
    """Else the member gets the current generation again."""
    same_list = s.u.every(P, lambda p: a.offered(p) == s.supports(a.who, p))
    guard = both(_same_generation(s, a), no(a.changed), same_list)
    return guard, answered_current(s, lambda m: m == a.who)
