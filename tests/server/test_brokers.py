"""A cluster of three brokers in one process: who leads and coordinates what, and what the others say."""

from __future__ import annotations

import time

import pytest

from rota.coordinator import CoordinatorConfig
from rota.mutants.core import CoreBug, planted
from rota.server import ControlError, controlled
from rota.server.listeners import Listening
from rota.server.placement import Placement
from rota.server.settings import Settings
from rota.wire.consumer import encode_assignment, encode_subscription

NOT_LEADER, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, BAD_FACTOR = 6, 16, 15, 38
PATIENCE = 20.0


def java_hash(text):
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


@pytest.fixture
def three():
    with controlled(brokers=3) as broker:
        yield broker


def ports(broker):
    """By node."""
    return dict(enumerate(broker.bootstrap.split(","), 1))


def groups_of(broker, count=1):
    """So many groups that each broker coordinates, by node."""
    placement = broker._controls.placement
    found = {node_id: [] for node_id in (1, 2, 3)}
    for number in range(300):
        found[placement.of_group(f"g{number}")].append(f"g{number}")
    return {node_id: names[:count] for node_id, names in found.items()}


def everybody_is_told_of(broker, connect):
    wanted = [(node_id, *address.rsplit(":", 1)) for node_id, address in ports(broker).items()]
    assert len({port for _, _, port in wanted}) == 3
    for address in ports(broker).values():
        client = connect(address)
        for told in (client.call("Metadata", 12, topics=[]), client.call("DescribeCluster", 1)):
            name = "node_id" if "node_id" in told["brokers"][0] else "broker_id"
            assert [(each[name], each["host"], str(each["port"])) for each in told["brokers"]] == wanted
        software = {"client_software_name": "a", "client_software_version": "1"}
        for node_id, error in ((1, 0), (3, 0), (4, 129)):
            told = client.call("ApiVersions", 5, **software, cluster_id="rota", node_id=node_id)
            assert told["error_code"] == error


def test_everybody_is_told_of_all(three, connect):
    everybody_is_told_of(three, connect)


def test_groups_are_spread_by_kafkas_hash(three, connect):
    """The partition of a group is Utils.abs(hashCode) % 50, and its leader coordinates."""
    client = connect(ports(three)[2])
    names = ["orders", "g", "", "ünïcode", "polygenelubricants", *(f"group-{each}" for each in range(40))]
    found = client.call("FindCoordinator", 4, coordinator_keys=names, key_type=0)["coordinators"]
    (topic,) = client.call("Metadata", 12, topics=[{"name": "__consumer_offsets"}])["topics"]
    leaders = {each["partition_index"]: each["leader_id"] for each in topic["partitions"]}
    assert set(leaders.values()) == {1, 2, 3}
    for each in found:
        hashed = java_hash(each["key"])
        index = 0 if hashed == -(2**31) else abs(hashed) % 50
        assert (each["error_code"], each["node_id"]) == (0, leaders[index])
        assert f"{each['host']}:{each['port']}" == ports(three)[each["node_id"]]


def asked_of(client, group_id):
    """The errors of what only a coordinator does."""
    place = {"group_id": group_id, "member_id": "m"}
    one = client.call("Heartbeat", 4, **place, generation_id=1)["error_code"]
    topics = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 1}]}]
    (topic,) = client.call("OffsetCommit", 8, group_id=group_id, topics=topics)["topics"]
    fetch = {"groups": [{"group_id": group_id, "topics": None}]}
    (fetched,) = client.call("OffsetFetch", 8, **fetch)["groups"]
    (described,) = client.call("DescribeGroups", 5, groups=[group_id])["groups"]
    join = {"session_timeout_ms": 6000, "rebalance_timeout_ms": 6000, "protocol_type": "consumer"}
    join["protocols"] = [{"name": "range", "metadata": b""}]
    joined = client.call("JoinGroup", 2, group_id=group_id, member_id="", **join)["error_code"]
    heartbeat = {"member_epoch": 0, "rebalance_timeout_ms": 1000, "topic_partitions": []}
    other = {"group_id": group_id, "member_id": "A" * 22, "subscribed_topic_names": ["t"], **heartbeat}
    consumer = client.call("ConsumerGroupHeartbeat", 1, **other)["error_code"]
    deleted = client.call("DeleteGroups", 2, groups_names=[group_id])["results"][0]["error_code"]
    committed = topic["partitions"][0]["error_code"]
    return [one, committed, fetched["error_code"], described["error_code"], joined, consumer, deleted]


