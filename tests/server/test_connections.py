"""One request at a time, answers in order, and trouble that stays on the connection that made it."""

import logging
import socket
import threading

import pytest

from rota.server import SettingsError, running
from rota.server.connection import READ_AHEAD
from rota.server.groups import GroupService
from rota.wire import api, decode_response, encode_request, encode_response, frame, request_header


def versions(client):
    return client.call("ApiVersions", 0)["error_code"]


def heartbeat_frame(group="g"):
    return frame(encode_request("Heartbeat", 4, {"group_id": group}, 1, "c"))


def test_pipelined_requests_are_answered_in_order(address, connect):
    client = connect(address)
    for index in range(50):
        client.send(*(("ApiVersions", 0), ("Heartbeat", 4), ("FindCoordinator", 6))[index % 3])
    assert [client.receive().get("error_code") for _ in range(3)] == [0, 24, None]
    for _ in range(47):
        client.receive()


def test_a_parked_join_mutes_its_connection_only(address, member, connect):
    first, second = member(address), member(address)
    first.join()
    second.ask()
    second.send("ApiVersions", 0)
    assert second.silent(0.2)
    assert versions(connect(address)) == 0
    first.ask()
    assert second.joined()["generation_id"] == 2
    assert second.receive()["error_code"] == 0


def test_a_muted_connection_is_not_read_for_ever(address, member):
    """What is sent behind a parked JoinGroup waits in the sender after some read-ahead, and none is lost."""
    first, second = member(address), member(address)
    first.join()
    second.ask()
    beat, count = heartbeat_frame("x" * 1000), 20_000
    sender = threading.Thread(target=second.raw, args=(beat * count,))
    sender.start()
    sender.join(0.5)
    assert sender.is_alive()
    assert len(beat) * count > 100 * READ_AHEAD
    first.ask()
    assert second.joined()["generation_id"] == 2
    for _ in range(count):
        assert decode_response("Heartbeat", 4, second.payload()).body["error_code"] == 25
    sender.join()


def test_a_client_that_does_not_read_is_not_served_for_ever(address, connect):
    deaf = connect(address)
    for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        deaf.socket.setsockopt(socket.SOL_SOCKET, buffer, 65_536)
    ask, count = (
        frame(encode_request("FindCoordinator", 4, {"coordinator_keys": ["k" * 1000]}, 1, "c")),
        20_000,
    )
    sender = threading.Thread(target=deaf.raw, args=(ask * count,))
    sender.start()
    sender.join(1)
    assert sender.is_alive()
    assert versions(connect(address)) == 0
    assert {len(deaf.payload()) for _ in range(count)} == {len(deaf_answer())}
    sender.join()


def deaf_answer():
    found = {"key": "k" * 1000, "node_id": 1, "host": "127.0.0.1", "port": 1}
    return encode_response("FindCoordinator", 4, {"coordinators": [found]}, 1)


def test_frames_in_pieces(address, connect):
    client = connect(address)
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.waiting += [("Heartbeat", 4, 1)] * 2
    for byte in heartbeat_frame():
        client.raw(bytes([byte]))
    client.raw(heartbeat_frame()[:10])
    assert client.receive()["error_code"] == 25
    assert client.silent(0.1)
    client.raw(heartbeat_frame()[10:])
    assert client.receive()["error_code"] == 25


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00\x00\x00\x00",
        b"\xff\xff\xff\xff",
        b"\x7f\xff\xff\xff",
        frame(b"\x00" * 5),
        frame(encode_request("JoinGroup", 9, {}, 1, "c")[:-3]),
        frame(request_header(11, 10, 1, "c", flexible=True)),
        frame(request_header(11, -1, 1, "c", flexible=True)),
        frame(request_header(0, 3, 1, "c", flexible=False)),
        frame(request_header(999, 0, 1, "c", flexible=False)),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_request_closes_its_connection_only(garbage, address, connect):
    good, bad = connect(address), connect(address)
    assert (versions(good), versions(bad)) == (0, 0)
    bad.raw(garbage)
    assert bad.closed()
    assert versions(good) == 0


