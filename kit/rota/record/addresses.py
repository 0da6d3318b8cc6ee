"""Answers that tell clients where to go, changed so that they come back to the proxy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from rota.record.apis import ADDRESSING, DESCRIBE_CLUSTER, HIDDEN
from rota.record.dialogue import Asked, answer_of
from rota.wire import WireError, api, decode_response, encode_response
from rota.wire.decoder import Decode, decoder
from rota.wire.encoder import Encode, encoder
from rota.wire.runtime import FAILURES
from rota.wire.schema import Versions, parse_fields

Place = tuple[str, int]
Elsewhere = Callable[[Place], Place]
"""Where clients are to go in place of a broker's own host and port."""

CLUSTER_VERSIONS = Versions(0, 2)
_CLUSTER = parse_fields("""\
throttle_time_ms               int32
error_code                     int16
error_message                  string  null 0+
endpoint_type                  int8    1+  = 1
cluster_id                     string
controller_id                  int32  = -1
brokers                        []
  broker_id                    int32
  host                         string
  port                         int32
  rack                         string  null 0+
  is_fenced                    bool    2+
cluster_authorized_operations  int32  = -2147483648
""".splitlines())  # fmt: skip
"""The answer to DescribeCluster, which rota's broker does not have."""


def is_addressing(asked: Asked) -> bool:
    """Whether an answer may name addresses, in a version that can be read."""
    return asked.name in ADDRESSING and asked.version >= ADDRESSING[asked.name]


def rewritten(asked: Asked, payload: bytes, elsewhere: Elsewhere) -> bytes:
    """The answer with other addresses; the very same bytes where it names none. Errors: WireError."""
    if asked.key == DESCRIBE_CLUSTER:
        return _cluster_rewritten(asked.version, payload, elsewhere)
    body, tags = _read(asked, payload)
    if not _redirect(body, elsewhere):
        return payload
    return encode_response(asked.name, asked.version, body, asked.correlation, tags, odd=True)


def versions_lowered(asked: Asked, payload: bytes) -> bytes:
    """An answer to ApiVersions without versions whose addresses cannot be rewritten. Errors: WireError."""
    body = answer_of(asked, payload)
    spans = list(_lowered(body["api_keys"]))
    if spans == body["api_keys"]:
        return payload
    version = 0 if body["error_code"] else asked.version
    return encode_response(asked.name, version, body | {"api_keys": spans}, asked.correlation, odd=True)


def latest(key: int) -> int | None:
    """The latest version of an API whose addresses can be rewritten; -1 for none, None where it has none."""
    if key in HIDDEN:
        return -1
    if key == DESCRIBE_CLUSTER:
        return CLUSTER_VERSIONS.last
    return _latest_by_key().get(key)


@cache
def _latest_by_key() -> dict[int, int]:
    # ApiVersions too, for what cannot be read cannot be lowered.
    names = [name for name in (*ADDRESSING, "ApiVersions") if name != "DescribeCluster"]
    return {found.key: found.max_version for found in map(api, names)}


def _lowered(spans: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for span in spans:
        most = latest(span["api_key"])
        if most is None or span["max_version"] <= most:
            yield span
        elif span["min_version"] <= most:
            yield span | {"max_version": most}


def _read(asked: Asked, payload: bytes) -> tuple[dict[str, Any], Mapping[int, bytes]]:
    """The body of an answer, and what is tagged in its header. Errors: WireError."""
    try:
        response = decode_response(asked.name, asked.version, payload)
    except WireError:
        return answer_of(asked, payload), {}  # which reads nulls too that a version does not allow
    return response.body, response.header_tags


def _redirect(body: dict[str, Any], elsewhere: Elsewhere) -> bool:
    """Change the addresses in a body; whether there are any."""
    found = False
    for place in _places(body):
        host, port = place["host"], place["port"]
        if host and port > 0:  # else there is no such broker, as with an error
            place["host"], place["port"] = elsewhere((host, port))
            found = True
    return found


def _places(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "host" in body:
        yield body
    for name in ("brokers", "coordinators", "node_endpoints"):
        yield from body.get(name) or ()


def _cluster_rewritten(version: int, payload: bytes, elsewhere: Elsewhere) -> bytes:
    if version not in CLUSTER_VERSIONS:
        raise WireError(f"DescribeCluster: no version {version}; there are 0 to {CLUSTER_VERSIONS.last}")
    decode, encode = cluster_codec(version)
    try:
        if payload[4]:
            raise WireError("DescribeCluster: tagged fields in the header")
        body, end = decode(payload, 5)
        if end != len(payload):
            raise WireError(f"DescribeCluster: {len(payload) - end} bytes are left over")
        if not _redirect(body, elsewhere):
            return payload
        out = bytearray(payload[:5])
        encode(body, out)
    except FAILURES as error:
        raise WireError(str(error)) from None
    return bytes(out)


@cache
def cluster_codec(version: int) -> tuple[Decode, Encode]:
    """What reads and what writes the body of an answer to DescribeCluster."""
    label = f"DescribeCluster v{version} response"
    return decoder(_CLUSTER, version, True, label), encoder(_CLUSTER, version, True, label, True)
