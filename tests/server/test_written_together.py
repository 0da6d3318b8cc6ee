"""Answers of one iteration of the event loop leave in one write, in order, and nothing holds them back."""

import asyncio
import gc
import socket
import weakref

import pytest

from harness.endpoints import HERE
from rota.server import broker
from rota.server.connection import Connection
from rota.server.idle import Idle
from rota.server.incoming import Incoming
from rota.server.intake import Intake
from rota.server.outgoing import WRITTEN_TOGETHER, Outgoing
from rota.server.turns import Turns
from rota.server.unsent import Unsent
from rota.virtual import arrive
from rota.wire import decode_response, encode_request, frame


class Transport(asyncio.Transport):
    """Notes each write and the end; with `deaf` its buffer is full after a write."""

    def __init__(self):
        super().__init__()
        self.events = []
        self.deaf = False
        self.protocol = None

    def get_extra_info(self, name, default=None):
        return {"peername": ("127.0.0.1", 1), "socket": self}[name]

    def setsockopt(self, *option):
        pass

    def write(self, data):
        self.events.append(bytes(data))
        if self.deaf:
            self.protocol.pause_writing()

    def is_closing(self):
        return "closed" in self.events

    def close(self):
        self.events.append("closed")

    def pause_reading(self):
        pass


class Broker:
    """Answers at once, or keeps the request in `parked`; the error code is the request's number."""

    max_frame, max_idle, max_connections = 10**6, -1, 10

    def __init__(self):
        loop = asyncio.get_running_loop()
        self.turns = Turns(loop)
        self.intake = Intake(-1, loop.call_later, loop.time)
        self.landing = memoryview(bytearray(broker.READ_AT_ONCE))
        self.unsent = Unsent()
        self.connections = set()
        self.parked = None
        self.asked = 0
        self.extra = {}

    def serves(self, key, version):
        return True

    def handle(self, body, context):
        self.asked += 1
        if body["group_id"] == "close":
            context.close_connection("asked to")
        elif body["group_id"] == "park":
            self.parked = context
        else:
            context.reply({"error_code": self.asked, **self.extra})


def heartbeats(*group_ids):
    return b"".join(
        frame(encode_request("Heartbeat", 4, {"group_id": group_id}, number, "c"))
        for number, group_id in enumerate(group_ids)
    )


def numbers(written):
    """The correlation ids and error codes of whole answers in one write."""
    found = []
    while written:
        size = 4 + int.from_bytes(written[:4], "big")
        answer = decode_response("Heartbeat", 4, written[4:size])
        found.append((answer.correlation_id, answer.body["error_code"]))
        written = written[size:]
    return found


def played(play):
    """Runs `play(connection, transport, broker)` on an event loop."""

    async def main():
        broker = Broker()
        transport = Transport()
        transport.protocol = connection = Connection(broker, HERE)
        connection.connection_made(transport)
        await play(connection, transport, broker)

    asyncio.run(main())


def in_order(count, first=0):
    return [(number, number + 1) for number in range(first, count)]


def test_a_burst_is_answered_in_one_write(monkeypatch):
    monkeypatch.setattr("rota.server.turns.TURN_SECONDS", 60)  # however slow this machine is

    async def play(connection, transport, broker):
        arrive(connection, heartbeats(*"g" * 16))
        (written,) = transport.events  # before the loop goes on: nothing waits for another iteration
        assert numbers(written) == in_order(16)

    played(play)


def test_an_answer_from_outside_leaves_with_those_that_it_held_up():
    async def play(connection, transport, broker):
        arrive(connection, heartbeats("park", *"ggg"))
        assert transport.events == []
        broker.parked.reply({"error_code": 1})
        assert transport.events == []
        await asyncio.sleep(0)
        (written,) = transport.events
        assert numbers(written) == in_order(4)

    played(play)


def test_an_answer_from_outside_behind_which_nothing_waits_leaves_at_once():
    async def play(connection, transport, broker):
        arrive(connection, heartbeats("park"))
        broker.parked.reply({"error_code": 1})
        (written,) = transport.events
        assert numbers(written) == in_order(1)

    played(play)


