"""A server in the hand of a test: sessions, connections, answers, the coordinator's place, the clock."""

import pytest

from rota.server import ControlError, controlled
from rota.server.intake import FRAME_LIMITS
from rota.server.refused import refused
from rota.wire import api as api_of
from rota.wire import decode_request, decode_response, encode_request, encode_response
from rota.wire.consumer import encode_assignment

NOT_COORDINATOR, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS = 16, 25, 27
SESSION_SECONDS = 10


@pytest.fixture
def broker():
    with controlled() as held:
        yield held


@pytest.fixture
def stable(broker, member):
    """The only member of group g, which is Stable, with partition 3 of topic t and a committed offset."""
    only = member(broker.bootstrap, "billing")
    only.join()
    mine = {"topic": "t", "partitions": [3]}
    only.sync(assignments={only.member_id: encode_assignment({"assigned_partitions": [mine]})})
    only.call("Metadata", 7, topics=[{"name": "t"}], allow_auto_topic_creation=True)
    partition = {"partition_index": 0, "committed_offset": 41, "committed_metadata": ""}
    place = {"group_id": "g", "generation_id_or_member_epoch": 1, "member_id": only.member_id}
    answer = only.call("OffsetCommit", 8, **place, topics=[{"name": "t", "partitions": [partition]}])
    assert answer["topics"][0]["partitions"][0]["error_code"] == 0
    return only


def test_groups_are_seen_as_they_are(broker, stable):
    group = broker.groups()["g"]
    assert (group.state, group.generation, group.protocol) == ("Stable", 1, "range")
    assert group.leader == stable.member_id
    assert group.assignments == {stable.member_id: (("t", 3),)}
    assert group.offsets == {("t", 0): 41}
    stable.call("LeaveGroup", 5, group_id="g", members=[{"member_id": stable.member_id}])
    assert broker.groups()["g"].state == "Empty"
    assert group.state == "Stable"


@pytest.mark.parametrize("by", ["id", "client"])
def test_a_member_expires(broker, stable, by):
    broker.expire(stable.member_id if by == "id" else "billing")
    assert broker.groups()["g"].members == ()
    assert stable.heartbeat() == UNKNOWN_MEMBER_ID


def test_who_waits_for_an_answer_does_not_expire(broker, stable, member):
    second = member(broker.bootstrap, "two")
    second.ask()
    stable.ask()
    stable.joined()
    second.joined()
    stable.send("SyncGroup", 3, **{**stable.place(), "generation_id": 9})  # refused at once
    assert stable.receive()["error_code"] == 22
    second.send("SyncGroup", 3, **second.place(), assignments=[])
    broker.until(lambda groups: second.member_id in parked(broker))
    with pytest.raises(ControlError, match="waits for an answer of its group"):
        broker.expire(second.member_id)


def parked(broker):
    """Members whose SyncGroup waits."""
    return broker._ask(lambda: set(broker._controls.server.groups.core.groups["g"].parked_syncs))


def test_a_member_that_is_not_there(broker, stable, member):
    with pytest.raises(ControlError, match=f"no member is called 'x'; members are: {stable.member_id} of g"):
        broker.expire("x")
    with pytest.raises(ControlError, match="no member is called"):
        broker.expire("billing", "another group")
    with pytest.raises(ControlError, match=r"no connection of 'x' is open; those there are: .*billing"):
        broker.drop("x")


def test_connections_of_a_member_are_dropped_and_no_others(broker, stable, member):
    other = member(broker.bootstrap, "other")
    other.call("ApiVersions", 0)
    assert broker.drop(stable.member_id) == 1
    assert stable.closed()
    assert other.call("ApiVersions", 0)["error_code"] == 0
    (left,) = broker.connections()
    assert left.names == {"other"}
    assert broker.drop(left) == 1
    assert other.closed()


def test_topics_are_made(broker, stable):
    broker.create_topic("payments", 3)
    (topic,) = stable.call("Metadata", 7, topics=[{"name": "payments"}])["topics"]
    assert len(topic["partitions"]) == 3
    with pytest.raises(ControlError, match="Topic 'payments' already exists"):
        broker.create_topic("payments")


def test_an_answer_once(broker, stable):
    planned = broker.answer_once("Heartbeat", "REBALANCE_IN_PROGRESS")
    broker.answer_once("Heartbeat", NOT_COORDINATOR, client_id="somebody else")
    with pytest.raises(TimeoutError, match="nobody has sent Heartbeat in 0 s"):
        planned.wait(0)
    assert stable.heartbeat() == REBALANCE_IN_PROGRESS
    planned.wait(0)
    assert stable.heartbeat() == 0


