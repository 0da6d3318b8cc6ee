"""OffsetCommit and OffsetFetch by raw clients. Orders of answers are those of a broker of Kafka 4.4.0."""

from uuid import UUID, uuid4

import pytest

NO_ID = UUID(int=0)
COMMITS, FETCHES = range(2, 11), range(1, 11)


@pytest.fixture
def client(connect, address):
    """A client of a server whose one topic is "t", with its id and one partition."""
    client = connect(address)
    asked = [{"topic_id": NO_ID, "name": "t"}]
    client.topic_id = client.call("Metadata", 12, topics=asked)["topics"][0]["topic_id"]
    return client


def part(index=0, offset=5, metadata="m", **more):
    return {"partition_index": index, "committed_offset": offset, "committed_metadata": metadata} | more


class Named:
    """How a version names topics: by name, or by id, where all but "t" have one that nobody knows."""

    def __init__(self, client, version, names):
        self.key = "topic_id" if version >= 10 else "name"
        known = {"t": client.topic_id, "": NO_ID}
        ids = {name: known.get(name) or uuid4() for name in {"t", *names}}
        self.called = ids if version >= 10 else {name: name for name in ids}
        self.name = {called: name for name, called in self.called.items()}

    def written(self, topics, field):
        return [{self.key: self.called[name], field: content} for name, content in topics]

    def read(self, topics):
        return [(self.name[topic[self.key]], topic["partitions"]) for topic in topics]


def commit(client, version, topics, **place):
    """OffsetCommit to g; the errors by topic in the order of the answer."""
    named = Named(client, version, [name for name, _ in topics])
    place = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": ""} | place
    answer = client.call("OffsetCommit", version, **place, topics=named.written(topics, "partitions"))
    return [
        (name, [(each["partition_index"], each["error_code"]) for each in partitions])
        for name, partitions in named.read(answer["topics"])
    ]


def fetch(client, version, topics, group_id="g", **more):
    """OffsetFetch from g; its (topic, partition, offset, metadata, error) in the order of the answer."""
    named = Named(client, version, [name for name, _ in topics or ()])
    asked = {"group_id": group_id, "topics": topics and named.written(topics, "partition_indexes")}
    if version >= 8:
        asked |= {"member_id": "x", "member_epoch": 7} if version >= 9 else {}
        answer = client.call("OffsetFetch", version, groups=[asked], **more)["groups"][0]
        assert answer["group_id"] == group_id
    else:
        answer = client.call("OffsetFetch", version, **asked, **more)
    assert answer.get("error_code", 0) == 0
    fields = ("partition_index", "committed_offset", "metadata", "error_code")
    return [
        (name, *(each[field] for field in fields))
        for name, partitions in named.read(answer["topics"])
        for each in partitions
    ]


@pytest.mark.parametrize("version", COMMITS)
def test_every_version_commits(client, version):
    assert commit(client, version, [("t", [part(0, 40 + version, None)])]) == [("t", [(0, 0)])]
    assert fetch(client, 9, [("t", [0])]) == [("t", 0, 40 + version, "", 0)]


@pytest.mark.parametrize("version", FETCHES)
def test_every_version_fetches(client, version):
    commit(client, 9, [("t", [part(0, 7, "note", committed_leader_epoch=3)])])
    assert fetch(client, version, [("t", [1, 0])]) == [("t", 1, -1, "", 0), ("t", 0, 7, "note", 0)]
    assert fetch(client, version, [("t", [0])], group_id="absent") == [("t", 0, -1, "", 0)]
    if version >= 2:
        assert fetch(client, version, None) == [("t", 0, 7, "note", 0)]
        assert fetch(client, version, None, group_id="absent") == []
    if version >= 7:
        assert fetch(client, version, None, require_stable=True) == [("t", 0, 7, "note", 0)]


