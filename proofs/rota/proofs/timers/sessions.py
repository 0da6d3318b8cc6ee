"""Sessions: a member is expired when it has been silent for its timeout, then and only then.

Proved by induction over what can happen, in any order and at any times. Assumed: the log answers a
replacement before the shortest session is over. Upstream that follows from its defaults (5 s against 6 s),
not from its code; without it there is a member that nothing expires, which is refuted beside.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import z3

from rota.proofs.obligations import Claim, Formula, Mutant, Obligation
from rota.proofs.story import Story, figures_of, story
from rota.proofs.timers.session import (
    ASKED,
    LIMIT,
    NOW,
    SIGN,
    Session,
    admitted,
    answer,
    due,
    invariant,
    leave,
    only,
    park,
    replacing,
    sign,
    stored,
    tick,
)

BEFORE = invariant(NOW)
A_MEMBER = {"it is a member": NOW.alive}
TIMEOUT_ASKED = {"the timeout asked for": ASKED >= 0}
TIME_OF_NEW = {"the time of new members": LIMIT >= 0}
NONE_DUE = {"no timer is due": z3.Not(z3.IsMember(NOW.now, NOW.timers))}
ONE_DUE = {"a timer is due": z3.IsMember(NOW.now, NOW.timers)}
IN_TIME = {"the log answers in time": NOW.timers == only(NOW.heard + NOW.held)}
ONE_TIMER, ARMED, GONE, NOT_LATE, LAST, PAST, TIMEOUTS = BEFORE


SPARED = z3.And(NOW.parked, z3.Not(NOW.new))
"""Whom a due session leaves alone."""


def keeps(event: Callable[[Session], Session], given: dict[str, Formula], *needed: str) -> Claim:
    """The event keeps the invariant. given: when it may happen; needed: of the invariant, for this event."""
    after = z3.And(*invariant(event(NOW)).values())
    return Claim(given | {name: BEFORE[name] for name in needed}, after)


def _case(
    name: str,
    statement: str,
    event: Callable[..., Session],
    given: dict[str, Formula],
    needed: tuple[str, ...],
    **mutants: Callable[..., Session],
) -> Obligation:
    return Obligation(
        f"timers.session.keeps.{name}",
        f"{statement}: a session has at most one timer, at its deadline, and has one unless the member is "
        "parked",
        "proved",
        partial(keeps, event, given, *needed),
        tuple(
            Mutant(change.replace("_", " "), partial(keeps, other, given, *needed))
            for change, other in mutants.items()
        ),
    )


KEEPS = (
    _case(
        "admitted",
        "a newcomer is parked",
        admitted,
        TIMEOUT_ASKED | TIME_OF_NEW,
        (),
        not_armed=partial(admitted, arms=False),
    ),
    _case(
        "replaced",
        "a static member takes its own place",
        replacing,
        TIMEOUT_ASKED,
        (TIMEOUTS,),
        with_a_timeout_below_zero=partial(replacing, held=z3.IntVal(-1)),
    ),
    _case(
        "tick",
        "a millisecond passes in which no timer is due",
        tick,
        NONE_DUE,
        (ONE_TIMER, ARMED, GONE, NOT_LATE, LAST, PAST, TIMEOUTS),
    ),
    _case(
        "sign",
        "a sign of life",
        sign,
        A_MEMBER,
        (LAST, PAST, TIMEOUTS),
        keeps_the_old_timer=partial(sign, cancels=False),
    ),
    _case(
        "parked",
        "a JoinGroup or SyncGroup is parked, with other timeouts or not",
        park,
        TIMEOUT_ASKED,
        (ONE_TIMER, ARMED, GONE, NOT_LATE, LAST, PAST),
    ),
    _case(
        "answered",
        "it is answered, or the join phase ends without it",
        answer,
        A_MEMBER,
        (LAST, PAST, TIMEOUTS),
        without_a_new_session=partial(answer, anew=False),
        keeps_the_old_timer=partial(answer, cancels=False),
    ),
    _case(
        "stored",
        "the log has answered in time, and so is a replaced member, which has no new session",
        stored,
        IN_TIME,
        (GONE, NOT_LATE, LAST, PAST, TIMEOUTS),
    ),
    _case("due", "a timer is due", due, ONE_DUE, (ONE_TIMER, LAST, PAST, TIMEOUTS)),
    _case(
        "left",
        "the member goes",
        leave,
        {},
        (TIMEOUTS,),
        timer_runs_on=partial(leave, cancels=False),
    ),
)


def at_its_deadline(spares_parked: bool = True) -> Claim:
    """What a timer that is due does to a member."""
    now_due = NOW.now == NOW.heard + NOW.held
    facts = ONE_DUE | {ONE_TIMER: BEFORE[ONE_TIMER]}
    return Claim(facts, z3.And(now_due, due(NOW, spares_parked).alive == z3.And(NOW.alive, SPARED)))


def silent(spared: Formula = SPARED) -> Claim:
    """Nobody outlives its deadline. spared: who may."""
    facts = {name: BEFORE[name] for name in (ARMED, NOT_LATE)}
    late = NOW.now > NOW.heard + NOW.held
    return Claim(facts, z3.Implies(z3.And(NOW.alive, late), spared))


def spoke(margin: int = 0) -> Claim:
    """Who is expired was silent for the timeout that counted from its last sign of life."""
    facts = ONE_DUE | {name: BEFORE[name] for name in (ONE_TIMER, LAST)}
    expired = z3.And(NOW.alive, z3.Not(due(NOW).alive))
    return Claim(facts, z3.Implies(z3.And(expired, NOW.signs), SIGN + NOW.held + margin <= NOW.now))


def parked_stay() -> Claim:
    """False of newcomers: one is admitted, and its time is over."""
    newcomer = admitted(NOW)
    then = newcomer._replace(now=newcomer.now + LIMIT)
    return Claim({"time": LIMIT > 0}, z3.Implies(then.parked, due(then).alive), measure=LIMIT)


def _tell_newcomer(model: Any) -> Story:
    return story(
        figures_of(model, {"new_member_timeout": LIMIT}),
        "alice is admitted: her JoinGroup is parked, she has {new_member_timeout} ms as a newcomer",
        "the join phase lasts longer: after {new_member_timeout} ms she is removed though she waits",
    )


LATER = z3.Int("later")
_restarted = replacing(NOW)._replace(timers=only(NOW.now + NOW.timeout))
_POSITIVE = {"timeouts": z3.And(NOW.timeout > 0, ASKED > 0)}


def timeout_of_now() -> Claim:
    """False of a static member that restarts with a shorter timeout and is answered when that is stored."""
    member = stored(_restarted)
    facts = _POSITIVE | {
        "later": member.now <= LATER,
        "its timer is not due before": member.heard + member.held >= LATER,
    }
    return Claim(facts, member.heard + member.timeout >= LATER, measure=NOW.timeout)


def _tell_former(model: Any) -> Story:
    return story(
        figures_of(model, {"former": NOW.timeout, "asked": ASKED, "silent": LATER - NOW.now}),
        "a static member with a session timeout of {former} ms restarts and asks for {asked} ms",
        "its replacement is stored and answered; the session runs with the former timeout",
        "it has been silent for {silent} ms and is still a member",
    )


def stored_late() -> Claim:
    """False: the timer was due while the JoinGroup was parked, and nothing arms another."""
    deadline = NOW.now + NOW.timeout
    ignored = due(_restarted._replace(now=deadline))
    return Claim(_POSITIVE, invariant(stored(ignored))[ARMED], measure=NOW.timeout)


def _tell_without_timer(model: Any) -> Story:
    return story(
        figures_of(model, {"session": NOW.timeout}),
        "a static member with a session timeout of {session} ms restarts; the log does not answer for long",
        "after {session} ms its timer is due and ignored, for its JoinGroup is parked",
        "the log answers and so is the JoinGroup: a member without a timer, until its first heartbeat",
    )


SESSION = (
    *KEEPS,
    Obligation(
        "timers.session.at-its-deadline",
        "a timer of a session is due exactly at the last sign of life and the timeout then; it expires the "
        "member unless that is parked and not new",
        "proved",
        at_its_deadline,
        (Mutant("who is parked is expired", partial(at_its_deadline, False)),),
    ),
    Obligation(
        "timers.session.silent",
        "a member that is silent for longer than its timeout is no member any more, unless it is parked and "
        "not new",
        "proved",
        silent,
        (
            Mutant("nobody is spared", partial(silent, z3.BoolVal(False))),
            Mutant("newcomers are not spared", partial(silent, NOW.new)),
        ),
    ),
    Obligation(
        "timers.session.heard",
        "a member that gives a sign of life within each timeout is never expired: who is expired gave none "
        "for that long",
        "proved",
        spoke,
        (Mutant("for longer", partial(spoke, 1)),),
    ),
    Obligation(
        "timers.session.parked-stay",
        "a member whose JoinGroup is parked is not expired",
        "refuted",
        parked_stay,
        explain=_tell_newcomer,
    ),
    Obligation(
        "timers.session.timeout-of-now",
        "a member that is silent for longer than the timeout it asked for last is expired",
        "refuted",
        timeout_of_now,
        explain=_tell_former,
    ),
    Obligation(
        "timers.session.stored-late",
        "a member that is not parked has a timer, however long the log takes",
        "refuted",
        stored_late,
        explain=_tell_without_timer,
    ),
)
"""What is proved and refuted of sessions."""
