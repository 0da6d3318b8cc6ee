"""Before anything is judged: whether a Kafka broker with a coordinator is there at all, and if not, what is.

What answers in Kafka's frames is a broker, right or wrong, and is left to the cases.
"""

from __future__ import annotations

import os
import socket
import ssl
import struct
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from rota.conformance.connections.connection import (
    LARGEST_ANSWER,
    Closed,
    Connection,
    Garbage,
    NotAdmitted,
    NotListening,
)
from rota.conformance.connections.error_codes import with_codes
from rota.conformance.connections.security import Refused, security_of
from rota.conformance.dialogues.failures import Deviation, Undecidable
from rota.conformance.dialogues.negotiation import (
    GROUP_APIS,
    NotReady,
    Wait,
    advertised,
    find_coordinator,
    newest,
    until_all_is_loaded,
    until_it_coordinates,
)
from rota.conformance.dialogues.transcript import printable
from rota.wire import WireError, api, decode_response, encode_request, frame
from rota.wire.error_codes import ERROR_CODES

READY_SECONDS = 10.0
"""How long a coordinator may say that it is not there yet; a new broker first makes the offsets topic."""

CONNECT_SECONDS = 5.0

PROBE_SECONDS = 2.0
"""What a server that speaks something else may take to say so."""

_CLIENT = "rota-preflight"
_SHOWN = 40
"""So many bytes of an answer are shown that is none."""

_SASL_HANDSHAKE = 17
_CORRELATION_ID = 7


class NoBroker(Exception):
    """There is nothing that could be judged: why, and what a user may do about it."""

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause}; {remedy}")


@dataclass(frozen=True)
class _Heard:
    """What came for one request until a whole frame was there: bytes, and whether the connection ended."""

    data: bytes
    closed: bool

    @property
    def payload(self) -> bytes | None:
        """What is in the frame, if it is a whole one."""
        if len(self.data) < 4:
            return None
        (length,) = struct.unpack(">i", self.data[:4])
        if not 4 <= length <= LARGEST_ANSWER or len(self.data) < 4 + length:
            return None
        return self.data[4 : 4 + length]

    @property
    def hopeless(self) -> bool:
        """Whether the bytes cannot become a frame any more."""
        if len(self.data) < 4:
            return False
        (length,) = struct.unpack(">i", self.data[:4])
        return not 4 <= length <= LARGEST_ANSWER


def look(address: tuple[str, int], patience: float) -> None:
    """Return when there is a broker to judge, be it a wrong one. Errors: NoBroker.

    An answer is awaited for `patience` seconds.
    """
    see_whether_it_is_kafka(address, patience)
    where = _shown(address)
    try:
        with closing(Connection(address, _CLIENT)) as connection:
            ranges = advertised(connection, patience)
            _see_whether_it_has_groups(ranges, where)
            coordinator = _coordinator(connection, ranges, address, patience)
        with closing(Connection(coordinator, _CLIENT)) as connection:
            wait = Wait(patience, READY_SECONDS)
            until_it_coordinates(connection, newest(ranges), _fresh_group(), wait)
            until_all_is_loaded(connection, newest(ranges), wait)
    except NotReady as error:
        cause = f"{where} is a Kafka broker, but its coordinator does not become available: {error}"
        remedy = "see in the broker's log why __consumer_offsets cannot be made or read"
        raise NoBroker(with_codes(cause), f"{remedy} (offsets.topic.replication.factor?)") from error
    except NotAdmitted as error:
        raise _not_admitted(str(error)) from error
    except NotListening as error:
        cause = f"FindCoordinator at {where} names a coordinator where nothing listens: {error}"
        raise NoBroker(
            cause, "set the broker's advertised.listeners to an address that we can reach"
        ) from error
    except Undecidable as error:
        cause = f"{where} speaks Kafka's protocol, but {error}"
        raise NoBroker(with_codes(cause), "see in the broker's log why, or give another address") from error
    except (Closed, Garbage, Deviation):
        return  # a broker that breaks rules: the cases say which


