"""What one client asks for behind the codec holds up nobody else and fills no memory.

A stretch is what the server's thread does in one iteration of its event loop, in lines of Python: seconds
would say more about the machine. Turns end after one step here, so the longest stretch is the longest step.
"""

import asyncio
import gc
import threading
import time
from contextlib import nullcontext

import pytest

from harness.lines import Lines
from rota.coordinator import LeaveGroupReply
from rota.server import answers, broker, fetch, running, turns
from rota.server.answers import as_body
from rota.wire import encode_request, frame

LINES = 600_000
"""Some 25 ms on a processor of 2024: twice what the longest step has."""

NO_DELAY = {"group.initial.rebalance.delay.ms": 0}
COMMIT = {"generation_id_or_member_epoch": -1, "member_id": ""}


class Stretches:
    """The longest stretch of a loop, in lines; garbage is collected outside of it."""

    def __init__(self, monkeypatch):
        self.longest = 0
        self.counting = False
        turn = asyncio.BaseEventLoop._run_once

        def counted(loop):
            self.loop = loop
            with Lines() if self.counting else nullcontext() as lines:
                turn(loop)
            self.longest = max(self.longest, lines.count if lines else 0)

        monkeypatch.setattr(asyncio.BaseEventLoop, "_run_once", counted)
        monkeypatch.setattr(turns, "TURN_SECONDS", 0)
        monkeypatch.setattr(turns, "ITERATION_SECONDS", 1e-9)

    def of(self, function):
        """The longest stretch while the function runs, and what it returns."""
        self.longest = 0
        self.counting = True
        self.next_turn()
        gc.collect()
        gc.disable()
        try:
            result = function()
            self.next_turn()
        finally:
            gc.enable()
            self.counting = False
        return self.longest, result

    def next_turn(self):
        """Waits until the turn is over in which the loop is now."""
        over = threading.Event()
        self.loop.call_soon_threadsafe(over.set)
        assert over.wait(30)


@pytest.fixture
def stretches(monkeypatch):
    return Stretches(monkeypatch)


@pytest.fixture
def serving(monkeypatch, stretches, request):
    """Starts a server; gives the object and its address."""
    found = []

    class Watched(broker.Server):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            found.append(self)

    monkeypatch.setattr(broker, "Server", Watched)

    def serving(**config):
        settings = {name.replace("_", "."): value for name, value in config.items()}
        context = running(NO_DELAY | settings)
        address = context.__enter__()
        request.addfinalizer(lambda: context.__exit__(None, None, None))
        return found[-1], address

    return serving


def create(client, name="t", partitions=1):
    asked = {"name": name, "num_partitions": partitions, "replication_factor": 1}
    (topic,) = client.call("CreateTopics", 7, topics=[asked])["topics"]
    assert topic["error_code"] == 0


def commit(client, group_id, partitions, metadata="", version=9):
    """The errors of a commit of these partitions of topic t, from outside of group management."""
    listed = [
        {"partition_index": each, "committed_offset": each, "committed_metadata": metadata}
        for each in partitions
    ]
    topics = [{"name": "t", "partitions": listed}]
    answer = client.call("OffsetCommit", version, group_id=group_id, topics=topics, **COMMIT)
    return [each["error_code"] for topic in answer["topics"] for each in topic["partitions"]]


