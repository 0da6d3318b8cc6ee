"""OffsetCommit: who may commit in which state, in which order the checks come, what is stored."""

from __future__ import annotations

from typing import Any

from rota.conformance.dialogues.dialogue import A_WHILE, Dialogue
from rota.conformance.dialogues.failures import Undecidable
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.administration import delete, describe, described, expect_deleted
from rota.conformance.steps.group_formation import all_leave, awaiting_assignments, stable
from rota.conformance.steps.membership import pending_member, static
from rota.conformance.steps.offsets import SIMPLE, commit, expect_each, expect_fetched, settled, topic
from rota.conformance.steps.version_ranges import (
    COMMIT,
    COMMIT_AND_FETCH,
    DELETE,
    DESCRIBE,
    FETCH,
    HANDSHAKE,
    STATIC,
)

_COMMIT = "OffsetMetadataManager.validateOffsetCommit; ClassicGroup.validateOffsetCommit"
_STATIC = {**STATIC, "OffsetCommit": (7, 9)}
_STRANGER = "never-handed-out"


def _rebalancing(d: Dialogue) -> None:
    with d.reaching("a rebalance"):
        d.member("b").enter().silent()


@case(
    "offsets.commit.member",
    "A member of a Stable group commits, and the offset can be fetched.",
    _COMMIT,
    needs=COMMIT_AND_FETCH,
)
def member_commits(d: Dialogue) -> None:
    expect_each(d, commit(settled(d), offset=41), "NONE")
    expect_fetched(d, 41)


@case(
    "offsets.unknown-group.before-9",
    "Before version 9 a commit with a generation to a group that does not exist is ILLEGAL_GENERATION.",
    _COMMIT,
    needs={**COMMIT, "OffsetCommit": (2, 8)},
)
def absent_group(d: Dialogue) -> None:
    expect_each(d, commit_of_nobody(d), "ILLEGAL_GENERATION")


@case(
    "offsets.unknown-group.from-9",
    "From version 9 a commit with a generation to a group that does not exist is GROUP_ID_NOT_FOUND.",
    f"KIP-848; {_COMMIT}",
    level=Level.SHOULD,
    needs={**COMMIT, "OffsetCommit": (9, 9)},
)
def absent_group_newer(d: Dialogue) -> None:
    expect_each(d, commit_of_nobody(d), "GROUP_ID_NOT_FOUND")


def commit_of_nobody(d: Dialogue) -> Any:
    topic(d)
    return commit(d.member("a"), generation_id_or_member_epoch=1, member_id=_STRANGER)


@case(
    "offsets.simple-group.made-by-a-commit",
    "A simple consumer's commit, with generation -1, makes a group that does not exist; it is Empty.",
    _COMMIT,
    needs={**COMMIT_AND_FETCH, **DESCRIBE},
)
def makes_group(d: Dialogue) -> None:
    topic(d)
    expect_each(d, commit(d.member("a"), **SIMPLE), "NONE")
    expect_fetched(d, 7)
    group = described(d)
    actual = (group["group_state"], group["protocol_type"])
    d.require(actual == ("Empty", ""), "an Empty group without protocol type", f"{actual}")


@case(
    "offsets.simple-group.joined-later",
    "A group that a simple consumer made can be joined as any other, and keeps the offsets.",
    _COMMIT,
    needs=COMMIT_AND_FETCH,
)
def joined_later(d: Dialogue) -> None:
    topic(d)
    expect_each(d, commit(d.member("a"), **SIMPLE), "NONE")
    d.expect(d.member("b").enter().answer(), error="NONE")
    expect_fetched(d, 7)


@case(
    "offsets.commit-without-membership.anyone-while-empty",
    "A commit with generation -1 to an Empty group is accepted, whatever the member id.",
    _COMMIT,
    level=Level.SHOULD,
    needs=COMMIT_AND_FETCH,
)
def anyone_while_empty(d: Dialogue) -> None:
    a = settled(d)
    all_leave(d, a)
    expect_each(d, commit(a, offset=1, **SIMPLE), "NONE")
    expect_each(d, commit(a, offset=2, generation_id_or_member_epoch=-1), "NONE")
    stranger: dict[str, Any] = {"generation_id_or_member_epoch": -1, "member_id": _STRANGER}
    expect_each(d, commit(a, offset=3, **stranger), "NONE")
    expect_fetched(d, 3)


@case(
    "offsets.commit-without-membership.not-beside-members",
    "Who is no member may commit before a group has members and when they have left, not in between.",
    _COMMIT,
    needs=COMMIT_AND_FETCH,
)
def not_beside_members(d: Dialogue) -> None:
    topic(d)
    outsider, a = d.member("simple"), d.member("a")
    expect_each(d, commit(outsider, 1, **SIMPLE), "NONE")
    stable(d, a)
    expect_each(d, commit(outsider, 2, **SIMPLE), "UNKNOWN_MEMBER_ID")
    expect_fetched(d, 1)
    all_leave(d, a)
    expect_each(d, commit(outsider, 3, **SIMPLE), "NONE")
    expect_fetched(d, 3)


