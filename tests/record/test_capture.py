"""A conversation that was captured tells what the proxy tells of it; what a capture lacks is told."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from harness.packets import ETHERNET, RAW, RST, SLL, Wire, pcap, pcapng
from harness.scripted_broker import Between, Client, between, listening, received
from rota.history import Event, Kind, conversations
from rota.reading import ReadOptions, Tally, read
from rota.record.capture.conversation import is_a_request
from rota.wire import decode_request, encode_request, encode_response, frame, request_header

pytest.importorskip("dpkt")

FRAMES = 40
"""Requests and responses of the conversation that are recorded."""

Said = list[tuple[bool, bytes]]
"""Who said what: whether it was the client, and the frame."""


async def talk(client: Client) -> None:
    """A member's life, and what has nothing to do with groups beside it."""
    await client.ask("ApiVersions", 4, {"client_software_name": "x"})
    await client.ask("Metadata", 12, {})
    await client.ask("FindCoordinator", 4, {"coordinator_keys": ["g"]})
    joining = {"group_id": "g", "protocols": [{"name": "range", "metadata": bytes(300)}]}
    await client.ask("JoinGroup", 9, joining)
    await client.ask(
        "Produce", 9, {"acks": 1, "topic_data": [{"partition_data": [{"records": bytes(5000)}]}]}
    )
    await client.ask(
        "SyncGroup", 5, {"group_id": "g", "assignments": [{"member_id": "m", "assignment": b"a"}]}
    )
    for generation in range(12):
        await client.ask("Heartbeat", 4, {"group_id": "g", "generation_id": generation, "member_id": "m"})
    for number in (901, 902):  # two at a time
        client.writer.write(frame(encode_request("OffsetFetch", 7, {"group_id": "g"}, number, "c")))
    for _ in range(2):
        await received(client.reader)
    await client.ask("LeaveGroup", 3, {"group_id": "g", "members": [{"member_id": "m"}]})


def answer(payload: bytes) -> bytes:
    request = decode_request(payload)
    bodies = {"JoinGroup": {"member_id": "m"}, "SyncGroup": {"assignment": bytes(100)}}
    body = bodies.get(request.api.name, {})
    return encode_response(request.api.name, request.version, body, request.correlation_id)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Event], Said]:
    """What the proxy tells of a conversation, and what the broker heard and said."""
    said: Said = []

    def noted(payload: bytes) -> bytes:
        answered = answer(payload)
        said.extend([(True, frame(payload)), (False, frame(answered))])
        return answered

    async def run() -> Between:
        folder = tmp_path_factory.mktemp("recorded")
        async with asyncio.timeout(30), listening(noted) as broker, between(broker, folder) as through:
            client = await through.client()
            await talk(client)
            client.writer.close()
            await client.writer.wait_closed()
            while b'"closed"' not in through.path.read_bytes():
                await asyncio.sleep(0.01)
        return through

    events = asyncio.run(run()).events()
    first = next(place for place, one in enumerate(said) if one[1][4:8] == bytes((0, 0, 3, 0x85)))
    said[first : first + 2] = said[first + 1], said[first]  # both had come when the first was answered
    return events, said


def captured(said: Said, wire: Wire | None = None) -> Wire:
    wire = wire or Wire()
    wire.opened()
    for by_client, data in said:
        wire.said(by_client, data)
    wire.closed()
    return wire


def told(
    data: bytes, folder: Path, options: ReadOptions | None = None, tally: Tally | None = None
) -> list[Event]:
    path = folder / "night.pcap"
    path.write_bytes(data)
    return list(read([str(path)], options=options or ReadOptions(), tally=tally))


def bare(events: list[Event]) -> list[Event]:
    """Without what depends on who has seen them and when."""
    places = {"connection": 0, "broker": "", "address": ""}
    return [
        replace(
            event,
            at=None,
            origin="",
            host="",
            data={**event.data, **{k: v for k, v in places.items() if k in event.data}},
        )
        for event in events
    ]


def frames(events: list[Event]) -> list[Event]:
    return [event for event in bare(events) if event.kind in (Kind.REQUEST, Kind.RESPONSE)]


@pytest.mark.parametrize("most", [1400, 100, 7])
@pytest.mark.parametrize("made", [pcap, pcapng])
def test_the_same_conversation_is_told_as_by_the_proxy(
    both: tuple[list[Event], Said], tmp_path: Path, most: int, made: Callable[[list[bytes]], bytes]
) -> None:
    recorded, said = both
    events = told(made(captured(said, Wire(most=most)).packets), tmp_path)
    assert bare(events) == bare(recorded)
    assert len(frames(events)) == FRAMES
    assert {event.origin.partition("#")[0] for event in events} == {"night.pcap"}
    assert events[0].data["address"] == "10.0.0.7:50000"
    assert {event.data["broker"] for event in events} == {"10.0.0.1:9092"}
    assert [event.at for event in events] == sorted(event.at for event in events if event.at is not None)


