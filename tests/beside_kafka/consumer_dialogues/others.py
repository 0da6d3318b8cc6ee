"""Other requests about a group of the consumer protocol: offsets, descriptions, deletion, classic ones."""

from __future__ import annotations

from typing import Any

from beside_kafka.consumer_dialogues.stage import Stage, error
from beside_kafka.consumer_dialogues.steps import (
    Dialogue,
    Step,
    beat,
    call,
    codes,
    deleted,
    describe,
    grows,
    join,
    leave,
    topic,
)

SUBSCRIPTION = b"\x00\x00" + b"\x00\x00\x00\x00" + b"\xff\xff\xff\xff"
"""The metadata of a classic member, version 0, with no topics."""


def group(stage: Stage) -> str:
    return stage.group


def commit(member: str, epoch: int, places: str, version: int = 9) -> Step:
    """OffsetCommit of offset 7 for partitions such as `t0 u1`."""

    def topics(stage: Stage) -> list[dict[str, Any]]:
        return [
            {
                **({"topic_id": one["topic_id"]} if version >= 10 else {"name": stage.name(name)}),
                "partitions": [
                    {"partition_index": index, "committed_offset": 7, "committed_metadata": None}
                    for index in one["partitions"]
                ],
            }
            for name, one in by_name(stage, places)
        ]

    who = {"member_id": member, "generation_id_or_member_epoch": epoch}
    what = f"{member!r}, epoch {epoch}, {places}"
    told = codes("topics", "partitions")
    return call("OffsetCommit", version, told, what, group_id=group, topics=topics, **who)


def by_name(stage: Stage, places: str) -> list[tuple[str, dict[str, Any]]]:
    names = list(dict.fromkeys(one[:-1] for one in places.split()))
    return list(zip(names, stage.partitions(places), strict=True))


def fetch(member: str | None, epoch: int, place: str, version: int = 9) -> Step:
    """OffsetFetch of one partition."""

    def groups(stage: Stage) -> list[dict[str, Any]]:
        ((name, one),) = by_name(stage, place)
        named = {"topic_id": one["topic_id"]} if version >= 10 else {"name": stage.name(name)}
        asked = {**named, "partition_indexes": one["partitions"]}
        named_as = {"member_id": member, "member_epoch": epoch} if version >= 9 else {}
        return [{"group_id": stage.group, "topics": [asked], **named_as}]

    def told(_: Stage, answer: dict[str, Any]) -> str:
        (found,) = answer["groups"]
        if found["error_code"]:
            return error(found["error_code"])
        ((one,),) = (each["partitions"] for each in found["topics"])
        return f"{error(one['error_code'])}, offset {one['committed_offset']}"

    who = "nobody named" if version < 9 or member is None else f"{member!r}, epoch {epoch}"
    what = f"{who}, {place}"
    return call("OffsetFetch", version, told, what, groups=groups)


def listed(**filters: list[str]) -> Step:
    """ListGroups, of which this group's entry is told."""

    def told(stage: Stage, answer: dict[str, Any]) -> str:
        own = [one for one in answer["groups"] if one["group_id"] == stage.group]
        texts = (f"{one['protocol_type']}, {one['group_state']}, type {one['group_type']}" for one in own)
        return f"{error(answer['error_code'])}; {next(texts, 'not in the list')}"

    what = ", ".join(f"{name.removesuffix('_filter')} {' '.join(each)}" for name, each in filters.items())
    return call("ListGroups", 5, told, what or "all", **filters)


def described_as_classic(version: int) -> Step:
    """DescribeGroups."""

    def told(_: Stage, answer: dict[str, Any]) -> str:
        (one,) = answer["groups"]
        return f"{error(one['error_code'])}, state {one['group_state']}"

    return call("DescribeGroups", version, told, "this group", groups=lambda stage: [stage.group])


def several(*names: str) -> Step:
    """ConsumerGroupDescribe of several ids; `own` is this group."""

    def told(stage: Stage, answer: dict[str, Any]) -> str:
        found = sorted(
            (one["group_id"].replace(stage.group, "own"), one["error_code"]) for one in answer["groups"]
        )
        return ", ".join(f"{name!r} {error(code)}" for name, code in found) or "an empty list"

    def ids(stage: Stage) -> list[str]:
        return [stage.group if name == "own" else name for name in names]

    return call("ConsumerGroupDescribe", 1, told, ", ".join(map(repr, names)) or "nobody", group_ids=ids)


