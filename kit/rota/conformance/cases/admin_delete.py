"""DeleteGroups (KIP-229): which groups may be deleted, and what goes with them."""

from __future__ import annotations

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.administration import delete, described, expect_deleted
from rota.conformance.steps.group_formation import all_leave, awaiting_assignments, stable
from rota.conformance.steps.membership import pending_member
from rota.conformance.steps.offsets import commit, expect_each, expect_fetched, topic
from rota.conformance.steps.version_ranges import COMMIT, DELETE, DESCRIBE, FETCH, HANDSHAKE

_DELETE = "KIP-229; GroupCoordinatorShard.deleteGroups; ClassicGroup.validateDeleteGroup"


@case(
    "admin.delete-unknown-group.refused",
    "A group that does not exist cannot be deleted: GROUP_ID_NOT_FOUND.",
    _DELETE,
    needs=DELETE,
)
def delete_absent(d: Dialogue) -> None:
    expect_deleted(d, delete(d), "GROUP_ID_NOT_FOUND")


@case(
    "admin.delete-non-empty-group.stable",
    "A group with members cannot be deleted: NON_EMPTY_GROUP; it goes on.",
    _DELETE,
    needs=DELETE,
)
def delete_stable(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    expect_deleted(d, delete(d), "NON_EMPTY_GROUP")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "admin.delete-non-empty-group.rebalancing",
    "A group cannot be deleted while its members join, nor while assignments are awaited.",
    _DELETE,
    needs=DELETE,
)
def delete_rebalancing(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    expect_deleted(d, delete(d), "NON_EMPTY_GROUP")
    with d.reaching("a rebalance"):
        d.expect(formed.leader.sync(formed.assignments), error="NONE")
        formed.leader.send_join().silent(A_WHILE / 4)
    expect_deleted(d, delete(d), "NON_EMPTY_GROUP")


@case(
    "admin.delete.empty",
    "An Empty group can be deleted, and is gone: it cannot be deleted again.",
    _DELETE,
    needs=DELETE,
)
def delete_empty(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    all_leave(d, a)
    expect_deleted(d, delete(d), "NONE")
    expect_deleted(d, delete(d), "GROUP_ID_NOT_FOUND")


@case(
    "admin.delete.each-for-itself",
    "Of several groups each is deleted or refused for itself: one with members spares itself alone.",
    _DELETE,
    needs={**DELETE, **COMMIT},
)
def each_for_itself(d: Dialogue) -> None:
    unused, absent = f"{d.group_id}-unused", f"{d.group_id}-absent"
    topic(d)
    a = d.member("a")
    stable(d, a)
    with d.reaching("another group, which is Empty"):
        simple = {"generation_id_or_member_epoch": -1, "member_id": "", "group_id": unused}
        expect_each(d, commit(d.member("simple"), 7, "", **simple), "NONE")
    results = delete(d, d.group_id, unused, absent)["results"]
    actual = {each["group_id"]: error_name(each["error_code"]) for each in results}
    wanted = {d.group_id: "NON_EMPTY_GROUP", unused: "NONE", absent: "GROUP_ID_NOT_FOUND"}
    d.require(actual == wanted, f"{wanted}", f"{actual}")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "admin.delete.generations-begin-anew",
    "A group of the same name that comes after it begins with generation 1.",
    _DELETE,
    level=Level.SHOULD,
    needs=DELETE,
)
def begins_anew(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    all_leave(d, a)
    expect_deleted(d, delete(d), "NONE")
    d.expect(d.member("b").enter().answer(), error="NONE", generation_id=1)


@case(
    "admin.offsets-forgotten.deleted-group",
    "When a group is deleted its offsets are deleted too.",
    _DELETE,
    needs={**DELETE, **COMMIT, **FETCH},
)
def offsets_too(d: Dialogue) -> None:
    topic(d)
    a = d.member("a")
    stable(d, a)
    with d.reaching("an offset that is stored"):
        expect_each(d, commit(a), "NONE")
    all_leave(d, a)
    expect_deleted(d, delete(d), "NONE")
    expect_fetched(d, -1)


@case(
    "admin.offsets-forgotten.joined-again",
    "Offsets of a group that was deleted do not come back when a group of its name is joined again.",
    _DELETE,
    needs={**DELETE, **COMMIT, **FETCH},
)
def joined_again(d: Dialogue) -> None:
    topic(d)
    a = d.member("a")
    stable(d, a)
    with d.reaching("a group that was deleted with an offset"):
        expect_each(d, commit(a), "NONE")
        all_leave(d, a)
        expect_deleted(d, delete(d), "NONE")
    stable(d, d.member("b"))
    expect_fetched(d, -1)


@case(
    "admin.deletion-stored.answered-once",
    "A group that is named twice is deleted and answered once; each name has an error of its own.",
    _DELETE,
    level=Level.SHOULD,
    needs=DELETE,
)
def named_twice(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    all_leave(d, a)
    reply = delete(d, d.group_id, d.group_id, f"{d.group_id}-other")
    expect_deleted(d, reply, "NONE", "GROUP_ID_NOT_FOUND")


@case(
    "admin.delete.handed-out-id",
    "Deleting a group forgets the ids that were handed out in it: joining with one is UNKNOWN_MEMBER_ID.",
    f"KIP-394; {_DELETE}",
    needs={**DELETE, **HANDSHAKE},
)
def handed_out_id(d: Dialogue) -> None:
    a = pending_member(d, "a")
    expect_deleted(d, delete(d), "NONE")
    d.expect(a.join(within=PROMPTLY), error="UNKNOWN_MEMBER_ID")


@case(
    "admin.delete-non-empty-group.nobody-in-it",
    "A group whose only newcomer has left counts as rebalancing until its initial delay is over.",
    "ClassicGroup.validateDeleteGroup, which looks at the state and not at the members",
    level=Level.INFO,
    needs={**DELETE, **DESCRIBE, **HANDSHAKE},
    initial_delay_ms=3000,
    least_delay_ms=3000,
    seconds=2.0,
)
def nobody_in_it(d: Dialogue) -> None:
    _left_in_the_delay(d)
    group = described(d)
    actual = (group["group_state"], group["members"])
    d.require(actual == ("PreparingRebalance", []), "PreparingRebalance without members", f"{actual}")
    expect_deleted(d, delete(d), "NON_EMPTY_GROUP")


@case(
    "offsets.unknown-member.nobody-in-it",
    "While the initial delay runs on without members, a simple consumer's commit is UNKNOWN_MEMBER_ID.",
    "ClassicGroup.validateOffsetCommit, which looks at the state and not at the members",
    level=Level.INFO,
    needs={**COMMIT, **HANDSHAKE},
    initial_delay_ms=3000,
    least_delay_ms=3000,
    seconds=2.0,
)
def nobody_commits(d: Dialogue) -> None:
    topic(d)
    _left_in_the_delay(d)
    reply = commit(d.member("simple"), generation_id_or_member_epoch=-1, member_id="")
    expect_each(d, reply, "UNKNOWN_MEMBER_ID")


def _left_in_the_delay(d: Dialogue) -> None:
    a = d.member("a")
    with d.reaching("a group in its initial delay that the only newcomer has left"):
        joining = a.enter()
        joining.silent(0.2)
        d.expect(a.second_connection().leave(), error="NONE")
        d.expect(joining.answer(PROMPTLY), error="UNKNOWN_MEMBER_ID")
