"""Apache Kafka 3.9.2 does what the cases say of brokers with the older coordinator."""

from __future__ import annotations

from contextlib import closing

import pytest

from rota.conformance.catalogue import all_cases
from rota.conformance.profiles import for_profile
from rota.conformance.results import Verdict
from rota.conformance.runner import Options, play_all
from rota.conformance.targets.grammar import parse_target
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched

KAFKA = "kafka-3.9.2"


@pytest.mark.parametrize("least", [10, pytest.param(20, marks=pytest.mark.long)], ids=["usual", "all"])
def test_where_3_and_4_differ_a_broker_of_3_is_as_its_profile_says(least: int) -> None:
    """On a broker as it usually is, and with -m long on those with other settings that cases ask for, too."""
    try:
        fetched(RELEASES[KAFKA])
        kafka = parse_target(KAFKA)
    except NoJars as cause:
        pytest.skip(f"{KAFKA}: {cause}")
    cases, _ = for_profile([case for case in all_cases() if case.otherwise], "kafka-3.x")
    if least == 10:
        cases = [case for case in cases if not (case.settings or case.restarts or case.brokers > 1)]
    with closing(kafka):
        results = list(play_all(cases, kafka, Options(seed=1), {}))
    assert {result.case.id: result for result in results if result.verdict is not Verdict.PASS} == {}
    assert len(results) == len(cases) > least