@pytest.mark.parametrize("link", [ETHERNET, RAW, SLL])
@pytest.mark.parametrize("places", [("10.0.0.7", "10.0.0.1"), ("fd00::7", "fd00::1")])
def test_on_every_link_and_in_both_kinds_of_ip(
    both: tuple[list[Event], Said], tmp_path: Path, link: int, places: tuple[str, str]
) -> None:
    wire = captured(both[1], Wire((places[0], 5), (places[1], 9092)))
    assert frames(told(pcap(wire.packets, link), tmp_path)) == frames(both[0])


@pytest.mark.parametrize("seed", range(10))
def test_packets_out_of_order_and_sent_again_change_nothing(
    both: tuple[list[Event], Said], tmp_path: Path, seed: int
) -> None:
    packets = captured(both[1], Wire(most=60, disorder=Random(seed))).packets
    assert len(packets) > len(captured(both[1], Wire(most=60)).packets)
    assert frames(told(pcap(packets), tmp_path)) == frames(both[0])


@pytest.mark.parametrize("seed", range(25))
def test_of_lost_packets_a_gap_is_told_and_nothing_is_made_up(
    both: tuple[list[Event], Said], tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    packets = captured(both[1], Wire(most=random.choice([50, 200, 1400]))).packets
    lost = set(random.sample(range(len(packets)), random.choice([1, 2, 8])))
    events = told(pcap([one for number, one in enumerate(packets) if number not in lost]), tmp_path)
    everything = frames(both[0])
    seen = frames(events)
    plain = [replace(one, group="", client="") for one in everything]
    assert [one for one in seen if replace(one, group="", client="") not in plain] == []
    if len(seen) < len(everything):
        gaps = [event for event in events if event.kind is Kind.GAP]
        assert gaps or not seen
    assert len(seen) >= len(everything) - 14 * len(lost)
    list(conversations(events))


@pytest.mark.parametrize("begins", [b"\x00\x0b\x00\x09", b"\x00\x00\x00\x09"], ids=["JoinGroup", "Produce"])
def test_behind_the_lost_beginning_of_a_frame_the_next_one_is_found(
    both: tuple[list[Event], Said], tmp_path: Path, begins: bytes
) -> None:
    packets = captured(both[1], Wire(most=90)).packets
    lost = next(number for number, one in enumerate(packets) if one[44:48] == begins)
    events = told(pcap([one for number, one in enumerate(packets) if number != lost]), tmp_path)
    wanted = [one for one in frames(both[0]) if one.data["api"] != "JoinGroup" or begins[1] == 0]
    assert frames(events) == wanted
    assert [event.kind for event in events].count(Kind.GAP) == 1


def test_a_lost_payload_is_no_gap(both: tuple[list[Event], Said], tmp_path: Path) -> None:
    """Of a frame that is not recorded all may be missing but its beginning."""
    packets = captured(both[1], Wire(most=200)).packets
    payload = [number for number, one in enumerate(packets) if one.endswith(bytes(200))]
    assert len(payload) > 20
    events = told(pcap([one for number, one in enumerate(packets) if number != payload[5]]), tmp_path)
    assert bare(events) == bare(both[0])


def test_packets_that_were_cut_are_gaps_where_frames_were_wanted(
    both: tuple[list[Event], Said], tmp_path: Path
) -> None:
    events = told(pcap(captured(both[1]).packets, snaplen=40 + 250), tmp_path)
    seen = frames(events)
    joins = [event for event in seen if event.data["api"] == "JoinGroup" and event.kind is Kind.REQUEST]
    assert joins == [], "its metadata has 300 bytes"
    assert [event.reason for event in events if event.kind is Kind.GAP]
    assert [event for event in seen if event.data["api"] == "LeaveGroup"] == frames(both[0])[-2:]


@pytest.mark.parametrize("part", [0.03, 0.2, 0.5, 0.77, 0.999])
@pytest.mark.parametrize("made", [pcap, pcapng])
def test_a_file_that_is_cut_off_tells_what_was_before(
    both: tuple[list[Event], Said], tmp_path: Path, part: float, made: Callable[[list[bytes]], bytes]
) -> None:
    data = made(captured(both[1], Wire(most=100)).packets)
    seen = frames(told(data[: int(len(data) * part)], tmp_path))
    assert seen == frames(both[0])[: len(seen)]
    assert len(seen) >= FRAMES * part - 30


@pytest.mark.parametrize("late", [2, 4, 10, 20, 33])
def test_a_connection_whose_start_is_missing_is_found(
    both: tuple[list[Event], Said], tmp_path: Path, late: int
) -> None:
    events = told(pcap(captured(both[1]).packets[late:]), tmp_path)
    seen = frames(events)
    assert seen == frames(both[0])[-len(seen) :]
    assert len(seen) >= FRAMES - late
    assert [event.kind for event in events][:2] == [Kind.OPENED, Kind.GAP]
    assert events[1].reason == "the capture begins after the connection"
    assert events[-1].kind is Kind.CLOSED


@pytest.mark.parametrize("late", range(3, 60, 4))
def test_a_capture_that_begins_within_a_frame_goes_on_with_the_next(
    both: tuple[list[Event], Said], tmp_path: Path, late: int
) -> None:
    events = told(pcap(captured(both[1], Wire(most=16)).packets[late:]), tmp_path)
    seen = frames(events)
    assert seen == frames(both[0])[-len(seen) :]
    assert len(seen) > FRAMES - 10


def test_packets_say_how_much_of_them_was_cut(tmp_path: Path) -> None:
    from rota.record.capture.packets import Packets

    wire = Wire()
    wire.said(True, bytes(100))
    data = io.BufferedReader(io.BytesIO(pcap(wire.packets, snaplen=60)))  # type: ignore[arg-type]
    assert [(len(one.payload), one.cut) for one in Packets(data)] == [(20, 80), (0, 0)]


def test_other_protocols_are_no_connections(both: tuple[list[Event], Said], tmp_path: Path) -> None:
    web = Wire(("10.0.0.9", 4000), ("10.0.0.2", 80))
    web.opened()
    web.said(True, b"GET /index.html HTTP/1.1\r\nHost: x\r\n\r\n")
    web.said(False, b"HTTP/1.1 200 OK\r\n\r\n" + bytes(99))
    secret = Wire(("10.0.0.9", 4001), ("10.0.0.2", 9093))
    secret.opened()
    secret.said(True, b"\x16\x03\x01\x02\x00\x01" + bytes(100))
    late = Wire(("10.0.0.9", 4002), ("10.0.0.2", 22))
    late.said(True, b"SSH-2.0-OpenSSH_9.2 and so on")
    udp = captured(both[1]).packets[5].replace(b"\x40\x06", b"\x40\x11", 1)
    mixed = [*web.packets, *secret.packets, *late.packets, udp, b"\x00", *captured(both[1]).packets]
    tally = Tally()
    assert bare(told(pcap(mixed), tmp_path, tally=tally)) == bare(both[0])
    assert any("TLS" in reason for reason in tally.quarantined)


def test_ports_of_brokers_can_be_given(both: tuple[list[Event], Said], tmp_path: Path) -> None:
    data = pcap(captured(both[1]).packets)
    assert frames(told(data, tmp_path, ReadOptions(ports=frozenset({9092})))) == frames(both[0])
    assert told(data, tmp_path, ReadOptions(ports=frozenset({9093}))) == []


def test_a_connection_that_is_reset_and_its_ends_used_again(
    both: tuple[list[Event], Said], tmp_path: Path
) -> None:
    first, second = captured(both[1][:10]), captured(both[1])
    first.packets[-2:] = []
    first.packet(first.client, RST)
    first.packets.append(first.packets[3])
    events = told(pcap([*first.packets, *second.packets]), tmp_path)
    assert [event.reason for event in events if event.kind is Kind.CLOSED] == [
        "the client is lost",
        "closed by the client",
    ]
    assert [event.data["connection"] for event in events if event.kind is Kind.OPENED] == [1, 2]
    assert frames(events)[-FRAMES:] == frames(both[0])


def test_an_answer_whose_beginning_is_missing_is_not_taken_for_another(tmp_path: Path) -> None:
    wire, packets = Wire(most=100), []
    big = encode_response("JoinGroup", 9, {"members": [{"member_id": "x", "metadata": bytes(500)}]}, 1)
    wire.said(False, frame(big))
    packets, wire.packets = wire.packets[2:-1], []
    wire.said(True, frame(encode_request("Heartbeat", 4, {"group_id": "g"}, 2, "c")))
    packets, wire.packets = [*wire.packets, *packets], []
    wire.said(False, frame(encode_response("Heartbeat", 4, {}, 2)))
    kinds = [event.kind for event in told(pcap([*packets, *wire.packets]), tmp_path)]
    assert kinds == [Kind.OPENED, Kind.GAP, Kind.REQUEST, Kind.RESPONSE]


def test_what_is_taken_for_the_beginning_of_a_request() -> None:
    named, nameless = (encode_request("Heartbeat", 4, {"group_id": "g"}, 2, who) for who in ("c", None))
    assert is_a_request(frame(named))
    assert is_a_request(frame(named)[:-3])
    assert is_a_request(frame(nameless))
    assert not is_a_request(frame(nameless)[:-3]), "too little to be sure of"
    assert is_a_request(frame(request_header(11, 20, 1, "c", True) + b"news"))
    assert not is_a_request(frame(request_header(11, 9, 1, "c", True) + b"tea" * 9))
    assert not is_a_request(frame(encode_response("ApiVersions", 4, {}, 1)))
    assert not is_a_request(frame(encode_response("Heartbeat", 0, {}, 12)) + bytes(20))