def test_the_leader_epoch_is_told_since_version_five(client):
    commit(client, 6, [("t", [part(committed_leader_epoch=3)])])
    asked = {"group_id": "g", "topics": None}
    assert (
        "committed_leader_epoch" not in client.call("OffsetFetch", 4, **asked)["topics"][0]["partitions"][0]
    )
    assert client.call("OffsetFetch", 5, **asked)["topics"][0]["partitions"][0]["committed_leader_epoch"] == 3
    group = client.call("OffsetFetch", 8, groups=[asked])["groups"][0]
    assert group["topics"][0]["partitions"][0]["committed_leader_epoch"] == 3


@pytest.mark.parametrize(("version", "error"), [(9, 3), (10, 100)])
def test_what_the_server_does_not_have_is_refused_before_the_coordinator_is_asked(client, version, error):
    topics = [
        ("t", [part(0, 1, "x" * 4_097)]),
        ("u", [part(0), part(3)]),
        ("t", [part(0, 9), part(5), part(-1)]),
    ]
    told = [("u", [(0, error), (3, error)]), ("t", [(5, 3), (-1, 3), (0, 12), (0, 0)])]
    assert commit(client, version, topics) == told
    assert fetch(client, 9, None) == [("t", 0, 9, "m", 0)]


@pytest.mark.parametrize("version", [9, 10])
def test_a_commit_of_nothing_that_there_is_makes_no_group(client, version):
    error = 100 if version >= 10 else 3
    place = {"generation_id_or_member_epoch": 4, "member_id": "x"}
    assert commit(client, version, []) == []
    assert commit(client, version, [("t", [])]) == []
    assert commit(client, version, [("u", [])]) == [("u", [])]
    assert commit(client, version, [("u", [part()]), ("t", [part(1)])], **place) == [
        ("u", [(0, error)]),
        ("t", [(1, 3)]),
    ]
    assert commit(client, 9, [("t", [part()])], **place) == [("t", [(0, 69)])]


def test_unknown_ids_are_answered_behind_the_others(client):
    commit(client, 10, [("t", [part(0, 8)])])
    assert fetch(client, 10, [("u", [0, 1]), ("t", [0, 1]), ("", [0])]) == [
        *[("t", 0, 8, "m", 0), ("t", 1, -1, "", 0)],
        *[("u", 0, -1, "", 100), ("u", 1, -1, "", 100), ("", 0, -1, "", 100)],
    ]
    assert fetch(client, 9, [("u", [0])]) == [("u", 0, -1, "", 0)]


@pytest.mark.parametrize("version", [8, 9, 10])
def test_several_groups_in_one_request(client, version):
    for group_id, offset in (("g", 1), ("h", 2)):
        commit(client, 9, [("t", [part(0, offset)])], group_id=group_id)
    groups = [{"group_id": name, "topics": None} for name in ("h", "absent", "g", "h")]
    answer = client.call("OffsetFetch", version, groups=groups)["groups"]
    offsets = {"g": [1], "h": [2], "absent": []}
    assert [each["group_id"] for each in answer] == ["h", "absent", "g", "h"]
    for group in answer:
        found = [each["committed_offset"] for topic in group["topics"] for each in topic["partitions"]]
        assert found == offsets[group["group_id"]]
    assert client.call("OffsetFetch", version, groups=[])["groups"] == []


def test_a_member_commits_through_a_rebalance(client, member, address):
    one, two = member(address), member(address)
    one.join()
    place = {"generation_id_or_member_epoch": one.generation, "member_id": one.member_id}
    wanted = [("t", [part()])]
    assert commit(client, 9, wanted, **place) == [("t", [(0, 27)])]
    one.sync(assignments={one.member_id: b""})
    assert commit(client, 9, wanted, **place) == [("t", [(0, 0)])]
    assert commit(client, 9, wanted) == [("t", [(0, 25)])]
    two.ask()
    assert commit(client, 9, wanted, **place) == [("t", [(0, 0)])]
    one.join()
    two.joined()
    assert commit(client, 9, wanted, **place) == [("t", [(0, 22)])]


def test_an_instance_id_has_to_be_that_of_the_member(address, client, member):
    one = member(address)
    one.join()
    one.sync()
    place = {"generation_id_or_member_epoch": one.generation, "member_id": one.member_id}
    assert commit(client, 9, [("t", [part()])], **place, group_instance_id="i") == [("t", [(0, 25)])]
