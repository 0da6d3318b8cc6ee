"""What must not be written is not: planted secrets are looked for in all that a recording leaves.

Authentication and payloads never are, redacted or not; with redaction nothing that names anybody is.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from harness.scripted_broker import Between, Client, between, listening
from rota.history import Event, Kind
from rota.record import apis, dialogue, redaction
from rota.record.redaction import Redactor
from rota.wire import WireError, api, decode_request, decode_response, encode_response, request_header

AUTHENTICATION = ("hunter2", "scram-proof", "token-of-alice", "alice-logs-in")
PAYLOAD = ("credit-card-number", "key-of-a-record", "fetched-content")
NAMES = (
    "payments-group",
    "client-of-acme",
    "member-of-acme",
    "instance-of-acme",
    "topic-of-acme",
    "userdata-of-acme",
    "plan-of-acme",
    "kafka.acme.example",
    "rack-of-acme",
    "cluster-of-acme",
    "reason-of-acme",
    "note-of-acme",
    "tag-of-acme",
    "state-of-acme",
    "assignor-of-acme",
    "library-of-acme",
    "error-of-acme",
    "transaction-of-acme",
)
TOPIC_ID = UUID("deadbeef-0000-4000-8000-00000acebead")

ASSIGNMENT = {"member_id": "member-of-acme", "assignment": b"plan-of-acme topic-of-acme"}
PARTITION = {
    "partition_index": 3,
    "committed_offset": 5,
    "committed_metadata": "note-of-acme",
    "metadata": "note-of-acme",
}
TOPIC = {"name": "topic-of-acme", "topic": "topic-of-acme", "topic_id": TOPIC_ID, "partitions": [PARTITION]}
MEMBER = {
    "member_id": "member-of-acme",
    "group_instance_id": "instance-of-acme",
    "metadata": b"userdata-of-acme",
    "client_id": "client-of-acme",
    "client_host": "/kafka.acme.example",
    "member_metadata": b"userdata-of-acme",
    "member_assignment": b"plan-of-acme",
    "reason": "reason-of-acme",
}
GROUP = {
    "group_id": "payments-group",
    "group_state": "state-of-acme",
    "protocol_type": "consumer",
    "members": [MEMBER],
    "protocol_data": "assignor-of-acme",
    "topics": [TOPIC],
    "error_message": "error-of-acme",
}
PLACE = {"node_id": 1, "broker_id": 1, "host": "kafka.acme.example", "port": 9092, "rack": "rack-of-acme"}

EVERYTHING: dict[str, Any] = {
    "group_id": "payments-group",
    "member_id": "member-of-acme",
    "group_instance_id": "instance-of-acme",
    "protocol_type": "consumer",
    "protocol_name": "assignor-of-acme",
    "reason": "reason-of-acme",
    "protocols": [{"name": "assignor-of-acme", "metadata": b"userdata-of-acme"}],
    "members": [MEMBER],
    "assignments": [ASSIGNMENT],
    "assignment": b"plan-of-acme",
    "leader": "member-of-acme",
    "topics": [TOPIC],
    "transactional_id": "transaction-of-acme",
    "groups_names": ["payments-group"],
    "key": "payments-group",
    "coordinator_keys": ["payments-group"],
    "coordinators": [PLACE | {"key": "payments-group", "error_message": "error-of-acme"}],
    "brokers": [PLACE],
    "cluster_id": "cluster-of-acme",
    "client_software_name": "library-of-acme",
    "client_software_version": "library-of-acme",
    "states_filter": ["state-of-acme"],
    "error_message": "error-of-acme",
    "results": [{"group_id": "payments-group"}],
    "host": "kafka.acme.example",
    "port": 9092,
    "_tags": {99: b"tag-of-acme"},
    # What has payload or authentication:
    "topic_data": [
        {"name": "topic-of-acme", "partition_data": [{"records": b"key-of-a-record credit-card-number"}]}
    ],
    "responses": [{"topic": "topic-of-acme", "partitions": [{"records": b"fetched-content"}]}],
    "mechanism": "PLAIN",
    "auth_bytes": b"\0alice-logs-in\0hunter2",
}
"""A value for every field that names something, whatever message it is in."""


def body_of(fields: Any, version: int, values: Any = EVERYTHING, top: bool = True) -> dict[str, Any]:
    """As much of everything as a message has, in this version; arrays of plain values too."""
    body = {}
    for field in fields:
        if version not in field.versions or field.name not in values:
            continue
        value = values[field.name]
        if field.fields:
            parts = value if isinstance(value, list) else [value]
            parts = [
                body_of(field.fields, version, EVERYTHING | one, False)
                for one in parts
                if isinstance(one, dict)
            ]
            value = parts or [body_of(field.fields, version, EVERYTHING, False)]
        elif field.array:
            value = [one for one in value if isinstance(one, str)]
            value = value or (["payments-group"] if field.type == "string" else [3])
        body[field.name] = value
    return body


def with_tags(body: dict[str, Any], name: str, version: int) -> dict[str, Any]:
    return body | {"_tags": EVERYTHING["_tags"]} if version in api(name).flexible else body


def answer(payload: bytes) -> bytes:
    """A broker's that says all that it knows; to authentications beside Kafka's protocol too."""
    if payload.startswith((b"\0alice", b"n,,")):
        return b"scram-proof of alice-logs-in"
    if payload[:2] == b"\x00\x11":
        return payload[4:8] + b"\0\0\0\0\0\0"
    request = decode_request(payload)
    found, version = request.api, request.version
    body = with_tags(body_of(found.response, version), found.name, version)
    return encode_response(found.name, version, body, request.correlation_id, odd=True)


async def talk(client: Client) -> None:
    """Everything that the codec has, in its newest and oldest version."""
    await client.say(request_header(17, 0, 900, "client-of-acme", False) + b"\0\x05PLAIN")
    await client.say(b"\0alice-logs-in\0hunter2")
    await client.say(request_header(17, 0, 901, "client-of-acme", False) + b"\0\x0bSCRAM-SHA-1")
    await client.say(b"n,,n=alice-logs-in,hunter2,r=token-of-alice")
    for name in sorted(
        apis.RECORDED | {"Produce", "Fetch", "SaslHandshake", "SaslAuthenticate", "DescribeConfigs"}
    ):
        for version in {api(name).min_version, 3, api(name).max_version}:
            if version <= api(name).max_version:
                body = with_tags(body_of(api(name).request, version), name, version)
                await client.ask(name, version, body, client="client-of-acme")


def recorded(folder: Path, redactor: Redactor | None) -> Between:
    async def run() -> Between:
        async with (
            asyncio.timeout(30),
            listening(answer) as broker,
            between(broker, folder, redactor) as through,
        ):
            await talk(await through.client())
        return through

    return asyncio.run(run())


def found(data: bytes, secrets: tuple[str, ...]) -> set[str]:
    """Secrets in a file: as they are, in base64 at any place in it, in hexadecimal digits, and escaped."""
    texts = [data, *unpacked(data)]
    return {secret for secret in secrets if any(form in text for form in forms(secret) for text in texts)}


def forms(secret: str) -> Iterator[bytes]:
    plain = secret.encode()
    yield from (plain, plain.hex().encode(), plain.hex().upper().encode())
    for shift in range(3):
        yield b64encode(bytes(shift) + plain)[4 if shift else 0 : -4]


def unpacked(data: bytes) -> Iterator[bytes]:
    """What stands in base64 in the lines."""

    def values(value: Any) -> Iterator[bytes]:
        if isinstance(value, dict):
            for name, one in value.items():
                if name in ("base64", "bytes") and isinstance(one, str):
                    yield b64decode(one)
                yield from values(one)
        elif isinstance(value, list):
            for one in value:
                yield from values(one)

    for line in data.splitlines():
        yield from values(json.loads(line))


@pytest.mark.parametrize("redacted", [False, True])
def test_authentication_and_payloads_are_never_written(tmp_path: Path, redacted: bool) -> None:
    through = recorded(tmp_path, Redactor() if redacted else None)
    data = through.path.read_bytes()
    assert found(data, AUTHENTICATION + PAYLOAD) == set()
    assert {event.data["api"] for event in through.events() if "api" in event.data} == apis.RECORDED


def test_without_redaction_all_names_are_there(tmp_path: Path) -> None:
    """So that looking for them means something."""
    assert found(recorded(tmp_path, None).path.read_bytes(), NAMES) == set(NAMES)


def test_with_redaction_nothing_that_names_anybody_is_written(tmp_path: Path) -> None:
    through = recorded(tmp_path, Redactor())
    data = through.path.read_bytes()
    assert found(data, NAMES) == set()
    assert str(TOPIC_ID).encode() not in data
    assert not any(TOPIC_ID.bytes in one for one in unpacked(data))
    assert b"127.0.0.1" not in data
    assert not [event for event in through.events() if event.kind is Kind.UNREAD]


def test_redacted_frames_are_frames_with_the_fields_that_are_told(tmp_path: Path) -> None:
    read = 0
    for event in recorded(tmp_path, Redactor()).events():
        if event.kind in (Kind.REQUEST, Kind.RESPONSE):
            payload = b64decode(event.data["bytes"])
            assert dialogue.plain(redecoded(event, payload)) == event.data["fields"]
            read += 1
    assert read > 60


def redecoded(event: Event, payload: bytes) -> dict[str, Any]:
    if event.kind is Kind.REQUEST:
        request = decode_request(payload)
        assert (request.client_id, request.correlation_id) == (event.client, event.data["correlation"])
        return request.body
    try:
        return decode_response(event.data["api"], event.data["version"], payload).body
    except WireError:
        return decode_response(event.data["api"], 0, payload).body


def test_equal_stays_equal_and_different_stays_different() -> None:
    redactor = Redactor()
    body = {
        "a": "g",
        "b": [{"c": "g"}, {"c": "h"}],
        "d": b"x",
        "e": b"x",
        "f": b"y",
        "n": None,
        "z": "",
        "i": 7,
    }
    told = redactor.body(body)
    assert told["a"] == told["b"][0]["c"] != told["b"][1]["c"]
    assert told["d"] == told["e"] != told["f"]
    assert (told["n"], told["z"], told["i"]) == (None, "", 7)
    assert redactor.body(body) == told
    assert Redactor().body(body)["a"] != told["a"], "each recording has a salt of its own"
    assert redactor.text("range") == "range"
    assert redactor.body({"t": UUID(int=0)}) == {"t": UUID(int=0)}


@pytest.mark.parametrize("planted", ["Produce", "SaslAuthenticate"])
def test_a_recorder_that_records_too_much_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    monkeypatch.setattr(dialogue, "RECORDED", apis.RECORDED | {planted})
    assert found(recorded(tmp_path, None).path.read_bytes(), AUTHENTICATION + PAYLOAD)


@pytest.mark.parametrize("planted", ["client", "bytes", "uuid", "tags", "allowed"])
def test_a_redactor_that_forgets_something_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    class Forgetful(Redactor):
        def text(self, text: str) -> str:
            return text if planted == "client" and text.startswith("client") else super().text(text)

        def data(self, data: bytes) -> bytes:
            return data if planted == "bytes" else super().data(data)

        def _value(self, value: Any) -> Any:
            return value if planted == "uuid" and isinstance(value, UUID) else super()._value(value)

        def body(self, body: dict[str, Any]) -> dict[str, Any]:
            told = super().body(body)
            return told | {"_tags": body["_tags"]} if planted == "tags" and "_tags" in body else told

    if planted == "allowed":
        monkeypatch.setattr(redaction, "PUBLIC", redaction.PUBLIC | {"reason-of-acme"})
    data = recorded(tmp_path, Forgetful()).path.read_bytes()
    assert found(data, NAMES) or any(TOPIC_ID.bytes in one for one in unpacked(data))
