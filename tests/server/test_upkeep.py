"""What a server does with its topics by itself: old records go, compacted topics are compacted."""

import time

import pytest

from rota.server.partition import PartitionLog
from rota.server.upkeep import Upkeep

CONFIGS = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0"}


def create(client, **configs):
    pairs = [{"name": name, "value": value} for name, value in configs.items()]
    asked = {"name": "t", "num_partitions": 1, "replication_factor": 1, "configs": pairs}
    (topic,) = client.call("CreateTopics", 7, topics=[asked])["topics"]
    assert topic["error_code"] == 0, topic


def until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def now():
    return int(time.time() * 1000)


def test_records_that_are_too_old_go(start, user, batch):
    client = user(start(log_retention_check_interval_ms=20))
    create(client, **{"retention.ms": "60000"})
    client.produce(batch(b"old", timestamp=now() - 100_000))
    client.produce(batch(b"young", timestamp=now()))
    client.produce(batch(b"old, but behind a young one", timestamp=now() - 100_000))
    assert until(lambda: client.list_offset(-2)[1] == 1)
    time.sleep(0.1)
    assert [value for _, value in client.values(1)] == [b"young", b"old, but behind a young one"]


def test_records_of_topics_that_keep_them_stay(start, user, batch):
    client = user(start(log_retention_check_interval_ms=10))
    create(client, **{"retention.ms": "-1"})
    client.produce(batch(b"old", timestamp=1000))
    time.sleep(0.1)
    assert client.list_offset(-2)[1] == 0


def test_planted_bug_old_records_stay(start, user, batch, monkeypatch):
    monkeypatch.setattr(PartitionLog, "delete_old", lambda self: None)
    client = user(start(log_retention_check_interval_ms=10))
    create(client, **{"retention.ms": "60000"})
    client.produce(batch(b"old", timestamp=1000))
    assert not until(lambda: client.list_offset(-2)[1] == 1, seconds=0.2)


def test_a_compacted_topic_is_compacted(start, user, batch):
    client = user(start(log_cleaner_backoff_ms=20))
    create(client, **CONFIGS)
    at = now()
    for number in range(4):
        client.produce(batch(b"v%d" % number, timestamp=at + 10 * number))
    assert until(lambda: client.values(0) == [(2, b"v2"), (3, b"v3")]), "the newest segment is left"
    assert client.list_offset(-2)[1] == 0


def test_a_policy_may_come_later(start, user, batch):
    client = user(start(log_cleaner_backoff_ms=20))
    create(client, **CONFIGS | {"cleanup.policy": "delete"})
    at = now()
    for number in range(3):
        client.produce(batch(b"v%d" % number, timestamp=at + 10 * number))
    time.sleep(0.1)
    assert len(client.values(0)) == 3
    change = {"name": "cleanup.policy", "config_operation": 0, "value": "compact"}
    asked = {"resource_type": 2, "resource_name": "t", "configs": [change]}
    assert client.call("IncrementalAlterConfigs", 1, resources=[asked])["responses"][0]["error_code"] == 0
    assert until(lambda: client.values(0) == [(1, b"v1"), (2, b"v2")])


def backoff_is_altered(client, batch):
    """Looked at each 20 ms, then hardly ever."""
    create(client, **CONFIGS)
    alter(client, "60000")
    time.sleep(0.1)
    at = now()
    for number in range(3):
        client.produce(batch(b"v%d" % number, timestamp=at + 10 * number))
    time.sleep(0.2)
    assert len(client.values(0)) == 3


def alter(client, value):
    change = {"name": "log.cleaner.backoff.ms", "config_operation": 0, "value": value}
    asked = {"resource_type": 4, "resource_name": "1", "configs": [change]}
    assert client.call("IncrementalAlterConfigs", 1, resources=[asked])["responses"][0]["error_code"] == 0


def test_how_often_is_altered(start, user, batch):
    backoff_is_altered(user(start(log_cleaner_backoff_ms=20)), batch)


def test_no_time_at_all_is_a_millisecond(start, user, batch):
    client = user(start(log_cleaner_backoff_ms=20))
    alter(client, "0")
    create(client, **CONFIGS)
    at = now()
    for number in range(3):
        client.produce(batch(b"v%d" % number, timestamp=at + 10 * number))
    assert until(lambda: len(client.values(0)) == 2)


def test_planted_bug_what_is_altered_does_not_count(start, user, batch, monkeypatch):
    monkeypatch.setattr(Upkeep, "_backoff_ms", lambda self: 20)
    with pytest.raises(AssertionError):
        backoff_is_altered(user(start(log_cleaner_backoff_ms=20)), batch)


def test_append_time(start, user, batch):
    client = user(start())
    create(client, **{"message.timestamp.type": "LogAppendTime"})
    before = now()
    told = client.produce(batch(b"a", b"b", timestamp=1000))["log_append_time_ms"]
    assert before <= told <= now()
    assert client.list_offset(told)[1:3] == (0, told)
    assert client.list_offset(told + 1)[1] == -1
