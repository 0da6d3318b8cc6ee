"""What the codec accepts, keeps and refuses, on messages written down by hand."""

from uuid import UUID

import pytest

from rota.wire import (
    UnsupportedVersion,
    WireError,
    advertised,
    all_apis,
    api,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    frame,
    membership_apis,
    request_header,
    schema,
)
from rota.wire.schema import Versions, parse

JOIN = {
    "group_id": "g",
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 60_000,
    "member_id": "",
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": b"\x01"}],
}


def join(version=9, **changes):
    return encode_request("JoinGroup", version, JOIN | changes, 7, "c")


GROUP_PROTOCOL = {
    ("Metadata", 3, 0, 13),
    ("FindCoordinator", 10, 0, 6),
    ("JoinGroup", 11, 0, 9),
    ("Heartbeat", 12, 0, 4),
    ("LeaveGroup", 13, 0, 5),
    ("SyncGroup", 14, 0, 5),
    ("ApiVersions", 18, 0, 5),
}
BESIDE_IT = {
    ("Produce", 0, 0, 13),
    ("Fetch", 1, 0, 18),
    ("ListOffsets", 2, 0, 11),
    ("OffsetCommit", 8, 0, 10),
    ("OffsetFetch", 9, 0, 10),
    ("DescribeGroups", 15, 0, 6),
    ("ListGroups", 16, 0, 5),
    ("SaslHandshake", 17, 0, 1),
    ("CreateTopics", 19, 0, 7),
    ("DeleteTopics", 20, 0, 6),
    ("InitProducerId", 22, 0, 6),
    ("TxnOffsetCommit", 28, 0, 6),
    ("DescribeConfigs", 32, 0, 4),
    ("SaslAuthenticate", 36, 0, 2),
    ("CreatePartitions", 37, 0, 3),
    ("DeleteGroups", 42, 0, 3),
    ("IncrementalAlterConfigs", 44, 0, 1),
    ("DeleteRecords", 21, 0, 2),
    ("OffsetForLeaderEpoch", 23, 0, 4),
    ("AlterConfigs", 33, 0, 2),
    ("AlterReplicaLogDirs", 34, 0, 2),
    ("DescribeLogDirs", 35, 0, 5),
    ("ElectLeaders", 43, 0, 2),
    ("AlterPartitionReassignments", 45, 0, 1),
    ("ListPartitionReassignments", 46, 0, 0),
    ("DescribeClientQuotas", 48, 0, 1),
    ("DescribeCluster", 60, 0, 2),
    ("ListConfigResources", 74, 0, 1),
    ("DescribeTopicPartitions", 75, 0, 0),
    ("AddPartitionsToTxn", 24, 0, 5),
    ("AddOffsetsToTxn", 25, 0, 4),
    ("EndTxn", 26, 0, 5),
    ("DescribeProducers", 61, 0, 0),
    ("DescribeTransactions", 65, 0, 0),
    ("ListTransactions", 66, 0, 2),
    ("DescribeQuorum", 55, 0, 2),
    ("UpdateFeatures", 57, 0, 2),
    ("OffsetDelete", 47, 0, 0),
    ("ConsumerGroupHeartbeat", 68, 0, 1),
    ("ConsumerGroupDescribe", 69, 0, 1),
}
ADVERTISED = {"Fetch": (4, 18), "ListOffsets": (1, 11), "OffsetCommit": (2, 10), "OffsetFetch": (1, 10)}
ADVERTISED |= {"CreateTopics": (2, 7), "InitProducerId": (0, 5), "DescribeConfigs": (1, 4)}
ADVERTISED |= {"DeleteTopics": (1, 6), "OffsetForLeaderEpoch": (2, 4), "DescribeLogDirs": (1, 5)}
ADVERTISED |= {"AlterReplicaLogDirs": (1, 2)}
"""Where a broker of Kafka 4.4.0 does not advertise what the codec can do."""


def versions(apis):
    return {(item.name, item.key, item.min_version, item.max_version) for item in apis}


def test_apis_and_versions_are_all_that_ever_were():
    assert versions(membership_apis()) == GROUP_PROTOCOL
    assert versions(all_apis()) == GROUP_PROTOCOL | BESIDE_IT
    assert [item.key for item in all_apis()] == sorted(key for _, key, *_ in GROUP_PROTOCOL | BESIDE_IT)
    assert api(11) is api("JoinGroup")
    with pytest.raises(WireError, match=r"no API 'Fetsch'.*Heartbeat"):
        api("Fetsch")


