"""Answers lead clients back to the proxy in every version, and are the same otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from rota.record.addresses import (
    CLUSTER_VERSIONS,
    Place,
    cluster_codec,
    is_addressing,
    latest,
    rewritten,
    versions_lowered,
)
from rota.record.apis import ADDRESSING, NAMES
from rota.record.dialogue import Asked
from rota.record.hiding import Hider
from rota.wire import WireError, api, decode_response, encode_response, frame

BROKERS = [("kafka-1.example", 9092), ("kafka-2.example", 9093)]

BODIES: dict[str, dict[str, Any]] = {
    "FindCoordinator": {"coordinators": [{"key": "g", "node_id": 1, "host": "kafka-1.example", "port": 9092},
                                         {"key": "h", "node_id": -1, "host": "", "port": -1},
                                         {"node_id": 2, "host": "kafka-2.example", "port": 9093}]},
    "Metadata": {"brokers": [{"node_id": 1, "host": "kafka-1.example", "port": 9092},
                             {"node_id": 2, "host": "kafka-2.example", "port": 9093}]},
    "Produce": {"node_endpoints": [{"node_id": 1, "host": "kafka-1.example", "port": 9092, "rack": "r"},
                                   {"node_id": 2, "host": "kafka-2.example", "port": 9093}]},
    "Fetch": {"node_endpoints": [{"node_id": 1, "host": "kafka-1.example", "port": 9092},
                                 {"node_id": 2, "host": "kafka-2.example", "port": 9093}],
              "responses": [{"partitions": [{"partition_index": 3, "records": b"x" * 200,
                                             "current_leader": {"leader_id": 2, "leader_epoch": 7},
                                             "aborted_transactions": [{"producer_id": 5}]}]}]},
}  # fmt: skip
OLD_COORDINATOR = {"node_id": 1, "host": "kafka-1.example", "port": 9092}


def asked(name: str, version: int) -> Asked:
    key = 60 if name == "DescribeCluster" else api(name).key
    return Asked(key, name, version, 7, recorded=False)


def cases() -> list[tuple[str, int]]:
    return [
        (name, version)
        for name, first in ADDRESSING.items()
        if name != "DescribeCluster"
        for version in range(first, api(name).max_version + 1)
    ]


def answer(name: str, version: int) -> bytes:
    body = OLD_COORDINATOR if name == "FindCoordinator" and version < 4 else BODIES[name]
    return encode_response(name, version, body, 7)


def seen(name: str, version: int, payload: bytes) -> list[Place]:
    """The addresses in an answer, but for those of no broker."""
    body = decode_response(name, version, payload).body
    lists = [body.get(one, []) for one in ("brokers", "coordinators", "node_endpoints")]
    places = [body] if "host" in body else [place for one in lists for place in one]
    return [(place["host"], place["port"]) for place in places if place["host"]]


def led(place: Place) -> Place:
    return "127.0.0.1", 40000 + place[1] % 100


@pytest.mark.parametrize(("name", "version"), cases())
def test_every_version_leads_back_and_is_the_same_otherwise(name: str, version: int) -> None:
    before = answer(name, version)
    assert is_addressing(asked(name, version))
    assert rewritten(asked(name, version), before, lambda place: place) == before
    after = rewritten(asked(name, version), before, led)
    places = seen(name, version, before)
    assert set(places) <= set(BROKERS)
    assert places
    assert seen(name, version, after) == list(map(led, places))


def test_answers_that_cannot_name_addresses_are_left_alone() -> None:
    assert not is_addressing(asked("Fetch", 15))
    assert not is_addressing(asked("Produce", 9))
    assert not is_addressing(asked("JoinGroup", 9))


@pytest.mark.parametrize("version", range(CLUSTER_VERSIONS.last + 1))
def test_describe_cluster_leads_back(version: int) -> None:
    decode, encode = cluster_codec(version)
    out = bytearray(b"\0\0\0\x07\0")
    encode({"cluster_id": "c", "brokers": [{"broker_id": 1, "host": "kafka-1.example", "port": 9092}]}, out)
    before = bytes(out)
    assert rewritten(asked("DescribeCluster", version), before, lambda place: place) == before
    body, _ = decode(rewritten(asked("DescribeCluster", version), before, led), 5)
    assert (body["brokers"][0]["host"], body["brokers"][0]["port"]) == ("127.0.0.1", 40092)
    with pytest.raises(WireError):
        rewritten(asked("DescribeCluster", version), before[:-1], led)


def test_only_versions_that_cannot_be_rewritten_are_lowered_and_nothing_else() -> None:
    keys = [*(one for one in range(93)), 1000]
    spans = [{"api_key": key, "min_version": 0, "max_version": 99} for key in keys]
    body = {"api_keys": spans, "supported_features": [{"name": "f", "min_version": 0, "max_version": 1}]}
    before = encode_response("ApiVersions", 4, body, 7)
    after = decode_response("ApiVersions", 4, versions_lowered(asked("ApiVersions", 4), before)).body
    told = {one["api_key"]: one["max_version"] for one in after["api_keys"]}
    lowered = {key: told.get(key) for key in keys if told.get(key) != 99}
    expected = {api(name).key: api(name).max_version for name in ("Produce", "Fetch", "Metadata")}
    expected |= {10: api("FindCoordinator").max_version, 18: api("ApiVersions").max_version, 60: 2}
    assert lowered == {**expected, 78: None, 79: None}
    assert [NAMES[key] for key, most in lowered.items() if most is None] == ["ShareFetch", "ShareAcknowledge"]
    assert after["supported_features"][0]["name"] == "f"


def test_versions_that_can_be_rewritten_are_the_very_same_bytes() -> None:
    spans = [
        {"api_key": 3, "min_version": 0, "max_version": 13},
        {"api_key": 11, "min_version": 0, "max_version": 99},
    ]
    before = encode_response("ApiVersions", 3, {"api_keys": spans}, 7)
    assert versions_lowered(asked("ApiVersions", 3), before) is before
    assert latest(11) is None


def test_a_version_of_which_nothing_is_left_is_not_named() -> None:
    before = encode_response(
        "ApiVersions", 0, {"api_keys": [{"api_key": 1, "min_version": 30, "max_version": 40}]}, 7
    )
    assert (
        decode_response("ApiVersions", 0, versions_lowered(asked("ApiVersions", 0), before)).body["api_keys"]
        == []
    )


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(("name", "version"), [case for case in cases() if case[0] in ("Fetch", "Produce")])
def test_in_a_long_answer_addresses_are_hidden_as_it_passes(name: str, version: int, size: int) -> None:
    before = frame(answer(name, version))
    hider = Hider(name, version)
    after = b"".join(hider.passed(before[at : at + size]) for at in range(0, len(before), size))
    assert len(after) == len(before)
    body = decode_response(name, version, after[4:]).body
    assert body["node_endpoints"] == []
    assert list(body.pop("_tags")) == [127]
    assert (
        body
        == decode_response(
            name, version, encode_response(name, version, {**BODIES[name], "node_endpoints": []}, 7)
        ).body
    )


@pytest.mark.parametrize("size", [1, 1000])
def test_a_long_answer_without_addresses_is_the_same(size: int) -> None:
    before = frame(encode_response("Fetch", 17, {**BODIES["Fetch"], "node_endpoints": []}, 7))
    hider = Hider("Fetch", 17)
    assert b"".join(hider.passed(before[at : at + size]) for at in range(0, len(before), size)) == before