def join(client, group_id="g", metadata=b"m", version=3, **changes):
    """Sends a JoinGroup that is admitted at once."""
    protocols = [{"name": "range", "metadata": metadata}]
    body = {"group_id": group_id, "session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000}
    client.send("JoinGroup", version, **body, protocol_type="consumer", protocols=protocols, **changes)


def many_groups(client, count):
    """So many empty groups."""
    for start in range(0, count, 500):
        names = [f"group-{each}" for each in range(start, min(count, start + 500))]
        join_all = (join_frame(name) for name in names)
        client.raw(b"".join(join_all))
        for _ in names:
            client.payload()


def join_frame(group_id, member_id=""):
    body = {"group_id": group_id, "session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000}
    body |= {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": b""}]}
    return frame(encode_request("JoinGroup", 9, body | {"member_id": member_id}, 1, "c"))


def large_group(address, connect, members, metadata):
    """A Stable group of members, whose assignments are as long as their metadata."""
    clients = [connect(address) for _ in range(members)]
    for client in clients:
        join(client, metadata=metadata)
    joined = [client.receive() for client in clients]
    me = {"group_id": "g", "generation_id": 1}
    (leading,) = [each for each in range(members) if joined[each]["members"]]
    assigned = [{"member_id": each["member_id"], "assignment": metadata} for each in joined]
    answer = clients[leading].call(
        "SyncGroup", 3, **me, member_id=joined[leading]["member_id"], assignments=assigned
    )
    assert answer["error_code"] == 0


def test_a_group_that_is_described_again_and_again_has_an_answer_that_ends(serving, stretches, connect):
    _, address = serving(group_initial_rebalance_delay_ms=1_000)
    large_group(address, connect, 50, bytes(10_000))
    client = connect(address)
    names = ["g", *(f"none-{each}" for each in range(10)), *["g"] * 3_000]
    one = len(groups(client, ["g"])[0]["members"])
    assert one == 50
    longest, described = stretches.of(lambda: groups(client, names))
    assert [each["group_id"] for each in described] == names
    whole = [each for each in described if each["error_code"] == 0]
    assert {len(each["members"]) for each in whole} == {50}
    assert {each["error_code"] for each in described[1:11]} == {69}
    assert len(whole) > 1
    assert {each["error_code"] for each in described[len(whole) + 10 :]} == {14}
    assert longest < LINES


def groups(client, names, version=6):
    return client.call("DescribeGroups", version, groups=names)["groups"]


@pytest.mark.parametrize("version", range(7))
def test_every_version_of_describe_is_put_together(version, serving, connect):
    _, address = serving()
    client = connect(address)
    many_groups(client, 3)
    allowed = {"include_authorized_operations": True} if version >= 3 else {}
    described = client.call("DescribeGroups", version, groups=["group-0", "no", "group-0"], **allowed)
    error = 69 if version >= 6 else 0
    assert [each["error_code"] for each in described["groups"]] == [0, error, 0]
    assert [each["group_state"] for each in described["groups"]] == ["Empty", "Dead", "Empty"]
    if version >= 3:
        assert described["groups"][0]["authorized_operations"] == 3400


def test_a_large_group_is_described_whole_though_it_is_more_than_an_answer_has_room_for(
    serving, connect, monkeypatch
):
    monkeypatch.setattr(answers, "MAX_BYTES", 1_000)
    _, address = serving(group_initial_rebalance_delay_ms=1_000)
    large_group(address, connect, 3, bytes(10_000))
    described = groups(connect(address), ["g", "g"])
    assert [(each["error_code"], len(each["members"])) for each in described] == [(0, 3), (14, 0)]


def test_many_groups_are_listed_and_deleted_in_turns_with_others(serving, stretches, connect):
    server, address = serving()
    client = connect(address)
    many_groups(client, 10_000)
    longest, answer = stretches.of(lambda: client.call("ListGroups", 5))
    names = [each["group_id"] for each in answer["groups"]]
    assert (len(set(names)), answer["error_code"]) == (10_000, 0)
    assert longest < LINES
    begun = time.process_time()
    longest, answer = stretches.of(lambda: client.call("DeleteGroups", 2, groups_names=names + names[:5]))
    assert [each["group_id"] for each in answer["results"]] == names
    assert {each["error_code"] for each in answer["results"]} == {0}
    assert longest < LINES
    assert time.process_time() - begun < 5
    assert not server.groups.core.groups
    assert server.groups.core._memory.held == 0


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_list_is_put_together(version, serving, connect, monkeypatch):
    monkeypatch.setattr(answers, "AT_ONCE", 2)
    _, address = serving()
    client = connect(address)
    many_groups(client, 5)
    listed = client.call("ListGroups", version)["groups"]
    assert [each["group_id"] for each in listed] == [f"group-{each}" for each in range(5)]
    if version >= 4:
        for states, count in ((["empty"], 5), (["Stable", " EMPTY "], 5), (["stable"], 0), (["x"], 0)):
            answer = client.call("ListGroups", version, states_filter=states)
            assert len(answer["groups"]) == count


def test_cleaning_of_many_groups_takes_turns(serving, stretches, connect):
    server, address = serving(offsets_retention_check_interval_ms=2_000)
    client = connect(address)
    many_groups(client, 5_000)

    def cleaned():
        deadline = time.monotonic() + 60
        while server.groups.core.groups and time.monotonic() < deadline:
            time.sleep(0.05)

    longest, _ = stretches.of(cleaned)
    assert not server.groups.core.groups
    assert longest < LINES


def test_offsets_that_are_fetched_again_and_again_have_an_answer_that_ends(serving, stretches, connect):
    _, address = serving()
    client = connect(address)
    create(client, partitions=50)
    assert set(commit(client, "g", range(50), "x" * 1_024)) == {0}
    asked = [{"name": "t", "partition_indexes": list(range(50)) * 50}]
    one = {"group_id": "g", "member_id": None, "member_epoch": -1, "topics": asked}
    longest, answer = stretches.of(lambda: client.call("OffsetFetch", 9, groups=[one] * 8))
    found = [
        (each["error_code"], sum(len(t["partitions"]) for t in each["topics"])) for each in answer["groups"]
    ]
    assert found == [(0, 2_500)] + [(14, 0)] * 7
    assert [topic["name"] for topic in answer["groups"][0]["topics"]] == ["t"]
    indexes = [each["partition_index"] for each in answer["groups"][0]["topics"][0]["partitions"]]
    assert indexes == list(range(50)) * 50
    assert longest < LINES


@pytest.mark.parametrize("version", [7, pytest.param(8, marks=pytest.mark.long), 10])
def test_offsets_of_many_partitions_are_told_whole(version, serving, stretches, connect):
    """Ten thousand partitions of two topics, committed in one request and fetched in another."""
    server, address = serving()
    client = connect(address)
    for name in ("t", "u"):
        create(client, name, 5_000)
    ids = {name: server.topics.named(name).topic_id for name in ("t", "u")}

    def keyed(name, since):
        return {"topic_id": ids[name]} if version >= since else {"name": name}

    parts = [{"partition_index": each, "committed_offset": each + 1} for each in range(5_000)]
    topics = [{**keyed(name, 10), "partitions": parts} for name in ids]
    body = {"group_id": "g", "topics": topics, **COMMIT}
    longest, answer = stretches.of(lambda: client.call("OffsetCommit", max(version, 8), **body))
    assert longest < LINES
    assert [len(each["partitions"]) for each in answer["topics"]] == [5_000, 5_000]
    asked = [{**keyed(name, 10), "partition_indexes": list(range(5_000))} for name in ids]
    group = {"group_id": "g", "topics": asked}
    body = {"groups": [group]} if version >= 8 else group
    longest, answer = stretches.of(lambda: client.call("OffsetFetch", version, **body))
    assert longest < LINES
    (found,) = answer["groups"] if version >= 8 else [answer]
    assert found["error_code"] == 0
    offsets = [[each["committed_offset"] for each in topic["partitions"]] for topic in found["topics"]]
    assert offsets == [list(range(1, 5_001))] * 2


@pytest.mark.parametrize("version", [7, 9])
def test_all_offsets_of_a_group_asked_for_again_and_again(version, serving, stretches, connect):
    """It is looked up once; what has no room any more is not looked up at all."""
    server, address = serving()
    client = connect(address)
    create(client, partitions=1_000)
    for name in ("g", "h", "i"):
        assert set(commit(client, name, range(1_000), "x" * 2_000)) == {0}
    asked = []
    fetch_offsets = server.groups.core.offset_fetch
    server.groups.core.offset_fetch = lambda part, *rest: asked.append(part) or fetch_offsets(part, *rest)
    names = ["g", "h", "i", "no"] * 300 if version >= 8 else ["g"]
    wanted = [{"group_id": name, "topics": None} for name in names]
    body = {"groups": wanted} if version >= 8 else wanted[0]
    longest, answer = stretches.of(lambda: client.call("OffsetFetch", version, **body))
    found = answer["groups"] if version >= 8 else [answer]
    counts = [sum(len(topic["partitions"]) for topic in each["topics"]) for each in found]
    assert counts[:4] == [1_000, 1_000, 0, 0][: len(names)]
    assert [each["error_code"] for each in found[:4]] == [0, 0, 14, 0][: len(names)]
    assert len(asked) == len(set(names))
    assert longest < LINES


@pytest.mark.long
@pytest.mark.parametrize("version", [8, 10])
def test_offsets_of_many_topics_are_told_whole(version, serving, stretches, connect):
    server, address = serving()
    client = connect(address)
    names = [f"topic-{each}" for each in range(10_000)]
    client.call("Metadata", 9, topics=[{"name": each} for each in names])
    ids = {name: server.topics.named(name).topic_id for name in names}
    keys = [{"topic_id": ids[name]} if version >= 10 else {"name": name} for name in names]
    topics = [{**key, "partitions": [{"partition_index": 0, "committed_offset": 7}]} for key in keys]
    body = {"group_id": "g", "topics": topics, **COMMIT}
    longest, answer = stretches.of(lambda: client.call("OffsetCommit", version, **body))
    assert longest < LINES
    assert [each["partitions"][0]["error_code"] for each in answer["topics"]] == [0] * 10_000
    group = {"group_id": "g", "topics": [{**key, "partition_indexes": [0]} for key in keys]}
    longest, answer = stretches.of(lambda: client.call("OffsetFetch", version, groups=[group]))
    assert longest < LINES
    (found,) = answer["groups"]
    assert [{**each, **key} for each, key in zip(found["topics"], keys, strict=True)] == found["topics"]
    assert {each["partitions"][0]["committed_offset"] for each in found["topics"]} == {7}


def test_each_produce_reads_waiting_fetches_only_when_they_have_enough(serving, stretches, user):
    """A hundred fetches wait for a megabyte of twenty partitions, of which each is produced to."""
    server, address = serving()
    writer = user(address)
    writer.create(num_partitions=20)
    wanted = [{"partition": each, "fetch_offset": 0, "partition_max_bytes": 2**20} for each in range(20)]
    waiting = [user(address) for _ in range(100)]
    for each in waiting:
        topics = [{"topic": "t", "partitions": wanted}]
        each.send_fetch(topics=topics, min_bytes=2**20, max_bytes=2**25, max_wait_ms=60_000)
    eventually(lambda: len(server.fetches) == 100)
    reads = []
    read = fetch._Fetch.read
    fetch._Fetch.read = lambda self: reads.append(self) or read(self)
    try:
        longest, _ = stretches.of(lambda: [writer.produce([bytes(20_000)], index=each) for each in range(20)])
        assert (len(reads), len(server.fetches)) == (0, 100)
        assert longest < LINES
        writer.produce([bytes(700_000)])
        eventually(lambda: not len(server.fetches))
        assert len(reads) == 100
    finally:
        fetch._Fetch.read = read
    for each in waiting:
        assert len(each.receive()["responses"][0]["partitions"]) == 20


def eventually(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_metadata_and_coordinators_of_ten_thousand_take_turns(serving, stretches, connect):
    _, address = serving()
    client = connect(address)
    names = [f"topic-{each}" for each in range(10_000)]
    asked = [{"name": each} for each in names]
    for version, topics in ((9, asked), (13, asked), (13, None)):
        longest, answer = stretches.of(
            lambda version=version, topics=topics: client.call("Metadata", version, topics=topics)
        )
        assert [each["name"] for each in answer["topics"]] == names
        assert {len(each["partitions"]) for each in answer["topics"]} == {1}
        assert longest < LINES
    longest, answer = stretches.of(lambda: client.call("FindCoordinator", 4, coordinator_keys=names))
    assert [each["key"] for each in answer["coordinators"]] == names
    assert longest < LINES


@pytest.mark.parametrize("version", [3, 5])
def test_many_leave_in_one_request_and_each_is_told(version, serving, stretches, connect, monkeypatch):
    """In order, those who are no members too; what is answered is made part of it in slices."""
    monkeypatch.setattr("rota.server.groups.AT_ONCE", 100)
    whole = []
    monkeypatch.setattr("rota.server.groups.as_body", lambda value: whole.append(value) or as_body(value))
    server, address = serving(group_initial_rebalance_delay_ms=1_000)
    large_group(address, connect, 3, b"m")
    members = sorted(server.groups.core.groups["g"].members)
    leaving = [*members, *(f"nobody-{each}" for each in range(2_000)), *members]
    body = {"group_id": "g", "members": [{"member_id": each, "group_instance_id": None} for each in leaving]}
    longest, answer = stretches.of(lambda: connect(address).call("LeaveGroup", version, **body))
    assert [each["member_id"] for each in answer["members"]] == leaving
    assert [each["error_code"] for each in answer["members"]] == [0] * 3 + [25] * 2_003
    assert not server.groups.core.groups["g"].members
    assert not [each for each in whole if isinstance(each, LeaveGroupReply)]
    assert longest < LINES


def test_members_metadata_have_a_limit_for_each_group_and_for_all(serving, connect):
    """What is refused is not kept, and what has left makes room."""
    server, address = serving(
        group_members_max_bytes=150_000, members_max_bytes=250_000, group_initial_rebalance_delay_ms=60_000
    )
    members = [connect(address) for _ in range(4)]
    join(members[0], "g", bytes(100_000))
    eventually(lambda: server.groups.core.groups)
    join(members[1], "g", bytes(100_000))
    assert members[1].receive()["error_code"] == 81
    join(members[1], "h", bytes(100_000))
    eventually(lambda: "h" in server.groups.core.groups)
    join(members[2], "i", bytes(100_000))
    assert members[2].receive()["error_code"] == 15
    assert set(server.groups.core.groups) == {"g", "h"}
    (member_id,) = server.groups.core.groups["h"].members
    answer = members[2].call("LeaveGroup", 4, group_id="h", members=[{"member_id": member_id}])
    assert answer["error_code"] == 0
    assert members[1].receive()["error_code"] == 25
    join(members[2], "i", bytes(100_000))
    eventually(lambda: "i" in server.groups.core.groups)


def test_ids_that_are_handed_out_have_a_limit_and_unused_groups_are_cleaned(serving, connect, monkeypatch):
    monkeypatch.setattr("rota.server.groups.CROWDED_SECONDS", 0.2)
    server, address = serving(members_max_bytes=1_000_000)
    client = connect(address)
    errors = set()
    for number in range(2_000):
        client.raw(join_frame(f"group-{number}"))
        errors.add(client.payload()[9:11])
    assert server.groups.core._memory.held <= 1_000_000
    assert len(errors) <= 2
    time.sleep(0.3)
    client.raw(join_frame("last"))
    client.payload()
    eventually(lambda: server.groups.core._memory.held <= 510_000)


def test_offsets_have_a_limit_for_each_group_and_for_all(serving, connect):
    _, address = serving(group_offsets_max_bytes=50_000, offsets_max_bytes=80_000)
    client = connect(address)
    create(client, partitions=100)
    assert set(commit(client, "g", range(10), "x" * 4_000)) == {0}
    assert set(commit(client, "g", range(20), "x" * 4_000)) == {28}
    assert set(commit(client, "g", range(10), "y" * 4_000)) == {0}
    assert set(commit(client, "h", range(10), "x" * 4_000)) == {15}
    deleted = client.call("DeleteGroups", 2, groups_names=["g"])
    assert [each["error_code"] for each in deleted["results"]] == [0]
    assert set(commit(client, "h", range(10), "x" * 4_000)) == {0}


def test_error_messages_fit_into_strings(serving, connect):
    _, address = serving()
    client = connect(address)
    long_name = "é" * 16_000
    (group,) = client.call("DescribeGroups", 6, groups=[long_name])["groups"]
    assert (group["group_id"], group["error_code"]) == (long_name, 69)
    assert group["error_message"].startswith("Group éé")
    topics = [{"name": long_name, "num_partitions": 1, "replication_factor": 1}]
    (topic,) = client.call("CreateTopics", 7, topics=topics)["topics"]
    assert topic["error_code"] == 17
    asked = {"name": "t", "num_partitions": 1, "replication_factor": 1}
    asked["configs"] = [{"name": long_name, "value": long_name}]
    (topic,) = client.call("CreateTopics", 7, topics=[asked])["topics"]
    assert topic["error_code"] == 40


def test_a_member_with_a_long_client_id_keeps_nobody_from_the_leaders_list(serving, connect):
    """The member id that is made from it has to fit into the leader's answer."""
    _, address = serving(group_initial_rebalance_delay_ms=1_000)
    leader, other = connect(address), connect(address, "c" * 32_767)
    join(leader)
    join(other)
    answers_of = [leader.receive(), other.receive()]
    assert [each["error_code"] for each in answers_of] == [0, 0]
    assert sorted(len(each["members"]) for each in answers_of) == [0, 2]


def test_a_connection_whose_request_is_dropped_is_closed_when_it_has_been_idle(member, request):
    """As a broker's. Its next request is not answered either: clients take answers in order."""
    context = running(NO_DELAY | {"connections.max.idle.ms": 700}, profile="kafka-4.x")
    address = context.__enter__()
    request.addfinalizer(lambda: context.__exit__(None, None, None))
    leader, follower, admin = member(address), member(address), member(address)
    leader.join(version=3)
    follower.ask(version=3)
    eventually(lambda: leader.heartbeat() == 27)
    leader.ask(version=3)
    leader.joined(), follower.joined()
    follower.send("SyncGroup", 3, **follower.place(), assignments=[])
    follower.send("ApiVersions", 0)
    assert follower.silent(0.1)
    leaving = [{"member_id": follower.member_id}]
    begun = time.monotonic()
    answer = admin.call("LeaveGroup", 4, group_id="g", members=leaving)
    assert [each["error_code"] for each in answer["members"]] == [0]
    assert follower.closed()
    assert time.monotonic() - begun > 0.5


def test_a_server_with_many_groups_ends_within_two_seconds(connect):
    with running(NO_DELAY) as address:
        client = connect(address)
        many_groups(client, 20_000)
        begun = time.process_time()
    assert time.process_time() - begun < 2


def test_what_is_deleted_leaves_no_cycles(serving, connect):
    """The collector of a server seldom looks for them among what has been there for long."""
    _, address = serving()
    client = connect(address)
    create(client)
    gc.collect()
    gc.disable()
    try:
        for number in range(300):
            assert commit(client, f"g{number}", [0]) == [0]
        names = [f"g{number}" for number in range(300)]
        deleted = client.call("DeleteGroups", 2, groups_names=names)
        assert {each["error_code"] for each in deleted["results"]} == {0}
        assert gc.collect() < 300
    finally:
        gc.enable()


def test_planted_bug_groups_are_deleted_in_one_step(serving, stretches, connect, monkeypatch):
    monkeypatch.setattr("rota.server.group_admin.DELETED_AT_ONCE", 10**6)
    with pytest.raises(AssertionError):
        test_many_groups_are_listed_and_deleted_in_turns_with_others(serving, stretches, connect)


def test_planted_bug_fetches_are_read_at_each_produce(serving, stretches, user, monkeypatch):
    monkeypatch.setattr(fetch._Parked, "has_grown", lambda self, log, size: True)
    with pytest.raises(AssertionError):
        test_each_produce_reads_waiting_fetches_only_when_they_have_enough(serving, stretches, user)


@pytest.mark.long
def test_planted_bug_offsets_are_stored_in_one_step(serving, stretches, connect, monkeypatch):
    monkeypatch.setattr("rota.server.offset_parts.AT_ONCE", 10**6)
    with pytest.raises(AssertionError):
        test_offsets_of_many_topics_are_told_whole(8, serving, stretches, connect)


@pytest.mark.long
def test_planted_bug_what_is_too_much_is_kept(serving, connect, monkeypatch):
    monkeypatch.setattr("rota.coordinator.memory.Memory.error", lambda self, *arguments: 0)
    for test in (
        test_members_metadata_have_a_limit_for_each_group_and_for_all,
        test_offsets_have_a_limit_for_each_group_and_for_all,
    ):
        with pytest.raises((AssertionError, TimeoutError)):
            test(serving, connect)
