"""librdkafka's consumers by the consumer protocol, unmodified, on `rota serve`."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from rota.log import Fsync
from rota.server import running
from rota.server.storage import DataDir

kafka = pytest.importorskip("confluent_kafka")
admin = pytest.importorskip("confluent_kafka.admin")

pytestmark = pytest.mark.skipif(
    kafka.libversion()[1] < 0x020C0000, reason="librdkafka speaks the protocol in full since 2.12"
)

SETTINGS = {
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.session.timeout.ms": 3000,
    "group.consumer.heartbeat.interval.ms": 200,
    "group.consumer.assignment.interval.ms": 0,
}
PATIENCE = 60.0

CRASHES = """
import sys, confluent_kafka as kafka
one = kafka.Consumer({"bootstrap.servers": sys.argv[1], "group.id": "g", "group.protocol": "consumer"})
one.subscribe(["orders"])
while True:
    one.poll(0.1)
    if one.assignment():
        print(len(one.assignment()), flush=True)
"""
"""A consumer that tells how many partitions it has until it is killed."""


@contextmanager
def consumers(address: str, count: int) -> Iterator[list[Any]]:
    """So many consumers in the group `g`, which do not subscribe yet."""
    named = {"bootstrap.servers": address, "group.id": "g", "group.protocol": "consumer"}
    made = [kafka.Consumer({**named, "auto.offset.reset": "earliest"}) for _ in range(count)]
    try:
        yield made
    finally:
        for one in made:
            one.close()


def polled(made: list[Any], until: Callable[[list[bytes]], object]) -> list[bytes]:
    """Polls all in turn until something is so; the values of what they have read meanwhile."""
    deadline = time.monotonic() + PATIENCE
    values: list[bytes] = []
    while not until(values):
        assert time.monotonic() < deadline, [one.assignment() for one in made]
        for one in made:
            message = one.poll(0.05)
            if message is not None and message.error() is None:
                values.append(message.value())
    return values


def shares(made: list[Any]) -> list[int]:
    """How many partitions each has, least first; none twice."""
    each = [[place.partition for place in one.assignment()] for one in made]
    assert len({index for own in each for index in own}) == sum(map(len, each)), each
    return sorted(map(len, each))


def topic(address: str, partitions: int) -> Any:
    found = admin.AdminClient({"bootstrap.servers": address})
    for made in found.create_topics([admin.NewTopic("orders", partitions, 1)]).values():
        made.result(PATIENCE)
    return found


def test_they_join_share_a_topic_that_grows_and_leave() -> None:
    with running(SETTINGS) as address:
        client = topic(address, 4)
        with consumers(address, 3) as made:
            first, second, third = made
            for number, expected in ((1, [0, 0, 4]), (2, [0, 2, 2]), (3, [1, 1, 2])):
                made[number - 1].subscribe(["orders"])
                polled(made[:number], lambda _: shares(made) == expected)  # noqa: B023  # called at once
            (grown,) = client.create_partitions([admin.NewPartitions("orders", 6)]).values()
            grown.result(PATIENCE)
            polled(made, lambda _: shares(made) == [2, 2, 2])
            third.unsubscribe()
            polled(made, lambda _: shares([first, second]) == [3, 3])
            producer = kafka.Producer({"bootstrap.servers": address})
            for number in range(60):
                producer.produce("orders", str(number).encode(), partition=number % 6)
            producer.flush(PATIENCE)
            read = polled([first, second], lambda values: len(values) >= 60)
            assert sorted(map(int, read)) == list(range(60))
            for one in (first, second):
                one.commit(asynchronous=False)
        places = [kafka.TopicPartition("orders", index) for index in range(6)]
        (found,) = client.list_consumer_group_offsets(
            [kafka.ConsumerGroupTopicPartitions("g", places)]
        ).values()
        assert [place.offset for place in found.result(PATIENCE).topic_partitions] == [10] * 6


def test_the_partitions_of_one_that_is_killed_go_to_the_others() -> None:
    with running(SETTINGS) as address:
        topic(address, 4)
        crashes = subprocess.Popen([sys.executable, "-c", CRASHES, address], stdout=subprocess.PIPE)
        try:
            assert crashes.stdout is not None
            assert crashes.stdout.readline() == b"4\n"
            with consumers(address, 1) as made:
                made[0].subscribe(["orders"])
                polled(made, lambda _: shares(made) == [2])
                crashes.kill()
                began = time.monotonic()
                polled(made, lambda _: shares(made) == [4])
                assert time.monotonic() - began > 1, "the session of who was killed has to end first"
        finally:
            crashes.kill()
            crashes.wait()


def test_they_go_on_when_the_server_is_started_again_from_its_log(tmp_path: Path) -> None:
    """Topics are not kept: the members of the group that is are led to one that is made anew."""
    folder = DataDir(str(tmp_path / "data"), Fsync.NEVER)
    with ExitStack() as stack:
        with running(SETTINGS, data_dir=folder) as address:
            topic(address, 2)
            made = stack.enter_context(consumers(address, 2))
            for one in made:
                one.subscribe(["orders"])
            polled(made, lambda _: shares(made) == [1, 1])
            before = described(address)
            assert before[:2] == ("CONSUMER", "STABLE")
        with running(SETTINGS, int(address.rpartition(":")[2]), data_dir=folder):
            assert described(address)[2] == before[2], "the members are those that were there before"
            topic(address, 4)
            polled(made, lambda _: shares(made) == [2, 2])
            assert described(address) == before, "nobody had to join anew"
            stack.close()
            assert described(address) == ("CONSUMER", "EMPTY", [])


def described(address: str) -> tuple[str, str, list[str]]:
    """Type and state of the group, and its members' ids."""
    client = admin.AdminClient({"bootstrap.servers": address})
    (listed,) = client.list_consumer_groups().result(PATIENCE).valid
    (found,) = client.describe_consumer_groups(["g"]).values()
    members = found.result(PATIENCE).members
    return listed.type.name, listed.state.name, sorted(each.member_id for each in members)
