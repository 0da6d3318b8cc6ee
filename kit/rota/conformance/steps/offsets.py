"""Steps with committed offsets: a topic, commits, fetches, deletions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import Dialogue, Member, Reply
from rota.conformance.dialogues.failures import Deviation, Unsupported
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.steps.group_formation import stable

TOPIC = "rota-probe"
"""The topic whose offsets are committed, made by asking for its metadata."""

TWO_PARTITIONS = f"{TOPIC}-two"
"""A topic with two partitions, made by CreateTopics."""

_TOPIC_SECONDS = 10.0


SIMPLE: dict[str, Any] = {"generation_id_or_member_epoch": -1, "member_id": ""}
"""Who commits from outside of group management, as a simple consumer does."""

METADATA_LIMIT = 4096
"""Kafka's default of offset.metadata.max.bytes."""


def topic(d: Dialogue, *names: str) -> None:
    """Have topics made, `TOPIC` if none is named, with one partition each, and wait for their leaders.

    A target without Metadata is taken to look at no topics: it cannot be asked for any. Errors: Unsupported
    where it has Metadata, but makes no topic.
    """
    wanted = names or (TOPIC,)
    if "Metadata" not in d.versions:
        d.remark("no topic is made: the target has no Metadata to ask for one")
        return
    someone = d.member("maker")
    asked = {"topics": [{"name": name} for name in wanted], "allow_auto_topic_creation": True}
    deadline = d.transcript.elapsed() + _TOPIC_SECONDS
    created = ""
    with d.reaching("a topic"):
        while d.transcript.elapsed() < deadline:
            reply = someone.send_whole("Metadata", asked).answer()
            found, brokers = reply["topics"], len(reply["brokers"])
            errors = [error_name(each["error_code"]) for one in found for each in (one, *one["partitions"])]
            if errors and set(errors) == {"NONE"}:
                return
            if not created and "UNKNOWN_TOPIC_OR_PARTITION" in errors:
                created = _created(d, someone, wanted, brokers)
            d.wait(0.2)
        told = ", ".join(sorted(set(errors))) or "no topic"
        if told == "UNKNOWN_TOPIC_OR_PARTITION":
            raise Unsupported(f"needs a topic; Metadata makes none, and {created}")
        raise Deviation(f"the topic {', '.join(wanted)}", told)


def _created(d: Dialogue, someone: Member, names: tuple[str, ...], brokers: int) -> str:
    """Ask for topics by CreateTopics, where there is such a request; what came of it, in words.

    Each broker has a replica, so that the topic has a leader when one of them is ended.
    """
    if "CreateTopics" not in d.versions:
        return "there is no CreateTopics"
    topics = [{"name": name, "num_partitions": 1, "replication_factor": max(brokers, 1)} for name in names]
    reply = someone.send_whole("CreateTopics", {"topics": topics, "timeout_ms": 5000}).answer()
    errors = sorted({error_name(each["error_code"]) for each in reply["topics"]})
    return f"CreateTopics answers {', '.join(errors)}"


def topic_of_two(d: Dialogue) -> None:
    """Have the topic of two partitions made, if it is not there, and wait for its leaders."""
    wanted = {"name": TWO_PARTITIONS, "num_partitions": 2, "replication_factor": 1, "assignments": []}
    with d.reaching("a topic with two partitions"):
        asked = {"topics": [{**wanted, "configs": []}], "timeout_ms": 5000, "validate_only": False}
        made = d.member("maker").send_whole("CreateTopics", asked).answer()["topics"].only()
        error = error_name(made["error_code"])
        d.require(error in ("NONE", "TOPIC_ALREADY_EXISTS"), "the topic", error)
    topic(d, TWO_PARTITIONS)


def settled(d: Dialogue, a: Member | None = None, *names: str) -> Member:
    """The only member of a Stable group, and topics, as of `topic`."""
    topic(d, *names)
    member = a or d.member("a")
    stable(d, member)
    return member


