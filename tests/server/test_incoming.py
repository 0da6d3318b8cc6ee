"""What comes in: long frames take room, have a limit, and hold up nobody; what Kafka admits is admitted."""

import gzip
import logging
import time
import zlib

import google_crc32c
import pytest

from harness.extremes import Case, Probe, Target
from harness.thinned import some
from rota.server import broker, intake, running
from rota.server.intake import FRAME_LIMITS, HALF_SENT_SECONDS, Intake
from rota.wire import api, encode_request, frame, request_header
from rota.wire.records import HEADER_SIZE, Record, encode_batch

CHUNK = 256 * 1024
"""What the event loop may read at once on top of what was there."""


class Room:
    """An intake with a clock of its own, and senders that note what becomes of them."""

    def __init__(self, capacity):
        self.now = 0.0
        self.timers = []
        self.happened = []
        self.intake = Intake(capacity, self.call_later, lambda: self.now)

    def call_later(self, delay, callback):
        self.timers.append((self.now + delay, callback))

    def sender(self, name):
        room = self

        class Sender:
            def admitted(self):
                room.happened.append(f"{name} admitted")

            def close(self, reason=""):
                room.happened.append(f"{name} closed")
                room.reason = reason

        return Sender()

    def passes(self, seconds):
        end = self.now + seconds
        while due := sorted((each for each in self.timers if each[0] <= end), key=lambda each: each[0]):
            self.timers.remove(due[0])
            self.now = due[0][0]
            due[0][1]()
        self.now = end


def test_long_frames_wait_for_room_the_shortest_first():
    room = Room(100)
    a, b, c, d = map(room.sender, "abcd")
    assert room.intake.ask(a, 60)
    assert room.intake.ask(b, 40)
    assert not room.intake.ask(c, 80)
    assert not room.intake.ask(d, 30)
    room.intake.give_back(b)
    assert room.happened == ["d admitted"]
    room.intake.give_back(d)
    room.intake.give_back(a)
    assert room.happened == ["d admitted", "c admitted"]
    assert room.intake.held == 80
    room.intake.give_back(c)
    room.intake.give_back(c)
    assert room.intake.held == 0


def test_one_frame_is_taken_in_however_long_it_is_and_negative_is_no_bound():
    room = Room(100)
    a, b = map(room.sender, "ab")
    assert room.intake.ask(a, 500)
    assert not room.intake.ask(b, 1)
    free = Room(-1)
    assert all(free.intake.ask(each, 10**9) for each in map(free.sender, "abc"))


def test_who_does_not_send_on_makes_room_for_others():
    room = Room(100)
    a, b, c = map(room.sender, "abc")
    assert room.intake.ask(a, 90)
    room.intake.whole(a)
    assert not room.intake.ask(b, 50)
    room.passes(10 * HALF_SENT_SECONDS)
    assert room.happened == []  # it is being handled
    room.intake.give_back(a)
    assert room.happened == ["b admitted"]
    room.passes(10 * HALF_SENT_SECONDS)
    assert room.happened == ["b admitted"]  # nobody waits
    assert not room.intake.ask(c, 60)
    room.passes(0.1)
    assert room.happened == ["b admitted", "b closed", "c admitted"]
    assert "for which others wait" in room.reason
    assert room.intake.held == 60


def test_who_was_let_in_is_watched_too():
    room = Room(100)
    a, b, c = map(room.sender, "abc")
    assert room.intake.ask(a, 90)
    room.intake.whole(a)
    assert not room.intake.ask(b, 50)
    assert not room.intake.ask(c, 60)
    room.intake.give_back(a)
    assert room.happened == ["b admitted"]
    room.passes(HALF_SENT_SECONDS + 0.1)
    assert room.happened == ["b admitted", "b closed", "c admitted"]


def half(size, api_key=0):
    """The begin of a frame."""
    return size.to_bytes(4, "big") + request_header(api_key, 9, 1, "c", flexible=True) + bytes(1000)


@pytest.fixture
def inside(monkeypatch):
    """The server objects that are started."""
    found = []

    class Watched(broker.Server):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            found.append(self)

    monkeypatch.setattr(broker, "Server", Watched)
    return found