def test_advertised_versions_are_those_of_a_running_kafka():
    """Written down from the ApiVersions response of Kafka 4.4.0."""
    everything = {name: (first, last) for name, _, first, last in GROUP_PROTOCOL | BESIDE_IT}
    assert advertised() == advertised("kafka-4.x") == everything | ADVERTISED
    with pytest.raises(WireError, match=r"no profile 'kafka-9'.*kafka-4\.x"):
        advertised("kafka-9")


def test_bytes_of_a_join_group_request():
    head = b"\x00\x0b\x00\x09\x00\x00\x00\x07\x00\x01c\x00"
    times = b"\x00\x00\x27\x10\x00\x00\xea\x60"
    assert join() == head + b"\x02g" + times + b"\x01\x00\x09consumer\x02\x06range\x02\x01\x00\x00\x00"
    old = b"\x00\x0b\x00\x00\x00\x00\x00\x07\x00\x01c\x00\x01g\x00\x00\x27\x10\x00\x00\x00\x08consumer"
    assert join(0) == old + b"\x00\x00\x00\x01\x00\x05range\x00\x00\x00\x01\x01"


def test_one_structure_has_a_byte_in_front_where_it_may_be_null():
    """An assignment that is not told is not an empty one; nothing else tells them apart."""

    def answer(assignment):
        return encode_response("ConsumerGroupHeartbeat", 1, {"assignment": assignment}, 7)

    none, empty = answer(None), answer({"topic_partitions": []})
    assert none[-2:] == b"\xff\x00"
    assert empty[-4:] == b"\x01\x01\x00\x00"
    assert none[:-2] == empty[:-4] == encode_response("ConsumerGroupHeartbeat", 1, {}, 7)[:-2]
    for payload, assignment in ((none, None), (empty, {"topic_partitions": []})):
        assert decode_response("ConsumerGroupHeartbeat", 1, payload).body["assignment"] == assignment
    described = {"groups": [{"members": [{"target_assignment": None}]}]}
    with pytest.raises(WireError, match=r"target_assignment: null is not allowed in version 1"):
        encode_response("ConsumerGroupDescribe", 1, described, 7)


def test_bytes_of_versions_that_kio_lacks():
    """Written by hand after the message definitions of Kafka 4.4.0."""
    hello = {"client_software_name": "c", "client_software_version": "1"}
    sought = hello | {"cluster_id": "k", "node_id": 2}
    assert encode_request("ApiVersions", 5, sought, 7, None)[11:] == b"\x02c\x021\x02k\x00\x00\x00\x02\x00"
    anyone = encode_request("ApiVersions", 5, hello, 7, None)
    assert anyone[11:] == b"\x02c\x021\x00\xff\xff\xff\xff\x00"
    assert decode_request(anyone).body == hello | {"cluster_id": None, "node_id": -1}
    refused = encode_response("ApiVersions", 5, {"error_code": 129}, 7)
    assert refused == b"\x00\x00\x00\x07\x00\x81\x01\x00\x00\x00\x00\x00"
    deleted = {"results": [{"group_id": "g", "error_code": 69, "error_message": "no"}, {"group_id": "h"}]}
    assert encode_response("DeleteGroups", 3, deleted, 7) == (
        b"\x00\x00\x00\x07\x00" + b"\x00" * 4 + b"\x03\x02g\x00\x45\x03no\x00\x02h\x00\x00\x00\x00" + b"\x00"
    )
    asked = {"groups_names": ["g"]}
    assert encode_request("DeleteGroups", 3, asked, 7, None)[10:] == b"\x00\x02\x02g\x00"
    partition = {"partition_index": 1, "committed_offset": 2, "committed_metadata": None}
    topic = {"topic_id": UUID(int=5), "partitions": [partition]}
    commit = {"transactional_id": "t", "group_id": "g", "producer_id": 3, "topics": [topic]}
    assert encode_request("TxnOffsetCommit", 6, commit, 7, None)[10:] == (
        b"\x00\x02t\x02g" + b"\x00" * 7 + b"\x03\x00\x00" + b"\xff" * 4 + b"\x01\x00"
        b"\x02"
        + b"\x00" * 15
        + b"\x05\x02\x00\x00\x00\x01"
        + b"\x00" * 7
        + b"\x02"
        + b"\xff" * 4
        + b"\x00\x00\x00\x00"
    )
    answer = {"topics": [{"topic_id": UUID(int=5), "partitions": [{"partition_index": 1, "error_code": 16}]}]}
    assert encode_response("TxnOffsetCommit", 6, answer, 7)[5:] == (
        b"\x00" * 4 + b"\x02" + b"\x00" * 15 + b"\x05\x02\x00\x00\x00\x01\x00\x10\x00\x00\x00"
    )