def test_what_is_answered_with_an_error_has_no_other_effect(broker, stable):
    broker.answer_once("LeaveGroup", "COORDINATOR_NOT_AVAILABLE")
    leaving = {"group_id": "g", "members": [{"member_id": stable.member_id}]}
    assert stable.call("LeaveGroup", 5, **leaving)["error_code"] == 15
    assert stable.heartbeat() == 0


@pytest.mark.parametrize(
    ("api", "error", "says"),
    [("Heartbeet", 16, "did you mean Heartbeat"), ("Heartbeat", "NOT_COORDINATR", "mean NOT_COORDINATOR")],
)
def test_names_that_there_are_not(broker, api, error, says):
    with pytest.raises(ControlError, match=says):
        broker.answer_once(api, error)


def test_the_coordinator_moves_with_what_it_has(broker, stable, member):
    address = broker.move_coordinator()
    assert address != broker.bootstrap
    assert stable.heartbeat() == NOT_COORDINATOR
    assert stable.call("ListGroups", 4)["groups"] == []
    found = stable.call("FindCoordinator", 6, key_type=0, coordinator_keys=["g"])["coordinators"][0]
    assert (found["node_id"], f"{found['host']}:{found['port']}") == (2, address)
    nodes = {each["node_id"]: each["port"] for each in stable.call("Metadata", 7, topics=[])["brokers"]}
    assert nodes == {1: broker.address[1], 2: found["port"]}
    moved = member(address)
    addressed = {"client_software_name": "c", "client_software_version": "1"}
    assert moved.call("ApiVersions", 5, **addressed, cluster_id="rota", node_id=2)["error_code"] == 0
    moved.member_id, moved.generation = stable.member_id, stable.generation
    assert moved.heartbeat() == 0
    group = broker.groups()["g"]
    assert (group.state, group.assignments[stable.member_id]) == ("Stable", (("t", 3),))
    assert broker.move_coordinator() == broker.bootstrap
    assert (moved.heartbeat(), stable.heartbeat()) == (NOT_COORDINATOR, 0)
    fetched = stable.call("OffsetFetch", 7, group_id="g", topics=None)
    assert fetched["topics"][0]["partitions"][0]["committed_offset"] == 41


def test_who_waits_hears_that_the_coordinator_is_elsewhere(broker, stable, member):
    second = member(broker.bootstrap, "two")
    second.ask()
    broker.until(lambda groups: groups["g"].state == "PreparingRebalance")
    broker.move_coordinator()
    assert second.receive()["error_code"] == NOT_COORDINATOR
    assert broker.groups()["g"].state == "Stable"


def test_the_clock_is_put_forward(broker, stable):
    broker.advance(SESSION_SECONDS - 2)
    assert stable.heartbeat() == 0
    broker.advance(SESSION_SECONDS - 2)
    assert stable.heartbeat() == 0  # its session began anew
    broker.advance(SESSION_SECONDS)
    assert stable.heartbeat() == UNKNOWN_MEMBER_ID


def test_what_is_due_happens_in_its_order(broker, stable, member):
    """A rebalance that a newcomer begins ends when the member that stays away has had its time, and that one
    timer later the newcomer, which does not send its SyncGroup, is out as well."""
    second = member(broker.bootstrap, "two")
    second.ask()
    broker.until(lambda groups: groups["g"].state == "PreparingRebalance")
    broker.advance(1.5 * SESSION_SECONDS)
    assert second.joined()["generation_id"] == 2
    assert [each.client_id for each in broker.groups()["g"].members] == ["two"]
    broker.advance(SESSION_SECONDS)
    assert broker.groups()["g"].members == ()


def test_offsets_expire(member):
    with controlled({"offsets.retention.minutes": 1}) as broker:
        only = member(broker.bootstrap)
        broker.create_topic("t")
        partition = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
        only.call("OffsetCommit", 8, group_id="g", topics=[{"name": "t", "partitions": [partition]}])
        assert broker.groups()["g"].offsets == {("t", 0): 7}
        broker.advance(30)
        assert broker.groups()["g"].offsets == {("t", 0): 7}
        broker.advance(24 * 3600)
        assert broker.groups() == {}


def test_the_clock_is_not_put_back(broker):
    with pytest.raises(ValueError, match="cannot be put back by 1 s"):
        broker.advance(-1)


def test_what_never_happens_is_told_with_the_groups(broker, stable):
    with pytest.raises(TimeoutError, match=r"in vain for 0 s; groups: .*state='Stable'"):
        broker.until(lambda groups: not groups, seconds=0)


