"""CreateTopics and ListOffsets by raw clients. Error codes are those of a broker of Kafka 4.4.0."""

from uuid import UUID

import pytest

from rota.server.partition import PartitionLog
from rota.server.settings import MAX_PARTITIONS

NO_ID = UUID(int=0)


def create(client, *topics, version=7, **changes):
    """The errors by name, in order."""
    asked = [{"num_partitions": 1, "replication_factor": 1} | topic for topic in topics]
    answer = client.call("CreateTopics", version, topics=asked, **changes)["topics"]
    for topic in answer:
        assert (topic["error_message"] is None) == (topic["error_code"] == 0)
        if topic["error_code"]:
            assert (topic["topic_id"], topic["num_partitions"], topic["replication_factor"]) == (
                NO_ID,
                -1,
                -1,
            )
    return [(topic["name"], topic["error_code"]) for topic in answer]


def described(client):
    answer = client.call("Metadata", 12, topics=None)["topics"]
    return {topic["name"]: (topic["topic_id"], len(topic["partitions"])) for topic in answer}


@pytest.mark.parametrize("version", range(2, 8))
def test_every_version_of_create_topics(version, address, user):
    client = user(address)
    topic_id = client.create("new", 3, version)
    assert described(client) == {"new": (topic_id or described(client)["new"][0], 3)}


def test_what_is_created_is_described(start, user):
    client = user(start(num_partitions=5))
    asked = [{"name": "one", "num_partitions": -1, "replication_factor": -1}]
    (topic,) = client.call("CreateTopics", 7, topics=asked)["topics"]
    assert (topic["num_partitions"], topic["replication_factor"], len(topic["configs"])) == (5, 1, 37)
    assert described(client) == {"one": (topic["topic_id"], 5)}


def test_only_validation_creates_nothing(address, user):
    client = user(address)
    assert create(client, {"name": "t"}, {"name": "a/b"}, validate_only=True) == [("t", 0), ("a/b", 17)]
    assert described(client) == {}
    client.create("t")
    assert create(client, {"name": "t"}, validate_only=True) == [("t", 36)]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"name": "t"}, 36),
        ({"name": ""}, 17),
        ({"name": "x" * 250}, 17),
        ({"name": ".."}, 17),
        ({"name": "é"}, 17),
        ({"name": "with.dot"}, 17),
        ({"num_partitions": 0}, 37),
        ({"num_partitions": -2}, 37),
        ({"num_partitions": 2**31 - 1}, 44),
        ({"num_partitions": MAX_PARTITIONS}, 44),
        ({"replication_factor": 0}, 38),
        ({"replication_factor": 3}, 38),
        ({"configs": [{"name": "retention.ms", "value": "-2"}]}, 40),
        (
            {"configs": [{"name": "leader.replication.throttled.replicas", "value": "1:1," * 2000 + "1:1"}]},
            40,
        ),
        ({"configs": [{"name": "cleanup.policy", "value": None}]}, 40),
        ({"configs": [{"name": "nonsense", "value": "1"}]}, 40),
        ({"configs": [{"name": "nonsense", "value": None}]}, 40),
        ({"configs": [{"name": "cleanup.policy", "value": "delete"}]}, 0),
    ],
)
def test_what_cannot_be_created(changes, error, address, user):
    client = user(address)
    assert create(client, {"name": "t"}, {"name": "with_dot"}) == [("t", 0), ("with_dot", 0)]
    asked = {"name": "new"} | changes
    assert create(client, {"name": "x1"}, asked, {"name": "x2"}) == [
        ("x1", 0),
        (asked["name"], error),
        ("x2", 0),
    ]
    assert len(described(client)) == (4 if error else 5)


def test_a_topic_named_twice_is_refused_once(address, user):
    client = user(address)
    assert create(client, {"name": "a"}, {"name": "b"}, {"name": "a"}) == [("a", 42), ("b", 0)]
    assert list(described(client)) == ["b"]


