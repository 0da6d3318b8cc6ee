"""The log's answers to appended assignments (`rota.spec.classic.persistence`).

Appends are answered in any order here, once or never. An answer finds the group as it is by then.
"""

from __future__ import annotations

from rota.proofs.core.logic import Sort, Term, both, either, ite, no
from rota.proofs.core.moves import Args, Effect, move
from rota.proofs.core.rebalance import syncs_sent_back
from rota.proofs.core.signature import State
from rota.proofs.core.words import resting

M, R = Sort.MEMBER, Sort.RECORD


def _answered(s: State, a: Args) -> Term:
    return both(resting(s), s.appended(a.record), s.u.kind(a.record) == s.u.ASSIGNMENT)


def _awaited(s: State, a: Args) -> Term:
    return both(s.phase == s.u.COMPLETING, s.u.written_in(a.record) == s.generation)


@move("persistence.late-answer", record=R)
def late_answer(s: State, a: Args) -> Effect:
    """Another state or generation than the append's: nothing changes."""
    return both(_answered(s, a), no(_awaited(s, a))), s.drop("appended", a.record)


@move("persistence.assignment-failed", record=R)
def assignment_failed(s: State, a: Args) -> Effect:
    """The parked SyncGroups are told so, and the group rebalances."""
    post = syncs_sent_back(s, True).drop("appended", a.record)
    return both(_answered(s, a), _awaited(s, a)), post.but(point=s.u.BEGINNING)


@move("persistence.assignment-stored", record=R)
def assignment_stored(s: State, a: Args) -> Effect:
    """Every parked SyncGroup gets its own part (none: no bytes), and the group is Stable."""
    u, g0 = s.u, s.generation

    def part(m: Term) -> Term:
        return ite(u.covers(a.record, m), u.gives(a.record, m), u.nothing)

    def stored(m: Term, what: Term) -> Term:
        return both(s.member(m), what == part(m))

    post = s.drop("appended", a.record).none("syncing").put("settled", g0)
    post = post.but(
        phase=u.STABLE,
        assigned=lambda m: ite(s.member(m), part(m), s.assigned(m)),
        decided=lambda g, m, what: either(s.decided(g, m, what), both(g == g0, stored(m, what))),
        answered_sync=lambda m, g, what: either(
            s.answered_sync(m, g, what), both(g == g0, s.syncing(m), stored(m, what))
        ),
    )
    return both(_answered(s, a), _awaited(s, a)), post
