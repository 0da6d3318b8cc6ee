"""A proxy between clients and a broker that changes what they tell each other: bugs planted in any server."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rota.wire import all_apis, decode_request, decode_response, encode_request, encode_response, frame
from rota.wire.records import rebased, split

_HEADER = struct.Struct(">hhi")
_NAMES = {item.key: item.name for item in all_apis()}

Body = dict[str, Any]
Change = Callable[[Body], None]


@dataclass(frozen=True)
class Bug:
    """Changes to bodies, in place, by API name."""

    requests: Mapping[str, Change] = field(default_factory=dict)
    responses: Mapping[str, Change] = field(default_factory=dict)


class Meddler:
    """Listens on 127.0.0.1 and passes every connection on to `broker`; use as a context manager."""

    def __init__(self, broker: str, bug: Bug) -> None:
        host, _, port = broker.rpartition(":")
        self._broker = (host, int(port))
        self._bug = bug
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self._port}"
        self.closed = False
        """Whether connections end as soon as they begin."""
        self._sockets: list[socket.socket] = []
        self._responses = {"Metadata": self._metadata, "FindCoordinator": self._coordinator, **bug.responses}

    def __enter__(self) -> Meddler:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.closed:
                    client.close()
                    continue
                broker = socket.create_connection(self._broker)
                self._sockets += [client, broker]
                asked: dict[int, tuple[str, int]] = {}
                for source, target, change in (
                    (client, broker, self._request),
                    (broker, client, self._response),
                ):
                    arguments = (source, target, change, asked)
                    threading.Thread(target=self._pass_on, args=arguments, daemon=True).start()

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket, change: Any, asked: Any) -> None:
        with contextlib.suppress(OSError), source.makefile("rb") as stream:
            while len(size := stream.read(4)) == 4:
                target.sendall(frame(change(stream.read(int.from_bytes(size, "big")), asked)))
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def _request(self, payload: bytes, asked: dict[int, tuple[str, int]]) -> bytes:
        key, version, number = _HEADER.unpack_from(payload)
        name = _NAMES.get(key)
        if name in self._responses:
            asked[number] = (name, version)
        if name not in self._bug.requests:
            return payload
        request = decode_request(payload, trailing=True)
        self._bug.requests[name](request.body)
        return encode_request(name, version, request.body, number, request.client_id)

    def _response(self, payload: bytes, asked: dict[int, tuple[str, int]]) -> bytes:
        number = int.from_bytes(payload[:4], "big", signed=True)
        if number not in asked:
            return payload
        name, version = asked.pop(number)
        body = decode_response(name, version, payload).body
        self._responses[name](body)
        return encode_response(name, version, body, number)

    def _metadata(self, body: Body) -> None:
        for broker in body["brokers"]:
            broker["host"], broker["port"] = "127.0.0.1", self._port

    def _coordinator(self, body: Body) -> None:
        for found in body.get("coordinators", [body]):
            found["host"], found["port"] = "127.0.0.1", self._port


def _partitions(body: Body) -> list[Body]:
    """The partitions of a request or response that has topics, of OffsetFetch in any version too."""
    return [
        partition
        for part in body.get("groups", [body])
        for topic in part["topics"]
        for partition in topic["partitions"]
    ]


def _shift_records(body: Body) -> None:
    for topic in body["responses"]:
        for partition in topic["partitions"]:
            batches = split(partition["records"] or b"")
            partition["records"] = b"".join(rebased(batch, info.base_offset + 1) for info, batch in batches)


def _forget_offsets(body: Body) -> None:
    for partition in _partitions(body):
        partition["committed_offset"] = -1


def _store_another_offset(body: Body) -> None:
    for partition in _partitions(body):
        partition["committed_offset"] -= 1


def _accept_any_commit(body: Body) -> None:
    for partition in _partitions(body):
        partition["error_code"] = 0


def _give_all_the_same(body: Body) -> None:
    for item in body["assignments"][1:]:
        item["assignment"] = body["assignments"][0]["assignment"]


def _swap_assignments(body: Body) -> None:
    sent = sorted(body["assignments"], key=lambda item: item["member_id"])
    if len(sent) > 1:
        first, second = sent[:2]
        first["assignment"], second["assignment"] = second["assignment"], first["assignment"]


def _lose_the_last_assignment(body: Body) -> None:
    del body["assignments"][1:]


BUGS = {
    "records come with another offset": Bug(responses={"Fetch": _shift_records}),
    "commits are forgotten": Bug(responses={"OffsetFetch": _forget_offsets}),
    "another offset is committed": Bug(requests={"OffsetCommit": _store_another_offset}),
    "a commit that is refused looks accepted": Bug(responses={"OffsetCommit": _accept_any_commit}),
    "all members get one member's assignment": Bug(requests={"SyncGroup": _give_all_the_same}),
    "the assignments of two members are swapped": Bug(requests={"SyncGroup": _swap_assignments}),
    "members beyond the first get no assignment": Bug(requests={"SyncGroup": _lose_the_last_assignment}),
}
