"""The nights on rota's server and on Kafka: no cause is named that it was not; some the log must name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nights.__main__ import Heard, heard, nights_on
from nights.judged import Verdict, table
from nights.night import JAVA, LIBRDKAFKA, left
from nights.scenes import NIGHTS
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched

BROKERS = [(target, clients) for target in ("rota", "kafka-4.4.0", "kafka-3.9.2", "kafka-3.4.1")
           for clients in (LIBRDKAFKA, JAVA)]  # fmt: skip

SHORT = ("closed", "removed-by-admin", "crash")
"""Nights that are over in seconds on rota's server."""

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the short nights are played."""
    return tmp_path_factory.mktemp("nights")


@pytest.fixture(scope="module")
def short(folder: Path) -> list[Heard]:
    """What their sources tell, played with librdkafka on rota's server."""
    pytest.importorskip("confluent_kafka", reason="nights need librdkafka")
    return nights_on("rota", [one for one in NIGHTS if one.name in SHORT], folder, LIBRDKAFKA)


def test_short_nights_on_rota_name_no_cause_that_it_was_not(short: list[Heard]) -> None:
    found = [one for each in short for one in each.judged]
    assert {one.night for one in found} == {*SHORT}
    assert all(each.fine for each in short), table(found)
    assert [words for each in short for words in each.disagreements] == []
    right = {one.night for one in found if one.source == "all" and one.verdict is Verdict.RIGHT}
    assert right == {*SHORT}


def test_a_log_that_tells_something_else_is_wrong_and_contradicts_the_others(
    short: list[Heard], folder: Path, tmp_path: Path
) -> None:
    """What is planted: the log says that the client left which was killed."""
    shutil.copytree(folder / "crash", tmp_path / "crash")
    log = tmp_path / "crash" / "server.log"
    told = log.read_text(encoding="utf-8")
    group = left(tmp_path / "crash").group
    (failed,) = (line for line in told.splitlines() if f"{group} has failed: its session expired" in line)
    lied = failed.replace(" in group ", " has left group ").replace(
        "has failed: its session expired in state Stable, it is removed",
        "through explicit LeaveGroup; client reason: not provided",
    )
    log.write_text(
        told.replace(failed, lied).replace("on heartbeat expiration", "on LeaveGroup"), encoding="utf-8"
    )
    night = next(one for one in NIGHTS if one.name == "crash")
    found = heard(night, left(tmp_path / "crash"))
    assert {one.source for one in found.judged if one.verdict is Verdict.WRONG} == {"log"}
    assert any("ran out" in words for words in found.disagreements), found.disagreements


@pytest.mark.long
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
