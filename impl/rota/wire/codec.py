"""Requests and responses as bytes: headers by hand, bodies by the compiled programs."""

from __future__ import annotations

import struct
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from rota.wire.decoder import Decode, SlicedDecode, decoder, sliced_decoder
from rota.wire.encoder import (
    Encode,
    ObjectEncode,
    SlicedEncode,
    encoder,
    object_encoder,
    sliced_encoder,
)
from rota.wire.errors import UnsupportedVersion, WireError
from rota.wire.explain import objections
from rota.wire.pieces import Bytes, Cut
from rota.wire.runtime import FAILURES, plain_tags, read_tags, reading_failure, write_tags
from rota.wire.schema import Api, Field, api

_REQUEST_HEADER = struct.Struct(">hhi")
_LENGTH = struct.Struct(">i")
_REPLY_HEAD = struct.Struct(">ii")
_SHORT = struct.Struct(">h")
_NO_TAGS: Mapping[int, bytes] = {}
_RequestHeader = tuple["_Reading", int, int, str | None, Mapping[int, bytes], int]


class Request(NamedTuple):
    """A request as read. `header_tags` are the tagged fields of its header, none of which is known."""

    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    body: dict[str, Any]
    header_tags: Mapping[int, bytes] = _NO_TAGS


@dataclass(frozen=True)
class Response:
    """A response as read."""

    correlation_id: int
    body: dict[str, Any]
    header_tags: Mapping[int, bytes] = field(default_factory=dict)


def frame(payload: bytes) -> bytes:
    """The payload with its length in front, as it travels over TCP."""
    return _LENGTH.pack(len(payload)) + payload


def request_header(
    api_key: int,
    version: int,
    correlation_id: int,
    client_id: str | bytes | None,
    flexible: bool,
    tags: Mapping[int, bytes] = _NO_TAGS,
) -> bytes:
    """A request header (version 2 if flexible, else 1) for any API number and version, known or not.

    A client id in bytes need not be UTF-8.
    """
    return bytes(_request_header(api_key, version, correlation_id, client_id, flexible, tags))


def encode_request(
    name: str,
    version: int,
    body: Mapping[str, Any],
    correlation_id: int,
    client_id: str | bytes | None,
    header_tags: Mapping[int, bytes] = _NO_TAGS,
    odd: bool = False,
) -> bytes:
    """Header and body of a request, without the length in front.

    Fields that the body lacks take the schema's default; fields that only other versions have are left out.

    `odd` is for tests of how others take it: a version that the API does not have (with the fields of
    the nearest one that it has), null where a string, bytes or an array is due, bytes for a string or for the
    client id, and `Raw` in place of any value, `_tags` included.

    Errors: UnsupportedVersion; WireError naming the field whose value cannot be carried, or an unknown field.
    """
    how = _writing(api(name), version, "request", odd)
    if isinstance(client_id, bytes) and not odd:
        raise WireError(f"{how.label} header: client_id: bytes take odd=True")
    try:
        out = _request_header(
            how.api.key, version, correlation_id, client_id, how.flexible_header, header_tags
        )
    except FAILURES as error:
        raise WireError(f"{how.label} header: {error}") from None
    return _write(how, body, out)


def encode_response(
    name: str,
    version: int,
    body: Mapping[str, Any],
    correlation_id: int,
    header_tags: Mapping[int, bytes] = _NO_TAGS,
    odd: bool = False,
) -> bytes:
    """Header and body of a response, without the length in front. `odd` and errors: as `encode_request`."""
    how = _writing(api(name), version, "response", odd)
    return _write(how, body, _response_header(how, correlation_id, header_tags))


def frame_reply(out: bytearray, name: str, version: int, reply: Any, correlation_id: int) -> None:
    """Appends a whole frame: as of `encode_response`, of an object with attributes named as the fields are.

    See `object_encoder`. After an error nothing is appended.
    """
    label, flexible_header, encode = _telling(name, version, reply.__class__)
    begin = len(out)
    out += _REPLY_HEAD.pack(0, correlation_id)
    if flexible_header:
        out.append(0)
    try:
        encode(reply, out)
    except FAILURES as error:
        del out[begin:]
        raise WireError(f"{label}: {error}") from None
    _LENGTH.pack_into(out, begin, len(out) - begin - _LENGTH.size)


