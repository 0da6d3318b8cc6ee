"""What the four Kafkas, librdkafka and Java's consumers print in a busy minute is read to the last line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.conformance.targets.kafka_jars import RELEASES, missing
from rota.history import Event, Kind, Source
from rota.reading import Tally, read

real_logs = pytest.importorskip("harness.real_logs", reason="confluent-kafka is not installed")

BROKER = {
    Kind.LOADED,
    Kind.ID_GIVEN,
    Kind.JOINED,
    Kind.REPLACED,
    Kind.PREPARING,
    Kind.STABILIZED,
    Kind.ASSIGNMENT,
    Kind.FAILED,
    Kind.LEFT,
    Kind.NOT_REJOINED,
}
CLIENT = {
    Kind.CLIENT_STARTED,
    Kind.FOUND,
    Kind.JOINING,
    Kind.WAS_JOINED,
    Kind.SYNCED,
    Kind.REBALANCE_TOLD,
    Kind.REVOKED,
    Kind.POLL_LATE,
    Kind.LEAVING,
    Kind.REFUSED,
    Kind.CLIENT_CLOSED,
}


@pytest.mark.long
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
def test_real_logs_are_read(release: str, level: str, tmp_path: Path) -> None:
    if (cause := missing(RELEASES[release])) is not None:
        pytest.skip("; ".join(cause))
    real_logs.main(release, str(tmp_path), level)
    tally = Tally()
    events = list(read([str(tmp_path)], tally=tally))
    assert [one for one in events if one.kind is Kind.UNREAD] == []
    assert tally.quarantined == {}
    assert {one.kind for one in events if one.source is Source.BROKER_LOG} >= BROKER - debugged(
        release, level
    )
    assert {one.kind for one in events if one.source is Source.CLIENT_LOG} >= CLIENT
    assert None not in {one.at for one in events}
    assert {one.group for one in events if one.source is Source.CLIENT_LOG} == {
        real_logs.GROUP,
        real_logs.OTHER,
    }
    assert_one_story(events)


def debugged(release: str, level: str) -> set[Kind]:
    """What a release tells at DEBUG alone."""
    return {Kind.JOINED} if level == "INFO" and release.startswith("kafka-3") else set()


def assert_one_story(events: list[Event]) -> None:
    """Broker and clients agree on who was in which generation."""
    stable = {one.generation for one in events if one.kind is Kind.STABILIZED}
    joined = {one.generation for one in events if one.kind is Kind.WAS_JOINED}
    assert joined <= stable
    # The id of a static member that takes the place of another is told by its client alone.
    given = {one.member for one in events if one.kind in (Kind.ID_GIVEN, Kind.JOINED, Kind.WAS_JOINED)}
    leaders = {
        one.member for one in events if one.kind is Kind.ASSIGNMENT and one.source is Source.BROKER_LOG
    }
    assert leaders <= given
