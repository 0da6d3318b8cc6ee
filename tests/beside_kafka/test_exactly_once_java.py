"""Java's transactional producer on rota's server, with and without `transaction.version` 2."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.reconciling import SOURCE as RECONCILER
from harness.reconciling import NotCompiled, compiled
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched
from rota.server import controlled
from rota.server.features import LEVELS

SOURCE = RECONCILER.with_name("ExactlyOnce.java")
SAID = ["the first is told ProducerFencedException", "read one three five", "committed 5"]


def said(bootstrap: str, folder: Path) -> list[str]:
    """What the producer and the reader print."""
    try:
        fetched(RELEASES["kafka-4.4.0"])
        command = compiled(SOURCE, folder)
    except (NoJars, NotCompiled) as cause:
        pytest.skip(str(cause))
    run = subprocess.run((*command, bootstrap, "t", "billing"), capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.parametrize("level", [0, 2])
def test_what_is_committed_is_read_and_counts(
    level: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `transaction.version` 2 partitions and groups are added by what is sent, and by nothing else."""
    monkeypatch.setitem(LEVELS, "transaction.version", (0, level))
    with controlled() as broker:
        broker.create_topic("t")
        added = [broker.delay(api, 0, times=100) for api in ("AddPartitionsToTxn", "AddOffsetsToTxn")]
        assert said(broker.bootstrap, tmp_path) == SAID
        assert broker.groups()["billing"].offsets == {("t", 0): 5}
        assert [planned.left == 100 for planned in added] == [level == 2] * 2