@pytest.mark.parametrize(
    ("partitions", "brokers", "changes", "error"),
    [
        ([1, 0, 2], [1], {}, 0),
        ([0, 1], [1], {"num_partitions": 2}, 42),
        ([0, 1], [1], {"replication_factor": 1}, 42),
        ([0, 2], [1], {}, 39),
        ([0, 0], [1], {}, 39),
        ([0], [9], {}, 39),
        ([0], [1, 9], {}, 39),
        ([0], [], {}, 39),
    ],
)
def test_manual_assignments(partitions, brokers, changes, error, address, user):
    assigned = [{"partition_index": index, "broker_ids": brokers} for index in partitions]
    asked = {"name": "t", "num_partitions": -1, "replication_factor": -1, "assignments": assigned} | changes
    client = user(address)
    assert create(client, asked) == [("t", error)]
    if not error:
        assert described(client)["t"][1] == 3


@pytest.mark.parametrize("version", range(1, 12))
def test_every_version_lists_offsets(version, address, user):
    client = user(address)
    client.create()
    epoch = 0 if version >= 4 else None
    assert client.list_offset(-1, version) == (0, 0, -1, epoch)
    client.produce([b"a", b"b"])
    assert client.list_offset(-1, version) == (0, 2, -1, epoch)
    assert client.list_offset(-2, version) == (0, 0, -1, epoch)
    assert client.list_offset(1001, version) == (0, 1, 1001, epoch)
    assert client.list_offset(1002, version) == (0, -1, -1, -1 if version >= 4 else None)


@pytest.mark.parametrize("version", range(4, 12))
def test_special_times_came_one_after_the_other(version, address, user):
    client = user(address)
    client.create()
    client.produce([b"a", b"b", b"c"])
    nothing, unsupported = (0, -1, -1, -1), (35, -1, -1, -1)
    expected = {-3: (7, (0, 2, 1002, 0)), -4: (8, (0, 0, -1, 0)), -5: (9, nothing), -6: (11, nothing)}
    for timestamp, (since, answer) in expected.items():
        assert client.list_offset(timestamp, version) == (answer if version >= since else unsupported)
    for timestamp in (-7, -(2**63)):
        assert client.list_offset(timestamp, version) == unsupported


def test_times_within_and_between_batches(address, user, batch):
    client = user(address)
    client.create()
    for timestamp in (1000, 5000, 3000):
        client.produce(batch(b"x", b"y", timestamp=timestamp, compression="gzip"))
    found = [client.list_offset(timestamp)[1:3] for timestamp in (0, 1001, 1002, 5001, 5002)]
    assert found == [(0, 1000), (1, 1001), (2, 5000), (3, 5001), (-1, -1)]
    assert client.list_offset(-3)[1:3] == (3, 5001)


def test_offsets_that_cannot_be_listed(address, user):
    client = user(address)
    client.create()
    unknown = (3, -1, -1, -1)
    assert client.list_offset(-1, partition_index=1) == unknown
    assert client.list_offset(-1, partition_index=-1) == unknown
    assert client.list_offset(-1, current_leader_epoch=0)[0] == 0
    assert client.list_offset(-1, current_leader_epoch=1)[0] == 75
    twice = [{"partition_index": 0, "timestamp": -1}, {"partition_index": 0, "timestamp": -2}]
    topics = [{"name": "t", "partitions": twice}, {"name": "no", "partitions": twice[:1]}]
    answer = client.call("ListOffsets", 11, topics=topics)["topics"]
    assert [[each["error_code"] for each in topic["partitions"]] for topic in answer] == [[42], [3]]


def test_planted_bug_an_end_that_is_one_off(address, user, monkeypatch):
    """The test of every version notices it."""
    append = PartitionLog.append

    def late(self, info, data):
        appended = append(self, info, data)
        self.log_end -= 1
        return appended

    monkeypatch.setattr(PartitionLog, "append", late)
    with pytest.raises(AssertionError):
        test_every_version_lists_offsets(11, address, user)
