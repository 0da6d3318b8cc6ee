"""Fetch by raw clients: what comes at once, what comes later, and that it comes once."""

import time
from uuid import UUID

import pytest

from rota.server.partition import PartitionLog

LONG = 60_000


@pytest.fixture
def client(address, user):
    """A client of a server with topic t, of three partitions, and its id."""
    client = user(address)
    client.topic_id = client.create("t", 3)
    return client


@pytest.fixture
def writer(address, client, user):
    return user(address)


def partitions(*indexes, offset=0, max_bytes=2**20):
    wanted = [
        {"partition": index, "fetch_offset": offset, "partition_max_bytes": max_bytes} for index in indexes
    ]
    return [{"topic": "t", "partitions": wanted}]


def sizes(answer):
    return [len(each["records"]) for topic in answer["responses"] for each in topic["partitions"]]


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version(version, client):
    topic_id = client.topic_id if version >= 13 else None
    client.produce([b"a", b"b"])
    client.produce([b"c"])
    assert client.values(1, version, topic_id=topic_id) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert client.values(2, version, topic_id=topic_id) == [(2, b"c")]
    answer = client.fetch(3, version, topic_id=topic_id)
    assert (answer["error_code"], answer["records"], answer["high_watermark"]) == (0, b"", 3)
    assert (answer["last_stable_offset"], answer.get("log_start_offset", 0)) == (3, 0)
    for offset in (4, -1, 2**63 - 1):
        answer = client.fetch(offset, version, topic_id=topic_id, max_wait_ms=LONG)
        assert (answer["error_code"], answer["high_watermark"], answer["records"]) == (1, -1, b"")


@pytest.mark.parametrize(("level", "aborted"), [(0, None), (1, [])])
def test_isolation_levels(level, aborted, client):
    client.produce([b"a"])
    answer = client.fetch(isolation_level=level)
    assert answer["records"]
    assert answer["aborted_transactions"] == aborted


def test_no_such_place(client):
    """Where nothing else is asked for the answer comes at once."""
    assert client.fetch(index=3, max_wait_ms=LONG)["error_code"] == 3
    assert client.fetch(index=-1, max_wait_ms=LONG)["error_code"] == 3
    assert client.fetch(version=13, topic_id=UUID(int=7), max_wait_ms=LONG)["error_code"] == 100
    assert client.call("Fetch", 12, max_wait_ms=LONG, min_bytes=1, topics=[])["responses"] == []


def test_a_place_that_is_missing_ends_no_wait_for_another(client, writer):
    missing = [{"topic": "no", "partitions": [{"partition": 0, "partition_max_bytes": 2**20}]}]
    client.send("Fetch", 12, max_wait_ms=LONG, min_bytes=1, topics=missing + partitions(0))
    assert client.silent(0.2)
    writer.produce([b"a"])
    answer = client.receive()
    assert [topic["partitions"][0]["error_code"] for topic in answer["responses"]] == [3, 0]


def test_leader_epochs_and_followers(client):
    entry = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1, "current_leader_epoch": 1}
    body = {"max_wait_ms": LONG, "min_bytes": 1, "topics": [{"topic": "t", "partitions": [entry]}]}
    answer = client.call("Fetch", 12, **body)
    assert answer["responses"][0]["partitions"][0]["error_code"] == 75
    assert client.fetch(replica_id=2, max_wait_ms=LONG)["error_code"] == 6
    state = {"replica_id": 2, "replica_epoch": 1}
    assert client.fetch(0, 15, topic_id=client.topic_id, replica_state=state)["error_code"] == 6
    assert client.fetch(replica_id=-2)["error_code"] == 0


@pytest.mark.parametrize(
    ("session_id", "session_epoch", "error"),
    [(0, -1, 0), (7, -1, 0), (7, 1, 70), (0, 1, 70), (7, -2, 70)],
)
def test_no_session_is_opened(session_id, session_epoch, error, client):
    client.produce([b"a"])
    session = {"session_id": session_id, "session_epoch": session_epoch}
    answer = client.call("Fetch", 12, max_wait_ms=LONG, min_bytes=1, topics=partitions(0), **session)
    assert (answer["error_code"], answer["session_id"]) == (error, 0)
    assert len(answer["responses"]) == (0 if error else 1)


