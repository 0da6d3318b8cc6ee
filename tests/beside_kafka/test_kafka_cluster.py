"""Three brokers of Kafka 4.4.0: who does not coordinate says so, and groups outlive their coordinator."""

from __future__ import annotations

from contextlib import closing

import pytest

from rota.conformance.catalogue import all_cases
from rota.conformance.results import Verdict
from rota.conformance.runner import Options, play_all
from rota.conformance.targets.grammar import parse_target
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched

KAFKA = "kafka-4.4.0"


@pytest.mark.long
def test_a_cluster_passes_every_case_of_clusters() -> None:
    try:
        fetched(RELEASES[KAFKA])
    except NoJars as cause:
        pytest.skip(f"{KAFKA}: {cause}")
    cases = [case for case in all_cases() if case.brokers > 1]
    with closing(parse_target(KAFKA)) as target:
        results = list(play_all(cases, target, Options(seed=1), {}))
    assert {result.case.id: result.verdict for result in results if result.verdict is not Verdict.PASS} == {}
    assert len(results) == len(cases) > 10
