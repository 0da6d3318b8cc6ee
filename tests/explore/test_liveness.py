"""The search for lassos, on toys whose answers are known and beside one that tries every set of states."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, combinations, count
from typing import Any

import networkx
import pytest
import toys

from rota.explore.liveness import check as liveness
from rota.explore.liveness import compiled_search, engine, plain_search
from rota.explore.liveness.check import Lasso, LivenessVerdict, check
from rota.explore.result import MissingExtra, Verdict
from rota.kernel import (
    PER_LABEL,
    PER_MACHINE,
    PER_RULE,
    Fairness,
    Liveness,
    LivenessKind,
    Outcome,
    Send,
    State,
    System,
    Transition,
    View,
)

OFTEN, ALWAYS, LEADS = LivenessKind.INFINITELY_OFTEN, LivenessKind.EVENTUALLY_ALWAYS, LivenessKind.LEADS_TO


def live(
    kind: LivenessKind,
    test: Callable[..., bool],
    *roles: str,
    given: Callable[..., bool] | None = None,
    fairness: tuple[Fairness, ...] = (),
) -> Liveness:
    views = tuple(View(role, toys.whole) for role in roles)
    return Liveness("toy", kind, "A toy does what it should.", views, test, fairness, given)


def judge(system: System, prop: Liveness, *fairness: Fairness) -> LivenessVerdict:
    """One property's verdict, the same from both searches; a lasso is checked transition by transition."""
    assumed = replace(prop, fairness=fairness)
    verdicts = [search.judge(system, [assumed], 1000)[1] for search in (plain_search, compiled_search)]
    assert verdicts[0] == verdicts[1]
    ((verdict,), _) = verdicts
    assert (verdict.verdict is Verdict.VIOLATED) == (verdict.lasso is not None)
    if verdict.lasso is not None:
        confirm(system, prop, verdict.lasso, fairness)
    return verdict


def confirm(system: System, prop: Liveness, lasso: Lasso, fairness: Sequence[Fairness]) -> None:
    """That a lasso is a run of the system, fair, and breaks the property: by the definitions alone."""
    assert lasso.start in system.initial_states()
    states = [lasso.start]
    for step in (*lasso.stem, *lasso.cycle):
        assert step in system.successors(states[-1])
        states.append(step.target)
    if lasso.cycle:
        assert states[-1] == lasso.entry
    loop = states[len(lasso.stem) :]
    taken = {(one, name) for one in fairness for step in lasso.cycle for name in one.of(step)}
    possible = [
        {(one, name) for step in system.successors(state) for one in fairness for name in one.of(step)}
        for state in loop
    ]
    assert set.intersection(*possible) <= taken
    choice = [system.index[name] for name in lasso.machines]
    assert len(lasso.cycle) == fewest(system, prop, lasso, fairness)

    def asked(test: Callable[..., bool], state: State) -> bool:
        return test(*(view.of(state[i]) for view, i in zip(prop.views, choice, strict=True)))

    good = [asked(prop.test, state) for state in states]
    if prop.kind is ALWAYS:
        assert not all(good[len(lasso.stem) :])
    elif prop.kind is OFTEN:
        assert not any(good[len(lasso.stem) :])
    else:
        assert prop.given is not None
        last_good = max((i for i, fine in enumerate(good) if fine), default=-1)
        assert last_good < len(lasso.stem)
        assert any(asked(prop.given, state) for state in states[last_good + 1 :])


def fewest(system: System, prop: Liveness, lasso: Lasso, fairness: Sequence[Fairness]) -> int:
    """The steps of a shortest cycle from where a lasso's begins: walks of all kinds, grown step by step."""

    def good(state: State) -> bool:
        seen = zip(prop.views, lasso.machines, strict=True)
        return prop.test(*(view.of(state[system.index[name]]) for view, name in seen))

    def met(state: State) -> frozenset[Any]:
        impossible = owed - owing(system.successors(state))
        return impossible if good(state) else impossible | {"bad"}

    def owing(steps: Iterable[Transition]) -> frozenset[Any]:
        return frozenset((one, name) for step in steps for one in fairness for name in one.of(step))

    owed = owing(system.successors(lasso.entry))
    walks = {(lasso.entry, met(lasso.entry))}
    for steps in count():
        if (lasso.entry, owed | {"bad"}) in walks:
            return steps
        walks = {
            (step.target, done | met(step.target) | (owed & owing([step])))
            for at, done in walks
            for step in system.successors(at)
            if prop.kind is ALWAYS or not good(step.target)
        }
    raise AssertionError


