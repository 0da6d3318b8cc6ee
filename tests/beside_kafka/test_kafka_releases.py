"""Every release of Apache Kafka that has a name conforms: a part of the protocol each, and all restarts."""

from __future__ import annotations

from contextlib import closing

import pytest

from rota.conformance.catalogue import all_cases, select
from rota.conformance.dialogues.script import Case
from rota.conformance.profiles import for_profile, usual_profile
from rota.conformance.results import DEVIATION_VERDICT, CaseResult, Verdict
from rota.conformance.runner import Options, divide, exit_code, find_unreadable, play_all
from rota.conformance.targets.grammar import parse_target
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched

pytestmark = pytest.mark.long

PARTS = {
    "kafka-3.4.1": ("join", "offsets"),
    "kafka-3.9.2": ("static", "admin"),
    "kafka-4.0.2": ("join", "offsets"),
    "kafka-4.4.0": ("sync", "leave", "expiry"),
}
"""What is played beside the restarts. `rota conform --target NAME` plays everything."""

THEIRS = {
    "kafka-4.0.2": {"join.next-generation.unreadable-metadata", "offsets.topics-of.unreadable"},
}
"""What a release does otherwise than its profile says; docs/judging-a-coordinator.md has the reasons."""


def played(name: str, cases: list[Case]) -> list[CaseResult]:
    expected, _ = for_profile(cases, usual_profile(name))
    options = Options(seed=1)
    with closing(parse_target(name)) as target:
        playable, _ = divide(expected, target, options)
        return list(play_all(playable, target, options, find_unreadable(target, options.patience)))


@pytest.mark.parametrize("name", PARTS)
def test_a_release_conforms(name: str) -> None:
    try:
        fetched(RELEASES[name])
    except NoJars as cause:
        pytest.skip(f"{name}: {cause}")
    restarts = [case for case in all_cases() if case.restarts and case.brokers == 1]
    cases = {case.id: case for case in (*select(all_cases(), PARTS[name]), *restarts)}
    results = played(name, list(cases.values()))
    found = {one.case.id: one for one in results}
    right = (Verdict.PASS, Verdict.UNSUPPORTED)
    assert {id: one for id, one in found.items() if one.verdict not in right} == {
        id: found[id] for id in THEIRS.get(name, ())
    }
    for id in THEIRS.get(name, ()):
        assert found[id].verdict is DEVIATION_VERDICT[found[id].case.level]
    assert exit_code(results) == 0
    assert len(results) > 80


def test_every_release_is_played() -> None:
    assert PARTS.keys() == RELEASES.keys()