def others_are_no_coordinators(broker, connect):
    broker.create_topic("t")
    for node_id, (group_id,) in groups_of(broker).items():
        for asked, address in ports(broker).items():
            errors = asked_of(connect(address), group_id)
            if asked == node_id:
                assert NOT_COORDINATOR not in errors
            else:
                assert set(errors) == {NOT_COORDINATOR}


def test_only_its_coordinator_answers_for_a_group(three, connect):
    others_are_no_coordinators(three, connect)


def requests_of_many_groups(broker, connect):
    """Each group gets what it would alone, in the order of the request."""
    broker.create_topic("t")
    by_node = groups_of(broker, 2)
    clients = {node_id: connect(address) for node_id, address in ports(broker).items()}
    topics = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 7}]}]
    for node_id, names in by_node.items():
        for name in names:
            clients[node_id].call("OffsetCommit", 8, group_id=name, topics=topics)
    wanted = [by_node[node_id][place] for place in (0, 1) for node_id in (2, 1, 3)]
    for node_id, client in clients.items():
        errors = [0 if each in by_node[node_id] else NOT_COORDINATOR for each in wanted]
        told = client.call("OffsetFetch", 9, groups=[{"group_id": each, "topics": None} for each in wanted])
        assert [each["group_id"] for each in told["groups"]] == wanted
        assert [each["error_code"] for each in told["groups"]] == errors
        assert [bool(each["topics"]) for each in told["groups"]] == [not error for error in errors]
        told = client.call("DescribeGroups", 5, groups=wanted)["groups"]
        assert [(each["group_id"], each["error_code"]) for each in told] == [
            *zip(wanted, errors, strict=True)
        ]
        listed = client.call("ListGroups", 4, states_filter=[])["groups"]
        assert sorted(each["group_id"] for each in listed) == sorted(by_node[node_id])
    told = clients[1].call("DeleteGroups", 2, groups_names=wanted)["results"]
    assert [each["error_code"] for each in told] == [
        0 if each in by_node[1] else NOT_COORDINATOR for each in wanted
    ]


def test_a_request_of_many_groups(three, connect):
    requests_of_many_groups(three, connect)


def partitions_are_spread(broker, connect):
    broker.create_topic("t", 6)
    clients = {node_id: connect(address) for node_id, address in ports(broker).items()}
    (topic,) = clients[1].call("Metadata", 12, topics=[{"name": "t"}])["topics"]
    leaders = {each["partition_index"]: each["leader_id"] for each in topic["partitions"]}
    assert sorted(leaders.values()) == [1, 1, 2, 2, 3, 3]
    told = clients[2].call("DescribeTopicPartitions", 0, topics=[{"name": "t"}], response_partition_limit=9)
    assert {each["partition_index"]: each["leader_id"] for each in told["topics"][0]["partitions"]} == leaders
    for index, leader in leaders.items():
        for node_id, client in clients.items():
            error = 0 if node_id == leader else NOT_LEADER
            for records in (b"a", b"b"):
                answer = client.produce([records], index=index)
                assert answer["error_code"] == error
            fetched = client.fetch(0, index=index)
            assert fetched["error_code"] == error
            assert bool(fetched["records"]) == (not error)
            assert client.list_offset(-1, partition_index=index)[:2] == (
                (0, 2) if not error else (NOT_LEADER, -1)
            )
            (epochs,) = client.call(
                "OffsetForLeaderEpoch", 4, replica_id=-1,
                topics=[{"topic": "t", "partitions": [
                    {"partition": index, "current_leader_epoch": -1, "leader_epoch": 0}
                ]}],
            )["topics"]  # fmt: skip
            assert epochs["partitions"][0]["error_code"] == error
    for node_id, client in clients.items():
        asked = [{"name": "t", "partitions": [{"partition_index": each, "offset": 1} for each in leaders]}]
        (deleted,) = client.call("DeleteRecords", 2, topics=asked, timeout_ms=1000)["topics"]
        wanted = [0 if leader == node_id else NOT_LEADER for leader in leaders.values()]
        assert [each["error_code"] for each in deleted["partitions"]] == wanted


