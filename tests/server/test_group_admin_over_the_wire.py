"""OffsetDelete, DescribeGroups, ListGroups and DeleteGroups by raw clients."""

import pytest

from rota.wire.consumer import encode_subscription

NO_OPERATIONS = -(2**31)


def commit(client, *topics, group_id="g"):
    partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
    body = {
        "group_id": group_id,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": name, "partitions": [partition]} for name in topics],
    }
    client.call("OffsetCommit", 8, **body)


def fetched(client):
    (group,) = client.call("OffsetFetch", 8, groups=[{"group_id": "g", "topics": None}])["groups"]
    return [topic["name"] for topic in group["topics"]]


def delete_offsets(client, *topics, group_id="g"):
    """The error for the whole, and those of partitions by topic in the order of the answer."""
    asked = [
        {"name": name, "partitions": [{"partition_index": each} for each in parts]} for name, parts in topics
    ]
    answer = client.call("OffsetDelete", 0, group_id=group_id, topics=asked)
    return answer["error_code"], [
        (topic["name"], [(each["partition_index"], each["error_code"]) for each in topic["partitions"]])
        for topic in answer["topics"]
    ]


def delete(client, version, *names):
    results = client.call("DeleteGroups", version, groups_names=list(names))["results"]
    return [(each["group_id"], each["error_code"]) for each in results]


@pytest.fixture
def client(connect, address):
    """A client of a server with the topics "t" and "u" of one partition."""
    client = connect(address)
    client.call("Metadata", 8, topics=[{"name": "t"}, {"name": "u"}])
    return client


def test_offsets_are_deleted_where_there_are_topics(client):
    assert delete_offsets(client, ("t", [0]), ("x", [0])) == (69, [])
    commit(client, "t", "u")
    asked = [("t", [0, 1]), ("u", []), ("x", [0]), ("x", []), ("t", [-1])]
    assert delete_offsets(client, *asked) == (0, [("t", [(1, 3), (-1, 3), (0, 0)]), ("x", [(0, 3)])])
    assert fetched(client) == ["u"]
    assert delete_offsets(client, ("u", [0])) == (0, [("u", [(0, 0)])])
    assert fetched(client) == []
    assert delete_offsets(client, ("x", [0])) == (0, [("x", [(0, 3)])])
    assert delete_offsets(client, ("t", [0]), group_id="") == (24, [])


@pytest.mark.parametrize(
    ("metadata", "errors"),
    [
        (encode_subscription({"topics": ["t"]}, 0), [86, 0]),
        (encode_subscription({"topics": ["u", "t"]}, 3), [86, 86]),
        (encode_subscription({"topics": ["t"]}, 0)[:-4], [86, 86]),
        (b"\0\7" + encode_subscription({"topics": []}, 0)[2:] + b"more", [0, 0]),
        (b"\0", [86, 86]),
    ],
    ids=["old", "new", "cut-short", "of-the-future", "next-to-nothing"],
)
def test_a_subscription_keeps_its_topics_offsets(client, member, address, metadata, errors):
    member(address).join(protocols=[{"name": "range", "metadata": metadata}])
    _, topics = delete_offsets(client, ("t", [0]), ("u", [0]))
    assert [error for _, ((_, error),) in topics] == errors


@pytest.mark.parametrize("version", range(7))
def test_every_version_describes(client, member, address, version):
    one = member(address, "someone")
    one.join()
    one.sync(assignments={one.member_id: b"work"})
    commit(client, "t", group_id="e")
    described = client.call("DescribeGroups", version, groups=["g", "e", "absent"])["groups"]
    (found,) = described[0]["members"]
    assert (found["client_id"], found["client_host"]) == ("someone", "/127.0.0.1")
    assert (found["member_metadata"], found["member_assignment"]) == (b"m", b"work")
    assert [(each["group_id"], each["group_state"], each["protocol_type"]) for each in described] == [
        ("g", "Stable", "consumer"),
        ("e", "Empty", ""),
        ("absent", "Dead", ""),
    ]
    assert [each["error_code"] for each in described] == [0, 0, 69 if version >= 6 else 0]
    assert described[0]["protocol_data"] == "range"
    if version >= 6:
        assert described[2]["error_message"] == "Group absent not found."
    if version >= 3:
        assert {each["authorized_operations"] for each in described} == {NO_OPERATIONS}
        names = ["g", "absent"]
        answer = client.call("DescribeGroups", version, groups=names, include_authorized_operations=True)
        allowed = [each["authorized_operations"] for each in answer["groups"]]
        assert allowed == [3400, NO_OPERATIONS if version >= 6 else 3400]


@pytest.mark.parametrize("version", range(6))
def test_every_version_lists(client, member, address, version):
    member(address).join()
    commit(client, "t", group_id="e")
    expected = [
        {"group_id": "g", "protocol_type": "consumer"},
        {"group_id": "e", "protocol_type": ""},
    ]
    for group, state in zip(expected, ("CompletingRebalance", "Empty"), strict=True):
        group.update({"group_state": state} if version >= 4 else {})
        group.update({"group_type": "classic"} if version >= 5 else {})
    assert client.call("ListGroups", version)["groups"] == expected
    if version >= 4:
        assert client.call("ListGroups", version, states_filter=["empty"])["groups"] == expected[1:]
    if version >= 5:
        assert client.call("ListGroups", version, types_filter=["consumer"])["groups"] == []


@pytest.mark.parametrize("version", range(4))
def test_every_version_deletes(client, member, address, version):
    one = member(address)
    one.join()
    commit(client, "t", group_id="e")
    assert delete(client, version, "g", "e", "absent", "e") == [("g", 68), ("e", 0), ("absent", 69)]
    assert [each["group_id"] for each in client.call("ListGroups", 4)["groups"]] == ["g"]
    assert one.heartbeat() == 0
    assert delete(client, version) == []
