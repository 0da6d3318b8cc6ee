"""Words for more than the members' own requests: a leader that is known, static members, offsets, admin."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from rota.conformance.codes import error_name
from rota.conformance.dialogue import PROMPTLY, Dialogue, Member, Reply, subscription
from rota.conformance.groups import ON_ITS_WAY, Formed, settle, stable
from rota.conformance.model import MIN_SESSION, Deviation

SHORT_SESSIONS = {MIN_SESSION: 1000}
"""Settings for sessions as short as a second."""

STATIC = {"JoinGroup": (5, 9), "SyncGroup": (3, 5), "Heartbeat": (3, 4)}
"""Versions that know group instance ids (KIP-345)."""

LEAVES = {**STATIC, "LeaveGroup": (3, 5)}
"""The same, and LeaveGroup by instance id."""

TOPIC = "rota-probe"
"""The topic whose offsets are committed, made by asking for its metadata."""

NAMED_TOPICS = {"Metadata": (4, 7)}
"""Versions of Metadata in which topics are made and have names alone; no case judges it."""

COMMIT = {"OffsetCommit": (2, 9), **NAMED_TOPICS}
FETCH = {"OffsetFetch": (8, 9)}
DESCRIBE = {"DescribeGroups": (0, 6)}
DELETE = {"DeleteGroups": (0, 2)}

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TOPIC_SECONDS = 10.0


def lead(d: Dialogue, leader: Member, *others: Member) -> Formed:
    """A group of which this one is the leader, in its second generation, assignments still to come."""
    stable(d, leader)
    with d.reaching(f"a group that {leader.name} leads, with {', '.join(m.name for m in others)}"):
        waiting = {member.name: member.enter() for member in others}
        time.sleep(ON_ITS_WAY)
        waiting[leader.name] = leader.send_join()
        replies = {name: join.answer() for name, join in waiting.items()}
        for reply in replies.values():
            d.expect(reply, error="NONE", leader=leader.member_id)
    return Formed(leader, others, replies)


def lead_stable(d: Dialogue, leader: Member, *others: Member) -> Formed:
    """As `lead`, and everyone has its assignment."""
    formed = lead(d, leader, *others)
    with d.reaching("a Stable group"):
        settle(d, formed)
    return formed


def static(d: Dialogue, name: str, instance: str, **settings: Any) -> Member:
    """A member with a group instance id."""
    return d.member(name, group_instance_id=instance, **settings)


def handed_out(d: Dialogue, name: str, **settings: Any) -> Member:
    """Someone who has been handed a member id and has not used it."""
    member = d.member(name, **settings)
    with d.reaching(f"an id that was handed out to {name}"):
        d.expect(member.join(""), error="MEMBER_ID_REQUIRED")
    return member


def until_told(d: Dialogue, who: Member, seconds: float) -> str:
    """Heartbeats until they are answered with an error, or for so many seconds; the last answer."""
    since, error = d.transcript.elapsed(), "NONE"
    while error == "NONE" and d.transcript.elapsed() - since < seconds:
        d.wait(0.4)
        error = who.heartbeat().error
    return error


def leave_as(d: Dialogue, *identities: tuple[str, str | None]) -> Reply:
    """LeaveGroup, by someone else, of identities given as member id and instance id."""
    members = [{"member_id": member_id, "group_instance_id": instance} for member_id, instance in identities]
    return d.member("admin").send("LeaveGroup", {"members": members}).answer(PROMPTLY)


def form_of(member_id: str) -> str:
    """How a member id is made: the text with UUID in place of one."""
    return _UUID.sub("UUID", member_id)


def topic(d: Dialogue, *names: str) -> None:
    """Have topics made, `TOPIC` if none is named, with one partition each, and wait for their leaders."""
    someone = d.member("maker")
    wanted = names or (TOPIC,)
    deadline = d.transcript.elapsed() + _TOPIC_SECONDS
    with d.reaching("a topic"):
        while d.transcript.elapsed() < deadline:
            asked = {"topics": [{"name": name} for name in wanted], "allow_auto_topic_creation": True}
            found = someone.send_whole("Metadata", asked).answer()["topics"]
            errors = [each["error_code"] for one in found for each in (one, *one["partitions"])]
            if not any(errors):
                return
            d.wait(0.2)
        raise Deviation(f"the topic {', '.join(wanted)}", f"errors {errors}")


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
    said = {
        topic["name"]: ", ".join(error_name(part["error_code"]) for part in topic["partitions"])
        for topic in reply["topics"]
    }
    right, got = (", ".join(f"{name}: {one[name]}" for name in sorted(one)) for one in (wanted, said))
    d.require(said == wanted, f"{reply.asked.api} answered with {right}", got or "nothing")


def fetch(d: Dialogue, *group_ids: str, topic_name: str = TOPIC, **fields: Any) -> Reply:
    """OffsetFetch of partition 0 for the groups given, else the dialogue's."""
    asked = [{"name": topic_name, "partition_indexes": [0]}]
    groups = [{"group_id": group_id, "topics": asked} for group_id in group_ids or (d.group_id,)]
    return d.member("reader").send_whole("OffsetFetch", {"groups": groups, **fields}).answer()