def delete_group() -> Step:
    return call("DeleteGroups", 2, codes("results"), "this group", groups_names=lambda stage: [stage.group])


def delete_offset(name: str) -> Step:
    def topics(stage: Stage) -> list[dict[str, Any]]:
        return [{"name": stage.name(name), "partitions": [{"partition_index": 0}]}]

    told = codes("topics", "partitions")
    return call("OffsetDelete", 0, told, f"{name}0", group_id=group, topics=topics)


def classic(api: str, version: int, member: str, **more: Any) -> Step:
    """A request of the classic protocol; its error is told."""
    values = {"group_id": group, "member_id": member} | more
    return call(api, version, codes(), member or "no member", **values)


def classic_join(version: int = 3) -> Step:
    protocols = [{"name": "range", "metadata": SUBSCRIPTION}]
    timeouts = {"session_timeout_ms": 30_000, "rebalance_timeout_ms": 30_000}
    kind = {"protocol_type": "consumer", "protocols": protocols}
    return classic("JoinGroup", version, "", **timeouts, **kind)


TWO = (topic("t", 2), join("m1"), join("m2"), beat("m1", 2), beat("m1", 2, owns="t0"), beat("m2", 3))
"""m1 has t0 and m2 t1, both at epoch 3; m2 has been there since epoch 3, m1 since 2."""

