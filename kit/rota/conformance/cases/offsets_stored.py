"""OffsetCommit and OffsetFetch: what is stored of a commit, and what is fetched by whom."""

from __future__ import annotations

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.broker_settings import MAX_METADATA
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import all_leave, stable
from rota.conformance.steps.offsets import (
    METADATA_LIMIT,
    TOPIC,
    commit,
    expect_each,
    expect_fetched,
    expect_kept,
    expect_topics,
    fetch,
    fetched,
    in_topic,
    settled,
    topic,
)
from rota.conformance.steps.version_ranges import COMMIT, COMMIT_AND_FETCH, FETCH, TOPICS

_COMMIT = "OffsetMetadataManager.commitOffset"
_FETCH = "OffsetMetadataManager.fetchOffsets"
_NO_TOPIC = "rota-no-such-topic"


@case(
    "offsets.stored.last-wins",
    "The last commit counts, also if its offset is smaller.",
    _COMMIT,
    needs=COMMIT_AND_FETCH,
)
def last_wins(d: Dialogue) -> None:
    a = settled(d)
    for offset in (5, 9, 2):
        expect_each(d, commit(a, offset=offset), "NONE")
    expect_fetched(d, 2)


@case(
    "offsets.stored.kept-as-given",
    "The metadata and the leader epoch of a commit are given back as they came.",
    "KIP-320; OffsetMetadataManager.commitOffset",
    needs={**COMMIT_AND_FETCH, "OffsetCommit": (6, 9)},
)
def kept_as_given(d: Dialogue) -> None:
    a = settled(d)
    given = in_topic(TOPIC, 3, "grüß dich", committed_leader_epoch=5)
    expect_each(d, commit(a, topics=[given]), "NONE")
    expect_kept(d, 3, 5, "grüß dich")


@case(
    "offsets.stored.null-metadata",
    "Metadata that is null is kept as an empty string.",
    _COMMIT,
    level=Level.SHOULD,
    needs=COMMIT_AND_FETCH,
)
def null_metadata(d: Dialogue) -> None:
    expect_each(d, commit(settled(d), metadata=None), "NONE")
    metadata = fetched(d)["metadata"]
    d.require(metadata == "", "empty metadata", repr(metadata))


@case(
    "offsets.metadata-too-large.others-stored",
    "Metadata above offset.metadata.max.bytes is OFFSET_METADATA_TOO_LARGE; other partitions are stored.",
    "offset.metadata.max.bytes; OffsetMetadataManager.commitOffset",
    needs=COMMIT_AND_FETCH,
    settings={MAX_METADATA: METADATA_LIMIT},
)
def metadata_too_large(d: Dialogue) -> None:
    other = f"{TOPIC}-other"
    topic(d, TOPIC, other)
    a = d.member("a")
    stable(d, a)
    topics = [in_topic(other, 7, "m" * (METADATA_LIMIT + 1)), in_topic(TOPIC, 7, "m" * METADATA_LIMIT)]
    expect_topics(d, commit(a, topics=topics), {other: "OFFSET_METADATA_TOO_LARGE", TOPIC: "NONE"})
    expect_fetched(d, 7)


@case(
    "offsets.metadata-too-large.characters",
    "The limit on metadata, in spite of its name, counts characters and not bytes.",
    "OffsetMetadataManager.isMetadataInvalid",
    level=Level.INFO,
    needs=COMMIT,
)
def metadata_in_characters(d: Dialogue) -> None:
    expect_each(d, commit(settled(d), metadata="ü" * METADATA_LIMIT), "NONE")