# ---- one machine that goes where its edges lead


def graph(edges: Sequence[tuple[Any, str, Any]], start: Any = "a") -> System:
    """A machine with labelled edges; the label is the rule too."""

    def moves(value: Any) -> list[Outcome]:
        return [Outcome(to, label=label, rules=(label,)) for at, label, to in edges if at == value]

    return System("graph", (toys.Toy("walker", "walker", (start,), moves),))


IDLES = graph([("a", "idle", "a"), ("a", "exit", "z")])
TURNS = graph([("a", "there", "b"), ("b", "back", "a"), ("a", "exit", "z")])
OUT = live(OFTEN, lambda value: value == "z", "walker")


def test_a_possible_exit_is_taken_if_that_is_fair() -> None:
    assert judge(IDLES, OUT, PER_LABEL).verdict is Verdict.HOLDS
    assert judge(IDLES, OUT, PER_RULE).verdict is Verdict.HOLDS


def test_a_machine_that_only_has_to_do_something_may_idle() -> None:
    verdict = judge(IDLES, OUT, PER_MACHINE)
    assert verdict.lasso is not None
    assert verdict.lasso.lines == ("for ever:", "      idle")


def test_without_fairness_a_run_may_stay() -> None:
    verdict = judge(IDLES, OUT)
    assert verdict.lasso is not None
    assert verdict.lasso.lines == ("for ever:", "      nothing more need happen")


def test_weak_fairness_does_not_open_an_exit_that_closes_again_and_again() -> None:
    """At b there is no exit, so the walk between a and b is fair."""
    verdict = judge(TURNS, OUT, PER_LABEL)
    assert verdict.lasso is not None
    assert [step.label for step in verdict.lasso.cycle] == ["there", "back"]


@pytest.mark.parametrize(
    ("kind", "expected"), [(OFTEN, Verdict.HOLDS), (ALWAYS, Verdict.VIOLATED)], ids=["often", "always"]
)
def test_a_blinker_is_lit_again_and_again_and_never_for_good(kind: LivenessKind, expected: Verdict) -> None:
    blinker = graph([("on", "off", "off"), ("off", "on", "on")], "off")
    verdict = judge(blinker, live(kind, lambda value: value == "on", "walker"), PER_MACHINE)
    assert verdict.verdict is expected


def test_a_stem_leads_to_the_nearest_trap_by_way_of_what_was_given() -> None:
    """x, y and z are for ever; x is nearer than y, but only the way to y passes b."""
    fork = graph([("a", "1", "z"), ("a", "2", "b"), ("a", "3", "x"), ("b", "4", "y")])
    prop = live(LEADS, lambda value: value == "z", "walker", given=lambda value: value == "b")
    verdict = judge(fork, prop, PER_LABEL)
    assert verdict.lasso is not None
    assert [step.label for step in verdict.lasso.stem] == ["2", "4"]
    assert verdict.occasions == 1


def test_what_is_never_given_holds_in_vain() -> None:
    verdict = judge(TURNS, live(LEADS, lambda value: False, "walker", given=lambda value: value == "q"))
    assert (verdict.verdict, verdict.occasions) == (Verdict.HOLDS, 0)
    assert verdict.given == 0 < (verdict.judged or 0)


