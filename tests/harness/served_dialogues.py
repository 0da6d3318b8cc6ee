"""`rota serve` in the dialogues by the consumer protocol.

Where a broker sets what a group has for itself, the server has it for all groups; where records of the
offsets topic are asked for, they are read in the data folder, as the topic is not served.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from beside_kafka.consumer_dialogues import written
from beside_kafka.consumer_dialogues.broker import SETTINGS
from beside_kafka.consumer_dialogues.stage import Stage
from beside_kafka.consumer_dialogues.steps import Dialogue
from consumer_dialogues import played
from rota.log import Fsync
from rota.server import running
from rota.server.storage import DataDir

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
def serving(folder: Path, slug: str) -> Iterator[str]:
    """A server for one dialogue."""
    own = {f"group.{name}": value for name, value in OF_GROUPS.get(slug, {}).items()}
    kept = {"offsets.topic.num.partitions": 1, "num.partitions": 1}
    data_dir = DataDir(str(folder / "data"), Fsync.NEVER)
    with running({**SETTINGS, **own, **kept}, data_dir=data_dir) as address:
        yield address


def text_of(dialogue: Dialogue, folder: Path) -> str:
    """What the server makes of a dialogue."""

    def configured(stage: Stage, settings: Mapping[str, int]) -> None:
        assert settings == OF_GROUPS[dialogue.slug]

    def stored(stage: Stage) -> bytes:
        (partition,) = (folder / "data").glob("__consumer_offsets-*")
        return b"".join(path.read_bytes() for path in sorted(partition.glob("*.log")))

    with (
        serving(folder, dialogue.slug) as address,
        patch.object(Stage, "configure", configured),
        patch.object(written, "fetched", stored),
    ):
        host, _, port = address.rpartition(":")
        return played(dialogue, (host, int(port)))
