"""The table of planted bugs that walks find says what is so, and every bug that they miss has a reason."""

from __future__ import annotations

import pytest

from harness.hunted_bugs import Hunted, hunted_bugs, rules_told, summary, unfound_bugs
from harness.seen_bugs import profile_for, seen_bugs
from harness.walk_hunt import grounds
from rota.generate.hunt import told, walked
from rota.generate.verdicts import Verdict, Walked
from rota.mutants.core import core_bugs

EARLY = 4
"""Walks of a seed that are drawn where only some bugs are looked for again."""


def walked_again(one: Hunted) -> Walked:
    """The walk that found a bug, played again."""
    assert one.plan is not None
    bug = core_bugs()[one.bug]
    ground = grounds(one.seed, profile_for(bug))
    return walked(ground.plan(one.plan), bug, ground)[0]


def told_again(one: Hunted) -> tuple[str, ...]:
    """The rules that are told of it, once it is made shorter and explained."""
    bug = core_bugs()[one.bug]
    return rules_told(told(walked_again(one), bug, grounds(one.seed, profile_for(bug))))


def test_what_is_missed_has_a_reason():
    """Looked for is what a client can see; a bug that is found with every seed has no reason to be missed."""
    found = hunted_bugs()
    assert {bug for bug, _ in found} <= {one.bug for one in seen_bugs()}
    missed = {one.bug for one in found.values() if one.plan is None}
    assert missed == unfound_bugs().keys()
    assert all(unfound_bugs().values())


def test_the_page_says_with_each_seed_how_many_were_looked_for():
    """As the table has them: what was not looked for yet is not told as found."""
    told = [*summary()]
    for seed, line in zip(sorted({seed for _, seed in hunted_bugs()}), told, strict=True):
        ones = [one for one in hunted_bugs().values() if one.seed == seed]
        plans = [one.plan for one in ones if one.plan is not None]
        assert line.startswith(f"With seed {seed} walks find {len(plans)} of {len(ones)} ")


def test_walks_find_some_bugs_again():
    """Those that the first walks of a seed have found, of each part of the protocol one."""
    early = [one for one in hunted_bugs().values() if one.plan is not None and one.plan < EARLY]
    sample = {core_bugs()[one.bug].rule.partition(".")[0]: one for one in early if one.seed == 1}
    assert len(sample) >= 5
    for one in sample.values():
        again = walked_again(one)
        assert (again.verdict, again.rule) == (Verdict.FAIL, one.nearest), one


@pytest.mark.long
def test_walks_find_all_of_the_table_again():
    """Each by the walk that the table names, with the rules that it names."""
    found = [one for one in hunted_bugs().values() if one.plan is not None]
    assert [one for one in found if walked_again(one).rule != one.nearest] == []
    assert [one for one in found if one.told and told_again(one) != one.told] == []