def test_limits_of_bytes(client):
    size = len(client.fetch()["records"])
    assert size == 0
    for index in range(3):
        for _ in range(4):
            client.produce([b"x" * 100], index=index)
    size = len(client.fetch()["records"]) // 4
    asked = {"max_wait_ms": 0, "min_bytes": 0}

    def ask(max_bytes, *indexes, partition_max_bytes=2**20):
        topics = partitions(*indexes, max_bytes=partition_max_bytes)
        return [
            each / size
            for each in sizes(client.call("Fetch", 12, max_bytes=max_bytes, topics=topics, **asked))
        ]

    assert ask(2**31 - 1, 0, 1, 2) == [4, 4, 4]
    assert ask(6 * size, 1, 0, 2) == [4, 2, 0]
    assert ask(6 * size - 1, 1, 0, 2) == [4, 1, 0]
    assert ask(2**31 - 1, 0, 1, 2, partition_max_bytes=2 * size) == [2, 2, 2]
    # The first batch comes whatever the limits are, so that every consumer gets on.
    assert ask(2**31 - 1, 0, 1, 2, partition_max_bytes=1) == [1, 0, 0]
    assert ask(1, 0, 1, 2) == [1, 0, 0]
    assert ask(0, 2, 0) == [1, 0]
    assert ask(-1, 2, 0, partition_max_bytes=-1) == [1, 0]


def test_the_first_batch_that_there_is_need_not_be_of_the_first_partition(client):
    client.produce([b"x" * 100], index=1)
    topics = partitions(0, 1, max_bytes=1)
    answer = client.call("Fetch", 12, max_bytes=1, max_wait_ms=LONG, min_bytes=1, topics=topics)
    assert [bool(size) for size in sizes(answer)] == [False, True]


def test_the_servers_own_limit(start, user):
    client = user(start(fetch_max_bytes=1024))
    client.create()
    for _ in range(20):
        client.produce([b"x" * 100])
    answer = client.call("Fetch", 12, max_wait_ms=LONG, min_bytes=10**6, topics=partitions(0))
    assert 700 < sum(sizes(answer)) <= 1024


def test_a_fetch_waits_for_the_first_record(client, writer):
    client.send_fetch(max_wait_ms=LONG)
    client.send("ApiVersions", 0)
    assert client.silent(0.2)
    writer.produce([b"other partition"], index=1)
    assert client.silent(0.1)
    writer.produce([b"a"])
    assert client.fetched()["high_watermark"] == 1
    assert client.receive()["error_code"] == 0
    writer.produce([b"b"])
    assert client.values(1, max_wait_ms=LONG) == [(1, b"b")]


def test_a_fetch_waits_for_as_many_bytes_as_it_wants(client, writer):
    size = len(client.fetch()["records"])
    writer.produce([b"x" * 100])
    size = len(client.fetch()["records"])
    client.send("Fetch", 12, max_wait_ms=LONG, min_bytes=3 * size, topics=partitions(0, 2))
    for index in (0, 1, 2):
        assert client.silent(0.1)
        writer.produce([b"x" * 100], index=index)
    assert [each // size for each in sizes(client.receive())] == [2, 1]


def test_a_fetch_waits_no_longer_than_it_wants(client):
    client.produce([b"x"])
    begun = time.monotonic()
    assert client.fetch(min_bytes=10**6, max_wait_ms=250)["records"]
    assert 0.2 < time.monotonic() - begun < 5
    assert client.fetch(1, max_wait_ms=-1)["records"] == b""


def test_many_wait_for_one_record(address, client, writer, user):
    waiting = [user(address) for _ in range(20)]
    for each in waiting:
        each.send_fetch(max_wait_ms=LONG)
    assert waiting[0].silent(0.1)
    writer.produce([b"a"])
    assert {each.fetched()["records"] for each in waiting} == {client.fetch()["records"]}
    for each in waiting:
        assert each.call("ApiVersions", 0)["error_code"] == 0


def test_what_is_deleted_while_a_fetch_waits(start, user):
    address = start(log_retention_bytes=2000)
    client, writer = user(address), user(address)
    client.create()
    writer.produce([b"x" * 500])
    client.send("Fetch", 12, max_wait_ms=LONG, min_bytes=10**6, topics=partitions(0))
    assert client.silent(0.1)
    writer.produce([b"x" * 1000])
    assert client.fetched()["error_code"] == 1
    assert client.fetch(1)["log_start_offset"] == 1


def test_planted_bug_the_first_batch_has_to_fit(client, monkeypatch):
    read = PartitionLog.read
    monkeypatch.setattr(PartitionLog, "read", lambda self, at, most, _, all_: read(self, at, most, False))
    with pytest.raises(AssertionError):
        test_limits_of_bytes(client)