def encode_response_in_slices(
    name: str, version: int, body: Mapping[str, Any], correlation_id: int
) -> Generator[None, None, bytearray]:
    """As `encode_response`, of a long body, by a generator that yields often."""
    how = _writing(api(name), version, "response", False)
    out = _response_header(how, correlation_id, _NO_TAGS)
    try:
        yield from _slicing_out(how.api, version)(body, out)
    except FAILURES as error:
        reason = next(objections(how.fields, how.version, body), str(error))
        raise WireError(f"{how.label}: {reason}") from None
    return out


def encode_response_in_pieces(
    name: str, version: int, body: Mapping[str, Any], correlation_id: int
) -> list[Bytes]:
    """As `encode_response`, of a body whose bytes may be `Pieces`, which are not copied."""
    how = _writing(api(name), version, "response", False)
    out = Cut(_response_header(how, correlation_id, _NO_TAGS))
    _encode(how, body, out)
    return out.taken()


def decode_request(payload: bytes, trailing: bool = False) -> Request:
    """The request in a frame's payload; bytes behind it are ignored if `trailing`, else an error.

    Errors: UnsupportedVersion, with the correlation id, for an API or version that the tables do not have;
    WireError for anything else that is not exactly one request.
    """
    data = bytes(payload)
    how, version, correlation_id, client_id, tags, pos = _read_request_header(data)
    return Request(how.api, version, correlation_id, client_id, _read(how, data, pos, trailing), tags)


def decode_request_in_slices(payload: memoryview, most: int) -> Generator[None, None, Request]:
    """The request in a long frame's payload, in steps; bytes behind it are ignored.

    It keeps nothing of the frame but views of the fields `decoder.VIEWED`. Errors: as for `decode_request`;
    WireError too for more than `most` elements of arrays and tagged fields in all.
    """
    how, version, correlation_id, client_id, tags, pos = _read_request_header(payload)
    decode = _slicing(how.api, version)
    try:
        body, _ = yield from decode(payload, pos, most)
    except FAILURES as error:
        raise WireError(f"{how.label}: {reading_failure(error)}") from None
    return Request(how.api, version, correlation_id, client_id, body, tags)


def decode_response(name: str, version: int, payload: bytes) -> Response:
    """The response in a frame's payload, read as one to that request. Errors: as for `decode_request`."""
    data = bytes(payload)
    how = _reading(api(name), version, "response")
    tags, pos = _NO_TAGS, _LENGTH.size
    try:
        (correlation_id,) = _LENGTH.unpack_from(data)
        if how.flexible_header:
            tags, pos = _read_header_tags(data, pos)
    except FAILURES as error:
        raise WireError(f"{how.label} header: {reading_failure(error)}") from None
    return Response(correlation_id, _read(how, data, pos), tags)


def _request_header(
    api_key: int,
    version: int,
    correlation_id: int,
    client_id: str | bytes | None,
    flexible: bool,
    tags: Mapping[int, bytes],
) -> bytearray:
    out = bytearray(_REQUEST_HEADER.pack(api_key, version, correlation_id))
    name = client_id.encode() if isinstance(client_id, str) else client_id
    if name is None:
        out += _SHORT.pack(-1)
    else:
        out += _SHORT.pack(len(name))
        out += name
    if flexible:
        write_tags(out, tags)
    return out


def _read_request_header(data: bytes | memoryview) -> _RequestHeader:
    """How to read a request, what its header says, where its body begins. Errors: as of `decode_request`."""
    if len(data) < _REQUEST_HEADER.size:
        raise WireError(f"request header: {len(data)} bytes are too few")
    key, version, correlation_id = _REQUEST_HEADER.unpack_from(data)
    try:
        how = _reading_request(key, version)
    except WireError as error:
        raise UnsupportedVersion(str(error), key, version, correlation_id) from None
    tags = _NO_TAGS
    try:
        client_id, pos = _read_client_id(data, _REQUEST_HEADER.size)
        if how.flexible_header:
            tags, pos = _read_header_tags(data, pos)
    except FAILURES as error:
        raise WireError(f"{how.label} header: {reading_failure(error)}") from None
    return how, version, correlation_id, client_id, tags, pos


def _read_client_id(data: bytes | memoryview, pos: int) -> tuple[str | None, int]:
    """The client id has its old form, a two-byte length, in every header version."""
    (length,) = _SHORT.unpack_from(data, pos)
    pos += _SHORT.size
    if length < 0:
        return None, pos
    if length > len(data) - pos:
        raise WireError(f"client id: {length} bytes announced, {len(data) - pos} left")
    return str(data[pos : pos + length], "utf-8"), pos + length