def subscriber(d: Dialogue, name: str, **settings: Any) -> Member:
    """A consumer that is subscribed to the topic."""
    return d.member(name, protocols=[("range", subscription(topic=TOPIC))], **settings)


def commit(who: Member, offset: int = 7, metadata: str | None = "", **fields: Any) -> Reply:
    """OffsetCommit for partition 0 of the topic; `fields` replace what the member would send."""
    static = {"group_instance_id": who.settings.get("group_instance_id")}
    identity = {"generation_id_or_member_epoch": who.generation_id, "member_id": who.member_id, **static}
    given = {"topics": [in_topic(TOPIC, offset, metadata)]}
    return who.send("OffsetCommit", {**identity, **given, **fields}).answer()


def in_topic(name: str, offset: int = 7, metadata: str | None = "", **fields: Any) -> dict[str, Any]:
    """What OffsetCommit says of partition 0 of a topic."""
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": metadata, **fields}
    return {"name": name, "partitions": [partition]}


def expect_each(d: Dialogue, reply: Reply, error: str) -> None:
    """Hold the error of every partition in an answer to OffsetCommit or OffsetDelete against the rule."""
    expect_topics(d, reply, dict.fromkeys((topic["name"] for topic in reply["topics"]), error) or {"": error})


def expect_topics(d: Dialogue, reply: Reply, wanted: Mapping[str, str]) -> None:
    """As `expect_each`, with an error for each topic by name; the order in the answer means nothing."""
    actual = {
        topic["name"]: ", ".join(error_name(part["error_code"]) for part in topic["partitions"])
        for topic in reply["topics"]
    }
    right, got = (", ".join(f"{name}: {one[name]}" for name in sorted(one)) for one in (wanted, actual))
    d.require(actual == wanted, f"{reply.request.api} answered with {right}", got or "nothing")


def fetch(d: Dialogue, *group_ids: str, topic_name: str = TOPIC, **fields: Any) -> Reply:
    """OffsetFetch of partition 0 for the groups given, else the dialogue's."""
    asked = [{"name": topic_name, "partition_indexes": [0]}]
    groups = [{"group_id": group_id, "topics": asked} for group_id in group_ids or (d.group_id,)]
    return d.member("reader").send_whole("OffsetFetch", {"groups": groups, **fields}).answer()


def fetched(d: Dialogue, group_id: str | None = None, topic_name: str = TOPIC) -> Any:
    """What OffsetFetch says of partition 0 for one group, which has to be without an error."""
    group = fetch(d, d.group_id if group_id is None else group_id, topic_name=topic_name)["groups"].only()
    d.require(group["error_code"] == 0, "offsets", error_name(group["error_code"]))
    partition = group["topics"][0]["partitions"][0]
    d.require(partition["error_code"] == 0, "an offset", error_name(partition["error_code"]))
    return partition


def expect_fetched(d: Dialogue, offset: int, group_id: str | None = None) -> None:
    """Hold the stored offset against the rule; -1 stands for none."""
    found = fetched(d, group_id)["committed_offset"]
    d.require(found == offset, f"the offset {offset}", f"the offset {found}")


def delete_offsets(d: Dialogue, *names: str, **fields: Any) -> Reply:
    """OffsetDelete of partition 0 of the topics named, else of `TOPIC`, in the dialogue's group."""
    topics = [{"name": name, "partitions": [{"partition_index": 0}]} for name in names or (TOPIC,)]
    return d.member("admin").send("OffsetDelete", {"topics": topics, **fields}).answer()


def expect_kept(d: Dialogue, offset: int, leader_epoch: int, metadata: str) -> None:
    """Hold all that is stored with the offset against what was committed."""
    found = fetched(d)
    actual = tuple(found[name] for name in ("committed_offset", "committed_leader_epoch", "metadata"))
    wanted = f"offset {offset}, leader epoch {leader_epoch} and the metadata"
    d.require(actual == (offset, leader_epoch, metadata), wanted, f"{actual}")
