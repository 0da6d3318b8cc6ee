"""Rules with a mistake in them, and the obligation that each must break."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

from rota.proofs.core import heartbeat, join, leave, persistence, rebalance, static, sync, timers
from rota.proofs.core.claims import Rule
from rota.proofs.core.logic import Sort, both, either, ite, no
from rota.proofs.core.moves import Args, Effect, Move
from rota.proofs.core.signature import State
from rota.proofs.core.words import follows, resting, unused, valid

M, G, P = Sort.MEMBER, Sort.GENERATION, Sort.PROTOCOL


@dataclass(frozen=True)
class WrongRule:
    """A mutant of a rule. breaks: the name of the conjunct that it does not keep."""

    name: str
    move: Move
    breaks: str
    rule: Rule


def same_generation(s: State, a: Args) -> Effect:
    """The generation is not incremented."""
    _, post = rebalance.next_generation.effect(s, SimpleNamespace(next=s.generation))
    return s.point == s.u.COUNTING, post


def emptied_in_the_same(s: State, a: Args) -> Effect:
    """Emptiness is no generation of its own."""
    _, post = rebalance.empty.effect(s, SimpleNamespace(next=s.generation))
    return s.point == s.u.EMPTYING, post


def leader_stays(s: State, a: Args) -> Effect:
    """Who leaves leads on."""
    guard, post = rebalance.remove_member.effect(s, a)
    return guard, post.but(leader=s.leader)


def absent_leads(s: State, a: Args) -> Effect:
    """The leader stays, rejoined or not."""
    return s.point == s.u.ELECTING, s.but(point=s.u.VOTING)


def absent_stay(s: State, a: Args) -> Effect:
    """Nobody is dropped when the phase ends."""
    guard, post = rebalance.complete_phase.effect(s, a)
    return guard, post.but(member=s.member, is_new=s.is_new, syncing=s.syncing)


def voted_by_some(s: State, a: Args) -> Effect:
    """What any member supports may win."""
    u = s.u
    supported = u.some(M, lambda m: both(s.member(m), s.supports(m, a.winner)))
    guard = both(s.point == u.VOTING, a.winner != u.no_protocol, supported)
    return guard, s.but(protocol=a.winner, point=u.COUNTING)


def joins_stay_parked(s: State, a: Args) -> Effect:
    """Parked JoinGroups are not answered."""
    guard, post = rebalance.next_generation.effect(s, a)
    return guard, post.but(joining=s.joining)


def syncs_stay_parked(s: State, a: Args) -> Effect:
    """Parked SyncGroups are not sent back."""
    guard, post = rebalance.prepare_rebalance.effect(s, a)
    return guard, post.but(syncing=s.syncing)


def list_for_everybody(s: State, a: Args) -> Effect:
    """Whoever asks again gets the list."""
    guard, post = join.unchanged.effect(s, a)
    had_list = s.answered_list
    return guard, post.but(
        answered_list=lambda m, g: either(had_list(m, g), both(g == s.generation, m == a.who))
    )


def id_stays_pending(s: State, a: Args) -> Effect:
    """An id that has been used is still waited for."""
    guard, post = join.pending_member.effect(s, a)
    return guard, post.but(pending=s.pending)


def newcomer_unchecked(s: State, a: Args) -> Effect:
    """A newcomer may list what nobody supports."""
    u = s.u
    listed = both(u.some(P, lambda p: a.offered(p)), no(a.offered(u.no_protocol)))
    free = unused(s, a.fresh, u.dynamic)
    guard = both(resting(s), listed, a.who == u.nobody, a.at == u.dynamic, free)
    return guard, join.admitted(s, a, a.fresh)


def held_by_two(s: State, a: Args) -> Effect:
    """A newcomer is admitted under an instance that a member holds."""
    guard, _ = join.new_static_member.effect(s.none("held"), a)
    return guard, join.admitted(s, a, a.fresh)


def old_id_kept(s: State, a: Args) -> Effect:
    """The former id of a static member stays a member."""
    guard, post = static.replaced.effect(s, a)
    return guard, post.put("member", a.holder)


def vote_not_asked(s: State, a: Args) -> Effect:
    """A replacement in Stable may bring any protocols."""
    guard, post = static.replaced_in_stable.effect(s.but(supports=lambda m, p: True), a)
    return guard, post.but(supports=s.supports)


def sync_of_any_generation(s: State, a: Args) -> Effect:
    """The leader's assignment of an old generation is taken, and written as of that one."""
    old = s.but(generation=a.of)
    guard, post = sync.leader_assigns.effect(old, a)
    return guard, post.but(generation=s.generation)


def sync_too_early(s: State, a: Args) -> Effect:
    """A SyncGroup is answered with what the coordinator has, in every phase."""
    guard, post = sync.stable.effect(s.but(phase=s.u.STABLE), a)
    return guard, post.but(phase=s.phase)


def lines_for_anybody(s: State, a: Args) -> Effect:
    """The record has a line for whomever the leader names."""
    everybody = s.but(member=lambda m: either(s.member(m), a.given(m) != s.u.nothing))
    guard, post = sync.leader_assigns.effect(everybody, a)
    return both(guard, s.member(a.who)), post.but(member=s.member)


