"""Round trips of drawn bodies; arbitrary and damaged bytes give a body or a WireError, and little memory."""

import tracemalloc
from contextlib import suppress

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

MESSAGES = st.sampled_from(
    [
        (item.name, version, kind)
        for item in all_apis()
        for version in range(item.min_version, item.max_version + 1)
        for kind in ("request", "response")
    ]
)


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


def decode(name, version, kind, payload):
    return decode_request(payload) if kind == "request" else decode_response(name, version, payload)


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
    with suppress(WireError):
        decode(*where, bytes(damaged))


@settings(max_examples=400, deadline=None)
@given(MESSAGES, st.binary(max_size=120))
def test_random_bytes_are_read_or_refused(message, tail):
    name, version, kind = message
    found = api(name)
    with suppress(WireError):
        if kind == "request":
            head = request_header(found.key, version, 1, None, version in found.flexible)
            assert decode_request(head + tail).correlation_id == 1
        else:
            decode_response(name, version, tail)


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


def test_no_response_can_be_cut_short():
    for item in all_apis():
        for version in range(item.min_version, item.max_version + 1):
            payload = encode_response(item.name, version, {}, 1)
            for cut in range(4, len(payload)):
                with pytest.raises(WireError):
                    decode_response(item.name, version, payload[:cut])
