"""Subscription and Assignment: by hand, against kio, and with arbitrary bytes."""

import io
from contextlib import suppress
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.serial import entity_writer

from rota.wire import WireError
from rota.wire.consumer import (
    ASSIGNMENT,
    LAST,
    SUBSCRIPTION,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

CODECS = {
    "Subscription": (SUBSCRIPTION, encode_subscription, decode_subscription),
    "Assignment": (ASSIGNMENT, encode_assignment, decode_assignment),
}
KINDS = [(name, version) for name in CODECS for version in range(LAST + 1)]
OWNED = [{"topic": "t", "partitions": [0, 7]}]


def kio_class(name, version):
    module = import_module(f"kio.schema.consumer_protocol_{name.lower()}.v{version}.data")
    return getattr(module, f"ConsumerProtocol{name}")


def test_bytes_of_a_subscription():
    body = {"topics": ["t"], "owned_partitions": OWNED, "generation_id": 4, "rack_id": "r"}
    topics, no_data = b"\x00\x00\x00\x01\x00\x01t", b"\xff\xff\xff\xff"
    owned = b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x07"
    assert encode_subscription(body, 0) == b"\x00\x00" + topics + no_data
    assert encode_subscription(body, 1) == b"\x00\x01" + topics + no_data + owned
    assert encode_subscription(body, 2) == b"\x00\x02" + topics + no_data + owned + b"\x00\x00\x00\x04"
    assert encode_subscription(body) == (
        b"\x00\x03" + topics + no_data + owned + b"\x00\x00\x00\x04\x00\x01r"
    )


def test_bytes_of_an_assignment():
    fields = b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x01u"
    for version in range(LAST + 1):
        body = {"assigned_partitions": OWNED, "user_data": b"u"}
        assert encode_assignment(body, version) == bytes((0, version)) + fields


def test_defaults():
    assert decode_subscription(encode_subscription({})).body == {
        "topics": [],
        "user_data": None,
        "owned_partitions": [],
        "generation_id": -1,
        "rack_id": None,
    }
    assert decode_assignment(encode_assignment({})).body == {"assigned_partitions": [], "user_data": None}


def test_newer_versions_are_read_as_the_last_one():
    data = encode_subscription({"topics": ["t"]}, 9)
    assert data[:2] == b"\x00\x09"
    assert data[2:] == encode_subscription({"topics": ["t"]}, LAST)[2:]
    read = decode_subscription(data + b"more")
    assert (read.version, read.body["topics"]) == (9, ["t"])


def test_what_is_none_is_refused():
    known = encode_subscription({}, 1)
    with pytest.raises(WireError, match="Subscription v1: 4 bytes are left over"):
        decode_subscription(known + b"more")
    assert decode_subscription(known + b"more", trailing=True).version == 1
    for data, reason in (
        (b"", "Assignment: 0 bytes are too few for its version"),
        (b"\xff\xff", "Assignment: no version -1; there are 0 to 3"),
        (b"\x00\x00\x00", "Assignment v0: it ends too early"),
        (b"\x00\x01\x7f\xff\xff\xff", "assigned_partitions: 2147483647 announced"),
    ):
        with pytest.raises(WireError, match=reason):
            decode_assignment(data)
    with pytest.raises(WireError, match="no version -1"):
        encode_assignment({}, -1)
    with pytest.raises(WireError, match="Assignment v32768"):
        encode_assignment({}, 32_768)
    with pytest.raises(WireError, match=r"Subscription v3: topics\[0\]: expected a string, got int"):
        encode_subscription({"topics": [1]})
    with pytest.raises(WireError, match="no version of this message has topic;"):
        encode_subscription({"topic": "t"})


@pytest.mark.parametrize(("name", "version"), KINDS)
def test_random_ones_of_kio_are_read_and_written_alike(name, version, kio_draws):
    _, encode, decode = CODECS[name]
    kind = kio_class(name, version)
    for entity, body in kio_draws(kind, 40):
        out = io.BytesIO(version.to_bytes(2, "big"))
        out.seek(2)
        entity_writer(kind)(out, entity)
        assert decode(out.getvalue()).body == body
        assert encode(body, version) == out.getvalue()


@pytest.mark.parametrize(("name", "version"), KINDS)
def test_fields_are_those_of_kio(name, version, kio_rows):
    def rows(fields):
        return [
            (field.name, field.type, field.array, version in field.nullable, rows(field.fields))
            for field in fields
            if version in field.versions
        ]

    def theirs(found):
        return [(name, kind, array, null, theirs(inner)) for name, kind, array, null, _, _, inner in found]

    assert rows(CODECS[name][0]) == theirs(kio_rows(kio_class(name, version)))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(list(CODECS)), st.integers(0, LAST + 1), st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(name, version, tail):
    _, encode, decode = CODECS[name]
    data = version.to_bytes(2, "big") + tail
    with suppress(WireError):
        assert data.startswith(encode(decode(data).body, version))