def late_answer_counts(s: State, a: Args) -> Effect:
    """The log's answer to an append of an earlier generation is taken for the current one."""
    _, post = persistence.assignment_stored.effect(s, a)
    answered = both(resting(s), s.appended(a.record), s.u.kind(a.record) == s.u.ASSIGNMENT)
    return both(answered, s.phase == s.u.COMPLETING), post


def stable_again(s: State, a: Args) -> Effect:
    """A second answer of the log replaces the assignments of a Stable generation."""
    guard, post = persistence.assignment_stored.effect(s.but(phase=s.u.COMPLETING), a)
    return both(guard, s.phase == s.u.STABLE), post


def alive_in_any(s: State, a: Args) -> Effect:
    """A Heartbeat of any generation is told that all is well."""
    guard = both(resting(s), valid(s, a.who, a.at), s.phase != s.u.PREPARING)
    return guard, s.put("answered_alive", a.who, a.of)


def leaving_unnoticed(s: State, a: Args) -> Effect:
    """Only the leader is missed."""
    guard, post = leave.batch_ends.effect(s, a)
    return guard, post.but(point=s.u.RESTING)


def expired_unnoticed(s: State, a: Args) -> Effect:
    """After an expiry the group does not rebalance."""
    guard, post = timers.session_expired.effect(s, a)
    return guard, post.but(after=ite(s.phase == s.u.PREPARING, s.u.CHECKING, s.u.RESTING))


def one_too_many(s: State, a: Args) -> Effect:
    """The generation grows by two."""
    guard, post = rebalance.next_generation.effect(s, SimpleNamespace(next=a.next))
    after = s.u.some(G, lambda g: both(follows(s.u, s.generation, g), follows(s.u, g, a.next)))
    return both(s.point == s.u.COUNTING, either(guard, after)), post


def leader_forgotten(s: State, a: Args) -> Effect:
    """Who led before is forgotten."""
    guard, post = rebalance.next_generation.effect(s, a)
    return guard, post.but(led=lambda g, m: both(g == a.next, m == s.leader))


def decided_of_the_record(s: State, a: Args) -> Effect:
    """A late answer decides its own generation once more."""
    old = s.but(generation=s.u.written_in(a.record))
    _, post = persistence.assignment_stored.effect(old, a)
    answered = both(resting(s), s.appended(a.record), s.u.kind(a.record) == s.u.ASSIGNMENT)
    return answered, post.but(generation=s.generation)


WRONG_STEPS = (
    WrongRule("grows by two", rebalance.next_generation, "generation-grows", one_too_many),
    WrongRule("leaders forgotten", rebalance.next_generation, "past-stays", leader_forgotten),
    WrongRule("late answer decides", persistence.assignment_stored, "past-is-closed", decided_of_the_record),
)
"""The same for sentences about steps."""

WRONG_RULES = (
    WrongRule("generation stands still", rebalance.next_generation, "one-leader", same_generation),
    WrongRule("emptiness is no generation", rebalance.empty, "one-protocol", emptied_in_the_same),
    WrongRule("who leaves leads on", rebalance.remove_member, "leader-is-a-member", leader_stays),
    WrongRule("absent leader leads", rebalance.elect_leader, "elected-has-joined", absent_leads),
    WrongRule("absent members stay", rebalance.complete_phase, "voters-have-joined", absent_stay),
    WrongRule("vote by union", rebalance.choose_protocol, "chosen-supported-by-all", voted_by_some),
    WrongRule("joins stay parked", rebalance.next_generation, "joins-fit", joins_stay_parked),
    WrongRule("syncs stay parked", rebalance.prepare_rebalance, "syncs-fit", syncs_stay_parked),
    WrongRule("list for everybody", join.unchanged, "list-for-the-leader", list_for_everybody),
    WrongRule("id stays pending", join.pending_member, "pending-are-no-members", id_stays_pending),
    WrongRule("newcomers unchecked", join.new_member, "common-protocol", newcomer_unchecked),
    WrongRule("held by two", join.new_static_member, "one-id-per-instance", held_by_two),
    WrongRule("old id is kept", static.replaced, "one-id-per-instance", old_id_kept),
    WrongRule("vote not asked", static.replaced_in_stable, "chosen-supported-by-all", vote_not_asked),
    WrongRule("sync of any generation", sync.leader_assigns, "records-cover", sync_of_any_generation),
    WrongRule("lines for anybody", sync.leader_assigns, "records-cover", lines_for_anybody),
    WrongRule("sync answered before it is decided", sync.stable, "answered-sync", sync_too_early),
    WrongRule(
        "late answer counts", persistence.assignment_stored, "decided-by-the-leader", late_answer_counts
    ),
    WrongRule("stored twice", persistence.assignment_stored, "decided-once", stable_again),
    WrongRule("alive in any generation", heartbeat.alive, "answered-alive", alive_in_any),
    WrongRule("leaving unnoticed", leave.batch_ends, "members-belong", leaving_unnoticed),
    WrongRule("expiry unnoticed", timers.session_expired, "removal-goes-on", expired_unnoticed),
)
"""The name of each is that of a variant of the obligation that it breaks."""
