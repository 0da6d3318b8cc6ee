"""Offsets told apart: each partition, topic and group has its own, in all of its digits and letters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import Dialogue, Member
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.steps.administration import described
from rota.conformance.steps.group_formation import all_leave, lead, lead_stable, stable
from rota.conformance.steps.membership import SHORT_SESSIONS
from rota.conformance.steps.offsets import (
    METADATA_LIMIT,
    SIMPLE,
    TOPIC,
    TWO_PARTITIONS,
    commit,
    delete_offsets,
    expect_each,
    expect_fetched,
    expect_kept,
    expect_topics,
    fetch,
    fetched,
    in_topic,
    settled,
    subscriber,
    topic,
    topic_of_two,
)
from rota.conformance.steps.version_ranges import COMMIT_AND_FETCH, CREATE, DESCRIBE

_STORED = "OffsetMetadataManager.commitOffset; OffsetMetadataManager.fetchOffsets"
_COMMIT = "OffsetMetadataManager.validateOffsetCommit; ClassicGroup.validateOffsetCommit"
_OTHER = f"{TOPIC}-other"
_LATE = 2.5
"""Seconds that a session may end late; coordinators look at their clocks now and then."""


def _alone(d: Dialogue) -> Member:
    """The only member of a Stable group, and both topics."""
    return settled(d, None, TOPIC, _OTHER)


def _store(d: Dialogue, who: Member, *topics: Mapping[str, Any]) -> None:
    """A commit that is to be stored; what comes of it is judged by what is fetched."""
    with d.reaching("offsets that are stored"):
        answered = commit(who, topics=list(topics))["topics"]
        errors = [error_name(each["error_code"]) for one in answered for each in one["partitions"]]
        d.require(set(errors) == {"NONE"}, "OffsetCommit answered with NONE", ", ".join(errors) or "nothing")


def _in_two(**offsets: int) -> dict[str, Any]:
    """What OffsetCommit says of the topic of two partitions: offsets by `p0` and `p1`."""
    partitions = [
        {"partition_index": int(name[1:]), "committed_offset": offset, "committed_metadata": name}
        for name, offset in offsets.items()
    ]
    return {"name": TWO_PARTITIONS, "partitions": partitions}


def _expect_two(d: Dialogue, **wanted: int) -> None:
    """Hold what is stored for both partitions against the rule; -1 stands for none."""
    asked = [{"name": TWO_PARTITIONS, "partition_indexes": [0, 1]}]
    body = {"groups": [{"group_id": d.group_id, "topics": asked}]}
    group = d.member("reader").send_whole("OffsetFetch", body).answer()["groups"].only()
    found = {
        f"p{each['partition_index']}": each["committed_offset"] for each in group["topics"][0]["partitions"]
    }
    d.require(found == wanted, f"the offsets {wanted}", f"{found}")


@case(
    "offsets.stored.zero",
    "The offset 0 is one as any other, and so is the leader epoch 0: both are given back.",
    _STORED,
    needs={**COMMIT_AND_FETCH, "OffsetCommit": (6, 9)},
)
def zero(d: Dialogue) -> None:
    a = _alone(d)
    _store(d, a, in_topic(TOPIC, 0, "nought", committed_leader_epoch=0))
    expect_kept(d, 0, 0, "nought")


@case(
    "offsets.stored.large",
    "An offset has 64 bits: one that no smaller number can hold is given back as it was.",
    _STORED,
    needs=COMMIT_AND_FETCH,
)
def large(d: Dialogue) -> None:
    offset = 2**62 + 2**33 + 1
    _store(d, _alone(d), in_topic(TOPIC, offset))
    expect_fetched(d, offset)


@case(
    "offsets.stored.longest-metadata",
    "Metadata as long as offset.metadata.max.bytes allows is given back whole.",
    f"offset.metadata.max.bytes; {_STORED}",
    needs=COMMIT_AND_FETCH,
)
def longest_metadata(d: Dialogue) -> None:
    given = "".join(chr(ord("a") + number % 26) for number in range(METADATA_LIMIT))
    _store(d, _alone(d), in_topic(TOPIC, 7, given))
    found = fetched(d)["metadata"] or ""
    d.require(found == given, f"all {METADATA_LIMIT} characters", f"{len(found)} characters, {found[:20]!r}…")


@case(
    "offsets.stored.each-topic",
    "Each topic of a commit has its own offset and its own metadata.",
    _STORED,
    needs=COMMIT_AND_FETCH,
)
def each_topic(d: Dialogue) -> None:
    _store(d, _alone(d), in_topic(TOPIC, 5, "five"), in_topic(_OTHER, 8, "eight"))
    for name, offset, metadata in ((TOPIC, 5, "five"), (_OTHER, 8, "eight")):
        found = fetched(d, topic_name=name)
        actual = (found["committed_offset"], found["metadata"])
        d.require(actual == (offset, metadata), f"{offset} and {metadata} for {name}", f"{actual}")


@case(
    "offsets.stored.each-partition",
    "Each partition of a topic has its own offset: where one has none, that of another is not given.",
    _STORED,
    needs={**COMMIT_AND_FETCH, **CREATE},
)
def each_partition(d: Dialogue) -> None:
    topic_of_two(d)
    a = d.member("a")
    stable(d, a)
    _store(d, a, _in_two(p1=5))
    _expect_two(d, p0=-1, p1=5)
    _store(d, a, _in_two(p0=9))
    _expect_two(d, p0=9, p1=5)


@case(
    "offsets.stored.each-group",
    "Each group has its own offsets.",
    _STORED,
    needs=COMMIT_AND_FETCH,
)
def each_group(d: Dialogue) -> None:
    other = f"{d.group_id}-other"
    a = _alone(d)
    _store(d, a, in_topic(TOPIC, 5))
    with d.reaching("another group's offset"):
        expect_each(d, commit(d.member("simple"), 8, group_id=other, **SIMPLE), "NONE")
    groups = fetch(d, d.group_id, other)["groups"]
    actual = {each["group_id"]: each["topics"][0]["partitions"][0]["committed_offset"] for each in groups}
    d.require(actual == {d.group_id: 5, other: 8}, "5 for the group and 8 for the other", f"{actual}")


@case(
    "offsets.stored.beside-others",
    "A commit leaves the offsets of other topics as they are.",
    _STORED,
    needs=COMMIT_AND_FETCH,
)
def beside_others(d: Dialogue) -> None:
    a = _alone(d)
    _store(d, a, in_topic(TOPIC, 5))
    _store(d, a, in_topic(_OTHER, 8))
    expect_fetched(d, 5)


@case(
    "offsets.metadata-too-large.other-partition",
    "Of two partitions of a topic only that is refused whose metadata is too long; the other is stored.",
    "offset.metadata.max.bytes; OffsetMetadataManager.commitOffset",
    needs={**COMMIT_AND_FETCH, **CREATE},
)
def other_partition(d: Dialogue) -> None:
    topic_of_two(d)
    a = d.member("a")
    stable(d, a)
    given = _in_two(p0=5, p1=8)
    given["partitions"][0]["committed_metadata"] = "m" * (METADATA_LIMIT + 1)
    answered = commit(a, topics=[given])["topics"].only()
    actual = {each["partition_index"]: error_name(each["error_code"]) for each in answered["partitions"]}
    wanted = {0: "OFFSET_METADATA_TOO_LARGE", 1: "NONE"}
    d.require(actual == wanted, f"OffsetCommit answered with {wanted}", f"{actual}")
    _expect_two(d, p0=-1, p1=8)


@case(
    "offsets.illegal-generation.preparing",
    "While the members join only the generation that is ending may commit: none before it, none after it.",
    _COMMIT,
    needs=COMMIT_AND_FETCH,
)
def while_preparing(d: Dialogue) -> None:
    topic(d)
    a, b = d.member("a"), d.member("b")
    lead_stable(d, a, b)
    with d.reaching("a rebalance"):
        a.send_join().silent(0.3)
    for generation_id in (b.generation_id + 1, b.generation_id - 1):
        expect_each(d, commit(b, generation_id_or_member_epoch=generation_id), "ILLEGAL_GENERATION")
    expect_fetched(d, -1)


@case(
    "offsets.unknown-member.simple-consumer-while-rebalancing",
    "A simple consumer's commit is UNKNOWN_MEMBER_ID while members join and while assignments are awaited.",
    _COMMIT,
    needs=COMMIT_AND_FETCH,
)
def simple_while_rebalancing(d: Dialogue) -> None:
    topic(d)
    a, b, simple = d.member("a"), d.member("b"), d.member("simple")
    lead(d, a, b)
    expect_each(d, commit(simple, **SIMPLE), "UNKNOWN_MEMBER_ID")
    with d.reaching("a rebalance"):
        a.send_join(protocols=[("range", subscription("changed"))]).silent(0.3)
    expect_each(d, commit(simple, **SIMPLE), "UNKNOWN_MEMBER_ID")
    expect_fetched(d, -1)


@case(
    "offsets.commit-without-membership.after-members-left",
    "When all members have left anybody may commit without id and generation, as who resets offsets does.",
    _COMMIT,
    needs=COMMIT_AND_FETCH,
)
def after_members_left(d: Dialogue) -> None:
    a = _alone(d)
    _store(d, a, in_topic(TOPIC, 5))
    all_leave(d, a)
    expect_each(d, commit(d.member("simple"), 3, **SIMPLE), "NONE")
    expect_fetched(d, 3)


@case(
    "offsets.fetch.everything-of-several-topics",
    "Without a list of topics OffsetFetch gives the offsets of every topic.",
    _STORED,
    needs=COMMIT_AND_FETCH,
)
def everything(d: Dialogue) -> None:
    _store(d, _alone(d), in_topic(TOPIC, 5), in_topic(_OTHER, 8))
    body = {"groups": [{"group_id": d.group_id, "topics": None}]}
    group = d.member("reader").send_whole("OffsetFetch", body).answer()["groups"].only()
    actual = {each["name"]: each["partitions"][0]["committed_offset"] for each in group["topics"]}
    d.require(actual == {TOPIC: 5, _OTHER: 8}, f"5 of {TOPIC} and 8 of {_OTHER}", f"{actual}")


@case(
    "offsets.fetch.everything-of-one-partition",
    "Without a list of topics OffsetFetch gives what was committed and none of the other partitions.",
    _STORED,
    level=Level.SHOULD,
    needs={**COMMIT_AND_FETCH, **CREATE},
)
def everything_of_one_partition(d: Dialogue) -> None:
    topic_of_two(d)
    a = d.member("a")
    stable(d, a)
    _store(d, a, _in_two(p1=5))
    body = {"groups": [{"group_id": d.group_id, "topics": None}]}
    group = d.member("reader").send_whole("OffsetFetch", body).answer()["groups"].only()
    actual = [(p["partition_index"], p["committed_offset"]) for t in group["topics"] for p in t["partitions"]]
    d.require(actual == [(1, 5)], "the offset 5 of partition 1 alone", f"{actual}")


@case(
    "offsets.fetch-asked.after-expiry",
    "When the last member is expired the group is Empty, its offsets stay, and the next one may come.",
    "GroupMetadataManager.expireClassicGroupMemberHeartbeat; OffsetMetadataManager.fetchOffsets",
    needs={**COMMIT_AND_FETCH, **DESCRIBE},
    settings=SHORT_SESSIONS,
    seconds=6.0,
)
def after_expiry(d: Dialogue) -> None:
    topic(d)
    a = d.member("a", session_timeout_ms=1000)
    stable(d, a)
    _store(d, a, in_topic(TOPIC, 5))
    d.wait(1.0 + _LATE)
    state = described(d)["group_state"]
    d.require(state == "Empty", "the state Empty", str(state))
    expect_fetched(d, 5)
    expect_each(d, commit(d.member("simple"), 3, **SIMPLE), "NONE")
    d.expect(d.member("b").enter().answer(), error="NONE")


@case(
    "offsets.delete.others-kept",
    "Only what OffsetDelete names is deleted: other topics keep theirs, and so do other partitions.",
    "KIP-496; OffsetMetadataManager.deleteOffsets",
    needs={**COMMIT_AND_FETCH, **CREATE, "OffsetDelete": (0, 0)},
)
def others_kept(d: Dialogue) -> None:
    topic_of_two(d)
    a = _alone(d)
    _store(d, a, _in_two(p0=5, p1=8), in_topic(TOPIC, 9))
    expect_each(d, delete_offsets(d, TWO_PARTITIONS), "NONE")
    _expect_two(d, p0=-1, p1=8)
    expect_fetched(d, 9)


@case(
    "offsets.delete.subscribed-by-follower",
    "A topic that only a follower subscribes to is protected as one that the leader subscribes to.",
    "KIP-496; ClassicGroup.isSubscribedToTopic",
    needs={**COMMIT_AND_FETCH, "OffsetDelete": (0, 0)},
)
def subscribed_by_follower(d: Dialogue) -> None:
    topic(d, TOPIC, _OTHER)
    a, b = d.member("a"), subscriber(d, "b")
    lead_stable(d, a, b)
    _store(d, b, in_topic(TOPIC, 5), in_topic(_OTHER, 8))
    expect_topics(d, delete_offsets(d, TOPIC, _OTHER), {TOPIC: "GROUP_SUBSCRIBED_TO_TOPIC", _OTHER: "NONE"})
    expect_fetched(d, 5)
