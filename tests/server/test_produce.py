"""Produce and InitProducerId by raw clients. Error codes are those of a broker of Kafka 4.4.0."""

from uuid import UUID

import google_crc32c
import pytest

from rota.server import produce
from rota.wire.records import Record, encode_batch

NO_ID = UUID(int=0)


@pytest.fixture
def client(address, user):
    """A client of a server with topic t, of two partitions, and its id."""
    client = user(address)
    client.topic_id = client.create("t", 2)
    return client


def patched(data, at, new):
    """The batch with other bytes at a place of its header, and the right CRC again."""
    data = data[:at] + new + data[at + len(new) :]
    return data[:17] + google_crc32c.value(data[21:]).to_bytes(4, "big") + data[21:]


def errors(client, data, **changes):
    answer = client.produce(data, **changes)
    assert (answer["error_code"] == 0) == (answer["base_offset"] >= 0)
    return answer["error_code"]


@pytest.mark.parametrize("version", range(3, 14))
def test_every_version(version, client):
    topic_id = client.topic_id if version >= 13 else None
    for offset in (0, 2):
        answer = client.produce([b"a", b"b"], version, topic_id=topic_id)
        assert (answer["error_code"], answer["base_offset"], answer["log_append_time_ms"]) == (0, offset, -1)
        assert answer.get("log_start_offset", 0) == 0
        assert answer.get("error_message") is None
    assert client.values() == [(0, b"a"), (1, b"b"), (2, b"a"), (3, b"b")]
    assert client.values(index=1) == []


@pytest.mark.parametrize("version", [0, 1, 2])
def test_old_versions_are_advertised_and_refused(version, client):
    client.send("Produce", version, acks=1, topic_data=[])
    assert client.closed()


@pytest.mark.parametrize("acks", [-1, 1])
def test_acknowledged(acks, client):
    assert errors(client, [b"a"], acks=acks) == 0


@pytest.mark.parametrize("acks", [-2, 2, 32767])
def test_other_acks(acks, client):
    assert errors(client, [b"a"], acks=acks) == 21
    assert client.values() == []


def test_acks_0_is_not_answered(client):
    topic = {
        "name": "t",
        "partition_data": [{"index": 0, "records": encode_batch([Record(0, 1, None, b"a")])}],
    }
    for _ in range(3):
        client.send("Produce", 12, acks=0, topic_data=[topic])
        client.waiting.pop()
    assert client.values() == [(0, b"a"), (1, b"a"), (2, b"a")]


def test_acks_0_that_fails_closes_the_connection(client, address, user):
    topic = {"name": "none", "partition_data": [{"index": 0, "records": b""}]}
    client.send("Produce", 12, acks=0, topic_data=[topic])
    assert client.closed()
    assert user(address).values() == []


def test_no_such_place(client):
    for index in (2, -1, 2**31 - 1):
        assert errors(client, [b"a"], index=index) == 3
    for topic_id in (UUID(int=7), NO_ID):
        assert errors(client, [b"a"], version=13, topic_id=topic_id) == 100
    answer = client.call("Produce", 12, acks=1, topic_data=[{"name": "u", "partition_data": [{"index": 0}]}])
    assert answer["responses"][0]["partition_responses"][0]["error_code"] == 3


def test_one_failure_among_others(client, batch):
    entries = [{"index": 0, "records": batch(b"a")}, {"index": 9, "records": batch(b"b")}]
    entries += [{"index": 1, "records": batch(b"c")}, {"index": 0, "records": batch(b"d")}]
    answer = client.call("Produce", 12, acks=1, topic_data=[{"name": "t", "partition_data": entries}])
    found = [(each["index"], each["error_code"]) for each in answer["responses"][0]["partition_responses"]]
    assert found == [(0, 0), (9, 3), (1, 0), (0, 0)]
    assert client.values() == [(0, b"a"), (1, b"d")]


def test_records_that_are_no_batch(client, batch):
    good = batch(b"a", b"b")
    for data in (None, b"", b"x", good[:-1], good[:60], good + good, good + b"x"):
        assert errors(client, data) == 87
    assert errors(client, good[:-1] + b"?") == 2
    assert errors(client, good[:16] + b"\x01" + good[17:]) == 87
    assert client.values() == []


