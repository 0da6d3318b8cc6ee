"""Conjuncts about the group as it is: ids, leader, protocols, who is parked when, where within a step."""

from __future__ import annotations

from rota.proofs.core.conjuncts import at, conjunct, every_append, every_member, in_force
from rota.proofs.core.logic import Sort, Term, both, either, implies, no
from rota.proofs.core.signature import State
from rota.proofs.core.words import candidate, in_generation, static

M, INSTANCE, P, R = Sort.MEMBER, Sort.INSTANCE, Sort.PROTOCOL, Sort.RECORD


@conjunct(
    "one-id-per-instance",
    "no two members have the same instance id",
    needed_by=("persistence.assignment-stored", "decided-once"),
)
def one_id_per_instance(s: State) -> Term:
    u = s.u

    def one(m: Term, n: Term) -> Term:
        shared = both(s.member(m), s.member(n), static(u, m), u.instance(m) == u.instance(n))
        return implies(shared, m == n)

    return u.every((M, M), one)


@conjunct(
    "held-by-members",
    "an instance id is held exactly if a member has it",
    needed_by=("join.next-generation", "static-have-seats"),
)
def held_by_members(s: State) -> Term:
    u = s.u
    members_hold = every_member(s, lambda m: implies(static(u, m), s.held(u.instance(m))))

    def has_member(i: Term) -> Term:
        return u.some(M, lambda m: both(s.member(m), static(u, m), u.instance(m) == i))

    return both(members_hold, u.every(INSTANCE, lambda i: implies(s.held(i), has_member(i))))


@conjunct(
    "leader-is-a-member",
    "a group with members has a leader among them, one without has none",
    needed_by=("static.replaced", "successor-fits"),
)
def leader_is_a_member(s: State) -> Term:
    u = s.u
    not_yet = at(s, u.EMPTYING, u.ABSENT, u.ELECTING)
    somebody = every_member(s, lambda m: s.member(s.leader))
    return either(not_yet, both(somebody, either(s.member(s.leader), s.leader == u.nobody)))


@conjunct(
    "pending-are-no-members",
    "an id that was handed out and not used is no member's",
    needed_by=("leave.remove-member", "pending-are-no-members"),
)
def pending_are_no_members(s: State) -> Term:
    return s.u.every(M, lambda m: no(both(s.pending(m), s.member(m))))


@conjunct(
    "common-protocol",
    "there is a protocol that all members support",
    needed_by=("join.protocol", "chosen-supported-by-all"),
)
def common_protocol(s: State) -> Term:
    nobody = s.u.every(M, lambda m: no(s.member(m)))
    return either(nobody, s.u.some(P, lambda p: candidate(s, p)))


@conjunct(
    "chosen-supported-by-all",
    "with a generation every member supports its protocol",
    needed_by=("join.next-generation", "chosen-supported-by-all"),
)
def chosen_supported_by_all(s: State) -> Term:
    return implies(either(in_force(s), s.point == s.u.COUNTING), candidate(s, s.protocol))


@conjunct(
    "empty-has-nobody",
    "an Empty group has no members, no leader and no protocol",
    needed_by=("join.new-member", "common-protocol"),
)
def empty_has_nobody(s: State) -> Term:
    u = s.u
    bare = both(s.leader == u.nobody, s.protocol == u.no_protocol, u.every(M, lambda m: no(s.member(m))))
    return implies(both(s.phase == u.EMPTY, no(at(s, u.CHANGED, u.BEGINNING))), bare)


@conjunct(
    "joins-fit",
    "JoinGroups are parked while a rebalance is prepared, and in Stable those of restarted static members",
    needed_by=("persistence.assignment-stored", "joins-fit"),
)
def joins_fit(s: State) -> Term:
    u = s.u
    begins = either(s.phase == u.PREPARING, at(s, u.CHANGED, u.BEGINNING))
    restarts = either(s.phase == u.STABLE, s.point == u.REPLACED)
    return u.every(M, lambda m: implies(s.joining(m), either(begins, both(restarts, static(u, m)))))


@conjunct(
    "syncs-fit",
    "SyncGroups are parked only in CompletingRebalance",
    needed_by=("leave.remove-member", "syncs-fit"),
)
def syncs_fit(s: State) -> Term:
    return s.u.every(M, lambda m: implies(s.syncing(m), s.phase == s.u.COMPLETING))


@conjunct(
    "debts-fit",
    "a SyncGroup is owed only in CompletingRebalance and Stable",
    needed_by=("leave.remove-member", "debts-fit"),
)
def debts_fit(s: State) -> Term:
    return s.u.every(M, lambda m: implies(s.owes(m), in_generation(s)))


