"""What a kit sends on purpose and no client would: written with odd=True, refused without."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.wire import (
    Raw,
    UnsupportedVersion,
    WireError,
    all_apis,
    api,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    request_header,
)
from rota.wire.consumer import decode_assignment, encode_assignment, encode_subscription

HEAD = b"\x00\x0b\x00\x09\x00\x00\x00\x07\x00\x01c\x00"
FIXED = b"\x00" * 4 + b"\xff" * 4


def join(version=9, odd=True, **body):
    return encode_request("JoinGroup", version, body, 7, "c", odd=odd)


ODD = {
    "null for a string": ({"group_id": None}, HEAD + b"\x00" + FIXED + b"\x01\x00\x01\x01\x00\x00"),
    "null for an array": ({"protocols": None}, HEAD + b"\x01" + FIXED + b"\x01\x00\x01\x00\x00\x00"),
    "null for bytes": (
        {"protocols": [{"name": "a", "metadata": None}]},
        HEAD + b"\x01" + FIXED + b"\x01\x00\x01\x02\x02a\x00\x00\x00\x00",
    ),
    "bytes that are not UTF-8": (
        {"group_id": b"\xff\xfe"},
        HEAD + b"\x03\xff\xfe" + FIXED + b"\x01\x00\x01\x01\x00\x00",
    ),
    "raw for a string": (
        {"group_id": Raw(b"\x7fg")},
        HEAD + b"\x7fg" + FIXED + b"\x01\x00\x01\x01\x00\x00",
    ),
    "raw for a number": (
        {"session_timeout_ms": Raw(b"\x01\x02"), "rebalance_timeout_ms": Raw(b"")},
        HEAD + b"\x01\x01\x02\x01\x00\x01\x01\x00\x00",
    ),
    "raw for an element": (
        {"protocols": [{"name": "a"}, Raw(b"\xaa\xbb")]},
        HEAD + b"\x01" + FIXED + b"\x01\x00\x01\x03\x02a\x01\x00\xaa\xbb\x00\x00",
    ),
    "a count that is a lie": (
        {"protocols": Raw(b"\xff\xff\xff\xff\x0f")},
        HEAD + b"\x01" + FIXED + b"\x01\x00\x01\xff\xff\xff\xff\x0f\x00\x00",
    ),
    "tags out of order and twice": (
        {"_tags": Raw(b"\x03\x09\x00\x01\x00\x09\x00")},
        HEAD + b"\x01" + FIXED + b"\x01\x00\x01\x01\x00\x03\x09\x00\x01\x00\x09\x00",
    ),
}


@pytest.mark.parametrize("oddity", ODD)
def test_odd_requests_are_written(oddity):
    body, payload = ODD[oddity]
    assert join(**body) == payload
    with pytest.raises(WireError, match=r"^JoinGroup v9 request: "):
        join(odd=False, **body)
    if oddity != "raw for a number":
        with pytest.raises(WireError, match=r"^JoinGroup v9 request: "):
            decode_request(payload)


def test_odd_values_of_old_versions():
    assert join(0, group_id=None)[11:13] == b"\xff\xff"
    assert join(0, protocols=Raw(b"\xff\xff\xff\xfe"))[-4:] == b"\xff\xff\xff\xfe"
    partitions = [{"partition_index": Raw(b""), "committed_metadata": None}]
    commit = encode_request("OffsetCommit", 2, {"topics": [{"partitions": partitions}]}, 1, None, odd=True)
    assert commit.endswith(b"\x00\x00\x00\x01" + b"\x00" * 8 + b"\xff\xff")
    elements = [None, b"\xff", Raw(b"?"), "ü"]
    groups = encode_request("DescribeGroups", 0, {"groups": elements}, 1, None, odd=True)
    assert groups.endswith(b"\x00\x00\x00\x04" + b"\xff\xff" + b"\x00\x01\xff" + b"?" + b"\x00\x02\xc3\xbc")
    numbers = {"name": "t", "partition_indexes": [1, Raw(b"\x09"), 2]}
    fetch = encode_request("OffsetFetch", 1, {"topics": [numbers]}, 1, None, odd=True)
    assert fetch.endswith(b"\x00\x00\x00\x03" + b"\x00\x00\x00\x01" + b"\x09" + b"\x00\x00\x00\x02")


def test_odd_tagged_fields():
    def tail(body):
        return encode_response("ApiVersions", 3, body, 1, odd=True)[11:]

    assert tail({"finalized_features_epoch": Raw(b"\x01")}) == b"\x01\x01\x01\x01"
    assert tail({"supported_features": None, "zk_migration_ready": Raw(b"")}) == b"\x02\x00\x01\x00\x03\x00"
    assert tail({"zk_migration_ready": True, "_tags": {3: b"??"}}) == b"\x01\x03\x02??"
    leader = {"partition_responses": [{"current_leader": Raw(b"\x01")}]}
    produced = encode_response("Produce", 10, {"responses": [leader]}, 1, odd=True)
    assert b"\x01\x00\x01\x01\x00" in produced


def test_versions_out_of_range_have_the_nearest_ones_fields():
    for version, nearest in ((10, 9), (32_767, 9), (-1, 0), (-32_768, 0)):
        payload = join(version, group_id="g", odd=True)
        assert payload[2:4] == version.to_bytes(2, "big", signed=True)
        assert payload[4:] == join(nearest, group_id="g")[4:]
        with pytest.raises(UnsupportedVersion):
            decode_request(payload)
        with pytest.raises(UnsupportedVersion):
            join(version, odd=False)
    assert encode_response("Heartbeat", 9, {}, 1, odd=True) == encode_response("Heartbeat", 4, {}, 1)
    with pytest.raises(WireError, match="JoinGroup v32768 request header"):
        join(32_768)
    with pytest.raises(WireError, match="no API 'Fetsch'"):
        encode_request("Fetsch", 0, {}, 1, None, odd=True)


def test_a_client_id_that_is_not_utf_8():
    payload = encode_request("Heartbeat", 4, {}, 1, b"\xff", odd=True)
    assert payload[8:12] == b"\x00\x01\xff\x00"
    assert payload.startswith(request_header(12, 4, 1, b"\xff", flexible=True))
    with pytest.raises(WireError, match="Heartbeat v4 request header: client_id: bytes take odd=True"):
        encode_request("Heartbeat", 4, {}, 1, b"c")
    with pytest.raises(WireError, match="Heartbeat v4 request header: a string is not UTF-8"):
        decode_request(payload)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"session_timeout_ms": None}, "session_timeout_ms: null is not allowed in version 9"),
        ({"protocols": [None]}, r"protocols\[0\]: null is not allowed in version 9"),
        ({"group_id": 1}, "group_id: expected a string, got int"),
        ({"group": Raw(b"")}, "no version of this message has group;"),
        ({"_tags": [1]}, "_tags: expected a mapping"),
    ],
)
def test_what_not_even_odd_encoding_can_write(body, reason):
    with pytest.raises(WireError, match=f"^JoinGroup v9 request: {reason}"):
        join(**body)


def test_the_refusal_of_raw_bytes_names_the_remedy():
    with pytest.raises(WireError, match="group_id: expected a string, got Raw, which takes odd=True"):
        join(odd=False, group_id=Raw(b""))
    with pytest.raises(WireError, match="_tags: expected a mapping from tag to bytes, got Raw, which takes"):
        join(odd=False, _tags=Raw(b"\x00"))


def test_long_strings_are_written_only_on_purpose():
    with pytest.raises(WireError, match="group_id: a string of 32768 bytes is too long"):
        join(odd=False, group_id="g" * 32_768)
    with pytest.raises(WireError, match="group_id: a string of 32768 bytes is too long"):
        decode_request(join(group_id="g" * 32_768))
    assert decode_request(join(odd=False, group_id="g" * 32_767)).body["group_id"] == "g" * 32_767


@pytest.mark.parametrize("kind", ["request", "response"])
def test_strings_that_are_not_utf_8_are_named(kind):
    if kind == "request":
        payload = join(protocols=[{"name": "a"}, {"name": b"\xc0\x80"}])
        where, read = r"protocols\[\]\.name", decode_request
    else:
        payload = encode_response("JoinGroup", 9, {"members": [{"member_id": b"\xed\xa0\x80"}]}, 1, odd=True)
        where, read = r"members\[\]\.member_id", lambda data: decode_response("JoinGroup", 9, data)
    with pytest.raises(WireError, match=f"^JoinGroup v9 {kind}: {where}: a string is not UTF-8$"):
        read(payload)


def test_odd_embedded_messages():
    assert encode_subscription({"topics": [None]}, 0, odd=True)[:8] == b"\x00\x00\x00\x00\x00\x01\xff\xff"
    negative = encode_assignment({"assigned_partitions": Raw(b"\xff\xff\xff\xfe")}, odd=True)
    assert negative == b"\x00\x03\xff\xff\xff\xfe\xff\xff\xff\xff"
    with pytest.raises(WireError, match="assigned_partitions: null"):
        decode_assignment(negative)
    assert encode_assignment({}, -5, odd=True) == b"\xff\xfb" + encode_assignment({}, 0)[2:]
    with pytest.raises(WireError, match="Assignment v3: assigned_partitions: null is not allowed"):
        encode_assignment({"assigned_partitions": None})


MESSAGES = [
    (item.name, version, kind)
    for item in all_apis()
    for version in range(item.min_version, item.max_version + 1)
    for kind in ("request", "response")
]


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_what_is_not_odd_is_written_as_ever(bodies, data):
    name, version, kind = data.draw(st.sampled_from(MESSAGES))
    found = api(name)
    body = data.draw(bodies(getattr(found, kind), version, version in found.flexible))
    encode, ends = (encode_request, ("c",)) if kind == "request" else (encode_response, ())
    assert encode(name, version, body, 1, *ends, odd=True) == encode(name, version, body, 1, *ends)