@case(
    "offsets.commit-without-membership.any-instance",
    "A commit with generation -1 to an Empty group is accepted, whatever the instance id.",
    _COMMIT,
    level=Level.INFO,
    needs=_STATIC,
)
def any_instance(d: Dialogue) -> None:
    a = settled(d, static(d, "a", "one"))
    all_leave(d, a)
    foreign: dict[str, Any] = {**SIMPLE, "group_instance_id": "no-such-instance"}
    expect_each(d, commit(a, **foreign), "NONE")


@case(
    "offsets.commit-without-membership.empty-group-id",
    "The empty group id is as good as any to commit, fetch, describe and delete.",
    "GroupCoordinatorService.commitOffsets, .fetchOffsets, .describeGroups, .deleteGroups",
    level=Level.SHOULD,
    needs={**COMMIT_AND_FETCH, **DESCRIBE, **DELETE},
)
def empty_group_id(d: Dialogue) -> None:
    if describe(d, "")["groups"].only()["group_state"] != "Dead":
        with d.reaching("a look at which groups are there", "admin.describe-unknown-group"):
            state = described(d, f"{d.group_id}-nowhere")["group_state"]
            d.require(state == "Dead", "the state Dead of a group that never was", str(state))
        raise Undecidable("the target has a group with the empty id, which is left alone")
    topic(d)
    expect_each(d, commit(d.member("a"), group_id="", **SIMPLE), "NONE")
    expect_fetched(d, 7, group_id="")
    state = described(d, "")["group_state"]
    d.require(state == "Empty", "the state Empty", str(state))
    expect_deleted(d, delete(d, ""), "NONE")


@case(
    "offsets.unknown-member.stranger",
    "A stranger's commit to a group with members is UNKNOWN_MEMBER_ID.",
    _COMMIT,
    needs=COMMIT_AND_FETCH,
)
def stranger(d: Dialogue) -> None:
    expect_each(d, commit(settled(d), member_id=_STRANGER), "UNKNOWN_MEMBER_ID")
    expect_fetched(d, -1)


@case(
    "offsets.unknown-member.simple-consumer",
    "A simple consumer's commit to a group with members is UNKNOWN_MEMBER_ID.",
    _COMMIT,
    needs=COMMIT_AND_FETCH,
)
def simple_consumer(d: Dialogue) -> None:
    expect_each(d, commit(settled(d), **SIMPLE), "UNKNOWN_MEMBER_ID")
    expect_fetched(d, -1)


@case(
    "offsets.unknown-member.pending",
    "An id that was handed out and has not joined is no member yet: its commit is UNKNOWN_MEMBER_ID.",
    f"KIP-394; {_COMMIT}",
    needs={**COMMIT, **HANDSHAKE},
)
def pending(d: Dialogue) -> None:
    a = settled(d)
    b = pending_member(d, "b")
    reply = commit(b, generation_id_or_member_epoch=a.generation_id)
    expect_each(d, reply, "UNKNOWN_MEMBER_ID")


@case(
    "offsets.unknown-member.empty-group",
    "A commit with a generation to an Empty group is UNKNOWN_MEMBER_ID, whichever the generation.",
    _COMMIT,
    needs=COMMIT,
)
def empty_group(d: Dialogue) -> None:
    a = settled(d)
    all_leave(d, a)
    expect_each(d, commit(a), "UNKNOWN_MEMBER_ID")
    expect_each(d, commit(a, generation_id_or_member_epoch=a.generation_id + 1), "UNKNOWN_MEMBER_ID")


@case(
    "offsets.unknown-member.before-generation",
    "OffsetCommit checks the member id before the generation: a stranger is UNKNOWN_MEMBER_ID in any.",
    _COMMIT,
    needs=COMMIT,
)
def member_before_generation(d: Dialogue) -> None:
    a = settled(d)
    wrong: dict[str, Any] = {"generation_id_or_member_epoch": a.generation_id + 7, "member_id": _STRANGER}
    expect_each(d, commit(a, **wrong), "UNKNOWN_MEMBER_ID")


@case(
    "offsets.unknown-member.unknown-instance",
    "A member's commit with an instance id that the group does not know is UNKNOWN_MEMBER_ID.",
    f"KIP-345; {_COMMIT}",
    needs=_STATIC,
)
def unknown_instance(d: Dialogue) -> None:
    expect_each(d, commit(settled(d), group_instance_id="two"), "UNKNOWN_MEMBER_ID")


@case(
    "offsets.fenced-instance-id.wrong-id",
    "A commit with a known instance id and another's member id is fenced, and stores nothing.",
    f"KIP-345; {_COMMIT}",
    needs={**_STATIC, **FETCH},
)
def fenced(d: Dialogue) -> None:
    a = settled(d, static(d, "a", "one"))
    expect_each(d, commit(a, member_id=_STRANGER), "FENCED_INSTANCE_ID")
    expect_fetched(d, -1)
    expect_each(d, commit(a), "NONE")


