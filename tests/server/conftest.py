"""Raw clients of a server that runs in this process."""

import socket
from contextlib import ExitStack

import pytest

from rota.server import running
from rota.wire import decode_response, encode_request, frame
from rota.wire.records import Record, decode_batch, encode_batch, split

NO_DELAY = {"group.initial.rebalance.delay.ms": 0}


PATIENCE = 60
"""Seconds that a client waits for what must come, however slow the machine is."""


class Client:
    """One connection; requests are sent and answers read separately, `call` does both."""

    def __init__(self, address, client_id="c"):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)
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
            self.socket.settimeout(PATIENCE)

    def closed(self):
        """Whether the other side has closed; waits for it."""
        try:
            return self.stream.read(1) == b""
        except ConnectionResetError:
            return True

    def close(self):
        self.stream.close()
        self.socket.close()


class User(Client):
    """A connection that produces and fetches, by default on partition 0 of topic t."""

    def create(self, name="t", num_partitions=1, version=7):
        asked = {"name": name, "num_partitions": num_partitions, "replication_factor": 1}
        (topic,) = self.call("CreateTopics", version, topics=[asked])["topics"]
        assert topic["error_code"] == 0
        return topic.get("topic_id")

    def produce(self, records, version=12, *, index=0, acks=-1, topic_id=None):
        """The one answer; `records` are bytes or values, from which a batch is made."""
        data = records if isinstance(records, bytes | None) else batch(*records)
        topic = {"name": "t"} if topic_id is None else {"topic_id": topic_id}
        topic["partition_data"] = [{"index": index, "records": data}]
        answer = self.call("Produce", version, acks=acks, timeout_ms=1000, topic_data=[topic])
        ((answered,),) = [each["partition_responses"] for each in answer["responses"]]
        return answered

    def send_fetch(self, offset=0, version=12, *, index=0, max_bytes=2**20, topic_id=None, **changes):
        partition = {"partition": index, "fetch_offset": offset, "partition_max_bytes": max_bytes}
        topic = {"topic": "t"} if topic_id is None else {"topic_id": topic_id}
        body = {"max_wait_ms": 0, "min_bytes": 1, "topics": [{**topic, "partitions": [partition]}]}
        self.send("Fetch", version, **body | changes)

    def fetched(self):
        """The one partition of the answer."""
        ((partition,),) = [each["partitions"] for each in self.receive()["responses"]]
        return partition

    def fetch(self, *arguments, **changes):
        self.send_fetch(*arguments, **changes)
        return self.fetched()

    def values(self, *arguments, **changes):
        """The values that a fetch brings, with their offsets."""
        batches = split(self.fetch(*arguments, **changes)["records"])
        return [(record.offset, record.value) for _, data in batches for record in decode_batch(data)]

    def list_offset(self, timestamp, version=11, **changes):
        """(error, offset, timestamp, leader epoch) of partition 0 of topic t."""
        asked = {"partition_index": 0, "timestamp": timestamp} | changes
        answer = self.call("ListOffsets", version, topics=[{"name": "t", "partitions": [asked]}])
        ((found,),) = [each["partitions"] for each in answer["topics"]]
        return found["error_code"], found["offset"], found["timestamp"], found.get("leader_epoch")


def batch(*values, timestamp=1000, **header):
    """A batch of records with these values, a millisecond apart."""
    records = [Record(index, timestamp + index, b"k%d" % index, value) for index, value in enumerate(values)]
    return encode_batch(records, **header)


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
def user(request):
    def user(address, client_id="c"):
        client = User(address, client_id)
        request.addfinalizer(client.close)
        return client

    return user


@pytest.fixture(name="batch")
def batch_fixture():
    return batch


@pytest.fixture
def member(request):
    def member(address, client_id="c"):
        client = Member(address, client_id)
        request.addfinalizer(client.close)
        return client

    return member