def _coordinator(
    connection: Connection,
    ranges: Mapping[int, tuple[int, int]],
    address: tuple[str, int],
    patience: float,
) -> tuple[str, int]:
    """The coordinator of a group that nobody has asked for. Errors: as `find_coordinator`, and NoBroker."""
    try:
        wait = Wait(patience, READY_SECONDS)
        return find_coordinator(connection, ranges, _fresh_group(), wait) or address
    except Closed:
        mechanisms = _sasl_mechanisms(address)
        if mechanisms is None:
            raise
        cause = f"{_shown(address)} wants its clients to authenticate first (SASL: {mechanisms})"
        said = "say as whom with --command-config FILE (security.protocol, sasl.mechanism, sasl.jaas.config)"
        raise NoBroker(cause, f"{said}, or give the address of a broker's PLAINTEXT listener") from None


def _see_whether_it_has_groups(ranges: Mapping[int, tuple[int, int]], where: str) -> None:
    missing = [name for name in GROUP_APIS if api(name).key not in ranges]
    if missing:
        cause = f"{where} speaks Kafka's protocol, but has no {', '.join(missing)}"
        raise NoBroker(cause, "give the address of a broker's listener, not of a controller's")


def see_whether_it_is_kafka(address: tuple[str, int], patience: float) -> None:
    """Ask for the versions and look at the bytes that come. Errors: NoBroker."""
    request = frame(encode_request("ApiVersions", 0, {}, _CORRELATION_ID, _CLIENT))
    with closing(_connected(address)) as connection:
        heard = _ask(connection, request, min(patience, PROBE_SECONDS))
        if _is_kafka(heard):
            return
        _say_what_else_it_is(address, heard)
        if not heard.data and not heard.closed:
            heard = _ask(connection, b"", max(patience - PROBE_SECONDS, 0.0))
            if _is_kafka(heard):
                return
    where = f"no Kafka broker at {_shown(address)}"
    remedy = "give the address of a broker's PLAINTEXT listener"
    if heard.data:
        raise NoBroker(
            f"{where}: it answers with bytes that are no Kafka frame: {_excerpt(heard.data)}", remedy
        )
    if heard.closed:
        raise NoBroker(f"{where}: it closes the connection when it is asked for ApiVersions", remedy)
    cause = f"{where}: it accepts connections, but does not answer ApiVersions in {patience:g} s"
    raise NoBroker(cause, "see whether it hangs, give another address, or a longer --timeout")


def _is_kafka(heard: _Heard) -> bool:
    """Whether it is an answer to what was asked: by its number, or by its form."""
    payload = heard.payload
    if payload is None:
        return False
    if int.from_bytes(payload[:4], "big") == _CORRELATION_ID:
        return True
    try:
        decode_response("ApiVersions", 0, payload)
    except WireError:
        return False
    return True


def _say_what_else_it_is(address: tuple[str, int], heard: _Heard) -> None:
    """Errors: NoBroker, where the bytes or a question in another protocol tell."""
    if heard.data[:1] in (b"\x15", b"\x16") and heard.data[1:2] == b"\x03":
        raise _tls(address)
    http = heard.data if heard.data.startswith(b"HTTP/") else b""
    if not heard.data:
        if security_of(address).tls is None and _speaks_tls(address):
            raise _tls(address)
        http = _http_answer(address)
    if http:
        cause = f"no Kafka broker at {_shown(address)}: an HTTP server answers ({_excerpt(http)})"
        raise NoBroker(cause, "give the address of a broker's PLAINTEXT listener")


def _tls(address: tuple[str, int]) -> NoBroker:
    cause = f"{_shown(address)} speaks TLS"
    said = "say so with --command-config FILE (security.protocol=SSL, ssl.truststore.location=FILE.pem)"
    return NoBroker(cause, f"{said}, or give the address of a broker's PLAINTEXT listener")