def fetched(d: Dialogue, group_id: str | None = None, topic_name: str = TOPIC) -> Any:
    """What OffsetFetch says of partition 0 for one group, which has to be without an error."""
    (group,) = fetch(d, d.group_id if group_id is None else group_id, topic_name=topic_name)["groups"]
    d.require(group["error_code"] == 0, "offsets", error_name(group["error_code"]))
    partition = group["topics"][0]["partitions"][0]
    d.require(partition["error_code"] == 0, "an offset", error_name(partition["error_code"]))
    return partition


def expect_fetched(d: Dialogue, offset: int, group_id: str | None = None) -> None:
    """Hold the stored offset against the rule; -1 stands for none."""
    found = fetched(d, group_id)["committed_offset"]
    d.require(found == offset, f"the offset {offset}", f"the offset {found}")


def describe(d: Dialogue, group_id: str | None = None, **fields: Any) -> Reply:
    """DescribeGroups, a moment later: what was just written may be described only once it is stored."""
    d.wait(0.3)
    groups = [d.group_id if group_id is None else group_id]
    return d.member("admin").send_whole("DescribeGroups", {"groups": groups, **fields}).answer()


def described(d: Dialogue, group_id: str | None = None) -> Any:
    """What DescribeGroups says of one group, which has to be without an error."""
    (group,) = describe(d, group_id)["groups"]
    d.require(group["error_code"] == 0, "a description", error_name(group["error_code"]))
    return group


def delete(d: Dialogue, *group_ids: str) -> Reply:
    """DeleteGroups of the groups given, else of the dialogue's."""
    return (
        d.member("admin")
        .send_whole("DeleteGroups", {"groups_names": list(group_ids) or [d.group_id]})
        .answer()
    )


def expect_deleted(d: Dialogue, reply: Reply, *errors: str) -> None:
    """Hold the errors of an answer to DeleteGroups, which has no order, against the rule."""
    said = sorted(error_name(result["error_code"]) for result in reply["results"])
    wanted = ", ".join(sorted(errors))
    d.require(said == sorted(errors), f"DeleteGroups answered with {wanted}", ", ".join(said) or "nothing")


def delete_offsets(d: Dialogue, *names: str, **fields: Any) -> Reply:
    """OffsetDelete of partition 0 of the topics named, else of `TOPIC`, in the dialogue's group."""
    topics = [{"name": name, "partitions": [{"partition_index": 0}]} for name in names or (TOPIC,)]
    return d.member("admin").send("OffsetDelete", {"topics": topics, **fields}).answer()


def emptied(d: Dialogue, *members: Member) -> None:
    """Let all members of the group leave."""
    with d.reaching("an empty group"):
        for member in members:
            d.expect(member.leave(), error="NONE")


def subscriber(d: Dialogue, name: str, **settings: Any) -> Member:
    """A consumer that is subscribed to the topic."""
    return d.member(name, protocols=[("range", subscription(topic=TOPIC))], **settings)