DIALOGUES = (
    Dialogue(
        "offsets.epochs-of-commits",
        "A commit is taken at the member's epoch, and at an older one for partitions that it has had since "
        "then; one partition that is not so fails the whole request.",
        (
            *TWO,
            *(commit("m1", 3, "t0"), commit("m1", 2, "t0"), commit("m1", 1, "t0"), commit("m1", 4, "t0")),
            *(commit("m2", 3, "t1"), commit("m2", 2, "t1"), commit("m1", 2, "t0 t1"), commit("m1", -1, "t0")),
        ),
    ),
    Dialogue(
        "offsets.asked-to-give-up",
        "A partition that a member was told to give up may still be committed.",
        (topic("t", 2), join("m1"), join("m2"), beat("m1", 2), commit("m1", 2, "t0 t1")),
    ),
    Dialogue(
        "offsets.freed-unasked",
        "A partition that an older statement has given up is not committed any more at the epoch at which "
        "its member was told it, though the member uses it.",
        (
            *(topic("t", 1), join("m1"), grows("t", 2), beat("m1", 2), commit("m1", 3, "t1"), join("m2")),
            *(commit("m1", 3, "t1"), beat("m1", 3, owns="t0"), commit("m1", 3, "t1"), commit("m1", 4, "t1")),
        ),
    ),
    Dialogue(
        "offsets.of-others",
        "At the member's own epoch nobody asks whose partition it is: a member may overwrite another's "
        "offset.",
        (*TWO, commit("m2", 3, "t1"), commit("m1", 3, "t1")),
    ),
    Dialogue(
        "offsets.who-commits",
        "Who is not in the group is unknown, named or not; before version 9 a member is told that the "
        "version is too old; an empty group takes the commit of anybody with a negative epoch.",
        (
            *(
                topic("t", 1),
                join("m1"),
                commit("m9", 2, "t0"),
                commit("", -1, "t0"),
                commit("m1", 2, "t0", 8),
            ),
            *(leave("m1"), commit("m9", -1, "t0"), commit("", -1, "t0"), commit("m1", 2, "t0")),
        ),
    ),
    Dialogue(
        "offsets.no-group",
        "Without a group a commit with an epoch finds none, which older versions call another generation; "
        "one without an epoch makes a classic group.",
        (
            *(topic("t", 1), commit("m1", 1, "t0"), commit("m1", 1, "t0", 8), fetch("m1", 1, "t0")),
            *(commit("", -1, "t0"), listed(), describe()),
        ),
    ),
    Dialogue(
        "offsets.topic-ids",
        "Version 10 names topics by id; an id that nothing has is answered for itself, and an offset of a "
        "topic that was made anew is not its predecessor's.",
        (
            *(topic("t", 1), join("m1"), commit("m1", 2, "t0 x0", 10), fetch("m1", 2, "t0", 10)),
            *(fetch("m1", 2, "x0", 10), deleted("t"), topic("t", 1), fetch(None, -1, "t'0", 10)),
        ),
    ),
    Dialogue(
        "offsets.epochs-of-fetches",
        "A fetch that names a member must name its very epoch; one that names nobody is not checked.",
        (
            *(*TWO, commit("m1", 3, "t0"), fetch("m1", 3, "t0"), fetch("m1", 2, "t0"), fetch("m1", 4, "t0")),
            *(fetch("m9", 3, "t0"), fetch("", 3, "t0"), fetch(None, -1, "t0"), fetch("m1", 2, "t0", 8)),
        ),
    ),
    Dialogue(
        "admin.list",
        "The list tells protocol, state and type; the filters of states and types ignore case, and an "
        "unknown type is no error.",
        (
            *(topic("t", 2), join("m1"), listed(), listed(types_filter=["Consumer"]), join("m2"), listed()),
            *(listed(states_filter=["reconciling"]), listed(types_filter=["classic"])),
            *(listed(types_filter=["nonsense"]), leave("m1"), listed(), leave("m2"), listed()),
        ),
    ),
    Dialogue(
        "admin.described-as-classic",
        "To DescribeGroups a group of the consumer protocol is dead, from version 6 on not found.",
        (topic("t", 1), join("m1"), described_as_classic(5), described_as_classic(6)),
    ),
    Dialogue(
        "admin.several-at-once",
        "Each id is answered for itself, as often as it was asked; an empty one is invalid.",
        (topic("t", 1), join("m1"), several("own", "nobody", "", "own"), several()),
    ),
    Dialogue(
        "admin.delete",
        "A group with members is not deleted; an empty one is, with its offsets, and its epochs begin anew.",
        (
            *(topic("t", 1), join("m1"), commit("m1", 2, "t0"), delete_group(), leave("m1"), delete_group()),
            *(describe(), delete_group(), fetch(None, -1, "t0"), join("m1")),
        ),
    ),
    Dialogue(
        "admin.delete-offsets",
        "Offsets of a topic are not deleted as long as a member subscribes to it by name.",
        (
            *(topic("t", 1), topic("u", 1), join("m1"), commit("m1", 2, "t0 u0"), delete_offset("t")),
            *(
                delete_offset("u"),
                leave("m1"),
                delete_offset("t"),
                fetch(None, -1, "t0"),
                fetch(None, -1, "u0"),
            ),
        ),
    ),
    Dialogue(
        "admin.classic-requests",
        "Heartbeat and SyncGroup do not know a member of the consumer protocol. Where groups are not "
        "migrated JoinGroup is refused, and LeaveGroup removes a member.",
        (
            *(topic("t", 2), join("m1"), classic("Heartbeat", 3, "m1", generation_id=2)),
            *(classic("SyncGroup", 3, "m1", generation_id=2), classic_join(), classic("LeaveGroup", 2, "m1")),
            *(beat("m1", 2), describe()),
        ),
    ),
    Dialogue(
        "admin.classic-join-of-a-full-group",
        "Where groups are not migrated a classic member that joins is told that the group is of another "
        "kind, whether there is room or not.",
        (
            *(topic("t", 1), join("m1"), join("m2"), classic_join(), join("m3"), classic_join()),
            *(leave("m3"), classic_join(), describe()),
        ),
    ),
    Dialogue(
        "admin.classic-group",
        "Where groups are not migrated a classic group with members is none for this protocol, at any epoch.",
        (topic("t", 1), classic_join(), join("m1"), beat("m1", 1), describe(), listed()),
    ),
    Dialogue(
        "admin.empty-classic-group",
        "A classic group that has offsets and no members gives way to a first heartbeat, and only to that, "
        "and keeps its offsets.",
        (
            *(topic("t", 1), commit("", -1, "t0"), listed(), beat("m1", 1), join("m1"), fetch("m1", 2, "t0")),
            *(describe(), leave("m1"), listed()),
        ),
    ),
)
