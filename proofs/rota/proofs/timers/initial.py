"""The initial delay: how long the first join phase of an Empty group lasts, and who is in its generation.

The phase is a row of windows. When one is over and somebody was added meanwhile, another one follows, of
the delay or of what remains of the first member's rebalance timeout, whichever is less. Upstream then
takes off what remains the window that *has been*, not the one that begins. That is right only because all
windows but the last are as long as the delay: this is the second half of the invariant.

Whether a window is extended is left open (any flag at any time), so what is proved of lengths holds for any
number of joins at any times, and also where the flag is left over from an earlier phase.
Source: upstream GroupMetadataManager#prepareRebalance, #tryCompleteInitialRebalanceElseSchedule; the rules
`timers.initial-delay-extended`, `timers.initial-delay-over`, `join.prepare-rebalance`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import z3

from rota.proofs.obligations import Claim, Formula, Mutant, Obligation
from rota.proofs.story import Story, figures_of, story

DELAY, LIMIT = z3.Int("delay"), z3.Int("rebalance_timeout")


class Window(NamedTuple):
    """The window that runs. Milliseconds.

    spent: from the beginning of the phase to the end of this window; length: of this window; remaining: what
    further windows may use.
    """

    spent: Formula
    length: Formula
    remaining: Formula


NOW = Window(z3.Int("spent"), z3.Int("length"), z3.Int("remaining"))


def least(one: Formula, other: Formula) -> Formula:
    """The smaller of two numbers."""
    return z3.If(one < other, one, other)


def most(one: Formula, other: Formula) -> Formula:
    """The greater of two numbers."""
    return z3.If(one > other, one, other)


ALLOWED = most(DELAY, LIMIT)
"""How long the phase may take: the larger of the delay and the rebalance timeout."""


def begun(delay: Formula, limit: Formula, taken_off: bool = True) -> Window:
    """The first window. taken_off: (False for a mutant) it counts against the rebalance timeout."""
    return Window(delay, delay, most(limit - delay, z3.IntVal(0)) if taken_off else limit)


def extended(window: Window, delay: Formula, cut: bool = True, reduced: bool = True) -> Window:
    """The window after this one.

    For mutants: cut, to what remains; reduced, what remains is less than before.
    """
    length = least(delay, window.remaining) if cut else delay
    left = most(window.remaining - window.length, z3.IntVal(0)) if reduced else window.remaining
    return Window(window.spent + length, length, left)


def total(window: Window) -> Formula:
    """What is spent and what remains are together the larger of delay and rebalance timeout."""
    return window.spent + window.remaining == ALLOWED


def whole(window: Window) -> Formula:
    """As long as something remains the window is as long as the delay."""
    return z3.Or(window.remaining == 0, window.length == DELAY)


def not_negative(window: Window) -> Formula:
    """What remains is not negative."""
    return window.remaining >= 0


def _kept(window: Window) -> Formula:
    return z3.And(total(window), whole(window), not_negative(window))


def _time_remains() -> Formula:
    return NOW.remaining != 0


def bound_base(taken_off: bool = True) -> Claim:
    """The first window."""
    return Claim({}, _kept(begun(DELAY, LIMIT, taken_off)))


def bound_step(cut: bool = True, reduced: bool = True) -> Claim:
    """One more window, whoever came."""
    facts = {"total": total(NOW), "whole windows": whole(NOW), "time remains": _time_remains()}
    return Claim(facts, _kept(extended(NOW, DELAY, cut, reduced)))


def bound(limit: Formula = ALLOWED) -> Claim:
    """From the invariant to the length of the phase."""
    facts = {"total": total(NOW), "not negative": not_negative(NOW)}
    used_up = z3.Implies(NOW.remaining == 0, NOW.spent == limit)
    return Claim(facts, z3.And(NOW.spent <= limit, used_up))


def ends(reduced: bool = True) -> Claim:
    """What remains is a ranking function."""
    after = extended(NOW, DELAY, reduced=reduced).remaining
    by = least(DELAY, NOW.remaining)
    facts = {
        "a delay": DELAY > 0,
        "time remains": _time_remains(),
        "whole windows": whole(NOW),
        "not negative": not_negative(NOW),
    }
    return Claim(facts, z3.And(by > 0, after >= 0, after <= NOW.remaining - by))


def no_delay(delay: int = 0) -> Claim:
    """With a delay of 0 windows take no time, however many follow each other."""
    facts = {
        "no delay": delay == DELAY,
        "nothing spent": NOW.spent == 0,
        "not negative": not_negative(NOW),
    }
    return Claim(facts, extended(NOW, DELAY).spent == 0)


START, TIME, LATER, ARRIVAL = z3.Int("start"), z3.Int("now"), z3.Int("later"), z3.Int("arrival")
PARKED, GONE = z3.Bool("parked"), z3.Bool("gone")
"""Of alice, who is anybody: whether her JoinGroup is parked, whether she was removed since she came."""


def waits(now: Formula, parked: Formula) -> Formula:
    """Who came since the phase began, and was not removed, is parked."""
    return z3.Implies(z3.And(ARRIVAL >= START, now >= ARRIVAL, z3.Not(GONE)), parked)


def joined_base() -> Claim:
    """alice is the first: the phase begins as she is parked; or she comes later."""
    facts = {"the first is parked": z3.Implies(ARRIVAL == START, PARKED), "it begins": TIME == START}
    return Claim(facts, waits(TIME, PARKED))


def joined_step(parks: bool = True, kept: bool = True) -> Claim:
    """Time goes on to the next join or to the end of a window, and what is due then is done.

    For mutants: parks, a JoinGroup is parked; kept, a further window goes on with those who are.
    """
    comes = LATER == ARRIVAL
    parked = z3.Or(z3.And(kept, PARKED), z3.And(parks, comes))
    facts = {
        "up to now": waits(TIME, PARKED),
        "no join is passed over": z3.Implies(ARRIVAL > TIME, LATER <= ARRIVAL),
    }
    return Claim(facts, waits(LATER, parked))


def joined(last_window_only: bool = False) -> Claim:
    """The phase ends now: who is parked is in the generation. last_window_only: (for a mutant) of those."""
    begun_at = z3.Int("window_begun")
    included = z3.And(PARKED, begun_at <= ARRIVAL) if last_window_only else PARKED
    facts = {
        "up to now": waits(TIME, PARKED),
        "she came in time": z3.And(ARRIVAL >= START, ARRIVAL <= TIME),
        "she was not removed": z3.Not(GONE),
    }
    return Claim(facts, included)


def within_rebalance_timeout() -> Claim:
    """False where the delay is longer."""
    facts = {"total": total(NOW), "not negative": not_negative(NOW), "times": z3.And(DELAY >= 0, LIMIT >= 0)}
    return Claim(facts, NOW.spent <= LIMIT, measure=DELAY + NOW.spent)


def _tell_longer(model: Any) -> Story:
    figures = figures_of(model, {"delay": DELAY, "rebalance_timeout": LIMIT, "spent": NOW.spent})
    return story(
        figures,
        "the delay is {delay} ms, the first member's rebalance timeout {rebalance_timeout} ms",
        "its JoinGroup is answered after {spent} ms: the first window is never cut",
    )


def ends_without_delay() -> Claim:
    """False: nothing is taken off for a window without length."""
    after = extended(NOW, DELAY)
    facts = {
        "no delay": DELAY == 0,
        "time remains": _time_remains(),
        "whole windows": whole(NOW),
        "not negative": not_negative(NOW),
    }
    return Claim(facts, after.remaining < NOW.remaining, measure=NOW.remaining)


def _tell_no_delay(model: Any) -> Story:
    after = extended(NOW, DELAY)
    figures = figures_of(model, {"delay": DELAY, "remaining": NOW.remaining, "after": after.remaining})
    return story(
        figures,
        "the delay is {delay} ms; {remaining} ms remain of the rebalance timeout",
        "somebody was added before the timer was served: another window of {delay} ms, {after} ms remain",
        "so it goes on for as long as each window finds a newcomer, though no time passes",
    )


FIRST_LIMIT, CAME_FIRST, CAME = z3.Int("first_rebalance_timeout"), z3.Bool("came_first"), z3.Bool("came")


def extended_for_newcomers(cleared: bool = False) -> Claim:
    """Two phases of one group: the flag of the first is still set in the second, unless it is cleared.

    The last window of the first phase finds a newcomer and nothing remains: it ends, and the flag stays. The
    group empties, and the next phase begins; its first member does not set the flag.
    """
    first, second = begun(DELAY, FIRST_LIMIT), begun(DELAY, LIMIT)
    flag = CAME if cleared else z3.Or(CAME_FIRST, CAME)
    facts = {
        "times": z3.And(DELAY > 0, FIRST_LIMIT >= 0, LIMIT >= 0),
        "the first phase ends": z3.Not(z3.And(CAME_FIRST, first.remaining != 0)),
    }
    another = z3.And(flag, second.remaining != 0)
    return Claim(facts, z3.Implies(another, CAME), measure=DELAY + FIRST_LIMIT + LIMIT)


def _tell_left_over(model: Any) -> Story:
    terms = {"delay": DELAY, "first_timeout": FIRST_LIMIT, "timeout": LIMIT}
    more = extended(begun(DELAY, LIMIT), DELAY)
    return story(
        figures_of(model, terms | {"spent": more.spent}),
        "the delay is {delay} ms; alice begins a group with a rebalance timeout of {first_timeout} ms",
        "bob is added in the last window: it cannot be extended, the phase ends, the flag stays set",
        "both leave; carol begins the group again with a rebalance timeout of {timeout} ms",
        "nobody else comes in her first window, and yet there is another: she waits for {spent} ms",
    )


INITIAL = (
    Obligation(
        "timers.initial.bound.base",
        "when the first window begins, what it takes and what remains are together the larger of the delay "
        "and the rebalance timeout",
        "proved",
        bound_base,
        (Mutant("the first window is not taken off", partial(bound_base, False)),),
    ),
    Obligation(
        "timers.initial.bound.step",
        "a further window keeps this, and that all windows but the last are as long as the delay",
        "proved",
        bound_step,
        (
            Mutant("the window is not cut", partial(bound_step, False)),
            Mutant("what remains is not reduced", partial(bound_step, True, False)),
        ),
    ),
    Obligation(
        "timers.initial.bound",
        "the initial join phase takes at most the larger of the delay and the rebalance timeout of its first "
        "member, exactly that if its time is used up",
        "proved",
        bound,
        (
            Mutant("at most the rebalance timeout", partial(bound, LIMIT)),
            Mutant("at most the delay", partial(bound, DELAY)),
        ),
    ),
    Obligation(
        "timers.initial.ends",
        "each further window leaves less time, by at least the delay or all that is left: windows end, "
        "whoever joins when",
        "proved",
        ends,
        (Mutant("what remains is not reduced", partial(ends, False)),),
    ),
    Obligation(
        "timers.initial.no-delay",
        "with a delay of 0 no time is spent, however many windows follow each other",
        "proved",
        no_delay,
        (Mutant("a delay of one", partial(no_delay, 1)),),
    ),
    Obligation(
        "timers.initial.joined.base",
        "when the phase begins, who has come is parked",
        "proved",
        joined_base,
    ),
    Obligation(
        "timers.initial.joined.step",
        "to the next join or the end of a window this is kept: who came since the phase began, and was not "
        "removed, is parked",
        "proved",
        joined_step,
        (
            Mutant("a JoinGroup is not parked", partial(joined_step, False)),
            Mutant("a further window forgets who is parked", partial(joined_step, True, False)),
        ),
    ),
    Obligation(
        "timers.initial.joined",
        "who joins before the phase ends, and is not removed, is in the first generation",
        "proved",
        joined,
        (Mutant("only who came in the last window", partial(joined, True)),),
    ),
    Obligation(
        "timers.initial.within-rebalance-timeout",
        "the initial join phase takes at most the rebalance timeout",
        "refuted",
        within_rebalance_timeout,
        explain=_tell_longer,
    ),
    Obligation(
        "timers.initial.ends-without-delay",
        "with a delay of 0 too each further window leaves less time",
        "refuted",
        ends_without_delay,
        explain=_tell_no_delay,
    ),
    Obligation(
        "timers.initial.extended-for-newcomers",
        "a window is followed by another only if somebody was added in the same join phase",
        "refuted",
        extended_for_newcomers,
        explain=_tell_left_over,
    ),
)
"""What is proved and refuted of the initial delay."""