def _read_header_tags(data: bytes | memoryview, pos: int) -> tuple[Mapping[int, bytes], int]:
    if data[pos] == 0:
        return _NO_TAGS, pos + 1
    spans, pos = read_tags(data, pos, len(data))
    return plain_tags(data, spans), pos


def _response_header(how: _Writing, correlation_id: int, tags: Mapping[int, bytes]) -> bytearray:
    try:
        out = bytearray(_LENGTH.pack(correlation_id))
        if how.flexible_header and tags:
            write_tags(out, tags)
        elif how.flexible_header:
            out.append(0)
    except FAILURES as error:
        raise WireError(f"{how.label} header: {error}") from None
    return out


def _write(how: _Writing, body: Mapping[str, Any], out: bytearray) -> bytes:
    _encode(how, body, out)
    return bytes(out)


def _encode(how: _Writing, body: Mapping[str, Any], out: bytearray) -> None:
    try:
        how.encode(body, out)
    except FAILURES as error:
        reason = next(objections(how.fields, how.version, body, odd=how.odd), str(error))
        raise WireError(f"{how.label}: {reason}") from None


def _read(how: _Reading, data: bytes, pos: int, trailing: bool = False) -> dict[str, Any]:
    try:
        body, end = how.decode(data, pos)
    except FAILURES as error:
        raise WireError(f"{how.label}: {reading_failure(error)}") from None
    if end != len(data) and not trailing:
        raise WireError(f"{how.label}: {len(data) - end} bytes are left over")
    return body


@dataclass(frozen=True, slots=True)
class _Writing:
    """How a message is written; `version` is that of its fields, and `label` what errors call it."""

    api: Api
    version: int
    fields: tuple[Field, ...]
    label: str
    flexible_header: bool
    odd: bool
    encode: Encode


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a message is read."""

    api: Api
    label: str
    flexible_header: bool
    decode: Decode


@cache
def _writing(found: Api, version: int, kind: str, odd: bool) -> _Writing:
    """Errors: UnsupportedVersion, unless odd."""
    if not odd:
        _require(found, version)
    known = min(max(version, found.min_version), found.max_version)
    fields, label = _fields(found, kind), f"{found.name} v{version} {kind}"
    encode = encoder(fields, known, known in found.flexible, label, odd)
    return _Writing(found, known, fields, label, _flexible_header(found, version, kind), odd, encode)


@cache
def _reading(found: Api, version: int, kind: str) -> _Reading:
    """Errors: UnsupportedVersion."""
    _require(found, version)
    label = f"{found.name} v{version} {kind}"
    decode = decoder(_fields(found, kind), version, version in found.flexible, label)
    return _Reading(found, label, _flexible_header(found, version, kind), decode)


@cache
def _reading_request(key: int, version: int) -> _Reading:
    """The same of a request, by its number. Errors: WireError."""
    return _reading(api(key), version, "request")


@cache
def _telling(name: str, version: int, kind: type) -> tuple[str, bool, ObjectEncode]:
    """What errors call the response, whether its header is flexible, and what writes it.

    Errors: UnsupportedVersion; WireError.
    """
    found = api(name)
    _require(found, version)
    label = f"{name} v{version} response"
    encode = object_encoder(found.response, version, version in found.flexible, label, kind)
    return label, _flexible_header(found, version, "response"), encode


@cache
def _slicing(found: Api, version: int) -> SlicedDecode:
    return sliced_decoder(
        found.request, version, version in found.flexible, f"{found.name} v{version} request"
    )


@cache
def _slicing_out(found: Api, version: int) -> SlicedEncode:
    return sliced_encoder(
        found.response, version, version in found.flexible, f"{found.name} v{version} response"
    )


def _require(found: Api, version: int) -> None:
    if version not in found.versions:
        known = f"{found.min_version} to {found.max_version}"
        raise UnsupportedVersion(f"{found.name}: no version {version}; there are {known}", found.key, version)


def _flexible_header(found: Api, version: int, kind: str) -> bool:
    """Whether the header has tagged fields (request header 2, response header 1).

    A response to ApiVersions never has: its reader may be older (KIP-511).
    """
    return version in found.flexible and (kind == "request" or found.name != "ApiVersions")


def _fields(found: Api, kind: str) -> tuple[Field, ...]:
    return found.request if kind == "request" else found.response
