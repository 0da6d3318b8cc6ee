"""Mistakes planted in the judge of histories are found: by brute force, or by a history told by hand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

import pytest

from harness.altered import altered
from harness.both_judges import plain
from harness.brute_judge import brute
from harness.spec_histories import GRID, Maker
from harness.told import Told, asked_for, described, joined, left
from rota.linearise import History, Limits, Verdict, judge
from rota.mutants.core import CoreBug, planted

LIMITS = Limits(grace=0.0, early=0.0, relaxed=0.0, grain=0.0)

RUN, STEPS = "rota.linearise.run:Run.", "rota.linearise.steps:Steps."
CLOSING = "rota.linearise.closing:Closing."
MANY_STATES = 'f"more than {self._limits.states:,} states at once"'
MANY_REQUESTS = 'f"more than {self._limits.requests} requests at once in unknown order"'
ANSWERS, STATES = "rota.linearise.answers:", "rota.linearise.states:"

PLANTED = (
    (
        "an order is forgotten",
        RUN + "_enabled",
        "in sorted(state.pending)[: self._width]:",
        "in sorted(state.pending)[:1]:",
    ),
    ("a timer has no upper bound", CLOSING + "_possible", "span.latest >= must for", "True for"),
    (
        "a timer has no lower bound",
        RUN + "_enabled",
        "low = max(state.low, due.earliest - self._patience.early)",
        "low = state.low",
    ),
    ("many states pass", RUN + "_followed", f"raise UndecidedError({MANY_STATES})", "break"),
    ("many requests pass", RUN + "_followed", f"raise UndecidedError({MANY_REQUESTS})", "continue"),
    (
        "connections have no order",
        RUN + "_enabled",
        "if self._earlier[number] not in state.pending and",
        "if",
    ),
    ("ids are not bound", RUN + "_answered", "renamed(rest, names) if names else rest", "rest"),
    ("an id is handed out twice", STEPS + "take", "if call.fresh_id in state.ids:", "if False:"),
    ("silence says nothing", RUN + "quiet", "if all(", "if True or all("),
    (
        "a request may wait",
        CLOSING + "_possible",
        "and not any(self._begun",
        "and not all(False and self._begun",
    ),
    ("the log may take its time", CLOSING + "_possible", "and not (state.line and", "and not (False and"),
    (
        "what comes later has not been until then",
        CLOSING + "_close",
        "began = [min(now, self._goes_on_from(state)) for",
        "began = [now for",
    ),
    ("requests come late", CLOSING + "_goes_on_from", "*asked, ", ""),
    ("timers come late", CLOSING + "_goes_on_from", "*due, ", ""),
    ("what is seen is not sought", CLOSING + "_suffices", "sought.number not in state.owed", "False"),
    (
        "whoever is gone was never heard",
        CLOSING + "_suffices",
        "and self._open(state, now) == state.pending",
        "",
    ),
    ("what must have happened may wait", CLOSING + "_suffices", "self._possible(state, now) and", ""),
    ("the log forgets", STATES + "after", "*state.line, *", "*state.line[:0], *"),
    ("nobody is left to answer", STATES + "after", "not in lost", "not in ()"),
    ("what breaks is lost", RUN + "_break", "owed=state.owed", "pending=frozenset(), owed=state.owed"),
    ("lists have an order", ANSWERS + "_in_some_order", "in enumerate(seen):", "in enumerate(seen[:1]):"),
    (
        "fields are not compared",
        ANSWERS + "_each",
        "in _agree(wanted[0], seen[0], names, taken):",
        "in [names]:",
    ),
)


@cache
def suite() -> tuple[tuple[History, Limits, Verdict], ...]:
    """Histories, and what is to be said of them."""
    return (*by_hand(), *by_brute_force())


def by_brute_force() -> Iterator[tuple[History, Limits, Verdict]]:
    for seed in range(300, 360):
        history = Maker(Random(seed), 3 + seed % 6, offsets=seed % 2 == 1).history()
        history = altered(history, Random(seed)) if seed % 3 else history
        sound = brute(history, GRID, GRID)
        yield history, LIMITS, Verdict.CONSISTENT if sound else Verdict.VIOLATED


def by_hand() -> Iterator[tuple[History, Limits, Verdict]]:
    told = Told().alone()
    leaves, beats = told.leaves(0, "m"), told.beats(0, "m")
    yield told.hears(leaves, left("m")).beaten(beats).history(), LIMITS, Verdict.VIOLATED
    told = Told().alone()
    yield told.beaten(told.after(3.0).beats(0, "m")).history(), LIMITS, Verdict.VIOLATED
    told = Told()
    for connection in range(7):
        told.joins(connection)
    yield told.quiet(0.01).history(), LIMITS, Verdict.CONSISTENT
    yield told.quiet(0.5).history(), LIMITS, Verdict.UNDECIDED
    told = Told()
    for connection in range(5):
        told.joins(connection, version=3)
    yield told.quiet(0.5).history(), Limits(states=50), Verdict.UNDECIDED
    told = Told()
    told.joins(0, version=3)
    told.after(0.1).breaks(0)
    for member_id in ("m7", "m8"):
        told.hears(told.describes(), described("PreparingRebalance", member_id))
    yield told.history(), LIMITS, Verdict.VIOLATED
    told = Told()
    told.hears(told.joins(0), asked_for("m"))
    yield told.hears(told.joins(1), asked_for("m")).history(), LIMITS, Verdict.VIOLATED
    told = Told()
    numbers = [told.joins(connection, version=3) for connection in (0, 1)]
    told.after(2.0).hears(numbers[0], joined("a", 1, ("b", "a"), metadata="of "))
    yield told.history(), LIMITS, Verdict.CONSISTENT
    told = Told()
    told.joins(0, version=3)
    told.breaks(0)
    told.hears(told.after(0.01).describes(), described("PreparingRebalance", "m")).quiet(3.0)
    yield told.history(), LIMITS, Verdict.CONSISTENT
    told = Told()
    told.joins(0, version=3)
    told.breaks(0)
    told.quiet(0.2).hears(told.describes(), described("PreparingRebalance", "m"))
    yield told.history(), LIMITS, Verdict.CONSISTENT
    told = Told().alone()
    synced = told.now
    number = told.after(0.5).joins(1, version=3)
    told.now = synced
    told.quiet(2.02).after(0.01).hears(number, joined("n", 2, ("n",), metadata="of "))
    told.hears(told.after(1.972).describes(), described("Empty"))
    yield told.history(), LIMITS, Verdict.CONSISTENT


def mistaken() -> Iterator[str]:
    """What is said otherwise than it should be."""
    for history, limits, verdict in suite():
        said = judge(history, limits).verdict
        if said is not verdict and (said is not Verdict.UNDECIDED or limits.states < LIMITS.states):
            yield f"{said} for {verdict}"


def test_the_judge_itself_makes_no_mistake():
    assert not [*mistaken()]


@pytest.mark.parametrize(("name", "function", "old", "new"), PLANTED, ids=[one[0] for one in PLANTED])
def test_a_mistake_is_found(name, function, old, new):
    suite()
    with plain(), planted(CoreBug("", name, name, function, old, new)):
        assert next(mistaken(), None)
