"""What only controllers and directories would answer, of a cluster whose one broker is all of it.

What a running Kafka says to the same is in `topic_dialogues.txt`; here is what differs there from run to run.
"""

from __future__ import annotations

import pytest

from rota.mutants.core import CoreBug, planted
from rota.server import running

QUORUM = {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}
UNKNOWN_TOPIC, UNSUPPORTED_VERSION, LOG_DIR_NOT_FOUND = 3, 35, 57


@pytest.fixture
def client(connect):
    with running() as address:
        yield connect(address)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_broker_is_the_only_voter(client, version):
    told = client.call("DescribeQuorum", version, **QUORUM)
    (partition,) = told["topics"][0]["partitions"]
    assert (told["error_code"], partition["error_code"]) == (0, 0)
    assert (partition["leader_id"], [each["replica_id"] for each in partition["current_voters"]]) == (1, [1])
    assert partition["observers"] == []
    assert partition["high_watermark"] == partition["current_voters"][0]["log_end_offset"]
    if version >= 2:
        assert [each["node_id"] for each in told["nodes"]] == [1]


def moves(client):
    client.call("CreateTopics", 7, topics=[{"name": "t", "num_partitions": 1, "replication_factor": 1}])
    (here,) = client.call("DescribeLogDirs", 1, topics=None)["results"]
    places = [(here["log_dir"], "t"), (here["log_dir"], "no"), ("/elsewhere", "t")]
    dirs = [{"path": path, "topics": [{"name": name, "partitions": [0, 1]}]} for path, name in places]
    return [
        (each["topic_name"], [partition["error_code"] for partition in each["partitions"]])
        for each in client.call("AlterReplicaLogDirs", 2, dirs=dirs)["results"]
    ]


MOVED = [
    ("t", [0, UNKNOWN_TOPIC, LOG_DIR_NOT_FOUND, LOG_DIR_NOT_FOUND]),
    ("no", [UNKNOWN_TOPIC, UNKNOWN_TOPIC]),
]


def test_a_partition_stays_in_the_one_directory(client):
    assert moves(client) == MOVED


def test_a_partition_that_is_not_there_is_moved(client):
    bug = CoreBug("", "bug", "", "rota.server.one_node:OneNode.alter_log_dirs", "0 <= index < count", "True")
    with planted(bug):
        assert moves(client) != MOVED


def test_transactions_are_not_looked_for_by_a_pattern(client):
    who = {"transactional_id": "x", "transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": -1}
    assert client.call("InitProducerId", 4, **who)["error_code"] == 0
    for pattern, error, found in ((None, 0, 1), ("", 0, 1), ("x", UNSUPPORTED_VERSION, 0)):
        told = client.call("ListTransactions", 2, transactional_id_pattern=pattern)
        assert (told["error_code"], len(told["transaction_states"])) == (error, found)