def test_recorded_requests_of_librdkafka():
    """From a Producer of librdkafka 2.16.0: ApiVersions, and Metadata for one topic and for all."""
    client = bytes.fromhex(
        "0017636f6e666c75656e742d6b61666b612d707974686f6e16322e31362e312d72646b61666b612d322e31362e3000"
    )
    hello = decode_request(bytes.fromhex("0012000300000001000772646b61666b6100") + client[1:])
    assert (hello.api.name, hello.version, hello.client_id) == ("ApiVersions", 3, "rdkafka")
    assert hello.body == {
        "client_software_name": "confluent-kafka-python",
        "client_software_version": "2.16.1-rdkafka-2.16.0",
    }
    one = decode_request(
        bytes.fromhex("0003000d00000002000772646b61666b61000200000000000000000000000000000000027800010000")
    )
    assert one.body == {
        "topics": [{"topic_id": UUID(int=0), "name": "x"}],
        "allow_auto_topic_creation": True,
        "include_topic_authorized_operations": False,
    }
    every = bytes.fromhex("0003000d00000002000772646b61666b610000000000010000")
    with pytest.raises(WireError, match="3 bytes are left over"):
        decode_request(every)
    assert decode_request(every, trailing=True).body["topics"] is None


def test_response_headers():
    assert encode_response("Heartbeat", 3, {}, 7) == b"\x00\x00\x00\x07" + b"\x00" * 6
    assert encode_response("Heartbeat", 4, {}, 7) == b"\x00\x00\x00\x07\x00" + b"\x00" * 6 + b"\x00"
    # never flexible for ApiVersions, whose reader may not know the version yet
    flat = encode_response("ApiVersions", 3, {"error_code": 35}, 7)
    assert flat == b"\x00\x00\x00\x07\x00\x23\x01\x00\x00\x00\x00\x00"


def test_missing_fields_take_the_schemas_defaults():
    request = decode_request(encode_request("JoinGroup", 9, {"group_id": "g"}, 1, None))
    assert request.client_id is None
    assert request.body == JOIN | {
        "session_timeout_ms": 0,
        "rebalance_timeout_ms": -1,
        "group_instance_id": None,
        "protocol_type": "",
        "protocols": [],
        "reason": None,
    }
    versions = decode_response("ApiVersions", 4, encode_response("ApiVersions", 4, {}, 1)).body
    assert versions["finalized_features_epoch"] == -1
    assert (versions["supported_features"], versions["zk_migration_ready"]) == ([], False)


def test_fields_of_other_versions_are_left_out():
    request = decode_request(join(4, group_instance_id="i", reason="why"))
    assert "group_instance_id" not in request.body
    assert "reason" not in request.body


def test_unknown_tags_are_kept_and_written_back():
    tagged = {"name": "range", "metadata": b"", "_tags": {7: b"seven", 300: b""}}
    payload = encode_request(
        "JoinGroup", 9, JOIN | {"protocols": [tagged], "_tags": {0: b"\xff"}}, 1, "c", {9: b"h"}
    )
    request = decode_request(payload)
    assert request.body["protocols"] == [tagged]
    assert request.body["_tags"] == {0: b"\xff"}
    assert request.header_tags == {9: b"h"}
    assert encode_request("JoinGroup", 9, request.body, 1, "c", request.header_tags) == payload
    response = encode_response("ApiVersions", 3, {"finalized_features_epoch": 4, "_tags": {9: b"?"}}, 1)
    body = decode_response("ApiVersions", 3, response).body
    assert (body["finalized_features_epoch"], body["_tags"]) == (4, {9: b"?"})


