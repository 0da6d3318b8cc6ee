"""Kafka's messages as bytes, both directions: schema tables as data, compiled once per message and version.

Bodies are plain dicts with Kafka's field names in snake_case. The codec is meant for a conformance kit: it
has all versions that ever were (`advertised` has those that a broker names), keeps tagged fields that it does
not know (under "_tags", by tag), takes error codes as plain numbers, writes odd values on purpose (`odd=True`
and `Raw`), and answers any bytes with a body or a WireError. Record batches are in `rota.wire.records`, the
embedded consumer protocol in `rota.wire.consumer`.
"""

from rota.wire.codec import (
    Request,
    Response,
    decode_request,
    decode_request_in_slices,
    decode_response,
    encode_request,
    encode_response,
    encode_response_in_pieces,
    encode_response_in_slices,
    frame,
    frame_reply,
    request_header,
)
from rota.wire.errors import UnsupportedVersion, WireError
from rota.wire.pieces import Bytes, Pieces
from rota.wire.runtime import Raw
from rota.wire.schema import Api, advertised, all_apis, api, membership_apis

__all__ = [
    "Api",
    "Bytes",
    "Pieces",
    "Raw",
    "Request",
    "Response",
    "UnsupportedVersion",
    "WireError",
    "advertised",
    "all_apis",
    "api",
    "decode_request",
    "decode_request_in_slices",
    "decode_response",
    "encode_request",
    "encode_response",
    "encode_response_in_pieces",
    "encode_response_in_slices",
    "frame",
    "frame_reply",
    "membership_apis",
    "request_header",
]
