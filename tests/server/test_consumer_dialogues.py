"""`rota serve` in the dialogues by the consumer protocol that were recorded from Apache Kafka 4.4.0.

Each is played over the wire and held to the golden text, word by word. Where a broker sets what a group has
for itself, the server has it for all groups; where records of the offsets topic are asked for, they are read
in the data folder, as the topic is not served.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from beside_kafka.consumer_dialogues import written
from beside_kafka.consumer_dialogues.broker import SETTINGS
from beside_kafka.consumer_dialogues.stage import Stage
from beside_kafka.consumer_dialogues.steps import Dialogue
from consumer_dialogues import ALL, golden, played
from rota.coordinator import GroupCoordinator
from rota.log import Fsync
from rota.server import running
from rota.server.storage import DataDir

OUT_OF_REACH: Mapping[str, str] = {}
"""Dialogues that the server cannot play, each with the reason."""

OF_GROUPS = {
    "membership.session-ends": {
        "consumer.session.timeout.ms": 4000,
        "consumer.heartbeat.interval.ms": 500,
    },
    "epochs.assignment-interval": {"consumer.assignment.interval.ms": 15_000},
    "epochs.assignment-interval-and-topics": {"consumer.assignment.interval.ms": 15_000},
    "epochs.assignment-interval-and-emptying": {"consumer.assignment.interval.ms": 15_000},
}
"""What a dialogue sets for its group, which here all groups of a server have."""


@contextmanager
def serving(folder: Path, slug: str, coordinator: type[GroupCoordinator] = GroupCoordinator) -> Iterator[str]:
    """A server for one dialogue."""
    own = {f"group.{name}": value for name, value in OF_GROUPS.get(slug, {}).items()}
    kept = {"offsets.topic.num.partitions": 1, "num.partitions": 1}
    data_dir = DataDir(str(folder / "data"), Fsync.NEVER)
    with running({**SETTINGS, **own, **kept}, coordinator=coordinator, data_dir=data_dir) as address:
        yield address


def text_of(dialogue: Dialogue, folder: Path, coordinator: type[GroupCoordinator] = GroupCoordinator) -> str:
    """What the server makes of a dialogue."""

    def configured(stage: Stage, settings: Mapping[str, int]) -> None:
        assert settings == OF_GROUPS[dialogue.slug]

    def stored(stage: Stage) -> bytes:
        (partition,) = (folder / "data").glob("__consumer_offsets-*")
        return b"".join(path.read_bytes() for path in sorted(partition.glob("*.log")))

    with (
        serving(folder, dialogue.slug, coordinator) as address,
        patch.object(Stage, "configure", configured),
        patch.object(written, "fetched", stored),
    ):
        host, _, port = address.rpartition(":")
        return played(dialogue, (host, int(port)))


@pytest.mark.parametrize("dialogue", ALL, ids=lambda one: one.slug)
def test_the_server_says_what_kafka_says(dialogue: Dialogue, tmp_path: Path) -> None:
    if dialogue.slug in OUT_OF_REACH:
        pytest.skip(OUT_OF_REACH[dialogue.slug])
    assert text_of(dialogue, tmp_path) == golden(dialogue).read_text(encoding="utf-8")
