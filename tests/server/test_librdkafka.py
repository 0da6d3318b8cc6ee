"""A client of other people: librdkafka lists topics and finds the broker."""

import pytest

kafka = pytest.importorskip("confluent_kafka")


def test_producer_and_admin_list_topics(start):
    address = start(num_partitions=3)
    producer = kafka.Producer({"bootstrap.servers": address})
    one = producer.list_topics("orders", timeout=10)
    assert [(each.id, f"{each.host}:{each.port}") for each in one.brokers.values()] == [(1, address)]
    assert one.topics["orders"].error is None
    assert sorted(one.topics["orders"].partitions) == [0, 1, 2]
    admin = kafka.admin.AdminClient({"bootstrap.servers": address})
    assert list(admin.list_topics(timeout=10).topics) == ["orders"]
