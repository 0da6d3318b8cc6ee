"""The formulas of time and the spec agree on every small case; a rule with a bug does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import z3

from rota.kernel import FrozenMap
from rota.proofs import decide
from rota.proofs.timers.barrier import counted, remaining, shut
from rota.proofs.timers.initial import (
    DELAY,
    LIMIT,
    NOW,
    Window,
    begun,
    extended,
    extended_for_newcomers,
    total,
    whole,
)
from rota.proofs.vote.encoding import MEMBER
from rota.spec import KAFKA_4, Arm, BrokerConfig, Group, GroupState, InitialJoin, Member, Step, classic
from rota.spec.classic.vocabulary import TimerKind
from rota.spec.context import Spec, only
from rota.spec.effects import timer

DUE = timer(TimerKind.INITIAL_JOIN)
PREPARING = GroupState.PREPARING_REBALANCE


def spec_of(delay: int = 3_000) -> Spec:
    return classic(BrokerConfig(group_initial_rebalance_delay_ms=delay), profile=KAFKA_4)


def member(rebalance: int = 5, *, parked: bool = True, instance: str | None = None) -> Member:
    return Member(rebalance, 9, (), awaiting_join="r" if parked else None, group_instance_id=instance)


def number(term: Any, **values: int) -> int:
    names = {"delay": DELAY, "limit": LIMIT, **NOW._asdict()}
    pairs = [(names[name], z3.IntVal(value)) for name, value in values.items()]
    return z3.simplify(z3.substitute(term, *pairs)).as_long()


def armed(step: Step) -> int | None:
    """For how long the initial delay goes on, None where it is over."""
    (length,) = [e.delay_ms for e in step.timers if isinstance(e, Arm) and e.timer == DUE] or [None]
    return length


def windows_that_differ(make: Callable[[int], Spec]) -> Iterator[tuple[object, ...]]:
    """Cases in which formula and spec go on for different windows: all, whether there are such or not."""
    for delay, length, remaining_ms, added in product(range(4), range(4), range(7), (False, True)):
        joined = FrozenMap({"m": member()})
        group = Group(
            PREPARING,
            members=joined,
            initial_join=InitialJoin(length, remaining_ms),
            new_member_added=added,
            protocol_type="consumer",
        )
        (step,) = make(delay).fire(group, DUE)
        formula = extended(NOW, DELAY)
        values = {"delay": delay, "spent": 0, "length": length, "remaining": remaining_ms}
        after = InitialJoin(number(formula.length, **values), number(formula.remaining, **values))
        expected = (after, after.delay_ms) if added and remaining_ms else (None, None)
        if (step.live.initial_join, armed(step)) != expected:
            yield delay, length, remaining_ms, added


def first_windows_that_differ(make: Callable[[int], Spec]) -> Iterator[tuple[int, int]]:
    for delay, limit in product(range(5), range(-1, 8)):
        group = Group(members=FrozenMap({"m": member(limit)}))
        (step,) = make(delay).apply("join.prepare-rebalance", Step(group))
        formula = begun(DELAY, LIMIT)
        values = {"delay": delay, "limit": max(limit, 0)}
        expected = InitialJoin(number(formula.length, **values), number(formula.remaining, **values))
        if step.live.initial_join != expected or armed(step) != expected.delay_ms:
            yield delay, limit


def test_windows_are_those_of_the_spec() -> None:
    assert not list(windows_that_differ(spec_of))
    assert not list(first_windows_that_differ(spec_of))


def with_rule(slug: str, function: Callable[..., Any], delay: int = 3_000) -> Spec:
    spec = spec_of(delay)
    return replace(spec, rules=spec.rules.replaced(slug, function))


def test_windows_of_a_spec_with_a_bug_differ() -> None:
    def takes_off_the_next(spec: Spec, group: Group, due: object) -> tuple[Step, ...]:
        initial = group.initial_join
        if initial is None or not group.new_member_added or initial.remaining_ms == 0:
            return ()
        window = min(spec.config.group_initial_rebalance_delay_ms, initial.remaining_ms)
        following = InitialJoin(window, max(initial.remaining_ms - window, 0))
        step = Step(replace(group, new_member_added=False, initial_join=following))
        return only(step.arm(TimerKind.INITIAL_JOIN, window))

    def whole_timeout(spec: Spec, step: Step) -> tuple[Step, ...]:
        delay = spec.config.group_initial_rebalance_delay_ms
        initial = InitialJoin(delay, step.live.rebalance_timeout_ms)
        return only(
            step.to(replace(step.live, initial_join=initial)).arm(TimerKind.INITIAL_JOIN, initial.delay_ms)
        )

    extending, beginning = "timers.initial-delay-extended", "join.prepare-rebalance"
    assert list(windows_that_differ(lambda delay: with_rule(extending, takes_off_the_next, delay)))
    assert list(first_windows_that_differ(lambda delay: with_rule(beginning, whole_timeout, delay)))


@pytest.mark.parametrize(("delay", "limit"), [(3, 0), (3, 2), (3, 3), (3, 4), (3, 8), (1, 4), (2, 9)])
def test_phases_take_what_the_bound_says_and_keep_who_joined(delay: int, limit: int) -> None:
    """Whichever windows find a newcomer. If all do the bound is reached."""
    spec, longest = spec_of(delay), 0
    for came in product((False, True), repeat=6):
        group = Group(members=FrozenMap({"m0": member(limit)}), protocol_type="consumer", leader="m0")
        (step,) = spec.apply("join.prepare-rebalance", Step(group))
        spent, joined = armed(step), 1
        assert spent is not None
        for newcomer in came:
            initial = step.live.initial_join
            assert initial is not None
            window = Window(*map(z3.IntVal, (spent, initial.delay_ms, initial.remaining_ms)))
            for fact in (total(window), whole(window)):
                assert z3.is_true(
                    z3.simplify(z3.substitute(fact, (DELAY, z3.IntVal(delay)), (LIMIT, z3.IntVal(limit))))
                )
            if newcomer:
                grown = step.live.with_member(f"m{joined}", member(99))
                step, joined = Step(replace(grown, new_member_added=True)), joined + 1
            step = spec.fire(step.live, DUE)[0]
            if (more := armed(step)) is None:
                break
            spent += more
        assert step.live.state is GroupState.COMPLETING_REBALANCE
        assert len(step.replies) == len(step.live.members) == joined
        assert spent <= max(delay, limit)
        longest = max(longest, spent)
    assert longest == max(delay, limit)


def test_where_completion_clears_the_flag_windows_are_for_newcomers() -> None:
    assert decide(extended_for_newcomers())[0] == "refuted"
    assert decide(extended_for_newcomers(cleared=True))[0] == "proved"


# The barrier, on all groups of up to three. A member: whether it is parked and whether it is static.

IDS = ("ann", "ben", "cid")
KINDS = (None, (True, False), (False, False), (True, True), (False, True))


def z3_set(ids: Any) -> Any:
    found = z3.EmptySet(MEMBER)
    for one in sorted(ids):
        found = z3.SetAdd(found, z3.Const(one, MEMBER))
    return found


class Sets:
    """Asks whether a formula about members holds, when all members are named."""

    def __init__(self) -> None:
        self.solver = z3.Solver()
        self.solver.add(z3.Distinct([z3.Const(one, MEMBER) for one in (*IDS, "dan")]))

    def holds(self, formula: Any) -> bool:
        return self.solver.check(z3.Not(formula)) == z3.unsat


def groups() -> Iterator[Group]:
    for kinds in product(KINDS, repeat=3):
        present = {i: kind for i, kind in zip(IDS, kinds, strict=True) if kind is not None}
        members = {
            i: member(parked=parked, instance=f"i{i}" if static else None)
            for i, (parked, static) in present.items()
        }
        leader = next(iter(members), None)
        yield Group(PREPARING, 1, "consumer", None, leader, FrozenMap(members))


def barriers_that_differ(spec: Spec) -> Iterator[Group]:
    sets = Sets()
    for group, pending in product(groups(), ((), ("dan",))):
        group = replace(group, pending=frozenset(pending))
        ids = z3_set(group.members), z3_set(group.awaiting_join), z3_set(group.pending)
        size, waiting = z3.IntVal(len(group.members)), z3.IntVal(len(group.awaiting_join))
        opened = spec.ask("join.barrier", group)
        if (opened, opened) != (sets.holds(counted(size, waiting, ids[2])), not sets.holds(shut(*ids))):
            yield group


def generations_that_differ(spec: Spec) -> Iterator[Group]:
    sets = Sets()
    for group in groups():
        static = [i for i, one in group.members.items() if one.group_instance_id]
        kept = remaining(z3_set(group.members), z3_set(group.awaiting_join), z3_set(static))
        for step in spec.apply("join.complete-phase", Step(group)):
            begins = step.live.state is GroupState.COMPLETING_REBALANCE
            if not sets.holds(kept == z3_set(step.live.members)) or begins != bool(group.awaiting_join):
                yield group


def test_barrier_and_generation_are_those_of_the_spec() -> None:
    assert not list(barriers_that_differ(spec_of()))
    assert not list(generations_that_differ(spec_of()))


def test_a_barrier_with_a_bug_differs() -> None:
    def forgets_ids(group: Group) -> bool:
        return len(group.awaiting_join) == len(group.members)

    def keeps_all(spec: Spec, step: Step) -> tuple[Step, ...]:
        return only(step.to(replace(step.live, state=GroupState.COMPLETING_REBALANCE)))

    assert list(barriers_that_differ(with_rule("join.barrier", forgets_ids)))
    assert list(generations_that_differ(with_rule("join.complete-phase", keeps_all)))
