"""The recorded dialogues about what groups have for themselves are what a running Kafka 4.4.0 says."""

from __future__ import annotations

import pytest

from harness.group_config_dialogues import PARTS, forgotten, recorded
from harness.topic_dialogues import cleared, play, with_coordinator
from rota.conformance.targets.kafka_broker import launch
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched

KAFKA = RELEASES["kafka-4.4.0"]


@pytest.mark.long
@pytest.mark.parametrize("part", range(len(PARTS)))
def test_the_recorded_dialogues_are_what_kafka_says(part: int) -> None:
    settings, dialogues = PARTS[part]
    try:
        fetched(KAFKA)
    except NoJars as cause:
        pytest.skip(f"Kafka: {cause}")
    broker = launch(KAFKA, settings)
    try:
        with_coordinator(broker.address)
        for title, dialogue in dialogues.items():
            forgotten(broker.address)
            cleared(broker.address)
            assert play(broker.address, dialogue, settle=0.3) == recorded()[title], title
    finally:
        broker.stop()
