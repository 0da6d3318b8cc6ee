"""Java's transactional producer on rota's server, with and without `transaction.version` 2."""

from __future__ import annotations

import subprocess

import pytest

from harness.java_programs import Compiled
from rota.server import controlled
from rota.server.features import LEVELS

SAID = ["the first is told ProducerFencedException", "read one three five", "committed 5"]


def said(command: tuple[str, ...], bootstrap: str) -> list[str]:
    """What the producer and the reader print."""
    run = subprocess.run((*command, bootstrap, "t", "billing"), capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.parametrize("level", [pytest.param(0, marks=pytest.mark.long), 2])
def test_what_is_committed_is_read_and_counts(
    level: int, java: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `transaction.version` 2 partitions and groups are added by what is sent, and by nothing else."""
    monkeypatch.setitem(LEVELS, "transaction.version", (0, level))
    with controlled() as broker:
        broker.create_topic("t")
        added = [broker.delay(api, 0, times=100) for api in ("AddPartitionsToTxn", "AddOffsetsToTxn")]
        assert said(java("ExactlyOnce"), broker.bootstrap) == SAID
        assert broker.groups()["billing"].offsets == {("t", 0): 5}
        assert [planned.left == 100 for planned in added] == [level == 2] * 2