@case(
    "offsets.metadata-too-large.surrogates",
    "The limit on metadata counts as Java does: a character beyond the first 65,536 counts twice.",
    "OffsetMetadataManager.isMetadataInvalid",
    level=Level.INFO,
    needs=COMMIT_AND_FETCH,
    settings={MAX_METADATA: METADATA_LIMIT},
)
def metadata_in_code_units(d: Dialogue) -> None:
    a = settled(d)
    expect_each(d, commit(a, 5, metadata="𝄞" * (METADATA_LIMIT // 2)), "NONE")
    too_long = "𝄞" * (METADATA_LIMIT // 2) + "m"
    expect_each(d, commit(a, 6, metadata=too_long), "OFFSET_METADATA_TOO_LARGE")
    expect_fetched(d, 5)


@case(
    "offsets.commit.unknown-topic",
    "A topic that does not exist is UNKNOWN_TOPIC_OR_PARTITION; others in the same commit are stored.",
    "KafkaApis.handleOffsetCommitRequest",
    level=Level.SHOULD,
    needs={**COMMIT_AND_FETCH, **TOPICS},
)
def unknown_topic(d: Dialogue) -> None:
    a = settled(d)
    reply = commit(a, topics=[in_topic(_NO_TOPIC), in_topic(TOPIC)])
    expect_topics(d, reply, {_NO_TOPIC: "UNKNOWN_TOPIC_OR_PARTITION", TOPIC: "NONE"})
    expect_fetched(d, 7)


@case(
    "offsets.commit.unknown-partition",
    "A partition that the topic does not have is UNKNOWN_TOPIC_OR_PARTITION.",
    "KafkaApis.handleOffsetCommitRequest",
    level=Level.SHOULD,
    needs={**COMMIT, **TOPICS},
)
def unknown_partition(d: Dialogue) -> None:
    a = settled(d)
    beyond = {
        "name": TOPIC,
        "partitions": [{"partition_index": 4711, "committed_offset": 7, "committed_metadata": ""}],
    }
    expect_each(d, commit(a, topics=[beyond]), "UNKNOWN_TOPIC_OR_PARTITION")


@case(
    "offsets.stored.any-offset",
    "Offsets are not looked at: a negative one is stored as any other.",
    _COMMIT,
    level=Level.INFO,
    needs=COMMIT_AND_FETCH,
)
def any_offset(d: Dialogue) -> None:
    expect_each(d, commit(settled(d), offset=-5), "NONE")
    expect_fetched(d, -5)


@case(
    "offsets.commit.keeps-session",
    "Commits keep a member's session alive as heartbeats do.",
    "ClassicGroup.validateOffsetCommit; GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat",
    needs=COMMIT,
    seconds=8.0,
)
def keeps_session(d: Dialogue) -> None:
    a = settled(d)
    since = d.transcript.elapsed()
    while d.transcript.elapsed() - since < 7.5:
        d.wait(1.2)
        expect_each(d, commit(a), "NONE")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "offsets.fetch.absent-group",
    "OffsetFetch from a group that does not exist gives offset -1, empty metadata and no error.",
    _FETCH,
    needs=COMMIT_AND_FETCH,
)
def fetch_absent(d: Dialogue) -> None:
    topic(d)
    found = fetched(d)
    actual = (found["committed_offset"], found["metadata"])
    d.require(actual == (-1, ""), "offset -1 and empty metadata", f"{actual}")


@case(
    "offsets.fetch.nothing-committed",
    "Where nothing was committed, OffsetFetch gives offset -1, and no error.",
    _FETCH,
    needs=COMMIT_AND_FETCH,
)
def nothing_committed(d: Dialogue) -> None:
    settled(d)
    expect_fetched(d, -1)


@case(
    "offsets.fetch.unknown-topic",
    "For a topic that does not exist OffsetFetch gives offset -1, and no error.",
    f"{_FETCH}; KafkaApis.handleOffsetFetchRequest",
    level=Level.SHOULD,
    needs=FETCH,
)
def fetch_unknown_topic(d: Dialogue) -> None:
    asked = [{"name": _NO_TOPIC, "partition_indexes": [0]}]
    body = {"groups": [{"group_id": d.group_id, "topics": asked}]}
    group = d.member("reader").send_whole("OffsetFetch", body).answer()["groups"].only()
    found = group["topics"][0]["partitions"][0]
    actual = (found["committed_offset"], error_name(found["error_code"]))
    d.require(actual == (-1, "NONE"), "offset -1 and NONE", f"{actual}")


@case(
    "offsets.fetch.leader-epoch",
    "OffsetFetch tells the leader epoch and the metadata that were committed with an offset.",
    _FETCH,
    needs={**COMMIT_AND_FETCH, "OffsetCommit": (6, 9)},
)
def leader_epoch_fetched(d: Dialogue) -> None:
    told = [in_topic(TOPIC, 7, "kept with it", committed_leader_epoch=5)]
    expect_each(d, commit(settled(d), topics=told), "NONE")
    expect_kept(d, 7, 5, "kept with it")


@case(
    "offsets.fetch.several-groups",
    "From version 8 several groups are fetched at a time, in any order.",
    f"KIP-709; {_FETCH}",
    needs=COMMIT_AND_FETCH,
)
def fetch_several(d: Dialogue) -> None:
    other = f"{d.group_id}-other"
    expect_each(d, commit(settled(d)), "NONE")
    groups = fetch(d, other, d.group_id)["groups"]
    actual = {each["group_id"]: each["topics"][0]["partitions"][0]["committed_offset"] for each in groups}
    d.require(actual == {d.group_id: 7, other: -1}, "7 for the group and -1 for the other", f"{actual}")


@case(
    "offsets.fetch.everything",
    "Without a list of topics OffsetFetch gives all that is stored.",
    _FETCH,
    needs=COMMIT_AND_FETCH,
)
def fetch_everything(d: Dialogue) -> None:
    expect_each(d, commit(settled(d)), "NONE")
    body = {"groups": [{"group_id": d.group_id, "topics": None}]}
    group = d.member("reader").send_whole("OffsetFetch", body).answer()["groups"].only()
    actual = [
        (t["name"], [(p["partition_index"], p["committed_offset"]) for p in t["partitions"]])
        for t in group["topics"]
    ]
    d.require(actual == [(TOPIC, [(0, 7)])], f"offset 7 of {TOPIC}", f"{actual}")


@case(
    "offsets.fetch.everything-of-nothing",
    "Without a list of topics, a group that does not exist has an empty one, and no error.",
    _FETCH,
    needs=FETCH,
)
def everything_of_nothing(d: Dialogue) -> None:
    body = {"groups": [{"group_id": d.group_id, "topics": None}]}
    group = d.member("reader").send_whole("OffsetFetch", body).answer()["groups"].only()
    actual = (error_name(group["error_code"]), group["topics"])
    d.require(actual == ("NONE", []), "no topics, and no error", f"{actual}")


@case(
    "offsets.fetch.one-group",
    "Before version 8 one group is fetched, with its error at the top from version 2 on.",
    _FETCH,
    needs={**COMMIT, "OffsetFetch": (2, 7)},
)
def fetch_one(d: Dialogue) -> None:
    expect_each(d, commit(settled(d)), "NONE")
    asked = {"topics": [{"name": TOPIC, "partition_indexes": [0]}]}
    reply = d.member("reader").send("OffsetFetch", asked).answer()
    d.expect(reply, error="NONE")
    found = reply["topics"][0]["partitions"][0]["committed_offset"]
    d.require(found == 7, "the offset 7", f"the offset {found}")


@case(
    "offsets.fetch-asked.anyone-in-any-state",
    "Anyone may fetch, also while the members join and while assignments are awaited.",
    _FETCH,
    needs=COMMIT_AND_FETCH,
)
def anyone(d: Dialogue) -> None:
    a, b = settled(d), d.member("b")
    expect_each(d, commit(a), "NONE")
    joining = b.enter()
    joining.silent(0.4)
    expect_fetched(d, 7)
    with d.reaching("a generation whose assignments are awaited"):
        d.expect(a.join(), error="NONE")
        d.expect(joining.answer(), error="NONE")
    expect_fetched(d, 7)


@case(
    "offsets.fetch-asked.after-members-left",
    "Offsets stay when all members have left.",
    _FETCH,
    needs=COMMIT_AND_FETCH,
)
def after_members_left(d: Dialogue) -> None:
    a = settled(d)
    expect_each(d, commit(a), "NONE")
    all_leave(d, a)
    expect_fetched(d, 7)


@case(
    "offsets.fetch.stable-only",
    "Who asks for stable offsets is given those of plain commits, too.",
    f"KIP-447; {_FETCH}",
    needs=COMMIT_AND_FETCH,
)
def stable_only(d: Dialogue) -> None:
    expect_each(d, commit(settled(d)), "NONE")
    group = fetch(d, require_stable=True)["groups"].only()
    found = group["topics"][0]["partitions"][0]
    actual = (found["committed_offset"], error_name(found["error_code"]))
    d.require(actual == (7, "NONE"), "offset 7 and NONE", f"{actual}")


@case(
    "offsets.commit.topics-come-first",
    "OffsetCommit checks topics before the member: a stranger's answer may name unknown topics alone.",
    "KafkaApis.handleOffsetCommitRequest",
    level=Level.INFO,
    needs={**COMMIT, **TOPICS},
)
def topics_come_first(d: Dialogue) -> None:
    a = settled(d)
    reply = commit(a, topics=[in_topic(_NO_TOPIC)], member_id="never-handed-out")
    expect_each(d, reply, "UNKNOWN_TOPIC_OR_PARTITION")