RESOURCES = {"resources": [{"resource_type": 2, "resource_name": "t"}]}
ASKED = {
    "AlterConfigs": RESOURCES,
    "DescribeConfigs": RESOURCES,
    "IncrementalAlterConfigs": RESOURCES,
    "AlterReplicaLogDirs": {"dirs": [{"path": "/d", "topics": [{"name": "t", "partitions": [0]}]}]},
    "AlterPartitionReassignments": {"topics": [{"name": "t", "partitions": [{"partition_index": 0}]}]},
    "DeleteRecords": {"topics": [{"name": "t", "partitions": [{"partition_index": 0}]}]},
    "DescribeTopicPartitions": {"topics": [{"name": "t"}]},
    "ElectLeaders": {"topic_partitions": [{"topic": "t", "partitions": [0]}]},
    "OffsetForLeaderEpoch": {"topics": [{"topic": "t", "partitions": [{"partition": 0}]}]},
    "AddPartitionsToTxn": {"v3_and_below_topics": [{"name": "t", "partitions": [0]}]},
    "ConsumerGroupDescribe": {"group_ids": ["g"]},
    "CreatePartitions": {"topics": [{"name": "t", "count": 2}]},
    "CreateTopics": {"topics": [{"name": "t", "num_partitions": 1, "replication_factor": 1}]},
    "DeleteGroups": {"groups_names": ["g"]},
    "DeleteTopics": {"topic_names": ["t"], "topics": [{"name": "t"}]},
    "DescribeGroups": {"groups": ["g"]},
    "DescribeProducers": {"topics": [{"name": "t", "partition_indexes": [0]}]},
    "DescribeTransactions": {"transactional_ids": ["x"]},
    "Fetch": {"topics": [{"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 0}]}]},
    "FindCoordinator": {"key": "g", "coordinator_keys": ["g"]},
    "ListOffsets": {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "timestamp": -1}]}]},
    "Metadata": {"topics": [{"name": "t"}]},
    "OffsetCommit": {
        "topics": [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 1}]}]
    },
    "OffsetDelete": {"topics": [{"name": "t", "partitions": [{"partition_index": 0}]}]},
    "OffsetFetch": {
        "topics": [{"name": "t", "partition_indexes": [0]}],
        "groups": [{"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0]}]}],
    },
    "Produce": {"topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": None}]}]},
    "TxnOffsetCommit": {
        "topics": [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 1}]}]
    },
}
"""What is asked of an API so that its answer has room for an error."""


def codes(body):
    """All error codes in a response."""
    if isinstance(body, dict):
        own = [code for name, code in body.items() if name.endswith("error_code")]
        return own + [code for value in body.values() for code in codes(value)]
    return [code for each in body for code in codes(each)] if isinstance(body, list) else []


@pytest.mark.parametrize("api", [api_of(name) for name in FRAME_LIMITS], ids=lambda api: api.name)
def test_every_api_can_be_refused_in_every_version(api):
    for version in range(api.min_version, api.max_version + 1):
        asked = encode_request(api.name, version, ASKED.get(api.name, {}), 1, "c")
        body = decode_request(asked).body
        data = encode_response(api.name, version, refused(api.name, version, body, 16), 1)
        assert 16 in codes(decode_response(api.name, version, data).body), (api.name, version)


def test_faults_of_the_handle(broker, stable, member):
    """Each is what the control port's is, whose stories have the details."""
    broker.error("Heartbeat", "REBALANCE_IN_PROGRESS", times=2)
    assert [stable.heartbeat() for _ in range(3)] == [REBALANCE_IN_PROGRESS, REBALANCE_IN_PROGRESS, 0]
    delayed = broker.delay("Heartbeat", SESSION_SECONDS / 2)
    stable.send("Heartbeat", 4, **stable.place())
    delayed.wait()
    assert stable.silent(0.05)
    broker.advance(SESSION_SECONDS / 2)
    assert stable.receive()["error_code"] == 0
    broker.fail_appends("NOT_ENOUGH_REPLICAS")
    partition = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    topics = [{"name": "t", "partitions": [partition]}]
    place = {"group_id": "g", "generation_id_or_member_epoch": 1, "member_id": stable.member_id}
    answer = stable.call("OffsetCommit", 8, **place, topics=topics)
    assert answer["topics"][0]["partitions"][0]["error_code"] == 15
    broker.unload_coordinator()
    assert stable.heartbeat() == NOT_COORDINATOR
    assert broker.load_coordinator() == broker.bootstrap
    assert stable.heartbeat() == 0
    ignored = broker.ignore("Heartbeat")
    other = member(broker.bootstrap, "other")
    other.send("Heartbeat", 4, **stable.place())
    ignored.wait()
    assert other.silent(0.05)
    broker.cut("Heartbeat")
    stable.send("Heartbeat", 4, **stable.place())
    assert len(stable.stream.read()) == 8  # of 4 + 12
    broker.reset()
    assert (broker.groups(), broker.connections()) == ({}, [])
    with pytest.raises(ValueError, match="times=0 is no number of requests"):
        broker.cut("Heartbeat", times=0)
    with pytest.raises(ControlError, match="did you mean NOT_ENOUGH_REPLICAS"):
        broker.fail_appends("NOT_ENOUGH_REPLICA")
