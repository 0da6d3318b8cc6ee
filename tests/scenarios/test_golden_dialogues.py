"""The golden dialogues: played on the spec with the coordinator beside it, and compared word by word.

`pytest tests/scenarios --regenerate` writes them anew; review the difference like code. A scenario asserts
its point itself, whatever the file says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from golden_scenarios import SCENARIOS, WAITING, Scenario
from stage import Stage
from stage_text import text

from rota.mutants.core import core_bugs, planted
from rota.mutants.registry import MUTANTS
from rota.oracle import Divergence
from rota.spec import KAFKA_4, RULES

GOLDEN = Path(__file__).parent / "golden"


def dialogue(scenario: Scenario, *, beside: bool = True) -> str:
    """The scenario as text. Errors: AssertionError where its point is missed; Divergence."""
    stage = Stage(beside=beside)
    scenario.play(stage)
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


def test_all_nineteen_are_played_or_wait_for_a_feature_that_is_omitted():
    played = {scenario.number for scenario in SCENARIOS.values()}
    assert played | {one.number for one in WAITING} == set(range(1, 20))
    for one in WAITING:
        assert one.feature in KAFKA_4.omitted, f"{one.what} need not wait any more"
        assert (one.number in played) == one.part, one


def test_every_scenario_says_its_point_and_a_source():
    for scenario in SCENARIOS.values():
        assert len(scenario.point.split()) > 12, scenario.name
        assert scenario.source, scenario.name


def noticed(*, beside: bool) -> Iterator[str]:
    """How each scenario that is not as it should be shows it: its own "point", the "core", the "text"."""
    for name, scenario in SCENARIOS.items():
        try:
            if dialogue(scenario, beside=beside) != golden(name):
                yield "text"
        except Divergence:
            yield "core"
        except Exception:
            yield "point"


TEXT_ONLY: dict[str, str] = {}
"""Mutants of the spec that only the comparison with the files shows, and why."""


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_of_the_spec_is_noticed(mutant, monkeypatch):
    """On the spec alone: the coordinator beside it would complain first."""
    one = MUTANTS[mutant]
    monkeypatch.setattr("rota.oracle.follow.RULES", RULES.replaced(one.slug, one.function))
    found = set(noticed(beside=False))
    assert found, "no scenario is any different"
    assert ("point" in found) == (mutant not in TEXT_ONLY)


NOT_PLAYED: tuple[str, ...] = ()
"""Bugs of the coordinator that show in no scenario: their requests are not among these."""


def test_bugs_of_the_coordinator_are_noticed():
    unseen = []
    for bug in core_bugs().values():
        with planted(bug):
            unseen += [] if "core" in noticed(beside=True) else [bug.name]
    assert tuple(unseen) == NOT_PLAYED