@pytest.fixture
def connect(user):
    """Connections that produce and fetch, too."""
    return user


def test_a_partition_is_written_and_read_at_its_leader(three, connect):
    partitions_are_spread(three, connect)


def factors_are_kept(broker, connect):
    client = connect(ports(broker)[3])
    for factor, error in ((3, 0), (1, 0), (-1, 0), (4, BAD_FACTOR), (0, BAD_FACTOR)):
        name = f"t{factor}"
        asked = {"name": name, "num_partitions": 3, "replication_factor": factor}
        (made,) = client.call("CreateTopics", 7, topics=[asked])["topics"]
        assert made["error_code"] == error
        if not error:
            (topic,) = client.call("Metadata", 12, topics=[{"name": name}])["topics"]
            for each in topic["partitions"]:
                assert len(set(each["replica_nodes"])) == max(factor, 1)
                assert each["replica_nodes"][0] == each["leader_id"]
                assert each["isr_nodes"] == each["replica_nodes"]


def test_replication_factors(three, connect):
    factors_are_kept(three, connect)


def transactions_are_spread(broker, connect):
    placement = broker._controls.placement
    names = {placement.of_transaction(f"x{each}"): f"x{each}" for each in range(60)}
    assert sorted(names) == [1, 2, 3]
    clients = {node_id: connect(address) for node_id, address in ports(broker).items()}
    for node_id, name in names.items():
        found = clients[1].call("FindCoordinator", 2, key=name, key_type=1)
        assert found["node_id"] == node_id
        for asked, client in clients.items():
            error = 0 if asked == node_id else NOT_COORDINATOR
            who = {"transactional_id": name, "transaction_timeout_ms": 1000}
            begun = client.call("InitProducerId", 4, **who, producer_id=-1, producer_epoch=-1)
            assert begun["error_code"] == error
            (told,) = client.call("DescribeTransactions", 0, transactional_ids=[name])["transaction_states"]
            assert told["error_code"] in ((0,) if not error else (NOT_COORDINATOR,))
            assert client.call("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1,
                               producer_id=-1, producer_epoch=-1)["error_code"] == 0  # fmt: skip
    for node_id, name in names.items():
        told = clients[node_id].call("ListTransactions", 1)["transaction_states"]
        assert [each["transactional_id"] for each in told] == [name]


def test_transactions_are_coordinated_by_hash(three, connect):
    transactions_are_spread(three, connect)


