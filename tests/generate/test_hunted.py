"""The table of planted bugs that walks find says what is so, and every bug that they miss has a reason."""

from __future__ import annotations

import pytest

from harness.consumer_walk_hunt import grounds as grounds_of_consumers
from harness.hunted_bugs import CLASSIC_HUNTS, CONSUMER_HUNTS, Hunted, Hunts, rules_told
from harness.seen_bugs import profile_for, seen_bugs
from harness.walk_hunt import grounds
from rota.generate.hunt import Grounds, told, walked
from rota.generate.verdicts import Verdict, Walked
from rota.mutants.core import core_bugs

EARLY = 4
"""Walks of a seed that are drawn where only some bugs are looked for again."""

HUNTS = pytest.mark.parametrize("hunts", [CLASSIC_HUNTS, CONSUMER_HUNTS], ids=["classic", "consumer"])


def ground_of(hunts: Hunts, one: Hunted) -> Grounds:
    """What a sound server says to the plans of a seed."""
    if hunts is CONSUMER_HUNTS:
        return grounds_of_consumers(one.seed)
    return grounds(one.seed, profile_for(core_bugs()[one.bug]), one.transactional)


def walked_again(hunts: Hunts, one: Hunted) -> Walked:
    """The walk that found a bug, played again."""
    assert one.plan is not None
    ground = ground_of(hunts, one)
    return walked(ground.plan(one.plan), hunts.bugs()[one.bug], ground)[0]


def told_again(hunts: Hunts, one: Hunted) -> tuple[str, ...]:
    """The rules that are told of it, once it is made shorter and explained."""
    return rules_told(told(walked_again(hunts, one), hunts.bugs()[one.bug], ground_of(hunts, one)))


@HUNTS
def test_what_is_missed_has_a_reason(hunts: Hunts) -> None:
    """Looked for is what a client can see; a bug that is found with every seed has no reason to be missed."""
    found = hunts.found()
    seen = {one.bug for one in seen_bugs()} if hunts is CLASSIC_HUNTS else hunts.bugs().keys()
    assert {bug for bug, _ in found} <= seen
    missed = {one.bug for one in found.values() if one.plan is None}
    assert missed == hunts.reasons().keys()
    assert all(hunts.reasons().values())


@HUNTS
def test_the_page_says_with_each_seed_how_many_were_looked_for(hunts: Hunts) -> None:
    """As the table has them: what was not looked for yet is not told as found."""
    told = [*hunts.summary()]
    for seed, line in zip(sorted({seed for _, seed in hunts.found()}), told, strict=True):
        ones = [one for one in hunts.found().values() if one.seed == seed]
        plans = [one.plan for one in ones if one.plan is not None]
        assert line.startswith(f"With seed {seed} walks find {len(plans)} of {len(ones)} ")


@HUNTS
def test_walks_find_some_bugs_again(hunts: Hunts) -> None:
    """Those that the first walks of a seed have found, of each part of the protocol one."""
    early = [one for one in hunts.found().values() if one.plan is not None and one.plan < EARLY]
    sample = {hunts.bugs()[one.bug].rule.partition(".")[0]: one for one in early if one.seed == 1}
    assert len(sample) >= 5
    for one in sample.values():
        again = walked_again(hunts, one)
        assert (again.verdict, again.rule) == (Verdict.FAIL, one.nearest), one


@pytest.mark.long
@HUNTS
def test_walks_find_all_of_the_table_again(hunts: Hunts) -> None:
    """Each by the walk that the table names, with the rules that it names."""
    found = [one for one in hunts.found().values() if one.plan is not None]
    assert [one for one in found if walked_again(hunts, one).rule != one.nearest] == []
    assert [one for one in found if one.told and told_again(hunts, one) != one.told] == []