def _speaks_tls(address: tuple[str, int]) -> bool:
    """Whether a TLS handshake gets an answer in TLS, be it a refusal."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with closing(_connected(address)) as connection:
            connection.settimeout(PROBE_SECONDS)
            context.wrap_socket(connection, server_hostname=address[0]).close()
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except (OSError, NoBroker):
        return False
    return True


def _http_answer(address: tuple[str, int]) -> bytes:
    """What the server says to a line of HTTP; empty if that is no HTTP."""
    try:
        with closing(_connected(address)) as connection:
            said = _ask(connection, b"HEAD / HTTP/1.0\r\n\r\n", PROBE_SECONDS).data
    except NoBroker:
        return b""
    return said if said.startswith(b"HTTP/") else b""


def _sasl_mechanisms(address: tuple[str, int]) -> str | None:
    """The mechanisms that a listener asks its clients for; None for one that asks for none.

    It is offered a mechanism without a name; one that wants SASL names its own.
    """
    client = _CLIENT.encode()
    header = struct.pack(f">hhih{len(client)}s", _SASL_HANDSHAKE, 1, _CORRELATION_ID, len(client), client)
    try:
        with closing(_connected(address)) as connection:
            payload = _ask(connection, frame(header + struct.pack(">h", 0)), PROBE_SECONDS).payload
        if payload is None:
            return None
        code, number = struct.unpack(">hi", payload[4:10])
        return _strings(payload[10:], number) if code == ERROR_CODES["UNSUPPORTED_SASL_MECHANISM"] else None
    except (NoBroker, struct.error, UnicodeDecodeError):
        return None


def _strings(data: bytes, number: int) -> str:
    found = []
    for _ in range(number):
        (length,) = struct.unpack(">h", data[:2])
        found.append(data[2 : 2 + length].decode())
        data = data[2 + length :]
    return ", ".join(found)


def _connected(address: tuple[str, int]) -> socket.socket:
    """A connection, in TLS where the address says so. Errors: NoBroker."""
    try:
        connection = socket.create_connection(address, timeout=CONNECT_SECONDS)
        return security_of(address).wrapped(connection, address[0])
    except Refused as error:
        raise _not_admitted(f"{_shown(address)}: {error}") from error
    except TimeoutError as error:
        cause = f"nothing listens at {_shown(address)}: no connection in {CONNECT_SECONDS:g} s"
        raise NoBroker(cause, "see whether a firewall is between, or give another address") from error
    except OSError as error:
        cause = f"nothing listens at {_shown(address)} ({(error.strerror or str(error)).lower()})"
        raise NoBroker(cause, "start the broker, or give another address") from error


def _not_admitted(cause: str) -> NoBroker:
    return NoBroker(f"not let in at {cause}", "correct what --command-config FILE says")


def _ask(connection: socket.socket, request: bytes, within: float) -> _Heard:
    """Send and listen until a whole frame, the end of the connection, or the deadline."""
    heard = b""
    deadline = time.monotonic() + within
    try:
        connection.sendall(request)
        while _Heard(heard, False).payload is None and (left := deadline - time.monotonic()) > 0:
            connection.settimeout(min(left, 0.2) if _Heard(heard, False).hopeless else left)
            data = connection.recv(65536)
            if not data:
                return _Heard(heard, True)
            heard += data
    except TimeoutError:
        return _Heard(heard, False)
    except OSError:
        return _Heard(heard, True)
    return _Heard(heard, False)


def _fresh_group() -> str:
    return f"{_CLIENT}-{os.urandom(4).hex()}"


def _excerpt(data: bytes) -> str:
    """The first line as text if it is one, else the first bytes as numbers."""
    line = data.splitlines()[0] if data.splitlines() else data
    try:
        text = line.decode("ascii")
    except UnicodeDecodeError:
        text = ""
    if text and text.isprintable():
        return printable(text[:_SHOWN]) + ("…" if len(text) > _SHOWN else "")
    return data[: _SHOWN // 2].hex(" ") + ("…" if len(data) > _SHOWN // 2 else "")


def _shown(address: tuple[str, int]) -> str:
    return f"{address[0]}:{address[1]}"
