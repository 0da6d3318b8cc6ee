"""Requests decoded and responses encoded in slices: as in one go, within bounds, in short steps."""

import random
import re
import tracemalloc
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.lines import Lines
from rota.wire import (
    WireError,
    all_apis,
    api,
    decode_request,
    decode_request_in_slices,
    encode_request,
    encode_response,
    encode_response_in_slices,
    request_header,
)
from rota.wire.runtime import MAX_TAGS

PLENTY = 10**9
LINES = 20_000
"""Four times what the longest step has; a frame read in one go has 230,000."""

KINDS = [
    (each.name, version) for each in all_apis() for version in range(each.min_version, each.max_version + 1)
]


def result(steps):
    """What a generator returns in the end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def longest_of(steps):
    """The same, and how many lines of Python its longest step has."""
    longest = 0
    while True:
        try:
            with Lines() as lines:
                next(steps)
        except StopIteration as end:
            return end.value, longest
        finally:
            longest = max(longest, lines.count)


def sliced(payload, most=PLENTY):
    return result(decode_request_in_slices(memoryview(bytearray(payload)), most))


def outcome(decode, payload):
    """What is read, or why nothing is."""
    try:
        return decode(payload)
    except WireError as error:
        return str(error)


def whole(payload):
    return decode_request(payload, trailing=True)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_what_is_read_in_slices_is_the_same(bodies, data):
    name, version = data.draw(st.sampled_from(KINDS))
    body = data.draw(bodies(api(name).request, version, version in api(name).flexible))
    payload = encode_request(name, version, body, 7, "früh")
    assert sliced(payload) == whole(payload)
    for _ in range(3):
        damaged = bytearray(payload)
        at = data.draw(st.integers(8, len(damaged)))
        damaged[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=2))
        assert outcome(sliced, damaged) == outcome(whole, bytes(damaged))


def test_noise_gets_the_same_refusals():
    chance = random.Random(5)
    for name, version in KINDS:
        head = request_header(api(name).key, version, 1, None, version in api(name).flexible)
        for _ in range(20):
            payload = head + chance.randbytes(chance.randrange(50))
            assert outcome(sliced, payload) == outcome(whole, payload)


def test_no_more_elements_than_there_may_be():
    body = {"group_id": "g", "topics": [{"name": "t", "partition_indexes": [1, 2, 3]}] * 2}
    payload = encode_request("OffsetFetch", 7, body, 1, None)
    assert sliced(payload, 8).body["topics"] == body["topics"]
    with pytest.raises(WireError, match="more than 7 elements"):
        sliced(payload, 7)
    tagged = encode_request("Heartbeat", 4, {"_tags": {7: b"", 8: b""}}, 1, None)
    assert sliced(tagged, 2).body["_tags"] == {7: b"", 8: b""}
    with pytest.raises(WireError, match="more than 1 elements"):
        sliced(tagged, 1)


@pytest.mark.parametrize("decode", [whole, sliced])
def test_tagged_fields_are_bounded(decode):
    """Two million of them took ten seconds."""
    fine = encode_request("Heartbeat", 4, {"_tags": dict.fromkeys(range(MAX_TAGS), b"")}, 1, None)
    assert len(decode(fine).body["_tags"]) == MAX_TAGS
    many = encode_request("Heartbeat", 4, {"_tags": dict.fromkeys(range(MAX_TAGS + 1), b"")}, 1, None)
    with pytest.raises(WireError, match=f"{MAX_TAGS + 1} announced, more than {MAX_TAGS}"):
        decode(many)


def test_members_without_end_cost_nothing():
    """A LeaveGroup of 40 MiB with 14 million members took 6 GB."""
    payload = bytearray(request_header(13, 5, 1, None, flexible=True) + b"\x02g" + b"\x80\xad\xe2\x04")
    payload += bytes([1, 0, 1, 0]) * 10_000_000
    tracemalloc.start()
    begun = thread_time()
    with pytest.raises(WireError, match="more than 12000 elements"):
        sliced(payload, 12_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert thread_time() - begun < 1
    assert peak < 2.1 * len(payload)


def test_long_frames_are_read_in_short_steps_and_records_are_not_copied():
    members = [{"member_id": f"member-{index}", "assignment": bytes(100)} for index in range(10_000)]
    payload = encode_request("SyncGroup", 5, {"group_id": "g", "assignments": members}, 1, None)
    found, longest = longest_of(decode_request_in_slices(memoryview(payload), PLENTY))
    assert found.body["assignments"] == members
    assert longest < LINES
    partitions = [{"index": 0, "records": bytes(50 << 20)}]
    body = {"acks": 1, "topic_data": [{"name": "t", "partition_data": partitions}]}
    payload = memoryview(encode_request("Produce", 12, body, 1, None))
    tracemalloc.start()
    found, longest = longest_of(decode_request_in_slices(payload, PLENTY))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    records = found.body["topic_data"][0]["partition_data"][0]["records"]
    assert len(records) == 50 << 20
    assert peak < 1_000_000
    assert longest < LINES


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_what_is_written_in_slices_is_the_same(bodies, data):
    name, version = data.draw(st.sampled_from(KINDS))
    body = data.draw(bodies(api(name).response, version, version in api(name).flexible))
    written = result(encode_response_in_slices(name, version, body, 7))
    assert written == encode_response(name, version, body, 7)


def test_what_cannot_be_written_in_slices_is_refused_in_the_same_words():
    body = {"topics": [{"name": "t", "partitions": [{"partition_index": "one"}]}]}
    with pytest.raises(WireError) as refused:
        encode_response("OffsetCommit", 8, body, 7)
    with pytest.raises(WireError, match=re.escape(str(refused.value))):
        result(encode_response_in_slices("OffsetCommit", 8, body, 7))
