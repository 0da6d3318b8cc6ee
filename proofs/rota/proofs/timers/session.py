"""A session: its state, what happens to it, and what holds of it at all times.

One member, anybody, from its admission on; members do not touch each other's timers. Time goes on by single
milliseconds, and none ends while a timer of this millisecond is armed. `timers` is the set of instants at
which the member's session may be due: that it never holds two is proved, in `rota.proofs.timers.sessions`.

A *sign of life* is whatever starts the session anew: a Heartbeat that passes its checks, an OffsetCommit in
Stable or PreparingRebalance, with the Scala coordinator a SyncGroup in Stable. A JoinGroup or SyncGroup that
is parked is none: it keeps the member while it is parked, and the answer starts the session anew.
Source: upstream GroupMetadataManager#rescheduleClassicGroupMemberHeartbeat,
#expireClassicGroupMemberHeartbeat, ClassicGroupMember#hasSatisfiedHeartbeat; the rules
`timers.session-expired`, `timers.session-ignored`, `timers.new-member-expired`, `heartbeat.alive`.
"""

from __future__ import annotations

from typing import NamedTuple

import z3

from rota.proofs.obligations import Formula

NOTHING = z3.EmptySet(z3.IntSort())


class Session(NamedTuple):
    """A member as its session sees it. Milliseconds.

    alive: it is a member; parked: a JoinGroup or SyncGroup of it is; new: its first join phase goes on;
    timers: when its session may be due; heard: its last sign of life; held: the timeout that counts from
    then; timeout: the one that it asked for last; signs: whether it gave a sign at the instant `SIGN`.
    """

    now: Formula
    alive: Formula
    parked: Formula
    new: Formula
    timers: Formula
    heard: Formula
    held: Formula
    timeout: Formula
    signs: Formula


NOW = Session(
    z3.Int("now"),
    z3.Bool("alive"),
    z3.Bool("parked"),
    z3.Bool("new"),
    z3.Const("timers", z3.SetSort(z3.IntSort())),
    z3.Int("heard"),
    z3.Int("held"),
    z3.Int("timeout"),
    z3.Bool("gave_sign"),
)
SIGN = z3.Int("sign")
"""Any one instant: what is proved of it is proved of all."""
ASKED, LIMIT = z3.Int("asked"), z3.Int("new_member_timeout")
YES, NO = z3.BoolVal(True), z3.BoolVal(False)


def only(instant: Formula) -> Formula:
    """The set of one instant."""
    return z3.SetAdd(NOTHING, instant)


def heard(state: Session, held: Formula, cancels: bool = True) -> Session:
    """The session starts anew now. cancels: (False for a mutant) the timer that runs is stopped."""
    due = state.now + held
    timers = only(due) if cancels else z3.SetAdd(state.timers, due)
    signs = z3.Or(state.signs, state.now == SIGN)
    return state._replace(timers=timers, heard=state.now, held=held, signs=signs)


def admitted(state: Session, arms: bool = True) -> Session:
    """A newcomer's JoinGroup is parked; it has the time of new members, whatever its session timeout."""
    fresh = state._replace(alive=YES, parked=YES, new=YES, timers=NOTHING, timeout=ASKED, signs=NO)
    return heard(fresh, LIMIT) if arms else fresh._replace(heard=state.now, held=LIMIT)


def replacing(state: Session, held: Formula = NOW.timeout) -> Session:
    """A static member takes its own place in Stable: parked, and its session has the former timeout."""
    fresh = state._replace(alive=YES, parked=YES, new=NO, timers=NOTHING, timeout=ASKED, signs=NO)
    return heard(fresh, held)


def tick(state: Session) -> Session:
    """A millisecond passes."""
    return state._replace(now=state.now + 1)


def sign(state: Session, cancels: bool = True) -> Session:
    """A sign of life."""
    return heard(state, state.timeout, cancels)


def park(state: Session) -> Session:
    """A JoinGroup or SyncGroup is parked, with any timeout; no timer is touched."""
    return state._replace(parked=YES, timeout=ASKED)


def answer(state: Session, anew: bool = True, cancels: bool = True) -> Session:
    """The parked request is answered, or the join phase ends without one. anew: with a new session."""
    freed = state._replace(parked=NO, new=NO)
    return heard(freed, freed.timeout, cancels) if anew else freed


def stored(state: Session) -> Session:
    """The log has answered and so is the replaced member; no timer is touched."""
    return state._replace(parked=NO)


def due(state: Session, spares_parked: bool = True) -> Session:
    """A timer is due now: who is parked stays, but for new members; else it is expired."""
    spared = z3.And(spares_parked, state.parked, z3.Not(state.new))
    timers = z3.SetDel(state.timers, state.now)
    return state._replace(alive=z3.And(state.alive, spared), timers=timers)


def leave(state: Session, cancels: bool = True) -> Session:
    """The member goes, by LeaveGroup or with its phase."""
    return state._replace(alive=NO, timers=NOTHING if cancels else state.timers)


def invariant(state: Session) -> dict[str, Formula]:
    """What holds of a member's session at all times, by name."""
    deadline = state.heard + state.held
    armed = state.timers == only(deadline)
    return {
        "one timer, at its deadline": z3.Or(armed, state.timers == NOTHING),
        "armed unless it is parked": z3.Or(
            armed, z3.Not(state.alive), z3.And(state.parked, z3.Not(state.new))
        ),
        "none when it has gone": z3.Or(state.alive, state.timers == NOTHING),
        "no deadline has passed": z3.Or(state.timers == NOTHING, state.now <= deadline),
        "no sign since the last": z3.Implies(z3.And(state.alive, state.signs), state.heard >= SIGN),
        "the last is not to come": z3.Implies(state.alive, state.heard <= state.now),
        "timeouts are not negative": state.timeout >= 0,
    }
