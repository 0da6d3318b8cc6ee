"""What is no Kafka broker, or has no coordinator, ends within seconds with exit 3, its cause and a remedy."""

from __future__ import annotations

import http.server
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rota.cli import conform_target
from rota.cli.conform import conform
from rota.conformance.targets import preflight
from rota.server import running
from rota.wire import api, decode_request, encode_response, frame
from rota.wire.error_codes import ERROR_CODES

Handler = Callable[[socket.socket], None]
Start = Callable[[Handler], Any]
Read = Callable[[socket.socket], bytes]

APIS = ("ApiVersions", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "FindCoordinator")
TIMEOUT = 1.0


def ranges(*names: str) -> dict[str, Any]:
    """An answer to ApiVersions."""
    keys = [{"api_key": api(name).key, "min_version": 0, "max_version": 3} for name in names]
    return {"error_code": 0, "api_keys": keys}


def broker(read: Read, **answers: Callable[[socket.socket, Any], dict[str, Any] | None]) -> Handler:
    """A server that answers some requests as told, None for silence, and is a well-behaved broker else."""

    def usual(connection: socket.socket, request: Any) -> dict[str, Any]:
        here = connection.getsockname()
        return {
            "ApiVersions": ranges(*APIS),
            "FindCoordinator": {"error_code": 0, "host": here[0], "port": here[1]},
        }.get(request.api.name, {"error_code": 25})

    def handler(connection: socket.socket) -> None:
        while True:
            request = decode_request(read(connection))
            body = answers.get(request.api.name, usual)(connection, request)
            if body is not None:
                name, version = request.api.name, request.version
                connection.sendall(frame(encode_response(name, version, body, request.correlation_id)))

    return handler


def says(data: bytes) -> Handler:
    """A server that says this to whatever comes, and waits."""

    def handler(connection: socket.socket) -> None:
        while connection.recv(1 << 16):
            connection.sendall(data)

    return handler


def judged(name: str, tmp_path: Path) -> Result:
    """`rota conform` on all cases, within seconds."""
    began = time.monotonic()
    arguments = ["--target", name, "--timeout", str(TIMEOUT), "--out", str(tmp_path)]
    outcome = CliRunner().invoke(conform, arguments)
    assert time.monotonic() - began < 20
    return outcome


def no_broker(outcome: Result, cause: str, remedy: str) -> None:
    """One line that says why and what to do, exit 3, and no verdict on anything."""
    assert (outcome.exit_code, outcome.stdout) == (3, ""), outcome.output
    assert outcome.stderr.count("\n") == 1
    assert outcome.stderr.startswith("rota: ")
    assert cause in outcome.stderr
    assert remedy in outcome.stderr.partition("; ")[2]


PLAINTEXT = "give the address of a broker's PLAINTEXT listener"

