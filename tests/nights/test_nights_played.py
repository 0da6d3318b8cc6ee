"""The nights on rota's server and on Kafka: no cause is named that it was not; some the log must name."""

from __future__ import annotations

from pathlib import Path

import pytest

from nights.__main__ import nights_on
from nights.judged import Verdict, table
from nights.night import JAVA, LIBRDKAFKA
from nights.scenes import NIGHTS
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched

pytestmark = pytest.mark.long

BROKERS = [("rota", LIBRDKAFKA), ("rota", JAVA), ("kafka-4.4.0", LIBRDKAFKA), ("kafka-4.4.0", JAVA),
           ("kafka-3.9.2", LIBRDKAFKA), ("kafka-3.4.1", LIBRDKAFKA)]  # fmt: skip

IN_THE_LOG = frozenset(
    {
        "crash",
        "host-lost",
        "leader-never-syncs",
        "never-rejoins",
        "id-never-used",
    }
)
"""Nights whose cause every broker's log tells, whatever the clients say."""


@pytest.mark.parametrize(("target", "clients"), BROKERS, ids=lambda one: str(one))
def test_no_cause_is_named_that_it_was_not(target: str, clients: str, tmp_path: Path) -> None:
    if target in RELEASES or clients == JAVA:
        try:
            fetched(RELEASES.get(target, RELEASES["kafka-4.4.0"]))
        except NoJars as cause:
            pytest.skip(f"{target}: {cause}")
    heard = nights_on(target, NIGHTS, tmp_path, clients)
    found = [one for each in heard for one in each.judged]
    print(table(found))
    assert not [one for one in found if one.verdict in (Verdict.WRONG, Verdict.FAILED)]
    assert [words for each in heard for words in each.disagreements] == []
    right = {one.night for one in found if one.source == "log" and one.verdict is Verdict.RIGHT}
    assert right >= IN_THE_LOG
