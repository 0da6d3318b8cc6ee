"""The broker on which dialogues are played: one for all, with limits that let them be short."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.kafka_on_disk import KafkaOnDisk

MAX_SIZE = 3

SETTINGS = {
    "group.consumer.assignment.interval.ms": 0,
    "group.consumer.max.size": MAX_SIZE,
    "group.consumer.migration.policy": "disabled",
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.min.heartbeat.interval.ms": 100,
}
"""No assignment interval, but where a group has one of its own; classic groups stay classic."""


@contextmanager
def broker(folder: Path) -> Iterator[tuple[str, int]]:
    """The address of a broker of Apache Kafka. Errors: NotStarted."""
    kafka = KafkaOnDisk(folder, SETTINGS)
    try:
        kafka.start()
        host, _, port = kafka.address.rpartition(":")
        yield host, int(port)
    finally:
        kafka.stop()
