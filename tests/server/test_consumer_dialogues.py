"""`rota serve` says what Apache Kafka 4.4.0 said in the recorded dialogues by the consumer protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from beside_kafka.consumer_dialogues.steps import Dialogue
from consumer_dialogues import ALL, golden
from harness.served_dialogues import text_of


@pytest.mark.parametrize("dialogue", ALL, ids=lambda one: one.slug)
def test_the_server_says_what_kafka_says(dialogue: Dialogue, tmp_path: Path) -> None:
    """Word by word, and none is left out."""
    assert text_of(dialogue, tmp_path) == golden(dialogue).read_text(encoding="utf-8")