def coordinators_move(broker, connect):
    """One group's partition goes to a broker, with what the log has of it."""
    by_node = groups_of(broker)
    (group_id,), (other,) = by_node[1], by_node[3]
    topics = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 7}]}]
    broker.create_topic("t")
    clients = {node_id: connect(address) for node_id, address in ports(broker).items()}
    clients[1].call("OffsetCommit", 8, group_id=group_id, topics=topics)
    clients[3].call("OffsetCommit", 8, group_id=other, topics=topics)
    assert broker.move_coordinator(2, group_id) == ports(broker)[2]
    for name, node_id in ((group_id, 2), (other, 3)):
        assert clients[1].call("FindCoordinator", 2, key=name, key_type=0)["node_id"] == node_id
        for asked, client in clients.items():
            fetch = [{"group_id": name, "topics": None}]
            (told,) = client.call("OffsetFetch", 8, groups=fetch)["groups"]
            assert told["error_code"] == (0 if asked == node_id else NOT_COORDINATOR)
            assert bool(told["topics"]) == (asked == node_id)
    with pytest.raises(ControlError, match="there is no broker 9; there are 1, 2, 3"):
        broker.move_coordinator(9)
    assert broker.move_coordinator(3) == ports(broker)[3]
    for name in (group_id, other, *by_node[2]):
        assert clients[1].call("FindCoordinator", 2, key=name, key_type=0)["node_id"] == 3
    assert broker.move_coordinator() == ports(broker)[1]
    broker.unload_coordinator()
    for client in clients.values():
        answer = client.call("FindCoordinator", 2, key=group_id, key_type=0)
        assert answer["error_code"] == COORDINATOR_NOT_AVAILABLE
    assert broker.load_coordinator() == ports(broker)[1]
    broker.reset()
    endpoints = broker._controls.server.endpoints
    assert ports(broker) == {node_id: endpoints.at(node_id) for node_id in (1, 2, 3)}
    assert len(connect(ports(broker)[2]).call("Metadata", 12, topics=[])["brokers"]) == 3


def test_a_coordinator_moves_to_a_broker(three, connect):
    coordinators_move(three, connect)


CLUSTER, ELSEWHERE, PLACEMENT = (
    "rota.server.cluster:Cluster.", "rota.server.elsewhere:Elsewhere.", "rota.server.placement:Placement.",
)  # fmt: skip
BUGS = (
    ("one-is-told", "rota.server.endpoints:Endpoints.bind", "NODE_ID + self._listening.brokers",
     "NODE_ID + 1",
     everybody_is_told_of),
    ("all-at-one", PLACEMENT + "leader", "(self._first(topic) + index) % len(self._nodes)", "0",
     partitions_are_spread),
    ("anybody-coordinates", "rota.server.broker:Server.carry_out", "not self.placement.is_one", "False",
     others_are_no_coordinators),
    ("groups-unread", ELSEWHERE + "_has_group", "self._placement.of_group(group_id) == node_id", "True",
     others_are_no_coordinators),
    ("some-apis-anywhere", ELSEWHERE + "_named", "name in _OF_GROUPS", "False", others_are_no_coordinators),
    ("all-or-nothing", ELSEWHERE + "local", "len(there) == len(names)", "there", requests_of_many_groups),
    ("lost-groups", "rota.server.elsewhere:_together", "(*told[array], *rest)", "told[array]",
     requests_of_many_groups),
    ("another-order", "rota.server.elsewhere:_together", "order[_id_of(each)]", "_id_of(each)",
     requests_of_many_groups),
    ("lists-all", ELSEWHERE + "_listed", "if is_here(", "if True or is_here(", requests_of_many_groups),
    ("lists-all-transactions", ELSEWHERE + "_listed", "if is_here(", "if True or is_here(",
     transactions_are_spread),
    ("any-leader", "rota.server.topics:Topics.led", "!= node_id", "is None", partitions_are_spread),
    ("leaders-are-told-wrong", CLUSTER + "_described", "placement.is_one", "True", partitions_are_spread),
    ("any-factor", "rota.server.create_topics:CreateTopics._factor", "1 <= factor <= brokers", "True",
     factors_are_kept),
    ("factors-forgotten", "rota.server.create_topics:CreateTopics._result", "configs, factor)", "configs)",
     factors_are_kept),
    ("transactions-at-the-first", CLUSTER + "_coordinator", "self._placement.of_transaction(key)", "1",
     transactions_are_spread),
    ("transactions-anywhere", ELSEWHERE + "_has_transaction", "== node_id", "is not None",
     transactions_are_spread),
    ("all-move", PLACEMENT + "move", "group_id is None", "True", coordinators_move),
    ("none-moves", PLACEMENT + "move", "self._moved[self._group_partition(group_id)] = node_id", "pass",
     coordinators_move),
    ("moved-stay", PLACEMENT + "move", "self._moved.clear()", "pass", coordinators_move),
)  # fmt: skip