@case(
    "offsets.fenced-instance-id.before-generation",
    "OffsetCommit checks the instance id before the generation: a wrong id is fenced in any.",
    f"KIP-345; {_COMMIT}",
    needs=_STATIC,
)
def fenced_before_generation(d: Dialogue) -> None:
    a = settled(d, static(d, "a", "one"))
    for generation_id in (a.generation_id + 7, -1):
        wrong: dict[str, Any] = {"generation_id_or_member_epoch": generation_id, "member_id": _STRANGER}
        expect_each(d, commit(a, **wrong), "FENCED_INSTANCE_ID")


@case(
    "offsets.fenced-instance-id.restarted",
    "After a restart the old id's commits are fenced; those of the new id are stored.",
    f"KIP-345; {_COMMIT}",
    needs={**_STATIC, **FETCH},
)
def restarted(d: Dialogue) -> None:
    a, again = static(d, "a", "one"), static(d, "again", "one")
    again.settings["protocols"] = a.settings["protocols"]
    settled(d, a)
    with d.reaching("a restart in a Stable group", rule="static.replaced-in-stable"):
        d.expect(again.join(""), error="NONE", generation_id=a.generation_id)
    expect_each(d, commit(a, offset=1), "FENCED_INSTANCE_ID")
    expect_each(d, commit(again, offset=2), "NONE")
    expect_fetched(d, 2)


@case(
    "offsets.illegal-generation.older-and-newer",
    "A member's commit of another generation than the group's is ILLEGAL_GENERATION.",
    _COMMIT,
    needs=COMMIT_AND_FETCH,
)
def wrong_generation(d: Dialogue) -> None:
    a = settled(d)
    for generation_id in (a.generation_id + 1, a.generation_id - 1):
        expect_each(d, commit(a, generation_id_or_member_epoch=generation_id), "ILLEGAL_GENERATION")
    expect_fetched(d, -1)


@case(
    "offsets.illegal-generation.none-given",
    "A member's commit with generation -1 is ILLEGAL_GENERATION: a member has a generation.",
    _COMMIT,
    level=Level.SHOULD,
    needs=COMMIT,
)
def no_generation(d: Dialogue) -> None:
    a = settled(d)
    expect_each(d, commit(a, generation_id_or_member_epoch=-1), "ILLEGAL_GENERATION")


@case(
    "offsets.illegal-generation.before-state",
    "OffsetCommit checks the generation before the state: while assignments are awaited, too.",
    _COMMIT,
    needs=COMMIT,
)
def generation_before_state(d: Dialogue) -> None:
    topic(d)
    leader = awaiting_assignments(d, d.member("a")).leader
    reply = commit(leader, generation_id_or_member_epoch=leader.generation_id - 1)
    expect_each(d, reply, "ILLEGAL_GENERATION")


@case(
    "offsets.rebalance-in-progress.completing",
    "While assignments are awaited, a commit of the new generation is REBALANCE_IN_PROGRESS.",
    _COMMIT,
    needs=COMMIT_AND_FETCH,
)
def completing(d: Dialogue) -> None:
    topic(d)
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    for member in formed.everyone:
        expect_each(d, commit(member), "REBALANCE_IN_PROGRESS")
    expect_fetched(d, -1)


@case(
    "offsets.commit.preparing",
    "While the members join, the generation is still the old one, and may commit.",
    _COMMIT,
    needs=COMMIT_AND_FETCH,
)
def preparing(d: Dialogue) -> None:
    a = settled(d)
    _rebalancing(d)
    expect_each(d, commit(a), "NONE")
    expect_fetched(d, 7)


@case(
    "offsets.commit.preparing-and-waiting",
    "A member that has joined again and waits may still commit with the old generation.",
    _COMMIT,
    needs=COMMIT,
)
def preparing_and_waiting(d: Dialogue) -> None:
    topic(d)
    formed = stable(d, d.member("a"), d.member("b"))
    with d.reaching("a rebalance"):
        formed.leader.send_join().silent(A_WHILE / 2)
    expect_each(d, commit(formed.leader.second_connection()), "NONE")


@case(
    "offsets.illegal-generation.after-rebalance",
    "When the rebalance is over, the old generation may commit no more.",
    _COMMIT,
    needs=COMMIT,
)
def after_rebalance(d: Dialogue) -> None:
    a = settled(d)
    old = a.generation_id
    with d.reaching("a rebalance that is over"):
        d.expect(a.join(), error="NONE", generation_id=old + 1)
        d.expect(a.sync({}), error="NONE")
    expect_each(d, commit(a, generation_id_or_member_epoch=old), "ILLEGAL_GENERATION")
    expect_each(d, commit(a), "NONE")


@case(
    "offsets.unknown-group.not-made",
    "A commit that is refused makes no group.",
    _COMMIT,
    level=Level.SHOULD,
    needs={**COMMIT, "DescribeGroups": (0, 5)},
)
def not_made(d: Dialogue) -> None:
    commit_of_nobody(d)
    group = describe(d)["groups"].only()
    d.require(group["group_state"] == "Dead", "the state Dead", str(group["group_state"]))