@pytest.mark.parametrize(
    ("kind", "given", "counts"),
    [
        (LEADS, lambda a, b: a == b == 3, (4**2, 1)),
        (LEADS, lambda a, b: a < b, (4**2, 6)),
        (ALWAYS, None, (4**2, 4**2)),
    ],
)
def test_a_combination_counts_once_whichever_machines_show_it(
    kind: LivenessKind, given: Callable[..., bool] | None, counts: tuple[int, int]
) -> None:
    """Six choices of two of three counters, of which each shows 0 to 3; whether or not it is violated."""
    for test in (lambda a, b: a == b == 3, lambda a, b: False):
        verdict = judge(toys.counters(), live(kind, test, "counter", "counter", given=given), PER_MACHINE)
        assert (verdict.judged, verdict.given) == counts
        prop = live(kind, test, "counter", "counter", given=given, fairness=(PER_MACHINE,))
        told = engine.explore(replace(toys.counters(), liveness=(prop,))).properties[0]
        assert (told.judged, told.given) == counts


def test_counters_end_full_if_each_goes_on() -> None:
    full = live(ALWAYS, lambda value: value == 3, "counter")
    assert judge(toys.counters(), full, PER_MACHINE).verdict is Verdict.HOLDS
    assert judge(toys.counters(), full).verdict is Verdict.VIOLATED


# ---- the token ring: who wants the token gets it, if nobody keeps it for ever


def some(*names: str) -> Fairness:
    return Fairness(
        "some",
        "Some go on.",
        lambda step: tuple(
            local_step for local_step in (step.local_steps[0].machine,) if local_step in names
        ),
    )


@pytest.mark.parametrize(
    ("fairness", "expected"),
    [
        (PER_MACHINE, Verdict.HOLDS),
        (PER_RULE, Verdict.HOLDS),
        (some("node/0", "node/1"), Verdict.VIOLATED),
        (some("node/0", "node/1", "node/2"), Verdict.HOLDS),
    ],
    ids=["machines", "rules", "two of three", "three of three"],
)
def test_the_token_comes_round(fairness: Fairness, expected: Verdict) -> None:
    served = live(LEADS, lambda node: node.token, "node", given=lambda node: node.wants)
    verdict = judge(toys.ring(3), served, fairness)
    assert verdict.verdict is expected
    assert verdict.occasions == 3 * (3 * 2**3) / 2
    if verdict.lasso is not None:
        assert verdict.lasso.lines[-1] == "      nothing more need happen"
        assert "node/2" not in verdict.lasso.machines


# ---- two workers and a scheduler that grants one of them the floor


def workers(*, takes_turns: bool) -> System:
    """idle, asks, works, idle. The scheduler grants whenever the floor is free, or to each in outcome."""

    def worker(name: str) -> toys.Toy:
        def moves(value: str) -> list[Outcome]:
            if value == "idle":
                return [Outcome("asks", label=f"{name} asks")]
            if value == "asks":
                return [Outcome("works", (Send("scheduler", name),), f"{name} works")]
            return [Outcome("idle", (Send("scheduler", ""),), f"{name} is done")]

        return toys.Toy(name, "worker", ("idle",), moves)

    def takes(value: tuple[str, str], sender: str, message: str) -> list[Outcome]:
        """value: (who works, who may be next)"""
        floor, following = value
        if not message:
            return [Outcome(("", following))]
        if floor or (takes_turns and following != message):
            return []
        return [Outcome((message, "b" if message == "a" else "a"))]

    scheduler = toys.Toy("scheduler", "scheduler", (("", "a"),), takes=takes)
    return System("workers", (worker("a"), worker("b"), scheduler))


SERVED = live(LEADS, lambda value: value == "works", "worker", given=lambda value: value == "asks")


def test_a_worker_starves_under_weak_fairness() -> None:
    verdict = judge(workers(takes_turns=False), SERVED, PER_MACHINE)
    assert verdict.lasso is not None
    assert verdict.lasso.lines == (
        "   1  a asks",
        "for ever:",
        "      b asks",
        "      b works",
        "      b is done",
    )


def test_a_scheduler_that_takes_turns_serves_all() -> None:
    assert judge(workers(takes_turns=True), SERVED, PER_MACHINE).verdict is Verdict.HOLDS


