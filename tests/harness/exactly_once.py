"""Consume, transform, produce, exactly once: what librdkafka's consumers and transactional producers say.

Two members of a group copy records from one topic to another, each with a producer of its own, and end each
transaction as it is planned. What they commit is in transactions, and who joins later begins where these were
committed. A producer takes the place of another one that has a transaction open, which is aborted then.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from typing import Any

SECONDS = 30.0

SOURCE, TARGET, GROUP = "once-source", "once-target", "copiers"
PARTITIONS = 2
RECORDS = 40

ENDS = (True, True, False, True)
"""How a member's transactions end, one after the other: committed or aborted."""


def exactly_once(address: str) -> dict[int, int]:
    """Play it. Returns the offsets that are committed in the end, by partition."""
    kafka: Any = __import__("confluent_kafka")
    _make_topics(address)
    _fill(kafka, address)
    with ExitStack() as stack:
        first = _Copier(kafka, address, "copier-1", stack)
        first.copy(ENDS)
        second = _Copier(kafka, address, "copier-2", stack)
        _settle(first, second)
        for one in (first, second):
            one.copy(ENDS)
        first.begin(commit=None)
        heir = _producer(kafka, address, "copier-1")  # what is open is aborted
        heir.begin_transaction()
        heir.commit_transaction(SECONDS)
        second.copy((True,))
    with closing(_consumer(kafka, address)) as third:
        places = [kafka.TopicPartition(SOURCE, number) for number in range(PARTITIONS)]
        return {one.partition: one.offset for one in third.committed(places, SECONDS)}


class _Copier:
    """A member of the group with a transactional producer."""

    def __init__(self, kafka: Any, address: str, name: str, stack: ExitStack) -> None:
        self._kafka = kafka
        self.consumer = stack.enter_context(closing(_consumer(kafka, address)))
        self.consumer.subscribe([SOURCE])
        self._producer = _producer(kafka, address, name)

    def copy(self, ends: tuple[bool, ...]) -> None:
        """A transaction for each of these ends."""
        for commit in ends:
            self.begin(commit)

    def begin(self, commit: bool | None) -> None:
        """A record is copied in a transaction, which is committed, aborted or left open."""
        message = self._next()
        self._producer.begin_transaction()
        self._producer.produce(TARGET, message.value() + b"!")
        place = self._kafka.TopicPartition(SOURCE, message.partition(), message.offset() + 1)
        metadata = self.consumer.consumer_group_metadata()
        self._producer.send_offsets_to_transaction([place], metadata, SECONDS)
        if commit is None:
            return
        (self._producer.commit_transaction if commit else self._producer.abort_transaction)(SECONDS)
        if not commit:
            place.offset = message.offset()
            self.consumer.seek(place)

    def _next(self) -> Any:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            message = self.consumer.poll(0.2)
            if message is not None and not message.error():
                return message
        raise AssertionError("no record has come")


def _settle(*copiers: _Copier) -> None:
    """Poll until each has partitions."""
    deadline = time.monotonic() + SECONDS
    while not all(len(one.consumer.assignment()) == PARTITIONS // len(copiers) for one in copiers):
        assert time.monotonic() < deadline, "the group does not settle"
        for one in copiers:
            if (message := one.consumer.poll(0.1)) is not None and not message.error():
                place = one._kafka.TopicPartition(message.topic(), message.partition(), message.offset())
                one.consumer.seek(place)


def _producer(kafka: Any, address: str, name: str) -> Any:
    settings = {"bootstrap.servers": address, "transactional.id": name, "transaction.timeout.ms": 60_000}
    found = kafka.Producer(settings)
    found.init_transactions(SECONDS)
    return found


def _consumer(kafka: Any, address: str) -> Any:
    settings = {
        "bootstrap.servers": address,
        "group.id": GROUP,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 100,
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 500,
    }
    return kafka.Consumer(settings)


def _make_topics(address: str) -> None:
    admin: Any = __import__("confluent_kafka.admin", fromlist=["admin"])
    client = admin.AdminClient({"bootstrap.servers": address})
    wanted = [admin.NewTopic(SOURCE, PARTITIONS, 1), admin.NewTopic(TARGET, 1, 1)]
    for made in client.create_topics(wanted).values():
        made.result(SECONDS)


def _fill(kafka: Any, address: str) -> None:
    plain = kafka.Producer({"bootstrap.servers": address})
    for number in range(RECORDS):
        plain.produce(SOURCE, b"%d" % number, partition=number % PARTITIONS)
    plain.flush(SECONDS)
