"""`rota serve` in the dialogues by the consumer protocol.

Where records of the offsets topic are asked for, they are read in the data folder, as the topic is not
served.
"""

from __future__ import annotations

from collections.abc import Iterator
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


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A server for one dialogue."""
    kept = {"offsets.topic.num.partitions": 1, "num.partitions": 1}
    data_dir = DataDir(str(folder / "data"), Fsync.NEVER)
    with running({**SETTINGS, **kept}, data_dir=data_dir) as address:
        yield address


def text_of(dialogue: Dialogue, folder: Path) -> str:
    """What the server makes of a dialogue."""

    def stored(stage: Stage) -> bytes:
        (partition,) = (folder / "data").glob("__consumer_offsets-*")
        return b"".join(path.read_bytes() for path in sorted(partition.glob("*.log")))

    with (
        serving(folder) as address,
        patch.object(written, "fetched", stored),
    ):
        host, _, port = address.rpartition(":")
        return played(dialogue, (host, int(port)))