def test_tags_are_written_in_ascending_order():
    body = {"_tags": {300: b"", 5: b"x"}, "finalized_features_epoch": 1, "zk_migration_ready": True}
    tail = b"\x04" + b"\x01\x08" + b"\x00" * 7 + b"\x01" + b"\x03\x01\x01" + b"\x05\x01x" + b"\xac\x02\x00"
    assert encode_response("ApiVersions", 3, body, 1).endswith(tail)


def test_a_tag_twice_or_one_that_is_not_filled_is_refused():
    start = encode_response("ApiVersions", 3, {}, 1)[:-1]
    with pytest.raises(WireError, match="tagged field 1: appears twice"):
        decode_response("ApiVersions", 3, start + b"\x02\x01\x01x\x01\x01y")
    with pytest.raises(WireError, match="zk_migration_ready: does not fill"):
        decode_response("ApiVersions", 3, start + b"\x01\x03\x02\x01\x01")


def test_odd_values_are_carried():
    odd = {"error_code": -7777, "generation_id": -(2**31), "protocol_name": None, "leader": "☃" * 100}
    body = decode_response("JoinGroup", 9, encode_response("JoinGroup", 9, odd, -5)).body
    assert {key: body[key] for key in odd} == odd
    assert (
        decode_request(join(rebalance_timeout_ms=-1, session_timeout_ms=-9)).body["session_timeout_ms"] == -9
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"member_id": None}, "member_id: null is not allowed in version 9"),
        ({"protocols": None}, "protocols: null is not allowed in version 9"),
        ({"protocols": [{"name": "a"}, {"metadata": None}]}, r"protocols\[1\].metadata: null is not allowed"),
        ({"protocols": {"name": b""}}, "protocols: expected a list, got dict"),
        ({"protocols": ["range"]}, r"protocols\[0\].*: expected a mapping, got str"),
        ({"protocols": [{"metadata": "text"}]}, r"protocols\[0\].metadata: expected bytes, got str"),
        ({"session_timeout_ms": 2**31}, "session_timeout_ms: 2147483648 is not an int32"),
        ({"session_timeout_ms": "1"}, "session_timeout_ms: expected an int32, got str"),
        ({"group_id": b"g"}, "group_id: expected a string, got bytes"),
        ({"group_id": "\ud800"}, "group_id: the string has a lone surrogate"),
        ({"group": "g"}, "no version of this message has group; there are: .*group_id"),
        ({"protocols": [{"nam": "a"}]}, "no version of this message has nam"),
        ({"_tags": {1: "text"}}, "_tags: 1: 'text' is not a tag with its bytes"),
        ({"_tags": [1]}, "_tags: expected a mapping"),
    ],
)
def test_what_cannot_be_written_is_named(changes, reason):
    with pytest.raises(WireError, match=f"^JoinGroup v9 request: {reason}"):
        join(**changes)


def test_long_strings_fit_no_old_version():
    with pytest.raises(WireError, match="group_id: a string of 32768 bytes is too long"):
        join(0, group_id="g" * 32_768)
    with pytest.raises(WireError, match="a string of 32768 bytes is too long"):
        decode_request(join(9, group_id="g" * 32_768))


def test_headers_that_cannot_be_written():
    with pytest.raises(WireError, match="JoinGroup v9 request header"):
        encode_request("JoinGroup", 9, JOIN, 2**31, "c")
    with pytest.raises(WireError, match="Heartbeat v4 response header"):
        encode_response("Heartbeat", 4, {}, None)


