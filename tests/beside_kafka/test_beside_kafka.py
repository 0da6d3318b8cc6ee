"""Cases and probes on Apache Kafka 4.4.0 and on rota's server: the differences are the known ones.

Of a family one is played, every third of the others of a rule, and few of those that restart or ask for
settings of their own; with `-m long` all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.some_cases import rule_of, settings_of, some
from rota.conformance.catalogue import all_scripts
from rota.conformance.comparison.compare import DialogueComparison, Likeness, compare
from rota.conformance.comparison.known_differences import (
    KNOWN_DIFFERENCES,
    no_longer_seen,
    unknown_differences,
)
from rota.conformance.dialogues.script import Case, Level, Script
from rota.conformance.results import Ending
from rota.conformance.runner import Options, divide
from rota.conformance.targets.grammar import parse_target
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched
from rota.report.beside import page

KAFKA = "kafka-4.4.0"
OPTIONS = Options(seed=1)
ROOT = Path(__file__).parents[2]
DIFFERING = {known.id for known in KNOWN_DIFFERENCES}


@pytest.fixture(scope="module", params=["some", pytest.param("all", marks=pytest.mark.long)])
def compared(request: pytest.FixtureRequest) -> Iterator[list[DialogueComparison]]:
    """The comparison, played once."""
    try:
        fetched(RELEASES[KAFKA])
        kafka = parse_target(KAFKA)
    except NoJars as cause:
        pytest.skip(f"{KAFKA}: {cause}")
    with closing(kafka), closing(parse_target("rota")) as rota:
        scripts = divide(all_scripts(), rota, OPTIONS)[0]
        chosen = some(scripts, DIFFERING) if request.param == "some" else scripts
        yield compare(chosen, kafka, rota, OPTIONS)


def test_what_is_left_out_is_alike() -> None:
    scripts = divide(all_scripts(), parse_target("rota"), OPTIONS)[0]
    chosen = some(scripts, DIFFERING)
    left = [script for script in scripts if script not in chosen]
    own = {settings_of(script) for script in left} - {settings_of(script) for script in chosen}
    usual = [script for script in left if not script.restarts and settings_of(script) not in own]
    assert {*map(rule_of, usual)} <= {*map(rule_of, chosen)}
    families = {getattr(script, "family", "") for script in usual} - {""}
    assert families <= {getattr(script, "family", "") for script in chosen}
    assert len(scripts) / 4 < len(chosen) < len(scripts) / 3


def those(compared: list[DialogueComparison], likeness: Likeness) -> list[Script]:
    return [one.script for one in compared if one.likeness is likeness]


def test_every_difference_is_known(compared: list[DialogueComparison]) -> None:
    new = unknown_differences(those(compared, Likeness.DIFFERS))
    assert {one.script.id: one for one in compared if one.script.id in new} == {}


def test_every_known_difference_is_still_there(compared: list[DialogueComparison]) -> None:
    assert no_longer_seen([one.script for one in compared], those(compared, Likeness.DIFFERS)) == {}


def test_nothing_is_undecided(compared: list[DialogueComparison]) -> None:
    assert {one.script.id: one for one in compared if one.likeness is Likeness.UNDECIDED} == {}


def test_kafka_passes_every_case_of_what_clients_depend_on(compared: list[DialogueComparison]) -> None:
    must = [one for one in compared if isinstance(one.script, Case) and one.script.level is Level.MUST]
    assert len(must) > 100
    assert {one.script.id: one for one in must if one.endings[0] is not Ending.FINISHED} == {}


def test_every_probe_can_be_played_on_kafka_to_its_end(compared: list[DialogueComparison]) -> None:
    probes = [one for one in compared if not isinstance(one.script, Case)]
    assert {one.script.id: one for one in probes if one.endings[0] is not Ending.FINISHED} == {}


def test_the_page_is_made_from_the_tables() -> None:
    assert (ROOT / "docs" / "beside-kafka.md").read_text(encoding="utf-8") == page()


def test_every_known_difference_is_about_something() -> None:
    scripts = all_scripts()
    for known in KNOWN_DIFFERENCES:
        assert any(known.covers(script) for script in scripts), known.id
        assert known.why.endswith(".")
    for script in scripts:
        assert sum(known.covers(script) for known in KNOWN_DIFFERENCES) <= 1, script.id


def test_what_is_new_and_what_is_gone_is_found() -> None:
    scripts = {script.id: script for script in all_scripts()}
    known, lots = scripts["voting.tie.range-or-sticky"], scripts["leave.remove-member.leader-replaced"]
    new = scripts["heartbeat.alive.stable"]
    assert unknown_differences([known, new, lots]) == [new.id]
    assert no_longer_seen([known, new, lots], []) == {known.id: [known.id]}
    assert no_longer_seen([known, new, lots], [known]) == {}
