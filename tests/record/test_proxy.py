"""Clients go through the proxy to every broker, whatever they say; what is said of groups is recorded."""

from __future__ import annotations

import asyncio
import os
import ssl
import struct
import subprocess
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from harness.scripted_broker import Answer, Between, Broker, between, listening, received
from rota.conformance.connections.security import Security
from rota.history import Kind, conversations
from rota.record import dialogue, link, proxy
from rota.wire import (
    Raw,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    frame,
    request_header,
)

PATIENCE = 30.0

Play = Callable[[Between, Broker], Coroutine[Any, Any, None]]


def correlation(payload: bytes) -> bytes:
    return payload[4:8]


def echo(payload: bytes) -> bytes:
    """The frame itself behind its correlation id: an answer that nobody can read."""
    return correlation(payload) + payload


def kafka(payload: bytes) -> bytes | None:
    """Answers of a broker that has nothing."""
    request = decode_request(payload)
    if request.api.name == "Produce" and request.body["acks"] == 0:
        return None
    return encode_response(request.api.name, request.version, {}, request.correlation_id)


def played(answer: Answer, folder: Path, play: Play) -> Between:
    """A client's conversation through a proxy with a broker."""

    async def run() -> Between:
        async with (
            asyncio.timeout(PATIENCE),
            listening(answer) as broker,
            between(broker, folder) as through,
        ):
            await play(through, broker)
        return through

    return asyncio.run(run())


def test_every_broker_gets_a_port_of_its_own(tmp_path: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE), AsyncExitStack() as stack:
            brokers: list[Broker] = []

            def metadata(payload: bytes) -> bytes:
                request = decode_request(payload)
                places = [
                    {"node_id": number, "host": one.place[0], "port": one.place[1]}
                    for number, one in enumerate(brokers)
                ]
                return encode_response(
                    "Metadata", request.version, {"brokers": places}, request.correlation_id
                )

            brokers += [await stack.enter_async_context(listening(metadata)) for _ in range(3)]
            through = await stack.enter_async_context(between(brokers[0], tmp_path))
            client = await through.client()
            told = decode_response("Metadata", 12, await client.ask("Metadata", 12, {})).body["brokers"]
            ports = [one["port"] for one in told]
            assert ports[0] == through.place[1], "the broker that it began with is the one that stands there"
            assert len({*ports, *(one.place[1] for one in brokers)}) == 6
            for number in (2, 1):
                further = Between((told[number]["host"], ports[number]), through.proxy, through.path)
                again = await (await further.client()).ask("Metadata", 9, {})
                assert [one["port"] for one in decode_response("Metadata", 9, again).body["brokers"]] == ports
            assert [len(one.heard) for one in brokers] == [1, 1, 1]
        asked = [event for event in through.events() if event.kind is Kind.REQUEST]
        places = ["{}:{}".format(*brokers[number].place) for number in (0, 2, 1)]
        assert [event.data["broker"] for event in asked] == places
        for place in places:
            told = [event.kind for event in through.events() if event.data["broker"] == place]
            assert told == [Kind.OPENED, Kind.REQUEST, Kind.RESPONSE, Kind.CLOSED]

    asyncio.run(run())


def test_what_nobody_knows_passes_byte_for_byte_and_is_not_recorded(tmp_path: Path) -> None:
    unknown = [
        request_header(999, 3, 1, "c", True) + os.urandom(300_000),
        encode_request("DescribeConfigs", 4, {}, 2, "c"),
        encode_request("Produce", 9, {"topic_data": [{"partition_data": [{"records": b"x" * 99}]}]}, 3, "c"),
        encode_request("Fetch", 12, {}, 4, "c"),
    ]

    async def play(through: Between, broker: Broker) -> None:
        client = await through.client()
        for payload in unknown:
            assert await client.say(payload) == echo(payload)
        client.writer.write(b"".join(map(frame, unknown)))
        assert [await received(client.reader) for _ in unknown] == [echo(payload) for payload in unknown]
        assert broker.heard == unknown * 2

    events = played(echo, tmp_path, play).events()
    assert [event.kind for event in events] == [Kind.OPENED, Kind.CLOSED]


