"""Exactly once with librdkafka: a transactional producer, its offsets, a consumer of what is committed."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from rota.server import DataDir, running

kafka = pytest.importorskip("confluent_kafka")
admin = pytest.importorskip("confluent_kafka.admin")

SECONDS = 20.0


@pytest.fixture(scope="module")
def address():
    with running({"group.initial.rebalance.delay.ms": 0}) as address:
        yield address


def producer(address, name, **settings):
    """A transactional producer, whose place is its own from here on."""
    found = kafka.Producer({"bootstrap.servers": address, "transactional.id": name, **settings})
    found.init_transactions(SECONDS)
    return found


def consumer(address, group, topic, isolation_level="read_committed"):
    settings = {"bootstrap.servers": address, "group.id": group, "isolation.level": isolation_level}
    settings |= {"auto.offset.reset": "earliest", "enable.auto.commit": False, "fetch.wait.max.ms": 100}
    found = kafka.Consumer(settings)
    found.subscribe([topic])
    return found


def values(address, topic, count, isolation_level="read_committed", quiet=0.5):
    """The values that a consumer is given: as many as are wanted, and what comes in a moment after them."""
    found = []
    deadline = time.monotonic() + SECONDS
    with closing(consumer(address, f"reader-of-{topic}-{count}", topic, isolation_level)) as reading:
        while time.monotonic() < deadline:
            message = reading.poll(quiet)
            if message is not None and not message.error():
                found.append(message.value())
            elif len(found) >= count:
                break
    return found


def made(address, topic):
    client = admin.AdminClient({"bootstrap.servers": address})
    client.create_topics([admin.NewTopic(topic, 1, 1)])[topic].result(SECONDS)
    return topic


def test_what_is_committed_is_read_and_what_is_aborted_is_not(address):
    topic = made(address, "ends")
    writing = producer(address, "ends")
    for number, commit in enumerate((True, False, True, False)):
        writing.begin_transaction()
        writing.produce(topic, b"%d" % number)
        writing.flush(SECONDS)
        (writing.commit_transaction if commit else writing.abort_transaction)(SECONDS)
    assert values(address, topic, 2) == [b"0", b"2"]
    assert values(address, topic, 4, "read_uncommitted") == [b"0", b"1", b"2", b"3"]


def test_nothing_of_an_open_transaction_is_read(address):
    topic = made(address, "open")
    writing = producer(address, "open")
    writing.begin_transaction()
    writing.produce(topic, b"a")
    writing.flush(SECONDS)
    with closing(consumer(address, "open", topic)) as reading:
        assert reading.poll(1.5) is None
        writing.commit_transaction(SECONDS)
        assert reading.poll(SECONDS).value() == b"a"


def test_offsets_are_committed_with_what_was_made_of_the_records(address):
    source, target = made(address, "source"), made(address, "target")
    plain = kafka.Producer({"bootstrap.servers": address})
    for number in range(4):
        plain.produce(source, b"%d" % number)
    plain.flush(SECONDS)
    writing = producer(address, "copier")
    copied(address, source, target, writing, 2, commit=False)
    assert committed(address, source) == -1001
    copied(address, source, target, writing, 2, commit=True)
    assert committed(address, source) == 2
    copied(address, source, target, writing, 2, commit=True)
    assert committed(address, source) == 4
    assert values(address, target, 4) == [b"0!", b"1!", b"2!", b"3!"]


def copied(address, source, target, writing, count, commit):
    """A consumer takes so many records from where its group is; what is made of them is one transaction."""
    with closing(consumer(address, "copiers", source)) as reading:
        messages = [reading.poll(SECONDS) for _ in range(count)]
        writing.begin_transaction()
        for message in messages:
            writing.produce(target, message.value() + b"!")
        place = kafka.TopicPartition(source, 0, messages[-1].offset() + 1)
        writing.send_offsets_to_transaction([place], reading.consumer_group_metadata(), SECONDS)
        (writing.commit_transaction if commit else writing.abort_transaction)(SECONDS)


def committed(address, source):
    with closing(consumer(address, "copiers", source)) as asking:
        (found,) = asking.committed([kafka.TopicPartition(source, 0)], SECONDS)
        return found.offset


def test_a_zombie_is_fenced(address):
    topic = made(address, "zombie")
    old = producer(address, "zombie")
    old.begin_transaction()
    old.produce(topic, b"old")
    old.flush(SECONDS)
    new = producer(address, "zombie")
    new.begin_transaction()
    new.produce(topic, b"new")
    new.commit_transaction(SECONDS)
    with pytest.raises(kafka.KafkaException) as fenced:
        old.commit_transaction(SECONDS)
    assert fenced.value.args[0].code() == kafka.KafkaError._FENCED
    assert values(address, topic, 1) == [b"new"]


def test_a_transaction_that_takes_too_long_is_aborted(address):
    topic = made(address, "slow")
    slow = producer(address, "slow", **{"transaction.timeout.ms": 1000})
    slow.begin_transaction()
    slow.produce(topic, b"late")
    slow.flush(SECONDS)
    assert values(address, topic, 0, quiet=1.5) == []
    with pytest.raises(kafka.KafkaException):
        slow.commit_transaction(SECONDS)
    again = producer(address, "slow")
    again.begin_transaction()
    again.produce(topic, b"in time")
    again.commit_transaction(SECONDS)
    assert values(address, topic, 1) == [b"in time"]


def test_offsets_of_ended_transactions_outlive_the_server(tmp_path):
    """Those of a transaction that was open at the restart are aborted, and are not unstable for ever."""
    data_dir = DataDir(str(tmp_path))
    with running(data_dir=data_dir) as address:
        source, writing = made(address, "source"), producer(address, "keeper")
        place = kafka.TopicPartition(source, 0, 5)
        for commit, offset in ((True, 5), (False, 6), (None, 7)):
            with closing(kafka.Consumer({"bootstrap.servers": address, "group.id": "copiers"})) as reading:
                reading.assign([kafka.TopicPartition(source, 0)])
                writing.begin_transaction()
                place.offset = offset
                writing.send_offsets_to_transaction([place], reading.consumer_group_metadata(), SECONDS)
            if commit is not None:
                (writing.commit_transaction if commit else writing.abort_transaction)(SECONDS)
    with running(data_dir=data_dir) as address:
        made(address, "source")
        assert committed(address, "source") == 5
