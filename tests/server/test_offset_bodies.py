"""What the coordinator is asked about offsets, where no answer over the wire shows it."""

import asyncio
import time
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest

from rota.coordinator import (
    CoordinatorConfig,
    GroupCoordinator,
    OffsetCommitPartition,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetFetchTopic,
)
from rota.server.answers import AT_ONCE
from rota.server.errors import ErrorCode, Refusal
from rota.server.groups import GroupService
from rota.server.offset_bodies import TOPICS_AT_ONCE, Amended, AnyTopics, commit_request, fetch_request
from rota.server.offset_parts import whole_fetch
from rota.wire import encode_response

PART = {"partition_index": 1, "committed_offset": 7, "committed_metadata": None}
COMMIT = {"group_id": "g", "generation_id_or_member_epoch": 4, "member_id": "m"}
ID = uuid4()


def made(prepare):
    """What is made in steps, at once."""

    def made(*arguments):
        steps = prepare(*arguments)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value

    return made


class OneTopic:
    """One topic "t" of two partitions, until it goes."""

    def __init__(self):
        self.there = True

    def named(self, name):
        if name != "t" or not self.there:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
        return SimpleNamespace(name="t", topic_id=ID, partitions=(0, 1))

    def identified(self, topic_id):
        if topic_id != ID or not self.there:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "")
        return self.named("t")


def test_a_commit_is_handed_on_whole():
    partition = PART | {"committed_leader_epoch": 3}
    body = COMMIT | {"retention_time_ms": 60_000, "group_instance_id": "i", "topics": []}
    body["topics"] = [{"name": "t", "partitions": [partition, PART | {"partition_index": 2}]}]
    request, _ = made(commit_request)(body, 9, OneTopic())
    assert (request.group_id, request.generation_id_or_member_epoch, request.member_id) == ("g", 4, "m")
    assert (request.retention_time_ms, request.group_instance_id) == (60_000, "i")
    ((topic,),) = [request.topics]
    assert (topic.name, topic.partitions) == ("t", (OffsetCommitPartition(1, 7, 3, None),))


def test_what_a_version_does_not_have_is_not_asked_for():
    request, _ = made(commit_request)(
        COMMIT | {"topics": [{"name": "t", "partitions": [PART]}]}, 2, OneTopic()
    )
    assert (request.retention_time_ms, request.group_instance_id) == (-1, None)
    assert request.topics[0].partitions[0].committed_leader_epoch == -1


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("version", [6, 7, 8, 10])
def test_stability_is_asked_for(version, stable):
    group = {"group_id": "g", "topics": None}
    body = group if version < 8 else {"groups": [group]}
    request, _ = made(fetch_request)(
        body | ({"require_stable": stable} if version >= 7 else {}), version, OneTopic()
    )
    assert request.groups == (OffsetFetchGroup("g", None),)
    assert request.require_stable == (stable and version >= 7)


def test_topics_by_id_are_asked_for_by_name_and_told_by_id():
    topics = OneTopic()
    asked = [{"topic_id": key, "partition_indexes": [0]} for key in (ID, UUID(int=1))]
    request, response = made(fetch_request)({"groups": [{"group_id": "g", "topics": asked}]}, 10, topics)
    assert request.groups == (OffsetFetchGroup("g", (OffsetFetchTopic("t", (0,)),)),)
    reply = {
        "groups": [{"group_id": "g", "topics": [{"name": "t", "partitions": ["told"]}], "error_code": 0}]
    }
    ((known, unknown),) = [group["topics"] for group in response(reply)["groups"]]
    assert known == {"topic_id": ID, "partitions": ["told"]}
    assert unknown["partitions"][0]["error_code"] == ErrorCode.UNKNOWN_TOPIC_ID
    topics.there = False
    ((gone,),) = [group["topics"] for group in response(reply)["groups"]]
    assert gone["topic_id"] == UUID(int=1)


def test_without_topics_every_name_is_one_and_no_id():
    body = COMMIT | {"topics": [{"name": "any", "partitions": [PART | {"partition_index": 2**31 - 1}]}]}
    request, _ = made(commit_request)(body, 9, AnyTopics())
    assert [topic.name for topic in request.topics] == ["any"]
    body["topics"] = [{"topic_id": ID, "partitions": [PART]}]
    request, response = made(commit_request)(body, 10, AnyTopics())
    assert request.topics == ()
    refused = [{"partition_index": 1, "error_code": ErrorCode.UNKNOWN_TOPIC_ID}]
    assert response({"topics": []}) == {"topics": [{"topic_id": ID, "partitions": refused}]}


def test_the_time_of_a_commit_is_the_servers():
    times = []

    class Watched(GroupCoordinator):
        def offset_commit(self, request, version, token, timestamp_ms):
            times.append(timestamp_ms)
            return super().offset_commit(request, version, token, timestamp_ms)

    async def commit():
        service = GroupService(CoordinatorConfig(), asyncio.get_running_loop(), Watched)
        answered = asyncio.get_running_loop().create_future()
        caller = SimpleNamespace(version=8, client_id="c", client_host="/h", reply=answered.set_result)
        before = time.time() * 1000
        body = COMMIT | {"generation_id_or_member_epoch": -1}
        service.handlers["OffsetCommit"](body | {"topics": [{"name": "t", "partitions": [PART]}]}, caller)
        return before, await asyncio.wait_for(answered, 5), time.time() * 1000

    before, answer, after = asyncio.run(commit())
    assert answer["topics"][0]["partitions"] == [{"partition_index": 1, "error_code": 0}]
    assert int(before) <= times[0] <= after


class Told:
    """Stands in for a request's context: takes its answer."""

    api_name, version = "OffsetFetch", 7
    payload = b""

    def encoded(self, body):
        return encode_response(self.api_name, self.version, body, 1)

    def reply_in_pieces(self, pieces, held):
        self.payload = b"".join(pieces)


def test_a_long_answer_is_put_together_in_steps():
    """None of them has more than a tenth of it, whatever the coordinator's parts were."""
    count = 10 * TOPICS_AT_ONCE
    names = [f"topic-{number}" for number in range(count)]
    group = OffsetFetchGroup("g", tuple(OffsetFetchTopic(name, (0,)) for name in names))
    none = {"partition_index": 0, "committed_offset": -1, "committed_leader_epoch": -1, "metadata": ""}
    topics = [{"name": name, "partitions": [{**none, "error_code": 0}]} for name in names]
    parts = [
        {"groups": [{"group_id": "g", "error_code": 0, "topics": topics[start : start + AT_ONCE]}]}
        for start in range(0, count, AT_ONCE)
    ]
    told = Told()
    token = Amended(told, lambda reply: {"topics": reply["groups"][0]["topics"], "error_code": 0})
    steps = list(whole_fetch(OffsetFetch((group,)), token, parts))
    assert len(steps) >= 40  # ten for the parts, ten for their size, twenty for what is encoded
    assert told.payload == told.encoded({"topics": topics, "error_code": 0})