def test_unsupported_versions_are_told_with_what_was_read():
    for key, version in ((11, 10), (11, -1), (18, 99), (9999, 0)):
        with pytest.raises(UnsupportedVersion) as caught:
            decode_request(request_header(key, version, 42, "c", flexible=True))
        assert (caught.value.api_key, caught.value.version, caught.value.correlation_id) == (key, version, 42)
    with pytest.raises(UnsupportedVersion, match="JoinGroup: no version 10; there are 0 to 9"):
        join(10)
    with pytest.raises(UnsupportedVersion):
        decode_response("Heartbeat", 5, b"\x00" * 20)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "request header: 0 bytes are too few"),
        (join()[:7], "request header: 7 bytes are too few"),
        (join()[:9], "request header: it ends too early"),
        (join()[:10], "request header: client id: 1 bytes announced, 0 left"),
        (join()[:20], "it ends too early"),
        (join()[:-1], "it ends too early"),
        (join() + b"\x00", "1 bytes are left over"),
        (join().replace(b"range", b"\xff\xfe\xfd\xfc\xfb"), "a string is not UTF-8"),
        (join().replace(b"\x02g", b"\x00g"), "group_id: null"),
        (join(0).replace(b"\x00\x01g", b"\xff\xffg"), "group_id: null"),
        (join(5, group_instance_id="i").replace(b"\x00\x01i", b"\xff\xfei"), "group_instance_id: .* -2"),
        (
            join().replace(b"\x02\x06range", b"\xff\xff\xff\xff\x0f\x06range"),
            "protocols: 4294967294 announced",
        ),
        (
            join().replace(b"\x02\x06range", b"\xff\xff\xff\xff\x1f\x06range"),
            "a varint has more than 32 bits",
        ),
        (join().replace(b"\x02\x06range", b"\xff\xff\xff\xff\xff\x01range"), "more than 5 bytes"),
        (join()[:-1] + b"\x7f", "tagged fields: 127 announced"),
        (join()[:-1] + b"\x01\x05\x09", "tagged field 5: 9 bytes announced, 0 left"),
    ],
)
def test_what_cannot_be_read_is_named(payload, reason):
    with pytest.raises(WireError, match=reason):
        decode_request(payload)


def test_any_bytes_like_payload_is_read():
    assert decode_request(memoryview(bytearray(join()))).body["group_id"] == "g"
    assert frame(b"abc") == b"\x00\x00\x00\x03abc"


def test_table_notation():
    found = parse(
        "Odd 77  versions 1-3  flexible 3+\n"
        "request\na  int8  2\nb  []  null 2-3\n  c  []int64\n"
        "response\nd  uuid  3+\n"
    )
    assert (found.key, found.versions, [field.name for field in found.request]) == (
        77,
        Versions(1, 3),
        ["a", "b"],
    )
    single, array = found.request
    assert (single.versions, array.nullable) == (Versions(2, 2), Versions(2, 3))
    assert [(field.name, field.type, field.array) for field in array.fields] == [("c", "int64", True)]
    for line in (
        "a  in8",
        "a  int8  1+  nul 2",
        "a-b  int8",
        "a  int8  1+  tag",
        "a  {}",
        "a  {}  null 1+\n  b  int8",
        "a  {}  null 1+  = null  tag 0\n  b  int8",
        "a  {}  null 1+  = 0\n  b  int8",
    ):
        with pytest.raises(WireError, match="cannot read the line"):
            parse(f"Odd 77  versions 1-3  flexible 3+\nrequest\n{line}\n")


def test_one_structure_is_read_and_written_with_and_without_a_tag(monkeypatch):
    found = parse(
        "Odd 77  versions 0-1  flexible 1+\n"
        "request\na  {}\n  b  int8  = -1\n  c  []int8\nd  {}  1+  tag 0\n  e  string\n  f  int16  = 3\n"
        "response\n"
    )
    monkeypatch.setattr(schema, "apis", lambda: {"Odd": found, 77: found})

    def request(version, **body):
        return encode_request("Odd", version, body, 1, None)[10 + version :]

    assert request(0) == b"\xff" + b"\x00" * 4
    assert request(0, a={"c": [5]}) == b"\xff\x00\x00\x00\x01\x05"
    assert request(1, d={}) == request(1, d={"e": "", "f": 3}) == request(1) == b"\xff\x01\x00\x00"
    assert request(1, d={"f": 4}) == b"\xff\x01\x00\x01\x00\x04\x01\x00\x04\x00"
    assert request(1, d={"_tags": {2: b"x"}})[-4:] == b"\x01\x02\x01x"
    for body in ({}, {"d": {"e": "x", "f": 9}}, {"a": {"b": 1, "c": [2, 3]}}):
        read = decode_request(encode_request("Odd", 1, body, 1, None)).body
        assert read == {"a": {"b": -1, "c": []}, "d": {"e": "", "f": 3}} | body
    for wrong, reason in (
        ({"d": {"x": 1}}, "no version of this message has x"),
        ({"d": None}, "d: null is not allowed in version 1"),
        ({"a": {"b": "1"}}, "a.b: expected an int8"),
        ({"a": {"b": 128}}, "a.b: 128 is not an int8"),
    ):
        with pytest.raises(WireError, match=reason):
            request(1, **wrong)
