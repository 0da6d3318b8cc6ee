"""The end of a server: what is under way is answered, connections are closed, the port is free."""

import asyncio
import time
from contextlib import ExitStack

import pytest

from rota.coordinator import Effects, GroupCoordinator
from rota.server import Server, Settings, running
from rota.wire import decode_response, encode_request, frame

NO_DELAY = {"group.initial.rebalance.delay.ms": 0}


def test_what_waits_is_answered(user, member):
    with running(NO_DELAY) as address:
        fetching, late = user(address), user(address)
        joining, leader, follower = member(address), member(address), member(address)
        fetching.create()
        fetching.produce([b"a"])
        fetching.send_fetch(min_bytes=10**6, max_wait_ms=60_000)
        leader.join()
        follower.ask()
        leader.ask()
        leader.joined(), follower.joined()
        follower.send("SyncGroup", 5, **follower.place(), protocol_type="consumer", protocol_name="range")
        joining.request = joining.request | {"group_id": "h"}
        first = member(address)
        first.request = joining.request
        first.join()
        joining.ask()
        assert fetching.silent(0.1)
        assert late.call("ApiVersions", 0)["error_code"] == 0
    assert fetching.fetched()["records"]
    refused = joining.receive()
    assert (refused["error_code"], refused["generation_id"]) == (16, -1)
    assert follower.receive()["error_code"] == 16
    for client in (fetching, late, joining, leader, follower, first):
        assert client.closed()


class LostAnswers(GroupCoordinator):
    """A coordinator that the log's answers do not reach."""

    def appended(self, append_id, error_code=0):
        return Effects()


def test_the_coordinator_resigns(connect):
    """What waits in its groups and for the log is answered as a coordinator does that unloads them."""
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": None}
    topics = [{"name": "t", "partitions": [partition]}]
    commit = {"generation_id_or_member_epoch": -1, "member_id": "", "topics": topics}
    with running(NO_DELAY, coordinator=LostAnswers) as address:
        joining, committing, fetching, deleting = (connect(address) for _ in range(4))
        joining.call("CreateTopics", 7, topics=[{"name": "t", "num_partitions": 1, "replication_factor": 1}])
        join = {"group_id": "g", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
        join |= {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": b""}]}
        first = joining.call("JoinGroup", 3, **join)
        joined = connect(address)
        joined.send("JoinGroup", 9, **join | {"group_instance_id": "i"})
        assert joined.silent(0.1)
        committing.send("OffsetCommit", 8, group_id="s", **commit)
        assert committing.silent(0.1)
        group = {"group_id": "s", "member_epoch": -1, "topics": None}
        fetching.send("OffsetFetch", 9, groups=[group], require_stable=True)
        deleting.send("DeleteGroups", 2, groups_names=["s"])
        assert fetching.silent(0.1)
        assert deleting.silent(0.1)
    refused = joined.receive()
    assert refused["error_code"] == 16
    assert refused["member_id"].startswith("i-")
    assert refused["member_id"] != first["member_id"]
    ((committed,),) = [each["partitions"] for each in committing.receive()["topics"]]
    assert committed["error_code"] == 16
    assert [each["error_code"] for each in fetching.receive()["groups"]] == [16]
    assert [each["error_code"] for each in deleting.receive()["results"]] == [16]
    for client in (joining, joined, committing, fetching, deleting):
        assert client.closed()


def test_connections_are_closed_though_the_coordinator_fails_to_resign(connect):
    class Stuck(GroupCoordinator):
        def unload(self):
            raise RuntimeError("stuck")

    server = ExitStack()
    client = connect(server.enter_context(running(NO_DELAY, coordinator=Stuck)))
    assert client.call("ApiVersions", 0)["error_code"] == 0
    with pytest.raises(RuntimeError, match="stuck"):
        server.close()
    assert client.closed()


def test_the_port_is_free_at_once(user):
    port = 0
    for _ in range(3):
        with running(NO_DELAY, port) as address:
            port = int(address.rpartition(":")[2])
            client = user(address)
            client.create()
            client.send_fetch(max_wait_ms=60_000)
            assert client.silent(0.05)
        with pytest.raises(ConnectionRefusedError):
            user(address)


def test_a_client_that_does_not_read_holds_nothing_up_for_long(user):
    with running() as address:
        deaf, writer = user(address), user(address)
        writer.create()
        for _ in range(15):
            writer.produce([bytes(1_000_000)])
        deaf.send_fetch(max_bytes=2**30)
        assert writer.call("ApiVersions", 0)["error_code"] == 0
        begun = time.monotonic()
    assert time.monotonic() - begun < 5


def test_what_was_not_taken_up_is_not_answered(user):
    """Requests behind one that waits are not begun at the end."""
    with running() as address:
        client = user(address)
        client.create()
        client.send_fetch(max_wait_ms=60_000)
        client.send("CreateTopics", 7, topics=[{"name": "u", "num_partitions": 1, "replication_factor": 1}])
        assert client.silent(0.1)
    assert client.fetched()["error_code"] == 0
    assert client.closed()


def test_an_append_that_is_under_way_is_waited_for():
    """A stop in the very turn in which the leader's SyncGroup arrives still answers it."""

    async def main():
        server = Server(Settings.of(NO_DELAY))
        host, _, port = (await server.start()).rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        handle, stops = server.handle, []

        def stopping(body, call):
            if call.api_name == "SyncGroup":
                stops.append(asyncio.ensure_future(server.stop()))
            handle(body, call)

        server.handle = stopping

        async def ask(name, version, **body):
            writer.write(frame(encode_request(name, version, body, 1, "c")))
            size = int.from_bytes(await reader.readexactly(4), "big")
            return decode_response(name, version, await reader.readexactly(size)).body

        join = {"group_id": "g", "session_timeout_ms": 9000, "rebalance_timeout_ms": 9000}
        join |= {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": b""}]}
        joined = await ask("JoinGroup", 3, **join)
        me = {"group_id": "g", "member_id": joined["member_id"], "generation_id": 1}
        assignments = [{"member_id": joined["member_id"], "assignment": b"all"}]
        synced = await ask("SyncGroup", 3, **me, assignments=assignments)
        assert await reader.read() == b""
        await stops[0]
        await server.stop()
        return synced

    synced = asyncio.run(main())
    assert (synced["error_code"], synced["assignment"]) == (0, b"all")