# ---- beside every set of states


LABELS = ("x", "y", "z")


def random_system(seed: int) -> System:
    dice = random.Random(seed)
    edges = [(dice.randrange(5), dice.choice(LABELS), dice.randrange(5)) for _ in range(dice.randint(3, 9))]
    return graph(list(dict.fromkeys(edges)), 0)


def violated(system: System, prop: Liveness, fairness: Fairness) -> bool:
    """By trying all sets of states as what a run visits for ever."""
    net = networkx.DiGraph()
    net.add_node((0,))
    todo = [(0,)]
    for state in todo:
        for step in system.successors(state):
            if step.target not in net:
                todo.append(step.target)
            net.add_edge(state, step.target)
    (view,) = prop.views
    bad = {state for state in net if not prop.test(view.of(state[0]))}
    inside = net.subgraph(net if prop.kind is ALWAYS else bad)
    starts = [state for state in inside if prop.given is None or prop.given(view.of(state[0]))]
    sets = chain.from_iterable(combinations(inside, size) for size in range(1, len(inside) + 1))
    return any(
        bad.intersection(part)
        and networkx.is_strongly_connected(inside.subgraph(part))
        and any(networkx.has_path(inside, start, part[0]) for start in starts)
        and fair(system, part, fairness)
        for part in sets
    )


def fair(system: System, part: Sequence[State], fairness: Fairness) -> bool:
    steps = [list(system.successors(state)) for state in part]
    possible = [{name for step in out for name in fairness.of(step)} for out in steps]
    taken = {name for out in steps for step in out if step.target in part for name in fairness.of(step)}
    return set.intersection(*possible) <= taken


@pytest.mark.parametrize("kind", LivenessKind)
@pytest.mark.parametrize("fairness", [PER_LABEL, PER_MACHINE], ids=["labels", "machines"])
def test_random_graphs(kind: LivenessKind, fairness: Fairness) -> None:
    given = (lambda value: value == 1) if kind is LEADS else None
    prop = live(kind, lambda value: value in (2, 3), "walker", given=given)
    answers = []
    for seed in range(150):
        system = random_system(seed)
        answers.append(judge(system, prop, fairness).verdict is Verdict.VIOLATED)
        assert answers[-1] == violated(system, prop, fairness), seed
    assert 15 < sum(answers) < 135


# ---- what is asked for wrongly, and limits


@pytest.mark.parametrize("numba", [True, False], ids=["compiled", "plain"])
def test_beyond_the_limit_all_is_undecided(numba: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "_compiled", lambda: numba)
    full = live(ALWAYS, lambda value: value == 3, "counter")
    assert check(toys.counters(), [full], max_states=63).verdict is Verdict.UNDECIDED
    result = check(toys.counters(), [full], max_states=64)
    assert (result.distinct, result.generated) == (64, 1 + 3 * 3 * 4**2)


def test_other_fairness_than_the_property_states() -> None:
    prop = replace(OUT, fairness=(PER_LABEL,))
    assert check(IDLES, [prop]).verdict is Verdict.HOLDS
    assert check(IDLES, [prop], [PER_MACHINE]).verdict is Verdict.VIOLATED


def test_given_belongs_to_leads_to() -> None:
    with pytest.raises(ValueError, match="`given` belongs to `leads to`"):
        live(OFTEN, bool, "walker", given=bool)
    with pytest.raises(ValueError, match="`given` belongs to `leads to`"):
        live(LEADS, bool, "walker")


def test_two_properties_of_one_name() -> None:
    with pytest.raises(ValueError, match="share a name"):
        check(IDLES, [OUT, OUT])


def test_without_networkx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    assert check(IDLES, [OUT]).verdict is Verdict.VIOLATED  # compiled code needs none
    monkeypatch.setattr(liveness, "_compiled", lambda: False)
    with pytest.raises(MissingExtra, match="liveness needs networkx; pip install"):
        check(IDLES, [OUT])
