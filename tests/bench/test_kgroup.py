"""KGROUP: the counts on which several model checkers agree, and properties that bite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from bench.kgroup import PREFERENCES, Coordinator, KGroup, Member, kgroup

from bench import kgroup as model
from rota.explore import Verdict, engines
from rota.kernel import Outcome


def settings(text: str) -> dict[str, int]:
    """`2 2 2 0 0 0` as N, G, L, C, E, ND."""
    return dict(zip(("N", "G", "L", "C", "E", "ND"), map(int, text.split()), strict=True))


AGREED = {
    "2 2 2 0 0 0": (6_230, 14_680, 27),
    "2 2 2 1 1 0": (130_768, 471_322, 32),
    "2 2 2 1 1 1": (296_474, 1_181_748, 32),
    "2 2 3 2 1 0": (1_163_343, 4_822_093, 36),
    "3 2 2 0 0 1": (1_419_858, 5_018_540, 41),
    "3 2 2 0 1 0": (2_684_798, 11_246_698, 40),
    "4 1 1 0 0 0": (171_540, 699_096, 38),
    "2 1 4 3 0 1": (1_209_662, 5_173_913, 36),
}
"""Distinct, generated, depth, as other model checkers have them: Stateright all, Spin those with ND = 0."""


def many(texts: Sequence[str], few: int) -> list[object]:
    """All but the first few take long."""
    return [pytest.param(text, marks=[pytest.mark.long] * (at >= few)) for at, text in enumerate(texts)]


@pytest.mark.parametrize("text", many([*AGREED], 3))
def test_the_fast_engine_has_the_counts_that_others_have(text: str) -> None:
    result = engines.choose("fast")(kgroup(**settings(text)))
    assert (result.distinct, result.generated, result.depth) == AGREED[text]
    assert result.verdict is Verdict.HOLDS


def test_the_reference_engine_has_them_too() -> None:
    result = engines.choose("reference")(kgroup(**settings("2 2 2 0 0 0")))
    assert (result.distinct, result.generated, result.depth) == AGREED["2 2 2 0 0 0"]


@pytest.mark.parametrize(
    "text", many(["2 1 4 0 0 0", "2 2 1 0 0 1", "3 1 1 0 0 0", "2 1 1 1 1 1", "2 1 4 0 1 0"], 2)
)
def test_the_engines_agree(text: str) -> None:
    system = kgroup(**settings(text))
    reference, fast = engines.choose("reference")(system), engines.choose("fast")(system)
    assert fast.answer == reference.answer
    assert reference.verdict is Verdict.HOLDS


def leader_stays(self: Coordinator, group: KGroup, members: list[int]) -> list[KGroup]:
    """A leader that goes is not replaced."""
    for member in members:
        group = group.put(member, Member())
    return [group]


def list_for_all(self: Coordinator, group: KGroup) -> Outcome:
    """At the end of the join phase everybody is told the member list."""
    outcome = COMPLETED(self, group)
    return with_answers(outcome, data=outcome.value.bits)


def generation_stays(self: Coordinator, group: KGroup) -> Outcome:
    """The coordinator tells a new generation and keeps its old one."""
    outcome = COMPLETED(self, group)
    return replace(outcome, value=replace(outcome.value, generation=group.generation))


def dealt_to_the_first(self: Coordinator, group: KGroup, order: Sequence[int]) -> Outcome:
    """The first partition goes to everybody."""
    outcome = ASSIGNED(self, group, order)
    members = tuple(replace(m, assignment=m.assignment | 1) if m.place else m for m in outcome.value.members)
    return replace(outcome, value=replace(outcome.value, members=members))


def everything_to_all(self: Coordinator, group: KGroup, order: Sequence[int]) -> Outcome:
    """Every parked SyncGroup is answered with both partitions, whoever owns them."""
    return with_answers(ASSIGNED(self, group, order), data=0b11)


def first_list(group: KGroup) -> int:
    """The first member's favourite is elected, whatever the others support."""
    return PREFERENCES[group.members[group.present[0]].preference][0] if group.present else 0


COMPLETED, ASSIGNED = Coordinator.completed, Coordinator.assigned


def with_answers(outcome: Outcome, **fields: int) -> Outcome:
    """The outcome with other fields in all of its responses."""
    return replace(
        outcome, sends=tuple(replace(send, message=replace(send.message, **fields)) for send in outcome.sends)
    )


BUGS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "leader-is-a-member": (Coordinator, "_leaders", leader_stays),
    "one-leader": (Coordinator, "completed", list_for_all),
    "generation-not-ahead": (Coordinator, "completed", generation_stays),
    "dealt-once": (Coordinator, "assigned", dealt_to_the_first),
    "disjoint": (Coordinator, "assigned", everything_to_all),
    "protocol-supported": (model, "vote", first_list),
}
"""Property → where a bug is planted, under which name, and the bug."""


@pytest.mark.parametrize("name", [prop.name for prop in model.PROPERTIES])
def test_each_property_finds_its_bug(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, attribute, bug = BUGS[name]
    monkeypatch.setattr(where, attribute, bug)
    result = engines.choose("reference")(kgroup(**settings("2 1 4 0 0 0")))
    assert result.violation is not None
    assert result.violation.name == name