@conjunct(
    "delay-fits",
    "only a rebalance that is being prepared has an initial delay",
    needed_by=("persistence.assignment-stored", "delay-fits"),
)
def delay_fits(s: State) -> Term:
    return implies(s.initial, s.phase == s.u.PREPARING)


@conjunct(
    "removed-are-members",
    "who is removed is a member",
    needed_by=("leave.remove-member", "held-by-members"),
)
def removed_are_members(s: State) -> Term:
    return implies(s.point == s.u.REMOVING, s.member(s.victim))


@conjunct(
    "waiting-are-members",
    "only members are parked or new",
    needed_by=("join.next-generation", "joins-fit"),
)
def waiting_are_members(s: State) -> Term:
    return s.u.every(M, lambda m: implies(either(s.joining(m), s.syncing(m), s.is_new(m)), s.member(m)))


@conjunct(
    "pending-are-dynamic",
    "an id that was handed out and not used was made for no instance id",
    why="who comes back with it is admitted without a look at who holds what",
    needed_by=("join.pending-member", "one-id-per-instance"),
)
def pending_are_dynamic(s: State) -> Term:
    return s.u.every(M, lambda m: implies(s.pending(m), no(static(s.u, m))))


@conjunct(
    "ending-fits",
    "the rules at the end of a join phase run in PreparingRebalance, the later ones without a delay",
    why="they change members, leader and protocol, which would break a generation that is in force",
    needed_by=("join.empty", "debts-fit"),
)
def ending_fits(s: State) -> Term:
    u = s.u
    late = at(s, u.EMPTYING, u.ABSENT, u.ELECTING, u.VOTING, u.COUNTING)
    preparing = implies(either(s.point == u.ENDING, late), s.phase == u.PREPARING)
    return both(preparing, implies(late, no(s.initial)))


@conjunct(
    "emptying-has-nobody",
    "before the group becomes Empty nobody is left",
    why="the rule itself does not look",
    needed_by=("join.empty", "empty-has-nobody"),
)
def emptying_has_nobody(s: State) -> Term:
    return implies(s.point == s.u.EMPTYING, s.u.every(M, lambda m: no(s.member(m))))


@conjunct(
    "elected-has-joined",
    "the leader of the coming generation is a member and has joined",
    why="it leads a generation that it belongs to",
    needed_by=("join.next-generation", "leader-belongs"),
)
def elected_has_joined(s: State) -> Term:
    u = s.u
    return implies(at(s, u.VOTING, u.COUNTING), both(s.member(s.leader), s.joining(s.leader)))


@conjunct(
    "voters-have-joined",
    "who takes part in the vote has joined, or is static",
    why="all others of the coming generation are told of it",
    needed_by=("join.next-generation", "no-bystander"),
)
def voters_have_joined(s: State) -> Term:
    u = s.u
    voting = at(s, u.ABSENT, u.ELECTING, u.VOTING, u.COUNTING)
    return implies(voting, every_member(s, lambda m: either(s.joining(m), static(u, m))))


@conjunct(
    "removal-goes-on",
    "after a removal the step ends or looks at the barrier only in PreparingRebalance, else it rebalances",
    why="a generation that has lost a member is in force no more",
    needed_by=("leave.remove-member", "members-belong"),
)
def removal_goes_on(s: State) -> Term:
    u = s.u
    rebalances = either(s.after == u.CHANGED, s.after == u.BEGINNING, s.after == u.SWEEPING)
    where = either(rebalances, both(s.after == u.BATCH, s.gone), s.phase == u.PREPARING)
    within = either(rebalances, s.after == u.BATCH, s.after == u.RESTING, s.after == u.CHECKING)
    return implies(s.point == u.REMOVING, both(where, within))


@conjunct(
    "successor-fits",
    "in the midst of a replacement the new id is the only one of its instance, and waits",
    why="what the log will say is about this new and this former id",
    needed_by=("static.replaced-in-stable", "restarts-fit"),
)
def successor_fits(s: State) -> Term:
    u, new, old, r = s.u, s.subject, s.victim, s.change
    ids = both(s.member(new), s.joining(new), no(s.member(old)), u.instance(new) == u.instance(old))
    record = both(u.newcomer(r) == new, u.former(r) == old, u.led_then(r) != new)
    return implies(s.point == u.REPLACED, both(ids, static(u, new), record, s.phase != u.EMPTY))


@conjunct(
    "restarts-fit",
    "the record of a replacement names two ids of one instance, and another leader than the new id",
    why="what is done when the log answers is about them",
    needed_by=("static.replacement-failed", "one-id-per-instance"),
)
def restarts_fit(s: State) -> Term:
    u = s.u

    def fits(r: Term) -> Term:
        new, old = u.newcomer(r), u.former(r)
        return both(static(u, new), u.instance(new) == u.instance(old), u.led_then(r) != new)

    return every_append(s, u.REPLACEMENT, fits)