def test_half_sent_frames_hold_no_more_than_there_is_room_for(
    start, user, connect, inside, monkeypatch, caplog
):
    """Twenty of them held 2 GB."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(intake, "HALF_SENT_SECONDS", 0.5)
    size, capacity, count = 2_000_000, 5_000_000, 20
    address = start(queued_max_request_bytes=capacity, socket_request_max_bytes=size)
    (server,) = inside
    good = user(address)
    good.create()
    bad = [connect(address) for _ in range(count)]
    most = 0
    for each in bad:
        each.socket.setblocking(False)
        each.raw_part = half(size) + bytes(size - 2000)
    for _ in range(40):
        for each in bad:
            try:
                sent = each.socket.send(each.raw_part)
                each.raw_part = each.raw_part[sent:]
            except (BlockingIOError, OSError):
                pass
        assert good.call("ApiVersions", 0)["error_code"] == 0
        most = max(most, sum(len(each._incoming.received) for each in server.connections))
    assert 2 * size * 0.9 < most < capacity + count * (intake.SHORT + CHUNK)
    assert good.produce([bytes(1_000_000)])["error_code"] == 0
    assert "for which others wait" in caplog.text
    for each in bad:
        each.close()
    deadline = time.monotonic() + 20
    while len(server.connections) > 1:
        assert time.monotonic() < deadline, server.connections
        assert good.call("ApiVersions", 0)["error_code"] == 0
    assert server.intake.held == 0


@pytest.mark.parametrize("name", FRAME_LIMITS)
def test_a_frame_beyond_the_limit_of_its_api_is_not_even_read(name, address, connect, caplog):
    caplog.set_level(logging.INFO)
    size = min(FRAME_LIMITS[name].bytes, 104_857_600)
    client = connect(address)
    client.raw(half(size + 1, api(name).key)[:20])
    assert client.closed()
    assert f"a frame of {size + 1} bytes; it may have {size}" in caplog.text


def test_unknown_apis_have_a_limit_too(address, connect):
    client = connect(address)
    client.raw(half(300_000, 999)[:20])
    assert client.closed()


def test_what_was_sent_before_the_end_is_handled(address, connect, user):
    """A producer with acks 0 may close its connection at once."""
    reader, writer = user(address), connect(address)
    reader.create()
    topic = {
        "name": "t",
        "partition_data": [{"index": 0, "records": encode_batch([Record(0, 1, None, bytes(50))])}],
    }
    body = {"acks": 0, "topic_data": [topic]}
    count = 2_000
    writer.raw(frame(encode_request("Produce", 9, body, 1, "c")) * count)
    writer.close()
    found = 0
    while found < count:
        reader.send_fetch(found, min_bytes=1, max_wait_ms=5_000)
        answer = reader.fetched()
        assert answer["records"]
        found = answer["high_watermark"]


def patched(batch, compression, count, body):
    """The batch with another body, which has so many records."""
    head = bytearray(batch[:HEADER_SIZE])
    head[8:12] = (HEADER_SIZE - 12 + len(body)).to_bytes(4, "big")
    head[22] = compression
    head[23:27], head[57:61] = (count - 1).to_bytes(4, "big"), count.to_bytes(4, "big")
    data = bytes(head) + body
    return data[:17] + google_crc32c.value(data[21:]).to_bytes(4, "big") + data[21:]


def streams(count):
    """So many gzip streams, one behind the other."""
    records = [Record(index, index, None, bytes(100)) for index in range(count)]
    batch = encode_batch(records)
    body = batch[HEADER_SIZE:]
    step = -(-len(body) // count)
    parts = [body[pos : pos + step] for pos in range(0, len(body), step)]
    return patched(batch, 1, count, b"".join(map(gzip.compress, parts)))


def small_records(count):
    """As many of the least records as fit in a gzip stream of some 10 KB for each million."""
    packer = zlib.compressobj(wbits=31)
    plain = packer.compress(bytes([12, 0, 0, 0, 1, 1, 0]) * count) + packer.flush()
    return patched(encode_batch([Record(0, 0, None, None)]), 1, count, plain)


def zeros(size):
    """A record of so many zeros, compressed."""
    return encode_batch([Record(0, 5, None, bytes(size))], compression="gzip")


FROZEN = 1.0
"""Processor seconds: fifty times what it takes, and a tenth of what the least of these bugs took."""

PRODUCED = {
    "1,500 streams": lambda: streams(1_500),
    "9.6 million records": lambda: small_records(9_600_000),
    "a million records": lambda: small_records(1_000_000),
    "60 MiB in one record": lambda: zeros(60 << 20),
    "65 MiB in one record": lambda: zeros(65 << 20),
    "17,000 batches": lambda: encode_batch([], base_offset=0) * 17_000,
    "a megabyte of small records": lambda: encode_batch(
        [Record(index, 0, None, None) for index in range(110_000)]
    ),
    "fifty megabytes": lambda: bytes(50 << 20),
}


@pytest.fixture(scope="module")
def odd():
    """A server, and a way to measure what a frame costs it."""
    probe = Probe()
    with running({"group.initial.rebalance.delay.ms": 0}, coordinator=probe.coordinator) as address:
        target = Target(address, probe)
        target.cost(produced(encode_batch([Record(0, 0, None, None)])))
        yield target


def produced(records):
    topic = {"name": "t", "partition_data": [{"index": 1, "records": records}]}
    data = frame(encode_request("Produce", 9, {"acks": 1, "topic_data": [topic]}, 1, "c"))
    return Case("Produce", "Produce", 9, lambda: data)


@pytest.mark.parametrize("what", some(PRODUCED, 2))
def test_no_batch_holds_the_loop(what, odd):
    """The first froze it for 51 s, the second for 108 s."""
    costs = [odd.cost(produced(PRODUCED[what]()), patience=60) for _ in range(2)]
    assert {each.outcome for each in costs} == {"answered"}
    assert min(each.seconds for each in costs) < FROZEN


def test_a_time_is_looked_for_in_slices(odd):
    odd.cost(produced(zeros(60 << 20)), patience=60)
    partitions = [{"partition_index": 1, "timestamp": 6}, {"partition_index": 0, "timestamp": 0}]
    data = frame(
        encode_request("ListOffsets", 7, {"topics": [{"name": "t", "partitions": partitions}]}, 1, "c")
    )
    costs = [odd.cost(Case("ListOffsets", "ListOffsets", 7, lambda: data)) for _ in range(2)]
    assert min(each.seconds for each in costs) < FROZEN


def test_pipelined_requests_take_turns(odd):
    """300 Metadata of many partitions took 13 s."""
    for index in range(10):
        topic = {"name": f"many-{index}", "num_partitions": 100, "replication_factor": 1}
        odd.call("CreateTopics", 7, {"topics": [topic]})
    data = frame(encode_request("Metadata", 9, {"topics": None}, 1, "c")) * 300
    costs = [odd.cost(Case("Metadata", "Metadata", 9, lambda: data)) for _ in range(2)]
    assert min(each.seconds for each in costs) < FROZEN


def test_a_batch_of_a_megabyte_is_admitted(address, user):
    client = user(address)
    client.create()
    overhead = len(encode_batch([Record(0, 1000, b"k0", bytes(1_000_000))])) - 1_000_000
    for size in (1_000_000, 1_048_588 - overhead):
        assert client.produce([bytes(size)])["error_code"] == 0


def test_the_assignments_of_ten_thousand_members_are_admitted(address, member):
    leader = member(address)
    leader.join()
    others = {
        f"consumer-of-a-large-group-{index:05}-{index * 7919:032x}": b"theirs" * 20 for index in range(10_000)
    }
    answer = leader.sync(assignments=others | {leader.member_id: b"mine"})
    assert (answer["error_code"], answer["assignment"]) == (0, b"mine")


@pytest.mark.parametrize("version", [7, 9])
def test_offsets_of_ten_thousand_partitions_are_admitted(version, address, user):
    client = user(address)
    client.create(num_partitions=5_000)
    client.create("u", num_partitions=5_000)
    partitions = [{"partition_index": index, "committed_offset": index} for index in range(5_000)]
    topics = [{"name": name, "partitions": partitions} for name in "tu"]
    answer = client.call("OffsetCommit", 8, group_id="g", topics=topics)
    codes = [each["error_code"] for topic in answer["topics"] for each in topic["partitions"]]
    assert codes == [0] * 10_000
    asked = [{"name": name, "partition_indexes": [*range(5_000)]} for name in "tu"]
    body = {"group_id": "g", "topics": asked}
    answer = client.call("OffsetFetch", version, **({"groups": [body]} if version >= 8 else body))
    found = answer["groups"][0] if version >= 8 else answer
    offsets = [[each["committed_offset"] for each in topic["partitions"]] for topic in found["topics"]]
    assert offsets == [[*range(5_000)]] * 2


def test_metadata_of_64_kilobytes_is_admitted(address, member):
    leader = member(address)
    metadata = bytes(range(256)) * 256
    answer = leader.join(
        protocols=[{"name": "range", "metadata": metadata}, {"name": "other", "metadata": metadata}]
    )
    assert answer["members"][0]["metadata"] == metadata
