"""Words for more than the members' own requests: a leader that is known, static members, offsets, admin."""

from __future__ import annotations

import re
import time
from typing import Any

from rota.conformance.dialogue import Dialogue, Member, Reply, subscription
from rota.conformance.groups import ON_ITS_WAY, Formed, settle, stable
from rota.conformance.model import MIN_SESSION, Deviation

SHORT_SESSIONS = {MIN_SESSION: 1000}
"""Settings for sessions as short as a second."""

STATIC = {"JoinGroup": (5, 9), "SyncGroup": (3, 5), "Heartbeat": (3, 4), "LeaveGroup": (3, 5)}
"""Versions that know group instance ids (KIP-345)."""

TOPIC = "rota-probe"
"""The topic whose offsets are committed, made by asking for its metadata."""

_NEEDS_TOPIC = {"Metadata": (4, 13)}
COMMIT = {"OffsetCommit": (2, 9), **_NEEDS_TOPIC}
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


def handed_out(d: Dialogue, name: str) -> Member:
    """Someone who has been handed a member id and has not used it."""
    member = d.member(name)
    with d.reaching(f"an id that was handed out to {name}"):
        d.expect(member.join(""), error="MEMBER_ID_REQUIRED")
    return member


def form_of(member_id: str) -> str:
    """How a member id is made: the text with UUID in place of one."""
    return _UUID.sub("UUID", member_id)


def topic(d: Dialogue) -> None:
    """Have the topic made, with one partition, and wait until it has a leader."""
    someone = d.member("maker")
    deadline = d.transcript.elapsed() + _TOPIC_SECONDS
    with d.reaching("a topic"):
        while d.transcript.elapsed() < deadline:
            asked = {"topics": [{"name": TOPIC}], "allow_auto_topic_creation": True}
            (found,) = someone.send_whole("Metadata", asked).answer()["topics"]
            if found["error_code"] == 0 and all(p["error_code"] == 0 for p in found["partitions"]):
                return
            d.wait(0.2)
        raise Deviation(f"the topic {TOPIC}", f"error {found['error_code']}")


def commit(who: Member, **fields: Any) -> Reply:
    """OffsetCommit of offset 7 for partition 0; `fields` replace what the member would send."""
    partition = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    identity = {"generation_id_or_member_epoch": who.generation_id, "member_id": who.member_id}
    given = {"topics": [{"name": TOPIC, "partitions": [partition]}]}
    return who.send("OffsetCommit", {**identity, **given, **fields}).answer()


def fetch(d: Dialogue, *group_ids: str) -> Reply:
    """OffsetFetch of partition 0 for the groups given, else the dialogue's."""
    asked = [{"name": TOPIC, "partition_indexes": [0]}]
    groups = [{"group_id": group_id, "topics": asked} for group_id in group_ids or (d.group_id,)]
    return d.member("reader").send_whole("OffsetFetch", {"groups": groups}).answer()


def describe(d: Dialogue, group_id: str | None = None, **fields: Any) -> Reply:
    """DescribeGroups, a moment later: what was just written may be described only once it is stored."""
    d.wait(0.3)
    groups = [d.group_id if group_id is None else group_id]
    return d.member("admin").send_whole("DescribeGroups", {"groups": groups, **fields}).answer()


def delete(d: Dialogue, *group_ids: str) -> Reply:
    """DeleteGroups of the groups given, else of the dialogue's."""
    return (
        d.member("admin")
        .send_whole("DeleteGroups", {"groups_names": list(group_ids) or [d.group_id]})
        .answer()
    )


def delete_offsets(d: Dialogue, **fields: Any) -> Reply:
    """OffsetDelete of partition 0 in the dialogue's group."""
    topics = [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]
    return d.member("admin").send("OffsetDelete", {"topics": topics, **fields}).answer()


def subscriber(d: Dialogue, name: str, **settings: Any) -> Member:
    """A consumer that is subscribed to the topic."""
    return d.member(name, protocols=[("range", subscription(topic=TOPIC))], **settings)