LISTENERS = {
    "http that answers at once": (
        says(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        "an HTTP server answers (HTTP/1.1 400",
    ),
    "another protocol": (says(b"SSH-2.0-OpenSSH_9.6\r\n"), "no Kafka frame: SSH-2.0-OpenSSH_9.6"),
    "noise": (says(bytes(range(128, 200))), "no Kafka frame: 80 81 82"),
    "half a frame": (says(struct.pack(">i", 50) + b"half"), "no Kafka frame: 00 00 00 32 68 61 6c 66"),
    "a frame of noise": (says(frame(b"\xff" * 30)), "no Kafka frame: 00 00 00 1e ff ff"),
    "closed at once": (lambda connection: connection.close(), "it closes the connection"),
    "closed when asked": (lambda c: c.recv(9) and c.shutdown(socket.SHUT_RDWR), "it closes the connection"),
    "a TLS alert": (says(bytes.fromhex("15030300020250")), "speaks TLS"),
    "a TLS hello": (says(bytes.fromhex("1603030005020000010a")), "speaks TLS"),
}


@pytest.mark.parametrize("listener", LISTENERS)
def test_what_is_no_kafka_broker(listener: str, hostile: Start, tmp_path: Path) -> None:
    handler, cause = LISTENERS[listener]
    no_broker(judged(hostile(handler).name, tmp_path), cause, PLAINTEXT)


def test_silence(hostile: Start, tmp_path: Path) -> None:
    silent = hostile(lambda connection: (connection.recv(1 << 20) and None) or connection.recv(1))
    no_broker(judged(silent.name, tmp_path), "does not answer ApiVersions in 1 s", "longer --timeout")


def test_nobody(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    outcome = judged(f"127.0.0.1:{port}", tmp_path)
    no_broker(outcome, f"nothing listens at 127.0.0.1:{port} (connection refused)", "start the broker")


def test_an_http_server_that_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        outcome = judged(f"127.0.0.1:{server.server_port}", tmp_path)
        server.shutdown()
    no_broker(outcome, "an HTTP server answers (HTTP/1.", PLAINTEXT)


class _Quiet(http.server.BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing on stderr."""


def test_a_tls_listener(tmp_path: Path) -> None:
    with tls_server(tmp_path) as name:
        no_broker(judged(name, tmp_path), f"{name} speaks TLS", PLAINTEXT)


@contextmanager
def tls_server(folder: Path) -> Iterator[str]:
    """A server that wants a TLS handshake and closes where it gets none."""
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    files = ["-keyout", "key.pem", "-out", "cert.pem"]
    try:
        subprocess.run([*make, *files], cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl to make a certificate with")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, context), daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        try:
            context.wrap_socket(connection, server_side=True).close()
        except OSError:  # no handshake: what ssl raises is one of these
            connection.close()


def test_a_broker_without_groups(hostile: Start, next_request: Read, tmp_path: Path) -> None:
    handler = broker(next_request, ApiVersions=lambda *_: ranges("ApiVersions", "Heartbeat"))
    cause = "speaks Kafka's protocol, but has no JoinGroup, SyncGroup, LeaveGroup"
    no_broker(judged(hostile(handler).name, tmp_path), cause, "not of a controller's")


def test_a_listener_that_wants_sasl(hostile: Start, next_request: Read, tmp_path: Path) -> None:
    def handler(connection: socket.socket) -> None:
        while True:
            payload = next_request(connection)
            key, number = struct.unpack(">hxxi", payload[:8])
            if key == 17:
                names = b"".join(struct.pack(">h", len(name)) + name for name in (b"PLAIN", b"SCRAM-SHA-256"))
                connection.sendall(frame(struct.pack(">ihi", number, 33, 2) + names))
            elif key == 18:
                body = ranges(*APIS)
                connection.sendall(frame(encode_response("ApiVersions", 0, body, number)))
            else:
                return connection.shutdown(socket.SHUT_RDWR)  # as Kafka does before one is authenticated

    cause = "wants its clients to authenticate first (SASL: PLAIN, SCRAM-SHA-256)"
    no_broker(judged(hostile(handler).name, tmp_path), cause, "PLAINTEXT listener")


@pytest.mark.parametrize("api_name", ["FindCoordinator", "Heartbeat"])
def test_a_coordinator_that_never_becomes_available(
    api_name: str, hostile: Start, next_request: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "READY_SECONDS", 1.0)
    code = ERROR_CODES["COORDINATOR_NOT_AVAILABLE"]
    handler = broker(next_request, **{api_name: lambda *_: {"error_code": code}})
    outcome = judged(hostile(handler).name, tmp_path)
    no_broker(outcome, "its coordinator does not become available: ", "__consumer_offsets")
    assert "COORDINATOR_NOT_AVAILABLE (15)" in outcome.stderr


def test_a_coordinator_that_needs_a_moment_is_waited_for(
    hostile: Start, next_request: Read, tmp_path: Path
) -> None:
    since: list[float] = []

    def find(connection: socket.socket, _request: Any) -> dict[str, Any]:
        since.append(time.monotonic())
        here = connection.getsockname()
        ready = since[-1] - since[0] > 1
        return {"error_code": 0 if ready else 15, "host": here[0], "port": here[1]}

    server = hostile(broker(next_request, FindCoordinator=find))
    case = "heartbeat.unknown-member.no-group"
    arguments = ["--target", server.name, "--timeout", "1", "--out", str(tmp_path), case]
    outcome = CliRunner().invoke(conform, arguments)
    assert outcome.exit_code == 0, outcome.output
    assert since[-1] - since[0] > 1


def test_a_coordinator_at_an_address_that_nobody_can_reach(
    hostile: Start, next_request: Read, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    elsewhere = {"error_code": 0, "host": "127.0.0.1", "port": port}
    handler = broker(next_request, FindCoordinator=lambda *_: elsewhere)
    cause = f"names a coordinator where nothing listens: 127.0.0.1:{port}"
    no_broker(judged(hostile(handler).name, tmp_path), cause, "advertised.listeners")


def test_a_broker_that_may_not_be_asked(hostile: Start, next_request: Read, tmp_path: Path) -> None:
    handler = broker(next_request, FindCoordinator=lambda *_: {"error_code": 30})
    cause = "FindCoordinator answers GROUP_AUTHORIZATION_FAILED (30)"
    no_broker(judged(hostile(handler).name, tmp_path), cause, "in the broker's log")


def test_what_answers_in_kafkas_frames_is_left_to_the_cases(
    hostile: Start, next_request: Read, tmp_path: Path
) -> None:
    def handler(connection: socket.socket) -> None:
        while request := next_request(connection):
            connection.sendall(frame(request[4:8] + b"\xff" * 60))

    arguments = ["--target", hostile(handler).name, "--timeout", "1", "--out", str(tmp_path), "--quiet"]
    outcome = CliRunner().invoke(conform, [*arguments, "heartbeat.alive.stable"])
    assert outcome.exit_code == 1
    assert outcome.stdout.startswith("violated: ")


def test_a_broker_is_found(tmp_path: Path) -> None:
    with running({"group.initial.rebalance.delay.ms": 0}) as address:
        host, _, port = address.rpartition(":")
        preflight.look((host, int(port)), TIMEOUT)


PLANTED = {
    "every frame is Kafka's": ("_is_kafka", lambda heard: heard.payload is not None, "a frame of noise"),
    "whatever comes is Kafka's": ("_is_kafka", lambda heard: bool(heard.data), "another protocol"),
    "nobody looks at the bytes": ("_say_what_else_it_is", lambda address, heard: None, "a TLS alert"),
    "nothing is looked at": ("look", lambda address, patience: None, "closed at once"),
}
"""Mistake -> what is exchanged in the preflight, for what, and the listener with which that shows."""


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_is_noticed(
    mistake: str, hostile: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attribute, instead, listener = PLANTED[mistake]
    monkeypatch.setattr(conform_target if attribute == "look" else preflight, attribute, instead)
    handler, cause = LISTENERS[listener]
    arguments = ["--target", hostile(handler).name, "--timeout", "1", "--out", str(tmp_path)]
    outcome = CliRunner().invoke(conform, [*arguments, "heartbeat.alive.stable"])
    with pytest.raises(AssertionError):
        no_broker(outcome, cause, PLAINTEXT)
