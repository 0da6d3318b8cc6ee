"""Raw clients of a server that runs in this process."""

import socket
from contextlib import ExitStack

import pytest

from rota.server import running
from rota.wire import decode_response, encode_request, frame

NO_DELAY = {"group.initial.rebalance.delay.ms": 0}


class Client:
    """One connection; requests are sent and answers read separately, `call` does both."""

    def __init__(self, address, client_id="c"):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self.client_id = client_id
        self.stream = self.socket.makefile("rb")
        self.number = 0
        self.waiting = []

    def send(self, name, version, **body):
        self.number += 1
        self.waiting.append((name, version, self.number))
        self.raw(frame(encode_request(name, version, body, self.number, self.client_id)))

    def raw(self, data):
        self.socket.sendall(data)

    def receive(self):
        """The answer to the oldest request without one; it has to be the next in the stream."""
        name, version, number = self.waiting.pop(0)
        response = decode_response(name, version, self.payload())
        assert response.correlation_id == number
        return response.body

    def payload(self):
        size = self.stream.read(4)
        assert len(size) == 4, "the connection was closed"
        return self.stream.read(int.from_bytes(size, "big"))

    def call(self, name, version, **body):
        self.send(name, version, **body)
        return self.receive()

    def silent(self, seconds):
        """Whether nothing arrives for so long."""
        self.socket.settimeout(seconds)
        try:
            return self.socket.recv(1, socket.MSG_PEEK) is None
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(10)

    def closed(self):
        """Whether the other side has closed; waits for it."""
        try:
            return self.stream.read(1) == b""
        except ConnectionResetError:
            return True

    def close(self):
        self.stream.close()
        self.socket.close()


class Member(Client):
    """A connection that remembers its place in group g."""

    member_id = ""
    generation = -1
    request = {  # noqa: RUF012  # read only
        "group_id": "g",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"m"}],
    }

    def ask(self, version=9, **changes):
        """Sends JoinGroup, after the handshake if there is no member id yet."""
        if not self.member_id and version >= 4:
            refusal = self.call("JoinGroup", version, **self.request | changes)
            assert refusal["error_code"] == 79
            self.member_id = refusal["member_id"]
        self.send("JoinGroup", version, **self.request | {"member_id": self.member_id} | changes)

    def joined(self):
        answer = self.receive()
        self.member_id, self.generation = answer["member_id"], answer["generation_id"]
        return answer

    def join(self, version=9, **changes):
        self.ask(version, **changes)
        return self.joined()

    def place(self, **changes):
        return {"group_id": "g", "member_id": self.member_id, "generation_id": self.generation} | changes

    def sync(self, version=5, assignments=None, **changes):
        sent = [{"member_id": key, "assignment": value} for key, value in (assignments or {}).items()]
        names = {"protocol_type": "consumer", "protocol_name": "range"}
        return self.call("SyncGroup", version, assignments=sent, **names | self.place(**changes))

    def heartbeat(self, version=4):
        return self.call("Heartbeat", version, **self.place())["error_code"]


@pytest.fixture
def start():
    """Starts a server with these settings, stopped after the test; gives its address."""
    with ExitStack() as stack:
        yield lambda **config: stack.enter_context(
            running({name.replace("_", "."): value for name, value in config.items()} or NO_DELAY)
        )


@pytest.fixture
def address(start):
    """A server without initial delay."""
    return start()


@pytest.fixture
def connect(request):
    def connect(address, client_id="c"):
        client = Client(address, client_id)
        request.addfinalizer(client.close)
        return client

    return connect


@pytest.fixture
def member(request):
    def member(address, client_id="c"):
        client = Member(address, client_id)
        request.addfinalizer(client.close)
        return client

    return member
