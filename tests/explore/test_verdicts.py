"""Verdicts that were worked out by hand, so that no engine is only compared with another one.

`overall` and `verdicts` make the verdicts of all engines but the reference; mistakes that are planted in
them are found by the same table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import toys

from harness.thinned import some
from rota.explore import reference, result
from rota.explore.fast import numpy_search, search
from rota.explore.result import Limits, PropertyVerdict, Result, Verdict
from rota.kernel import IN_STATES, Kind, System

HOLDS, VIOLATED, UNDECIDED = Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNDECIDED

Explore = Callable[[System, Limits], Result]

ENGINES: dict[str, Explore] = {
    "reference": reference.explore,
    "numpy": numpy_search.explore,
    "fast": search.explore,
    "fast, three workers": lambda system, limits: search.explore(system, replace(limits, workers=3)),
}


@dataclass(frozen=True)
class Row:
    """What an engine has to say of a toy.

    properties: by name, what becomes of it; of a witness that was seen, the depth. judged: by name, on how
    many combinations, and how many of them its premise was true of. violation: the name of what is violated
    and after how many steps.
    """

    system: Callable[[], System]
    verdict: Verdict
    distinct: int
    generated: int
    depth: int
    properties: dict[str, Verdict | int]
    violation: tuple[str, int] | None = None
    most: int | None = None
    judged: dict[str, tuple[int, int]] = field(default_factory=dict)


def seen_before() -> System:
    """Counters with a witness after one step and a property that breaks after three."""
    early = toys.prop("early", Kind.WITNESS, lambda a: a == 1, "counter")
    low = toys.prop("low", Kind.SHAPE, lambda a: a < 3, "counter")
    return toys.counters(3, 3, (early, low))


OPEN: dict[str, Verdict | int] = {"full": UNDECIDED, "up": UNDECIDED, "deadlock": UNDECIDED}
"""Counters of which not all was seen."""

BROKEN = {**OPEN, "broken": VIOLATED}


def alone() -> System:
    """One counter, and a property of two."""
    return toys.counters(1, 3, (toys.prop("apart", Kind.SAFETY, lambda a, b: False, "counter", "counter"),))


# Three counters up to 3 have 1, 3, 6, 10, 12, 12, 10, 6, 3, 1 states with sums 0 to 9, and there are
# 3, 9, 18, 27, 30, 27, 18, 9, 3 ways from each sum to the next. What breaks in a state is found before its
# level is expanded; what breaks on the way, and a state without a way out, when it is.
TABLE = {
    # 0 to 3, and with each what it is after a step: the same, or, below 3, one more
    "counters": Row(
        toys.counters, HOLDS, 64, 145, 9, {"full": 6, "up": HOLDS, "deadlock": HOLDS}, judged={"up": (7, 7)}
    ),
    "counters, supposing": Row(
        toys.supposing, HOLDS, 64, 145, 9,
        {"full": 6, "up": HOLDS, "odd": HOLDS, "down": HOLDS, "deadlock": HOLDS},
        judged={"up": (7, 7), "odd": (4, 2), "down": (7, 0)},
    ),
    "one counter": Row(
        alone, VIOLATED, 4, 4, 3,
        {"full": VIOLATED, "up": HOLDS, "apart": HOLDS, "deadlock": HOLDS},
        judged={"up": (3, 3), "apart": (0, 0)},
    ),
    "counters, 54 states at most": Row(
        toys.counters, UNDECIDED, 60, 133, 7, {**OPEN, "full": 6}, most=54
    ),
    "counters, 31 states at most": Row(
        toys.counters, UNDECIDED, 32, 58, 4, OPEN, most=31
    ),
    "a witness that is not there": Row(
        lambda: toys.broken("witness"), VIOLATED, 64, 145, 9,
        {"full": 6, "up": HOLDS, "deadlock": HOLDS, "broken": VIOLATED}, judged={"up": (7, 7)},
    ),
    "a witness that is not there, 54 states at most": Row(
        lambda: toys.broken("witness"), UNDECIDED, 60, 133, 7,
        {**OPEN, "full": 6, "broken": UNDECIDED}, most=54,
    ),
    "a witness seen before something breaks": Row(
        seen_before, VIOLATED, 20, 31, 3,
        {**OPEN, "early": 1, "low": VIOLATED}, ("low", 3),
    ),
    "a shape": Row(lambda: toys.broken("shape"), VIOLATED, 20, 31, 3, BROKEN, ("broken", 3)),
    "safety": Row(lambda: toys.broken("safety"), VIOLATED, 32, 58, 4, BROKEN, ("broken", 4)),
    "an effect": Row(lambda: toys.broken("effect"), VIOLATED, 20, 31, 3, BROKEN, ("broken", 3)),
    "an effect, 3 states at most": Row(
        lambda: toys.broken("effect"), UNDECIDED, 4, 4, 1, {**OPEN, "broken": UNDECIDED}, most=3
    ),
    "safety of two": Row(lambda: toys.broken("two"), VIOLATED, 20, 31, 3, BROKEN, ("broken", 3)),
    "at once": Row(lambda: toys.broken("initial"), VIOLATED, 1, 1, 0, BROKEN, ("broken", 0)),
    "a step": Row(lambda: toys.broken("step"), VIOLATED, 4, 13, 1, BROKEN, ("broken", 2)),
    "a step of another": Row(lambda: toys.broken("stutter"), VIOLATED, 10, 31, 2, BROKEN, ("broken", 3)),
    # 4 places of the token, 4 nodes that want it or not
    "ring": Row(
        toys.ring, HOLDS, 64, 193, 7, {"one-token": HOLDS, "somebody-waits": 1, "deadlock": HOLDS},
        judged={"one-token": (3, 3)},
    ),
    # 1, 2, 3, 2, 2, 2, 2, 2 pairs of gallons; each has six ways
    "four gallons": Row(toys.die_hard, VIOLATED, 14, 73, 6, {"never-goal": VIOLATED}, ("never-goal", 6)),
    "nine gallons": Row(
        lambda: toys.die_hard(9), HOLDS, 16, 97, 7, {"never-goal": HOLDS}, judged={"never-goal": (6, 6)}
    ),
    # all prepare, all are heard, commit, one hears of it: 8 steps; the others hear of it too: 10. Of the
    # pairs of four states it is not in two that disagree, nor works one while the other has committed
    "two-phase": Row(
        toys.two_phase, HOLDS, 288, 1146, 10,
        {"consistent": HOLDS, "phases": HOLDS, "no-return": HOLDS, "commits": 8},
        judged={"consistent": (12, 12), "phases": (2, 2), "no-return": (3, 3)},
    ),
    # three may prepare or abort, and the transaction manager may abort
    "two-phase, one state at most": Row(
        toys.two_phase, UNDECIDED, 8, 8, 1,
        {"consistent": UNDECIDED, "phases": UNDECIDED, "no-return": UNDECIDED, "commits": UNDECIDED}, most=1,
    ),
    # sent 0 to 4: 1, 3, 7, 12, 18 states; 1, 5, 12, 22, 20 ways from them; 1, 3, 3, 2, 2 that may be heard
    "channel": Row(
        toys.channel, HOLDS, 41, 61, 8,
        {"room": HOLDS, "order": HOLDS, "grows": HOLDS, "all-kept": 8, "deadlock": HOLDS},
        judged={"room": (3, 3), "order": (11, 11), "grows": (8, 8)},
    ),
    # 4 starts, each asker is answered up to twice
    "counters, and what nobody is": Row(
        lambda: toys.counters(properties=(toys.prop("void", Kind.SAFETY, lambda a: False, "nobody"),)),
        HOLDS, 64, 145, 9, {"full": 6, "up": HOLDS, "void": HOLDS, "deadlock": HOLDS},
        judged={"up": (7, 7), "void": (0, 0)},
    ),
    "nothing claimed": Row(toys.scatter, HOLDS, 36, 52, 4, {}),
    # 1, 3, 6, 4 states with 0 to 3 forks in hand; 6, 18, 27, 12 ways from them
    "philosophers": Row(toys.deadlock, VIOLATED, 14, 64, 3, {"deadlock": VIOLATED}, ("deadlock", 3)),
}  # fmt: skip


def said(explore: Explore, row: Row) -> dict[str, Any]:
    """What the engine says, in the words of the row."""
    found = explore(row.system(), Limits(max_states=row.most))
    violation = found.violation and (found.violation.name, found.violation.steps)
    properties = {one.name: one.verdict if one.depth is None else one.depth for one in found.properties}
    for one in found.properties:
        assert one.depth is None or (one.kind, one.verdict) == (Kind.WITNESS, HOLDS)
    judged = {one.name: (one.judged, one.given) for one in found.properties if one.judged is not None}
    told = {name: getattr(found, name) for name in ("verdict", "distinct", "generated", "depth")}
    return {**told, "properties": properties, "violation": violation, "judged": judged}


def wanted(row: Row) -> dict[str, Any]:
    return {name: value for name, value in vars(row).items() if name not in ("system", "most")}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", TABLE)
def test_every_engine_says_what_was_worked_out(engine: str, name: str) -> None:
    assert said(ENGINES[engine], TABLE[name]) == wanted(TABLE[name])


def taken_for_holds(kind: Kind | None, before: Verdict) -> Callable[..., tuple[PropertyVerdict, ...]]:
    """`verdicts` in which this outcome of this kind of property is taken for `holds`."""

    def mistaken(*given: Any) -> tuple[PropertyVerdict, ...]:
        return tuple(
            replace(one, verdict=HOLDS) if (one.kind, one.verdict) == (kind, before) else one
            for one in result.verdicts(*given)
        )

    return mistaken


MISTAKES: dict[str, tuple[str, Callable[..., Any]]] = {
    "a violation is no matter": ("overall", lambda v, u, w: result.overall(None, u, w)),
    "what ended early holds": ("overall", lambda v, u, w: result.overall(v, False, w)),
    "a violation leaves it open": ("overall", lambda v, u, w: UNDECIDED if v else result.overall(v, u, w)),
    "a missing witness is no matter": ("overall", lambda v, u, w: result.overall(v, u, {})),
    "a missing witness counts early": (
        "overall", lambda v, u, w: result.overall(v, u and None not in w.values(), w)
    ),
    "all that ended early holds": ("verdicts", lambda s, v, u, w, j: result.verdicts(s, v, False, w, j)),
    "the rest holds after a violation": (
        "verdicts", lambda s, v, u, w, j: tuple(
            replace(one, verdict=HOLDS) if v and one.verdict is UNDECIDED else one
            for one in result.verdicts(s, v, u, w, j)
        ),
    ),
    "depths are forgotten": (
        "verdicts", lambda s, v, u, w, j: result.verdicts(s, v, u, dict.fromkeys(w), j)
    ),
    "nothing was judged": ("verdicts", lambda s, v, u, w, j: result.verdicts(s, v, u, w, dict)),
    "counts of what ended early": ("verdicts", lambda s, v, u, w, j: tuple(
        replace(one, judged=1, given=1) if u and one.kind is Kind.STEP else one
        for one in result.verdicts(s, v, u, w, j)
    )),
    "a premise is always true": ("verdicts", lambda *given: tuple(
        replace(one, given=one.judged) for one in result.verdicts(*given)
    )),
    "no word of deadlock": ("verdicts", lambda *given: tuple(
        one for one in result.verdicts(*given) if one.kind is not None
    )),
    **{
        f"{kind.name if kind else 'DEADLOCK'} {before.value} is taken for holds":
            ("verdicts", taken_for_holds(kind, before))
        for kind in (*IN_STATES, Kind.STEP, Kind.WITNESS, None)
        for before in (VIOLATED, UNDECIDED)
    },
}  # fmt: skip


@pytest.mark.parametrize("mistake", some(MISTAKES, 6))
def test_the_table_finds_a_planted_mistake(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each also shows as a difference from the reference, which has judgement of its own."""
    name, planted = MISTAKES[mistake]
    monkeypatch.setattr(numpy_search, name, planted)
    wrong = [row for row in TABLE.values() if said(numpy_search.explore, row) != wanted(row)]
    assert wrong
    for row in wrong:
        assert said(numpy_search.explore, row) != said(reference.explore, row)
