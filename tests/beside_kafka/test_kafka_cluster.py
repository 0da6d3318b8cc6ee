"""Three brokers of Kafka 4.4.0: who does not coordinate says so, and groups outlive their coordinator."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.kafka_on_disk import ask
from nights.night import Recorder
from rota.cli.main import main
from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.script import Signal
from rota.conformance.results import Verdict
from rota.conformance.runner import Options, play_all
from rota.conformance.targets.grammar import parse_target
from rota.conformance.targets.kafka_cluster import KafkaCluster
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched
from rota.conformance.targets.process import NotStarted
from rota.history import Event, Kind
from rota.reading import read

KAFKA = "kafka-4.4.0"


@pytest.mark.long
def test_a_cluster_passes_every_case_of_clusters() -> None:
    try:
        fetched(RELEASES[KAFKA])
    except NoJars as cause:
        pytest.skip(f"{KAFKA}: {cause}")
    cases = [case for case in all_cases() if case.brokers > 1]
    with closing(parse_target(KAFKA)) as target:
        results = list(play_all(cases, target, Options(seed=1), {}))
    assert {result.case.id: result.verdict for result in results if result.verdict is not Verdict.PASS} == {}
    assert len(results) == len(cases) > 10


@contextmanager
def cluster() -> Iterator[KafkaCluster]:
    try:
        made = KafkaCluster(RELEASES[KAFKA], {"group.initial.rebalance.delay.ms": 500})
    except (NoJars, NotStarted) as cause:
        pytest.skip(f"{KAFKA}: {cause}")
    try:
        yield made
    finally:
        made.stop()


def until(wanted: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not wanted():
        assert time.monotonic() < deadline, "it does not come"


@pytest.mark.long
def test_a_client_is_led_through_the_recorder_from_a_coordinator_to_the_next(tmp_path: Path) -> None:
    kafka = pytest.importorskip("confluent_kafka")
    recording = tmp_path / "night.jsonl"
    with cluster() as brokers:
        address = "{}:{}".format(*brokers.address)
        topic = {"name": "t", "num_partitions": 2, "replication_factor": 3}
        ask(address, "CreateTopics", 5, {"topics": [topic], "timeout_ms": 60_000})
        with Recorder(address, recording, tmp_path / "port") as through:
            settings = {"bootstrap.servers": through, "group.id": "orders", "auto.commit.interval.ms": 500}
            producer = kafka.Producer({"bootstrap.servers": address})
            consumer = kafka.Consumer({**settings, "auto.offset.reset": "earliest"})
            consumer.subscribe(["t"])

            def commits_at(other_than: str) -> str:
                """The next broker that takes commits of the group."""
                found: set[str] = set()

                def once() -> bool:
                    producer.produce("t", b"x")
                    producer.poll(0)
                    consumer.poll(0.2)
                    found.update(answered(recording, "OffsetCommit") - {other_than})
                    return bool(found)

                until(once)
                return found.pop()

            first = commits_at("")
            host, _, port = first.rpartition(":")
            brokers.end((host, int(port)), Signal.KILL)
            second = commits_at(first)
            consumer.close()
        assert first != second
        places = {"{}:{}".format(*broker.address) for broker in brokers._brokers}
        assert {event.data["broker"] for event in read([str(recording)])} <= places
    judged = CliRunner().invoke(main, ["validate", str(recording)])
    assert judged.exit_code == 0, judged.output
    told = CliRunner().invoke(main, ["explain", str(recording)])
    assert (told.exit_code, "group orders" in " ".join(told.output.split())) == (0, True)


def answered(recording: Path, api: str) -> set[str]:
    """The brokers that have answered such a request without an error."""
    events = [event for event in read([str(recording)]) if event.kind is Kind.RESPONSE]
    return {event.data["broker"] for event in events if event.data["api"] == api and is_well(event)}


def is_well(event: Event) -> bool:
    topics = event.data["fields"]["topics"]
    return all(not partition["error_code"] for topic in topics for partition in topic["partitions"])