def test_requests_before_the_bad_one_are_answered(address, connect):
    client = connect(address)
    client.send("ApiVersions", 0)
    client.raw(frame(b"?"))
    assert client.receive()["error_code"] == 0
    assert client.closed()


def test_largest_frame_is_a_setting(start, connect):
    address = start(socket_request_max_bytes=100)
    client = connect(address)
    exact = frame(encode_request("FindCoordinator", 0, {"key": "k" * 87}, 1, ""))
    assert len(exact) == 4 + 99
    client.raw(exact)
    assert client.payload()
    client.raw(frame(encode_request("FindCoordinator", 0, {"key": "k" * 89}, 1, "")))
    assert client.closed()


@pytest.mark.parametrize("version", [6, 99, 32767, -1])
def test_api_versions_out_of_range_is_answered_in_version_0(version, address, connect):
    client = connect(address)
    client.raw(frame(request_header(18, version, 42, "c", flexible=True) + b"future fields"))
    response = decode_response("ApiVersions", 0, client.payload())
    key = api("ApiVersions")
    assert response.correlation_id == 42
    assert response.body == {
        "error_code": 35,
        "api_keys": [{"api_key": 18, "min_version": key.min_version, "max_version": key.max_version}],
    }
    assert versions(client) == 0


def test_bytes_behind_a_request_are_ignored_as_brokers_do(address, connect):
    client = connect(address)
    client.waiting.append(("Heartbeat", 4, 1))
    client.raw(frame(encode_request("Heartbeat", 4, {}, 1, "c") + b"\x01\x00\x00"))
    assert client.receive()["error_code"] == 24


def test_an_answer_that_cannot_be_written_closes_its_connection_only(address, member, connect, monkeypatch):
    """A client id so long that the member id made from it, as a broker does, fits no string."""
    monkeypatch.setattr("rota.server.groups.PREFIX_MAX", 32_767)
    only = member(address, "c" * 32_767)
    only.send("JoinGroup", 0, **only.request)
    assert only.closed()
    assert versions(connect(address)) == 0


def test_a_fault_in_a_handler_closes_its_connection_only(monkeypatch, caplog, start, connect):
    def broken(self, body, caller):
        raise RuntimeError("planted")

    monkeypatch.setattr(GroupService, "_heartbeat", broken)
    address = start()
    good, bad = connect(address), connect(address)
    assert versions(good) == 0
    with caplog.at_level(logging.ERROR):
        bad.raw(heartbeat_frame())
        assert bad.closed()
    assert "Heartbeat failed" in caplog.text
    assert "planted" in caplog.text
    assert versions(good) == 0


def test_the_end_of_the_server_closes_what_is_open(connect, member):
    with running() as address:
        idle, parked = connect(address), member(address)
        assert versions(idle) == 0
        parked.ask()
        assert parked.silent(0.2)
    assert idle.closed()
    assert parked.receive()["error_code"] == 16
    assert parked.closed()
    with pytest.raises(ConnectionRefusedError):
        connect(address)


def test_an_answer_on_its_way_is_sent_before_the_end(connect):
    with running() as address:
        client = connect(address)
        client.send("ApiVersions", 0)
        assert not client.silent(10)
    assert client.receive()["error_code"] == 0


def test_what_prevents_a_start_is_raised(address):
    port = int(address.rpartition(":")[2])
    with pytest.raises(OSError, match="in use"), running(port=port):
        pass
    with pytest.raises(SettingsError, match="unknown setting 'x'"), running({"x": 1}):
        pass


def test_what_the_block_raises_is_raised(connect):
    with pytest.raises(KeyError), running() as address:
        raise KeyError
    with pytest.raises(ConnectionRefusedError):
        connect(address)