def test_each_turn_writes_what_it_has(monkeypatch):
    monkeypatch.setattr("rota.server.turns.TURN_SECONDS", 0)
    monkeypatch.setattr("rota.server.turns.ITERATION_SECONDS", 1e-9)

    async def play(connection, transport, broker):
        arrive(connection, heartbeats(*"ggg"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert [numbers(each) for each in transport.events] == [[(0, 1)], [(1, 2)], [(2, 3)]]

    played(play)


def test_answers_that_are_large_do_not_wait_for_each_other():
    """So a client that does not read is noticed before more is answered."""

    async def play(connection, transport, broker):
        transport.deaf = True
        broker.extra = {"_tags": {1: bytes(WRITTEN_TOGETHER // 2)}}
        arrive(connection, heartbeats(*"ggggg"))
        (written,) = transport.events
        assert numbers(written) == in_order(2)
        connection.resume_writing()
        await asyncio.sleep(0)
        assert [numbers(each) for each in transport.events] == [in_order(2), in_order(4, 2)]

    played(play)


@pytest.mark.parametrize("ending", ["request", "close", "garbage"])
def test_what_was_answered_leaves_before_the_end(ending):
    async def play(connection, transport, broker):
        last = {"request": heartbeats("close"), "close": b"", "garbage": frame(b"?")}[ending]
        arrive(connection, heartbeats("park"))
        broker.parked.reply({"error_code": 1})
        if ending == "close":
            connection.close()
        else:
            arrive(connection, heartbeats("g") + last)
            await asyncio.sleep(0)
        *written, end = transport.events
        assert end == "closed"
        assert numbers(b"".join(written))[0] == (0, 1)
        assert len(numbers(b"".join(written))) == (1 if ending == "close" else 2)

    played(play)


def test_a_lost_connection_is_not_written_to():
    async def play(connection, transport, broker):
        arrive(connection, heartbeats("park"))
        connection.connection_lost(None)
        broker.parked.reply({"error_code": 1})
        await asyncio.sleep(0)
        assert transport.events == []

    played(play)


def is_given_back():
    """Whether all of a lost connection goes at once, of which an answer waits to be taken."""
    lost = []

    async def main():
        serving = Broker()
        serving.max_idle = 1_000
        transport = Transport()
        transport.protocol = connection = Connection(serving, HERE)
        connection.connection_made(transport)
        transport.deaf = True
        arrive(connection, heartbeats("g"))
        connection.answer_in_pieces([bytes(10**6)], 10**6)
        arrive(connection, heartbeats("park"))
        lost.append(weakref.ref(connection))
        connection.connection_lost(None)
        transport.protocol = None
        del connection
        await asyncio.sleep(0)
        lost.append(lost[0]() is None)

    gc.disable()
    try:
        asyncio.run(main())
    finally:
        gc.enable()
    return lost[1]


def test_a_lost_connection_is_given_back_without_the_collector():
    """The collector leaves out for ten minutes what has stayed for long: 2,000 connections were 100 MiB."""
    assert is_given_back()


@pytest.mark.parametrize(
    ("target", "name", "bug"),
    [
        (Idle, "stop", lambda self: self._timer.cancel()),
        (Incoming, "end", Incoming.clear),
        (Outgoing, "clear", lambda self: self._holds(0)),
    ],
)
def test_planted_bug_a_lost_connection_is_kept(target, name, bug, monkeypatch):
    monkeypatch.setattr(target, name, bug)
    assert not is_given_back()


def test_planted_bug_a_write_for_each_answer(monkeypatch):
    monkeypatch.setattr("rota.server.outgoing.WRITTEN_TOGETHER", 1)
    with pytest.raises(ValueError, match="too many values to unpack"):
        test_a_burst_is_answered_in_one_write(monkeypatch)


def test_nothing_is_held_back_on_an_accepted_socket(start, connect, monkeypatch):
    found = []

    class Watched(broker.Server):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            found.append(self)

    monkeypatch.setattr(broker, "Server", Watched)
    client = connect(start())
    assert client.call("ApiVersions", 0)["error_code"] == 0
    (accepted,) = found[0].connections
    option = accepted._transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert option != 0