@pytest.mark.parametrize(("name", "function", "old", "new", "story"), BUGS, ids=[bug[0] for bug in BUGS])
def test_a_story_tells_a_planted_bug(name, function, old, new, story, connect):
    bug = CoreBug("", name, "", function, old, new)
    wrong = pytest.raises((AssertionError, KeyError, IndexError))
    with planted(bug), controlled(brokers=3) as broker, wrong:
        story(broker, connect)


def test_one_broker_leads_all():
    one = Placement(1, CoordinatorConfig().partition_of)
    assert one.is_one
    assert (
        {one.leader("t", index) for index in range(9)} == {one.of_group("g"), one.of_transaction("x")} == {1}
    )


@pytest.mark.parametrize("library", ["librdkafka", "kafka-python"])
def test_clients_find_their_way(library, three):
    """A group on all partitions, through moves of its coordinator to each broker."""
    three.create_topic("t", 6)
    if library == "librdkafka":
        kafka = pytest.importorskip("confluent_kafka")
        producer = kafka.Producer({"bootstrap.servers": three.bootstrap, "transactional.id": "x"})
        producer.init_transactions(20)
        producer.begin_transaction()
        for index in range(6):
            producer.produce("t", b"%d" % index, partition=index)
        producer.commit_transaction(20)
        consumer = kafka.Consumer({
            "bootstrap.servers": three.bootstrap, "group.id": "g", "auto.offset.reset": "earliest",
            "isolation.level": "read_committed", "enable.auto.commit": False,
        })  # fmt: skip
        consumer.subscribe(["t"])
        poll = lambda: [each.value() for each in consumer.consume(10, 0.5) if not each.error()]  # noqa: E731
        places = [kafka.TopicPartition("t", index, 1) for index in range(6)]
        commit = lambda: consumer.commit(offsets=places, asynchronous=False)  # noqa: E731
    else:
        kafka = pytest.importorskip("kafka")
        producer = kafka.KafkaProducer(bootstrap_servers=three.bootstrap.split(","))
        for index in range(6):
            producer.send("t", b"%d" % index, partition=index).get(20)
        producer.close()
        consumer = kafka.KafkaConsumer(
            "t", bootstrap_servers=three.bootstrap.split(","), group_id="g", auto_offset_reset="earliest",
            enable_auto_commit=False,
        )  # fmt: skip
        poll = lambda: [each.value for some in consumer.poll(500).values() for each in some]  # noqa: E731
        commit = consumer.commit
    try:
        got, deadline = [], time.monotonic() + PATIENCE
        while len(got) < 6 and time.monotonic() < deadline:
            got += poll()
        assert sorted(got) == [b"%d" % index for index in range(6)]
        for node_id in (1, 2, 3):
            three.move_coordinator(node_id, "g")
            poll()
            commit()
            assert three.groups()["g"].state == "Stable"
        assert three.groups()["g"].offsets == {
            ("t", index): three.groups()["g"].offsets["t", 0] for index in range(6)
        }
    finally:
        consumer.close()


def test_an_unmoved_group_keeps_its_members(three, connect, member):
    """What the log has is taken over, so that those who did not ask meanwhile have noticed nothing."""
    by_node = groups_of(three)
    three.create_topic("t", 1)
    only = member(ports(three)[3])
    only.request = {**only.request, "group_id": by_node[3][0]}
    only.join(protocols=[{"name": "range", "metadata": encode_subscription({"topics": ["t"]})}])
    told = {"assigned_partitions": [{"topic": "t", "partitions": [0]}]}
    place = {"group_id": by_node[3][0], "generation_id": 1, "member_id": only.member_id}
    mine = [{"member_id": only.member_id, "assignment": encode_assignment(told)}]
    assert only.call("SyncGroup", 4, **place, assignments=mine)["error_code"] == 0
    three.move_coordinator(2, by_node[1][0])
    assert only.call("Heartbeat", 4, **place)["error_code"] == 0


def test_settings_have_room_for_brokers():
    assert Listening(brokers=100).brokers == 100
    assert Settings().offsets_topic_num_partitions == 50
