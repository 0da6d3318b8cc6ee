"""What a client can take of the server: connections, idleness, memory, turns."""

import socket
import threading
import time
from contextlib import contextmanager

import pytest

from rota.server import broker, turns
from rota.server.connection import READ_AHEAD
from rota.wire import encode_request, frame

CHUNK = 256 * 1024
"""What the event loop may read at once on top of what was there."""


@pytest.fixture
def inside(start, monkeypatch):
    """Starts a server; gives the object, its address, and a way to read it from outside of its thread."""

    class Watched(broker.Server):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            found.append(self)

    found = []
    monkeypatch.setattr(broker, "Server", Watched)

    def inside(**config):
        address = start(**config)
        return found[-1], address

    return inside


def versions(client):
    return client.call("ApiVersions", 0)["error_code"]


def eventually(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_connections_beyond_the_most_are_closed_at_once(start, connect):
    address = start(max_connections=3)
    open_ones = [connect(address) for _ in range(3)]
    assert [versions(each) for each in open_ones] == [0, 0, 0]
    assert all(connect(address).closed() for _ in range(5))
    assert [versions(each) for each in open_ones] == [0, 0, 0]
    open_ones[1].close()
    eventually(lambda: answers(connect(address)))
    assert connect(address).closed()


def answers(client):
    try:
        return versions(client) == 0
    except (AssertionError, OSError):
        return False


def test_idle_connections_are_closed(start, connect, user, member):
    address = start(connections_max_idle_ms=1000, group_initial_rebalance_delay_ms=0)
    silent, half, once = connect(address), connect(address), connect(address)
    busy, waiting, joining = connect(address), user(address), member(address)
    waiting.create()
    member(address).join()
    joining.ask()
    waiting.send_fetch(max_wait_ms=2500)
    half.raw(b"\0\0\0")
    assert versions(once) == 0
    begun = time.monotonic()
    while time.monotonic() - begun < 1.5:
        time.sleep(0.05)
        assert versions(busy) == 0
    assert all(each.closed() for each in (silent, half, once))
    assert joining.silent(0.05)
    assert waiting.fetched()["error_code"] == 0
    assert time.monotonic() - begun > 2
    assert waiting.closed()


def test_negative_idleness_is_no_limit(start, connect):
    client = connect(start(connections_max_idle_ms=-1))
    assert client.silent(0.3)
    assert versions(client) == 0


def test_a_client_that_does_not_read_its_replies_is_idle(start, user):
    address = start(connections_max_idle_ms=1000)
    other = user(address)
    other.create()
    for _ in range(12):
        other.produce([bytes(1_000_000)])
    deaf = user(address)
    for _ in range(5):
        deaf.send_fetch(max_bytes=2**30, max_wait_ms=0)
    begun = time.monotonic()
    while time.monotonic() - begun < 2:
        assert versions(other) == 0
        time.sleep(0.05)
    assert cut_off(deaf)


def cut_off(client):
    """Whether the connection ends before all answers are there."""
    try:
        return len(client.stream.read(60_000_000)) < 60_000_000
    except ConnectionResetError:
        return True


@contextmanager
def sending(client, data):
    """Sends in a thread, which has to be done when the block is."""
    thread = threading.Thread(target=client.raw, args=(data,))
    thread.start()
    yield thread
    thread.join(10)
    assert not thread.is_alive()


def test_a_slow_reader_costs_one_answer(inside, user):
    """Fetches of a megabyte each, pipelined by a client that reads late: one answer waits, not hundreds."""
    server, address = inside()
    writer, slow = user(address), user(address)
    writer.create()
    writer.produce([bytes(1_000_000)])
    count = 300
    slow.send_fetch()
    one = slow.fetched()["records"]
    (connection,) = [each for each in server.connections if each._idle.since == max_active(server)]
    for _ in range(count):
        slow.send_fetch()
    most = watched(lambda: connection._transport.get_write_buffer_size(), writer)
    assert 0 < most < 2 * len(one)
    assert {slow.fetched()["records"] for _ in range(count)} == {one}


def max_active(server):
    return max(each._idle.since for each in server.connections)


def watched(size, other):
    """The most that a size is within a while in which others are served."""
    most = 0
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        most = max(most, size())
        assert versions(other) == 0
    return most


def test_a_pipelining_client_costs_its_read_ahead(inside, user):
    """While a fetch waits, what is sent behind it stays in the sender."""
    server, address = inside()
    other, eager = user(address), user(address)
    other.create()
    connections = set(server.connections)
    for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        eager.socket.setsockopt(socket.SOL_SOCKET, buffer, 65_536)
    eager.send_fetch(max_wait_ms=60_000)
    ask, count = (
        frame(encode_request("FindCoordinator", 4, {"coordinator_keys": ["k" * 900]}, 7, "c")),
        10_000,
    )
    with sending(eager, ask * count):
        most = watched(lambda: max(len(each._incoming.received) for each in server.connections), other)
        assert READ_AHEAD < most <= READ_AHEAD + CHUNK
        other.produce([b"a"])
        assert eager.fetched()["records"]
        for _ in range(count):
            eager.payload()
    assert connections <= server.connections


def turns_of(seconds, inside, connect, monkeypatch):
    """Requests of a greedy client that are handled before the one of a modest client."""
    order, sent = [], threading.Event()
    for name in ("TURN_SECONDS", "ITERATION_SECONDS"):
        monkeypatch.setattr(turns, name, seconds)
    handle = broker.Server.handle

    def waiting(self, body, call):
        assert sent.wait(10)
        order.append(call.client_id)
        return handle(self, body, call)

    monkeypatch.setattr(broker.Server, "handle", waiting)
    _, address = inside()
    greedy, modest = connect(address, "greedy"), connect(address, "modest")
    greedy.raw(frame(encode_request("ApiVersions", 0, {}, 1, "greedy")) * 1500)
    modest.send("ApiVersions", 0)
    sent.set()
    assert modest.receive()["error_code"] == 0
    for _ in range(1500):
        greedy.payload()
    return order.index("modest")


def test_requests_of_one_client_come_in_turns_with_those_of_others(inside, connect, monkeypatch):
    # Its connection may have to be accepted and watched first, which takes iterations of the loop.
    assert turns_of(0.0005, inside, connect, monkeypatch) <= 500


def test_planted_bug_no_turns(inside, connect, monkeypatch):
    assert turns_of(10, inside, connect, monkeypatch) > 500


def test_fetches_of_lost_clients_do_not_wait(inside, user):
    server, address = inside()
    stays, *lost = [user(address) for _ in range(6)]
    stays.create()
    for each in (stays, *lost):
        each.send_fetch(max_wait_ms=60_000)
    eventually(lambda: len(server.fetches) == 6)
    for each in lost:
        each.close()
    eventually(lambda: len(server.fetches) == 1)
    user(address).produce([b"a"])
    assert stays.fetched()["records"]
    assert len(server.fetches) == 0


def test_a_lost_join_is_no_trouble(start, member, caplog):
    address = start(group_initial_rebalance_delay_ms=200)
    stays, lost = member(address), member(address)
    lost.ask()
    lost.close()
    assert stays.join()["generation_id"] == 1
    assert not [each for each in caplog.records if each.levelname == "ERROR"]