def test_what_is_said_of_groups_is_recorded_with_its_fields_and_bytes(tmp_path: Path) -> None:
    answers: list[bytes] = []
    body = {"group_id": "g", "generation_id": 3, "member_id": "m", "group_instance_id": "i"}

    async def play(through: Between, broker: Broker) -> None:
        client = await through.client()
        for version in range(5):
            wanted = body if version >= 3 else {**body, "group_instance_id": None}
            if version < 3:
                del wanted["group_instance_id"]
            answers.append(await client.ask("Heartbeat", version, wanted))

    events = played(kafka, tmp_path, play).events()
    exchanges = list(conversations(events))
    assert len(exchanges) == 5
    for version, exchange in enumerate(exchanges):
        asked, answered = exchange.asked, exchange.answered
        assert asked is not None
        assert answered is not None
        assert (asked.group, asked.member, asked.generation, asked.client) == ("g", "m", 3, "c")
        assert (answered.group, answered.client) == ("g", "c")
        assert asked.instance == ("i" if version >= 3 else "")
        assert asked.data["fields"]["group_id"] == "g"
        assert answered.data["fields"]["error_code"] == 0
        assert (asked.data["api"], asked.data["version"]) == ("Heartbeat", version)
        assert asked.at is not None
        assert answered.at is not None
        assert asked.at <= answered.at
    first = exchanges[0]
    assert first.answered is not None
    assert first.answered.data["bytes"] == dialogue.text_of(answers[0])
    assert [event.origin for event in events] == [f"recording.jsonl#{n + 1}" for n in range(len(events))]


def test_frames_that_come_in_pieces_are_recorded_once_whole(tmp_path: Path) -> None:
    whole = frame(encode_request("ListGroups", 4, {}, 5, "c"))

    async def play(through: Between, broker: Broker) -> None:
        client = await through.client()
        for at in range(len(whole)):
            client.writer.write(whole[at : at + 1])
            await client.writer.drain()
            await asyncio.sleep(0)
        await received(client.reader)

    kinds = [event.kind for event in played(kafka, tmp_path, play).events()]
    assert kinds == [Kind.OPENED, Kind.REQUEST, Kind.RESPONSE, Kind.CLOSED]


def test_a_version_that_nobody_can_read_passes_and_is_told(tmp_path: Path) -> None:
    newer = request_header(11, 12, 1, "c", True) + b"news"

    async def play(through: Between, broker: Broker) -> None:
        client = await through.client()
        assert await client.say(newer) == echo(newer)
        assert broker.heard == [newer]

    events = played(echo, tmp_path, play).events()
    told = [event for event in events if event.kind is Kind.UNREAD]
    assert [(event.data["text"], event.data["api"]) for event in told] == [("JoinGroup v12", "JoinGroup")]
    assert "no version 12" in told[0].reason


def test_an_answer_that_nobody_can_read_passes_and_is_told(tmp_path: Path) -> None:
    async def play(through: Between, broker: Broker) -> None:
        client = await through.client()
        for name in ("Heartbeat", "Metadata", "ApiVersions"):
            assert (await client.ask(name, 0, {}))[4:] == b"tea"

    events = played(lambda payload: correlation(payload) + b"tea", tmp_path, play).events()
    assert [event.data["api"] for event in events if event.kind is Kind.UNREAD] == [
        "Heartbeat", "Metadata", "Metadata", "ApiVersions", "ApiVersions",
    ]  # fmt: skip
    assert not [event for event in events if event.kind is Kind.RESPONSE]


def test_a_newer_api_versions_is_answered_as_brokers_do_that_do_not_have_it(tmp_path: Path) -> None:
    newer = request_header(18, 31, 9, "c", True) + b"\x02x\x02y\x00"

    def refusing(payload: bytes) -> bytes:
        key, version = struct.unpack_from(">hh", payload)
        assert (key, version) == (18, 0x7FFF)
        spans = [{"api_key": 18, "min_version": 0, "max_version": 31}]
        return encode_response("ApiVersions", 0, {"error_code": 35, "api_keys": spans}, 9)

    async def play(through: Between, broker: Broker) -> None:
        client = await through.client()
        body = decode_response("ApiVersions", 0, await client.say(newer)).body
        assert body["error_code"] == 35
        assert body["api_keys"] == [{"api_key": 18, "min_version": 0, "max_version": 5}]

    played(refusing, tmp_path, play)


