"""Real clients of a server that a test has in hand: each handle does to them what it says.

Nothing here waits for a time to pass: groups are waited for, and clients are asked until they have noticed.
"""

import time
from contextlib import ExitStack, closing, contextmanager

import pytest

from rota.server import controlled

PATIENCE = 60.0
SESSION_MS = 30_000

# kafka-python reads its schemas in a way that the standard library gives up.
pytestmark = pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")


class Librdkafka:
    """A consumer of confluent-kafka in group g."""

    def __init__(self, bootstrap):
        from confluent_kafka import Consumer, TopicPartition

        self._topic_partition = TopicPartition
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "g",
                "client.id": "billing",
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": 100,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 50,
                "log_level": 0,
            }
        )
        self._consumer.subscribe(["orders"])

    def poll(self):
        self._consumer.poll(0.02)

    def commit(self, offset):
        """What the commit is refused with, None if it is not."""
        try:
            place = self._topic_partition("orders", 0, offset)
            (done,) = self._consumer.commit(offsets=[place], asynchronous=False)
        except Exception as error:
            return str(error)
        return None if done.error is None else str(done.error)

    def close(self):
        self._consumer.close()


class KafkaPython:
    """A consumer of kafka-python in group g."""

    def __init__(self, bootstrap):
        from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

        self._place = TopicPartition("orders", 0)
        self._offset = OffsetAndMetadata
        self._poll_ms = 250
        self._consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=bootstrap,
            group_id="g",
            client_id="billing",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=100,
            enable_auto_commit=False,
            reconnect_backoff_ms=10,
            reconnect_backoff_max_ms=50,
            retry_backoff_ms=20,
        )

    def poll(self):
        """Longer each time: kafka-python 3.0.12 may forget a rejoin that outlasts a poll."""
        self._consumer.poll(timeout_ms=self._poll_ms)
        self._poll_ms = min(2 * self._poll_ms, 8000)

    def commit(self, offset):
        try:
            self._consumer.commit({self._place: self._offset(offset, "", -1)}, timeout_ms=10_000)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    def close(self):
        self._consumer.close()


CLIENTS = {"librdkafka": (Librdkafka, "confluent_kafka"), "kafka-python": (KafkaPython, "kafka")}


@pytest.fixture(params=CLIENTS)
def client(request):
    kind, module = CLIENTS[request.param]
    pytest.importorskip(module)
    return kind


@contextmanager
def consuming(kind):
    """A broker and a consumer that has partition 0 of orders."""
    with controlled() as broker, ExitStack() as stack:
        broker.create_topic("orders")
        consumer = stack.enter_context(closing(kind(broker.bootstrap)))
        polled(broker, consumer, lambda groups: assigned(groups) == (("orders", 0),))
        yield broker, consumer


def polled(broker, consumer, happens):
    """The groups, as soon as it happens while the consumer polls."""
    deadline = time.monotonic() + PATIENCE
    while not happens(groups := broker.groups()):
        assert time.monotonic() < deadline, groups
        consumer.poll()
    return groups


def assigned(groups):
    """What the only member has, if there is one and the group is Stable."""
    group = groups.get("g")
    if group is None or group.state != "Stable" or len(group.members) != 1:
        return None
    return group.members[0].partitions


def test_a_client_that_was_expelled_comes_back_as_another_member(client):
    with consuming(client) as (broker, consumer):
        before = broker.groups()["g"].leader
        broker.expire("billing")
        assert broker.groups()["g"].leader != before
        groups = polled(broker, consumer, lambda groups: assigned(groups) == (("orders", 0),))
        assert groups["g"].leader != before


def test_a_client_whose_connections_break_goes_on_as_the_same_member(client):
    with consuming(client) as (broker, consumer):
        before = broker.groups()["g"]
        assert broker.drop("billing") >= 1
        polled(broker, consumer, lambda groups: broker.connections())
        assert consumer.commit(7) is None
        after = broker.groups()["g"]
        assert (after.leader, after.generation) == (before.leader, before.generation)
        assert after.offsets == {("orders", 0): 7}


def test_a_commit_that_is_refused_is_told_to_the_client(client):
    with consuming(client) as (broker, consumer):
        planned = broker.answer_once("OffsetCommit", "GROUP_AUTHORIZATION_FAILED")
        assert "uthoriz" in consumer.commit(7)
        planned.wait(0)
        assert broker.groups()["g"].offsets == {}
        assert consumer.commit(7) is None


def test_a_client_follows_its_coordinator(client):
    with consuming(client) as (broker, consumer):
        before = broker.groups()["g"]
        address = broker.move_coordinator()
        assert consumer.commit(7) is None
        after = broker.groups()["g"]
        assert (after.leader, after.generation) == (before.leader, before.generation)
        assert after.offsets == {("orders", 0): 7}
        assert broker._ask(lambda: at_port(broker, int(address.rpartition(":")[2])))


def at_port(broker, port):
    """Whether somebody is connected there."""
    return any(each.endpoint.port == port for each in broker._controls.server.connections)


def test_a_session_runs_out_by_the_servers_clock(client):
    with consuming(client) as (broker, consumer):
        before = broker.groups()["g"].leader
        broker.advance(SESSION_MS / 1000)
        assert broker.groups()["g"].leader != before
        groups = polled(broker, consumer, lambda groups: assigned(groups) == (("orders", 0),))
        assert groups["g"].leader != before
