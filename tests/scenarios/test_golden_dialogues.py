"""The golden dialogues: played on the spec with the coordinator beside it, and compared word by word.

`pytest tests/scenarios --regenerate` writes them anew; review the difference like code. A scenario asserts
its point itself, whatever the file says.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from harness.thinned import some
from rota.mutants import FOUND_BY_DIALOGUES, MUTANTS
from rota.mutants.core import core_bugs, planted
from rota.mutants.mutant import SCENARIOS as HERE
from rota.oracle import Divergence
from rota.stage.text import text
from scenarios import (
    scenarios_answers,
    scenarios_crowds,
    scenarios_membership,
    scenarios_moves,
    scenarios_offsets,
    scenarios_static,
)
from scenarios.scenario_list import SCENARIOS, Scenario

GOLDEN = Path(__file__).parent / "golden"
SCRIPTS = (
    *(scenarios_membership, scenarios_offsets, scenarios_answers, scenarios_moves),
    *(scenarios_static, scenarios_crowds),
)
"""The modules whose scripts are in the list once they are imported."""


def dialogue(scenario: Scenario, *, beside: bool = True) -> str:
    """The scenario as text. Errors: AssertionError where its point is missed; Divergence."""
    stage = scenario.stage(beside=beside)
    scenario.perform(stage)
    return text(scenario.name, scenario.point, scenario.source, stage)


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_dialogue_is_the_golden_one(name, regenerate):
    played = dialogue(SCENARIOS[name])
    if regenerate:
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / f"{name}.txt").write_text(played, encoding="utf-8")
    assert played == golden(name), f"{name}: if that is meant: pytest tests/scenarios --regenerate"


def test_there_is_a_file_for_every_scenario_and_no_other():
    assert {path.stem for path in GOLDEN.glob("*")} == SCENARIOS.keys()


def test_every_situation_is_played():
    """The nineteen of the introductions, and five more."""
    assert {scenario.number for scenario in SCENARIOS.values()} == set(range(1, 25))


def test_every_script_is_in_the_list():
    scripts = {
        play.__name__ for module in SCRIPTS for play in vars(module).values() if hasattr(play, "__code__")
    }
    assert scripts - {"pair", "static_pair", "scenario"} == {
        scenario.play.__name__ for scenario in SCENARIOS.values()
    }


def test_every_scenario_says_its_point_and_a_source():
    for scenario in SCENARIOS.values():
        assert len(scenario.point.split()) > 12, scenario.name
        assert scenario.source, scenario.name


def noticed(*, beside: bool) -> Iterator[str]:
    """How each scenario that is not as it should be shows it: its own "point", the "core", the "text"."""
    for name, scenario in SCENARIOS.items():
        if beside and not scenario.has_core:
            continue
        try:
            if dialogue(scenario, beside=beside) != golden(name):
                yield "text"
        except Divergence:
            yield "core"
        except Exception:
            yield "point"


SHOWN = (
    "absent-members-stay",
    "absent-members-wait-for-ever",
    "absent-static-members-dropped",
    "anybody-commits",
    "anybody-commits-while-completing",
    "asked-before-it-has-read",
    "barrier-counts-one",
    "change-without-rebalance",
    "changed-vote-unnoticed",
    "commit-never-answered",
    "commit-before-the-assignment",
    "coordinator-is-never-found",
    "emptiness-is-no-generation",
    "expired-member-is-well",
    "extension-without-timer",
    "failed-append-unanswered",
    "failed-replacement-unanswered",
    "favourites-counted",
    "fenced-heartbeat-is-unknown",
    "fenced-sync-is-unknown",
    "follower-answered-at-once",
    "former-id-leads",
    "generation-announced-early",
    "generation-stands-still",
    "heartbeat-stops-session",
    "id-stays-pending",
    "initial-timer-lost",
    "instance-not-compared",
    "join-timer-lost",
    "last-join-unnoticed",
    "late-answer-believed",
    "leader-not-replaced",
    "leader-rejoins-its-generation",
    "leaders-first-protocol",
    "list-for-everybody",
    "loaded-without-assignments",
    "loaded-without-instances",
    "loaded-without-leader",
    "loaded-without-members",
    "loaded-without-sessions",
    "looked-up-when-gone",
    "lookup-makes-members",
    "newcomers-unchecked",
    "no-initial-delay",
    "no-rebalance-timeout",
    "no-sync-timer",
    "old-heartbeat-counts",
    "older-generations-commit",
    "only-members-read",
    "only-the-leader-is-missed",
    "pending-without-timer",
    "reads-nothing",
    "rebalance-kept-secret",
    "removed-group-is-back",
    "replaced-join-forgotten",
    "replaced-under-the-leaders-eyes",
    "replacement-opens-nothing",
    "replacement-without-session",
    "restart-always-rebalances",
    "restart-is-a-newcomer",
    "restart-not-recorded",
    "restarted-leader-without-list",
    "session-outlives-member",
    "session-takes-parked",
    "session-without-rebalance",
    "shares-swapped",
    "size-unchecked",
    "stable-before-stored",
    "static-newcomer-shakes-hands",
    "stopping-broker-is-silent",
    "stored-group-begins-anew",
    "stranger-commits",
    "sync-parked-while-preparing",
    "syncs-answered-twice",
    "syncs-stay-parked",
    "unchanged-rejoin-counts",
    "unknown-join-dropped",
    "vote-by-union",
    "waiting-members-given-up",
    "wrong-broker-is-silent",
)
"""Mutants of the spec that miss the point of a scenario: writing the files anew does not hide them."""


def part(mutant: str) -> str:
    """Of the protocol, whose rule it breaks."""
    return {**MUTANTS, **FOUND_BY_DIALOGUES}[mutant].slug.partition(".")[0]


@pytest.mark.parametrize("mutant", some(SHOWN, kind=part))
def test_a_mutant_of_the_spec_misses_a_point(mutant, plant_in_spec):
    """On the spec alone: the coordinator beside it would complain first."""
    plant_in_spec(mutant)
    assert "point" in noticed(beside=False)


FOUND_HERE = {name: one for name, one in FOUND_BY_DIALOGUES.items() if one.configuration == HERE}


@pytest.mark.parametrize("mutant", FOUND_HERE)
def test_what_no_property_sees_misses_the_point_of_its_scenario(mutant, plant_in_spec):
    plant_in_spec(mutant)
    scenario = SCENARIOS[FOUND_HERE[mutant].killer]
    with pytest.raises(AssertionError):
        scenario.perform(scenario.stage(beside=False))


def test_a_mutant_that_misses_no_point_changes_the_text(plant_in_spec):
    """Of the leader's list only the first scenarios speak; the others show it in what they print."""
    plant_in_spec("list-for-everybody")
    assert dialogue(SCENARIOS["11-follower-syncs-after-stable"], beside=False) != golden(
        "11-follower-syncs-after-stable"
    )


def shown(bugs):
    """Those that the coordinator beside the spec shows in some scenario."""
    for bug in bugs:
        with planted(bug):
            found = "core" in noticed(beside=True)
        if found:
            yield bug


@pytest.mark.parametrize(
    ("every", "least"), [(10, 6), pytest.param(1, 60, marks=pytest.mark.long)], ids=["some", "all"]
)
def test_many_bugs_of_the_coordinator_break_a_scenario(every, least):
    """The coordinator beside the spec is held to the same dialogues, but for those that it has no part in."""
    bugs = [*core_bugs().values()][::every]
    assert len([*islice(shown(bugs), least)]) == least
