"""Long answers wait for their clients without a copy, and not without bound."""

import tracemalloc

import pytest

from rota.server.outgoing import WRITTEN_TOGETHER, Outgoing
from rota.server.unsent import Unsent
from rota.wire import Pieces, WireError, encode_response, encode_response_in_pieces

BATCHES = (b"a" * 300_000, b"", b"b" * 5)


def fetched(records):
    partition = {"partition_index": 0, "high_watermark": 1, "records": records}
    return {"responses": [{"topic": "t", "partitions": [partition, {**partition, "partition_index": 1}]}]}


@pytest.mark.parametrize("version", range(4, 13))
def test_pieces_are_the_bytes_of_the_whole(version):
    pieces = encode_response_in_pieces("Fetch", version, fetched(Pieces(BATCHES)), 7)
    assert b"".join(pieces) == encode_response("Fetch", version, fetched(b"".join(BATCHES)), 7)
    assert any(piece is BATCHES[0] for piece in pieces)


def test_what_cannot_be_encoded_in_pieces_is_named():
    with pytest.raises(WireError, match="nonsense"):
        encode_response_in_pieces("Fetch", 11, {"nonsense": 1}, 7)


class Client:
    """Takes so much and then no more, until it is told to."""

    def __init__(self, room):
        self.room, self.taken, self.held = room, bytearray(), []
        self.outgoing = Outgoing(self.take, pytest.fail, lambda: self.room > 0, self.held.append)

    def take(self, data):
        self.room -= len(data)
        self.taken += data

    def go_on(self):
        while self.outgoing.step():
            pass


def test_it_leaves_as_it_is_taken():
    client = Client(100_000)
    client.outgoing.add_pieces([b"h", *BATCHES], 1)
    client.go_on()
    assert client.outgoing.is_busy
    assert 100_000 <= len(client.taken) < 100_000 + 2 * WRITTEN_TOGETHER
    client.room = 10**9
    client.go_on()
    whole = b"h" + b"".join(BATCHES)
    assert bytes(client.taken) == len(whole).to_bytes(4, "big") + whole
    assert not client.outgoing.is_busy
    assert client.held[0] == 1
    assert client.held[-1] == 0


def test_what_waits_is_no_copy():
    batch = bytes(8 << 20)
    tracemalloc.start()
    waiting = [Client(0) for _ in range(20)]
    for each in waiting:
        each.outgoing.add_pieces([batch], 0)
        each.go_on()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < len(batch)


def test_the_rest_is_written_before_the_end():
    client = Client(0)
    client.outgoing.add_pieces(BATCHES, 0)
    client.outgoing.flush_all()
    assert len(client.taken) == 4 + sum(map(len, BATCHES))


class Slow:
    def __init__(self):
        self.closed = False

    def close_as_slow(self):
        self.closed = True


def test_who_has_taken_nothing_for_longest_is_closed():
    unsent, (one, two, three) = Unsent(100), [Slow() for _ in range(3)]
    unsent.put(one, 40)
    unsent.put(two, 40)
    unsent.put(one, 40)  # it has taken some
    unsent.put(three, 40)
    assert [each.closed for each in (one, two, three)] == [False, True, False]
    assert unsent.total == 80
    unsent.put(one, 0)
    unsent.put(three, 0)
    assert unsent.total == 0


def test_one_alone_may_have_more():
    unsent, alone = Unsent(100), Slow()
    unsent.put(alone, 1_000)
    assert not alone.closed


def test_what_is_closed_gives_back_once():
    unsent = Unsent(100)

    class Gone(Slow):
        def close_as_slow(self):
            unsent.put(self, 0)

    unsent.put(Gone(), 60)
    unsent.put(Slow(), 60)
    assert unsent.total == 60