def test_a_refused_api_versions_is_read_as_version_0(tmp_path: Path) -> None:
    def refusing(payload: bytes) -> bytes:
        return encode_response("ApiVersions", 0, {"error_code": 35}, 1)

    async def play(through: Between, broker: Broker) -> None:
        client = await through.client()
        assert (
            decode_response("ApiVersions", 0, await client.ask("ApiVersions", 4, {})).body["error_code"] == 35
        )

    events = played(refusing, tmp_path, play).events()
    assert [event.kind for event in events if event.kind is Kind.RESPONSE]


def test_what_is_no_frame_any_more_passes_as_it_is_and_is_a_gap(tmp_path: Path) -> None:
    async def run() -> None:
        async def server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert await reader.readexactly(13) == b"\xff\xff\xff\xffnonsense!"
            writer.write(b"\xfe\xff\xff\xffanswer")
            writer.close()

        listens = await asyncio.start_server(server, "127.0.0.1", 0)
        broker = Broker(echo, place=listens.sockets[0].getsockname()[:2])
        async with asyncio.timeout(PATIENCE), between(broker, tmp_path) as through:
            client = await through.client()
            client.writer.write(b"\xff\xff\xff\xffnonsense!")
            assert await client.reader.read() == b"\xfe\xff\xff\xffanswer"
        listens.close()
        told = [event for event in through.events() if event.kind is Kind.GAP]
        assert [event.reason.partition(" is no")[0] for event in told] == [
            "what the client sends",
            "what the broker sends",
        ]

    asyncio.run(run())


def test_a_produce_without_acknowledgement_does_not_shift_what_follows(tmp_path: Path) -> None:
    async def play(through: Between, broker: Broker) -> None:
        client = await through.client()
        for number in range(50):
            client.writer.write(frame(encode_request("Produce", 9, {"acks": 0}, 1 + number, "c")))
        await client.say(encode_request("Heartbeat", 4, {"group_id": "g"}, 1000, "c"))
        for _ in range(50):  # with the same numbers
            await client.ask("Heartbeat", 4, {"group_id": "g"})

    events = played(kafka, tmp_path, play).events()
    assert [one.lost for one in conversations(events)] == [""] * 51


def test_a_broker_that_is_lost_ends_the_connection_and_says_why(tmp_path: Path) -> None:
    async def play(through: Between, broker: Broker) -> None:
        def gone(payload: bytes) -> bytes:
            raise ConnectionError

        broker.answer = gone
        client = await through.client()
        client.writer.write(frame(encode_request("Heartbeat", 4, {"group_id": "g"}, 1, "c")))
        assert await client.reader.read() == b""

    events = played(kafka, tmp_path, play).events()
    assert [event.kind for event in events] == [Kind.OPENED, Kind.REQUEST, Kind.CLOSED]
    assert events[-1].reason == "closed by the broker"
    assert [one.lost for one in conversations(events)] == ["the connection was closed before an answer"]


def test_a_broker_that_is_not_there_ends_the_connection_and_says_why(tmp_path: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE):
            async with listening(echo) as broker:
                pass
            async with between(broker, tmp_path) as through:
                client = await through.client()
                assert await client.reader.read() == b""
        assert through.events()[-1].reason == "the broker cannot be reached: connection refused"

    asyncio.run(run())


def test_a_frame_longer_than_is_kept_passes_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialogue, "MOST_KEPT", 1000)

    async def play(through: Between, broker: Broker) -> None:
        client = await through.client()
        await client.ask("JoinGroup", 5, {"group_id": "g", "protocols": [{"metadata": bytes(2000)}]})
        await client.ask("Heartbeat", 4, {"group_id": "g", "member_id": "m"})

    events = played(kafka, tmp_path, play).events()
    assert [event.kind for event in events][1:4] == [Kind.UNREAD, Kind.REQUEST, Kind.RESPONSE]
    assert "more than are recorded" in events[1].reason


def test_addresses_of_a_long_fetch_are_hidden_and_of_a_short_one_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "MOST_HELD", 1000)
    place = {"node_id": 1, "host": "kafka-9", "port": 9092}

    def fetched(payload: bytes) -> bytes:
        request = decode_request(payload)
        records = bytes(request.body["max_wait_ms"])
        topics = [{"partitions": [{"records": records}]}]
        return encode_response(
            "Fetch", 17, {"responses": topics, "node_endpoints": [place]}, request.correlation_id
        )

    async def play(through: Between, broker: Broker) -> None:
        client = await through.client()
        short = decode_response("Fetch", 17, await client.ask("Fetch", 17, {"max_wait_ms": 10})).body
        assert [one["host"] for one in short["node_endpoints"]] == ["127.0.0.1"]
        long = decode_response("Fetch", 17, await client.ask("Fetch", 17, {"max_wait_ms": 2000})).body
        assert long["node_endpoints"] == []
        assert len(long["responses"][0]["partitions"][0]["records"]) == 2000

    played(fetched, tmp_path, play)


