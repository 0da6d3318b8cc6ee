"""Dialogues of transactional producers with Apache Kafka 4.4.0 are the golden ones, word by word."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from harness.kafka_on_disk import RELEASE, KafkaOnDisk
from harness.transactions import DIALOGUES, SETTINGS, Stage, golden, played
from rota.conformance.targets.kafka_jars import NoJars, fetched
from rota.conformance.targets.process import NotStarted


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        fetched(RELEASE)
        kafka = KafkaOnDisk(tmp_path_factory.mktemp("kafka"), SETTINGS)
        kafka.start()
    except (NoJars, NotStarted) as cause:
        pytest.skip(f"kafka-4.4.0: {cause}")
    yield kafka.address
    kafka.stop()


@pytest.mark.parametrize("dialogue", DIALOGUES, ids=lambda one: one.__name__)
def test_the_dialogue_is_the_golden_one(dialogue: Callable[[Stage], None], address: str) -> None:
    assert played(dialogue, address) == golden(dialogue)
