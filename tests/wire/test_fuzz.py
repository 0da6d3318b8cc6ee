"""Round trips of drawn bodies; arbitrary and damaged bytes give a body or a WireError, and little memory."""

import random
import tracemalloc
from contextlib import suppress
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.wire import (
    WireError,
    all_apis,
    api,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    request_header,
)

KINDS = [
    (item.name, version, kind)
    for item in all_apis()
    for version in range(item.min_version, item.max_version + 1)
    for kind in ("request", "response")
]
MESSAGES = st.sampled_from(KINDS)


@st.composite
def messages(draw, bodies):
    name, version, kind = draw(MESSAGES)
    found = api(name)
    body = draw(bodies(getattr(found, kind), version, version in found.flexible))
    number = draw(st.integers(-(2**31), 2**31 - 1))
    client = draw(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
    if kind == "request":
        return name, version, kind, body, encode_request(name, version, body, number, client)
    return name, version, kind, body, encode_response(name, version, body, number)


def decode(name, version, kind, payload, trailing=False):
    if kind == "request":
        return decode_request(payload, trailing)
    return decode_response(name, version, payload)


def encode(name, version, kind, body):
    if kind == "request":
        return encode_request(name, version, body, 1, None)
    return encode_response(name, version, body, 1)


def is_read_or_refused(name, version, kind, payload):
    """Any bytes give a body, which can be written and is read again as the same, or one WireError."""
    try:
        read = decode(name, version, kind, payload)
    except WireError:
        return False
    if kind == "request":  # damage may have made another one of it
        name, version = read.api.name, read.version
    assert decode(name, version, kind, encode(name, version, kind, read.body)).body == read.body
    return True


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_what_was_written_is_read(bodies, data):
    *where, body, payload = data.draw(messages(bodies))
    assert decode(*where, payload).body == body


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_messages_are_read_or_refused(bodies, data):
    *where, _, payload = data.draw(messages(bodies))
    damaged = bytearray(payload)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged)))
        cut = data.draw(st.integers(0, 3))
        damaged[at : at + cut] = data.draw(st.sampled_from((b"", b"\xff", b"\x00\x80", b"\xff\xff\xff\x7f")))
    is_read_or_refused(*where, bytes(damaged))


def full(fields, version):
    """A body in which no array is empty, nothing is null and no tagged field has its default."""
    plain = {"string": "text", "bytes": b"bytes", "uuid": UUID(int=5), "bool": True}
    body = {}
    for field in fields:
        if version in field.versions:
            value = full(field.fields, version) if field.fields else plain.get(field.type, 1)
            body[field.name] = [value, value] if field.array else value
    return body


def damaged(payload, rng):
    """The payload with a few bytes replaced, doubled or gone; the header mostly stays."""
    out = bytearray(payload)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(min(rng.choice((0, 8)), len(out)), len(out) + 1)
        out[at : at + rng.randrange(3)] = rng.choice((b"", b"\x00", b"\xff", b"\x80\x01", rng.randbytes(2)))
    return bytes(out)


def test_every_message_survives_any_bytes():
    """Each API, version and direction: damaged messages and noise behind the header; the seed is fixed."""
    rng = random.Random(4)
    read = refused = 0
    for name, version, kind in KINDS:
        found = api(name)
        whole = [encode(name, version, kind, body) for body in ({}, full(getattr(found, kind), version))]
        head = encode(name, version, kind, {})[:4]
        if kind == "request":
            head = request_header(found.key, version, 1, None, version in found.flexible)
        noise = [head + rng.randbytes(rng.randrange(60)) for _ in range(10)]
        for payload in [damaged(each, rng) for each in whole for _ in range(15)] + noise:
            outcome = is_read_or_refused(name, version, kind, payload)
            read, refused = read + outcome, refused + (not outcome)
    assert read > 1_000
    assert refused > 5_000


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_random_frames_are_read_or_refused(payload):
    with suppress(WireError):
        decode_request(payload)


@pytest.mark.parametrize("count", [b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x07", b"\x80\x80\x80\x80\x08"])
def test_huge_counts_cost_nothing(count):
    found = api("Metadata")
    head = request_header(found.key, 13, 1, None, flexible=True)
    decode_request(encode_request("Metadata", 13, {}, 1, None))  # compiles outside of the measurement
    tracemalloc.start()
    with pytest.raises(WireError, match="announced"):
        decode_request(head + count + b"\x00" * 1_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_no_message_can_be_cut_short():
    """Not even a request behind which more may follow."""
    for name, version, kind in KINDS:
        for body in ({}, full(getattr(api(name), kind), version)):
            payload = encode(name, version, kind, body)
            for cut in range(4, len(payload)):
                with pytest.raises(WireError):
                    decode(name, version, kind, payload[:cut], trailing=True)
