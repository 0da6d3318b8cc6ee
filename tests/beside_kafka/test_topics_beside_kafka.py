"""The recorded dialogues about topics and fetch sessions are what a running Kafka 4.4.0 says."""

import pytest

from harness.thinned import some
from harness.topic_dialogues import DIALOGUES, cleared, play, recorded, with_coordinator
from rota.conformance.targets.kafka_broker import launch
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched

KAFKA = RELEASES["kafka-4.4.0"]


@pytest.fixture(scope="module")
def address():
    try:
        fetched(KAFKA)
    except NoJars as cause:
        pytest.skip(f"Kafka: {cause}")
    broker = launch(KAFKA, {})
    try:
        with_coordinator(broker.address)
        yield broker.address
    finally:
        broker.stop()


@pytest.mark.parametrize("title", some(DIALOGUES, 2))
def test_the_recorded_dialogues_are_what_kafka_says(title, address):
    cleared(address)
    assert play(address, DIALOGUES[title], settle=0.3) == recorded()[title]