@pytest.mark.parametrize(
    ("at", "new", "error"),
    [
        (0, b"\0\0\0\0\0\0\0\5", 87),  # base offset
        (22, b"\x20", 87),  # a control batch
        (22, b"\x10", 53),  # a transactional one
        (22, b"\x07", 87),  # no such compression
        (22, b"\x01", 87),  # not gzip
        (23, b"\0\0\0\0", 87),  # last offset delta
        (23, b"\0\0\0\5", 87),
        (43, b"\0\0\0\0\0\0\0\1", 87),  # producer id without sequence number
        (57, b"\0\0\0\0", 87),  # count
        (57, b"\0\0\0\3", 87),
        (57, b"\x7f\xff\xff\xff", 87),
        (57, b"\xff\xff\xff\xff", 87),
        (61, b"\xff\xff\xff\xff\xff\xff", 87),  # the first record
        (22, b"\x00", 0),
    ],
)
def test_batches_that_no_producer_makes(at, new, error, client, batch):
    assert errors(client, patched(batch(b"a", b"b"), at, new)) == error
    assert len(client.values()) == (0 if error else 2)


def test_offsets_within_a_batch_have_no_gaps(client):
    gap = encode_batch([Record(0, 1, None, b"a"), Record(2, 1, None, b"b")])
    assert errors(client, gap) == 87
    assert errors(client, patched(gap, 57, b"\0\0\0\3")) == 87


def test_largest_batch_is_a_setting(start, user, batch):
    client = user(start(message_max_bytes=500))
    client.create()
    overhead = len(batch(bytes(200))) - 200
    assert len(batch(bytes(500 - overhead))) == 500
    assert errors(client, [bytes(500 - overhead)]) == 0
    assert errors(client, [bytes(501 - overhead)]) == 10


def test_zstd_needs_version_7(client, batch):
    zstd = patched(batch(b"a"), 22, b"\x04")
    assert errors(client, zstd, version=6) == 76
    assert errors(client, zstd, version=7) == 0


@pytest.mark.parametrize("version", range(6))
def test_every_producer_gets_an_id(version, client):
    ids = [client.call("InitProducerId", version, transactional_id=None) for _ in range(3)]
    assert [(each["error_code"], each["producer_epoch"]) for each in ids] == [(0, 0)] * 3
    assert len({each["producer_id"] for each in ids}) == 3
    answer = client.call("InitProducerId", version, transactional_id="")
    assert (answer["error_code"], answer["producer_id"]) == (42, -1)


def test_batches_sent_again_are_answered_as_before(client, batch):
    producer_id = client.call("InitProducerId", 5, transactional_id=None)["producer_id"]

    def send(sequence, *values, epoch=0):
        numbers = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": sequence}
        answer = client.produce(batch(*values, **numbers))
        return answer["error_code"], answer["base_offset"]

    assert [send(0, b"a", b"b"), send(2, b"c"), send(0, b"a", b"b"), send(2, b"c")] == [
        (0, 0),
        (0, 2),
        (0, 0),
        (0, 2),
    ]
    assert send(4, b"gap") == (45, -1)
    assert send(0, b"new epoch", epoch=1) == (0, 3)
    assert send(3, b"old epoch") == (47, -1)
    assert client.values() == [(0, b"a"), (1, b"b"), (2, b"c"), (3, b"new epoch")]


def test_planted_bug_batches_are_not_checked(client, batch, monkeypatch):
    monkeypatch.setattr(produce, "_check_batch", lambda info, batch: iter(()))
    with pytest.raises(AssertionError):
        test_batches_that_no_producer_makes(57, b"\0\0\0\3", 87, client, batch)


def test_planted_bug_requests_are_not_checked(client, monkeypatch):
    monkeypatch.setattr(produce, "_check_request", lambda body: None)
    with pytest.raises(AssertionError):
        test_other_acks(2, client)


def test_who_has_most_gives_up_the_oldest_once_memory_is_full(start, user):
    client = user(start(records_max_bytes=4000))
    client.create()
    assert [client.produce([bytes(1000)])["error_code"] for _ in range(3)] == [0, 0, 0]
    assert [client.list_offset(timestamp)[1] for timestamp in (-2, -1)] == [1, 3]
    refused = client.produce([bytes(4000)])
    assert (refused["error_code"], "raise records.max.bytes" in refused["error_message"]) == (44, True)