def test_an_answer_that_no_cluster_gives_passes_unseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "MOST_REWRITTEN", 1000)
    body = {"brokers": [{"host": "kafka-9", "port": 9092}], "cluster_id": "x" * 2000}

    async def play(through: Between, broker: Broker) -> None:
        client = await through.client()
        assert await client.ask("Metadata", 12, {}) == encode_response("Metadata", 12, body, 1)

    events = played(lambda _: encode_response("Metadata", 12, body, 1), tmp_path, play).events()
    assert "more than are looked at" in next(one.reason for one in events if one.kind is Kind.UNREAD)


def test_more_brokers_than_any_cluster_has_are_not_led_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "MOST_BROKERS", 3)

    def metadata(payload: bytes) -> bytes:
        places = [{"node_id": n, "host": f"kafka-{n}", "port": 9092} for n in range(4)]
        return encode_response("Metadata", 12, {"brokers": places}, decode_request(payload).correlation_id)

    async def play(through: Between, broker: Broker) -> None:
        client = await through.client()
        told = decode_response("Metadata", 12, await client.ask("Metadata", 12, {})).body["brokers"]
        assert [one["host"] for one in told] == [f"kafka-{n}" for n in range(4)]

    events = played(metadata, tmp_path, play).events()
    assert [event.reason for event in events if event.kind is Kind.UNREAD] == [
        "addresses in its answer are as the broker gave them: more than 3 brokers"
    ]


class Wire:
    """A transport that notes what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.said.append("pause")

    def resume_reading(self) -> None:
        self.said.append("resume")


def test_nothing_is_read_while_the_other_end_cannot_take_it() -> None:
    client, broker = (link.End(lambda end: None, lambda data: None) for _ in range(2))
    client.other, broker.other = broker, client
    wires = client.transport, broker.transport = Wire(), Wire()  # type: ignore[assignment]
    broker.pause_writing()
    client.pause_writing()
    broker.resume_writing()
    assert [wire.said for wire in wires] == [["pause", "resume"], ["pause"]]


def test_nulls_that_a_version_does_not_allow_pass_as_they_are(tmp_path: Path) -> None:
    def nulls(payload: bytes) -> bytes:
        request = decode_request(payload)
        return encode_response(
            "SyncGroup", 3, {"assignment": Raw(b"\xff\xff\xff\xff")}, request.correlation_id, odd=True
        )

    async def play(through: Between, broker: Broker) -> None:
        client = await through.client()
        assert (await client.ask("SyncGroup", 3, {"group_id": "g"})).endswith(b"\xff\xff\xff\xff")

    assert Kind.RESPONSE in [event.kind for event in played(nulls, tmp_path, play).events()]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a broker at 127.0.0.1, with its key; it signs itself."""
    path = tmp_path_factory.mktemp("pki") / "broker.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = [
        "-subj",
        "/CN=b",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        path,
        "-out",
        f"{path}.crt",
    ]
    try:
        subprocess.run([*make, *files], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl to make a certificate with")
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


@pytest.mark.parametrize("trusted", [True, False])
def test_brokers_may_speak_tls_and_are_looked_at(tmp_path: Path, certificate: Path, trusted: bool) -> None:
    async def run() -> Between:
        server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        server.load_cert_chain(certificate)
        client = ssl.create_default_context(cafile=str(certificate) if trusted else None)
        async with (
            asyncio.timeout(PATIENCE),
            listening(kafka, server) as broker,
            between(broker, tmp_path, security=Security(client)) as through,
        ):
            plain = await through.client()
            if trusted:
                await plain.ask("Heartbeat", 4, {"group_id": "g"})
            else:
                assert await plain.reader.read() == b""
        return through

    events = asyncio.run(run()).events()
    if trusted:
        assert [one.lost for one in conversations(events)] == [""]
    else:
        assert events[-1].reason == "the broker cannot be reached: its certificate is not trusted"
