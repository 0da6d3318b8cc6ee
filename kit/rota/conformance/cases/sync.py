"""SyncGroup: who waits, what the leader may assign, what a Stable group answers."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue, PendingRequest
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import FormedGroup, awaiting_assignments, stable

_SYNC = "GroupMetadataManager.classicGroupSyncToClassicGroup"


@case(
    "sync.follower-waits.for-leader",
    "A follower waits for the leader's SyncGroup and then gets the bytes that the leader assigned to it.",
    _SYNC,
)
def assignment_reaches_follower(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    (follower,) = formed.followers
    waiting = follower.send_sync()
    waiting.silent()
    given = formed.assignments
    d.expect(formed.leader.sync(given), error="NONE", assignment=given[formed.leader.member_id])
    d.expect(waiting.answer(PROMPTLY), error="NONE", assignment=given[follower.member_id])


@case(
    "sync.stable.late-follower",
    "A follower that syncs after the group became Stable gets its stored assignment at once.",
    _SYNC,
)
def late_follower(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    (follower,) = formed.followers
    with d.reaching("a Stable group with a follower that has not synced"):
        d.expect(formed.leader.sync(formed.assignments), error="NONE")
    d.expect(follower.sync(), error="NONE", assignment=formed.assignments[follower.member_id])


@case(
    "sync.stable.new-assignments-ignored",
    "The leader's SyncGroup in a Stable group answers the stored assignment; new ones in it are ignored.",
    _SYNC,
)
def stable_ignores_new(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"))
    other = {member.member_id: b"something else" for member in formed.everyone}
    stored = formed.assignments
    d.expect(formed.leader.sync(other), error="NONE", assignment=stored[formed.leader.member_id])
    (follower,) = formed.followers
    d.expect(follower.sync(), error="NONE", assignment=stored[follower.member_id])


@case(
    "sync.leader-assigns.left-out",
    "A member that the leader's assignment leaves out is answered too, with empty bytes.",
    _SYNC,
)
def left_out(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    (follower,) = formed.followers
    waiting = follower.send_sync()
    waiting.silent(A_WHILE / 2)
    d.expect(formed.leader.sync({formed.leader.member_id: b"all of it"}), error="NONE")
    d.expect(waiting.answer(PROMPTLY), error="NONE", assignment=b"")


@case(
    "sync.leader-assigns.nothing",
    "A leader may send no assignments at all: everyone gets empty bytes.",
    _SYNC,
)
def nothing_assigned(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    waiting = formed.followers[0].send_sync()
    waiting.silent(A_WHILE / 2)
    d.expect(formed.leader.sync({}), error="NONE", assignment=b"")
    d.expect(waiting.answer(PROMPTLY), error="NONE", assignment=b"")


@case(
    "sync.leader-assigns.unknown-ids",
    "Assignments for ids that are not in the group are ignored.",
    _SYNC,
)
def unknown_ids(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"))
    given = {"nobody": b"lost", formed.leader.member_id: b"mine"}
    d.expect(formed.leader.sync(given), error="NONE", assignment=b"mine")


@case(
    "sync.follower-waits.own-assignments-ignored",
    "Only the leader assigns: what a follower sends as assignments is ignored.",
    _SYNC,
)
def follower_assigns(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    (follower,) = formed.followers
    waiting = follower.send_sync({member.member_id: b"usurped" for member in formed.everyone})
    waiting.silent()
    d.expect(formed.leader.sync(formed.assignments), error="NONE")
    d.expect(waiting.answer(PROMPTLY), error="NONE", assignment=formed.assignments[follower.member_id])


@case(
    "sync.follower-waits.replaced-request",
    "When a waiting member syncs once more, the later request is answered and the earlier one never.",
    "ClassicGroupMember.setAwaitingSyncFuture",
    level=Level.SHOULD,
    seconds=2.0,
)
def replaced_request(d: Dialogue) -> None:
    formed, earlier, later = synced_twice(d)
    expect_assigned(d, formed, later)
    earlier.silent()


def synced_twice(d: Dialogue) -> tuple[FormedGroup, PendingRequest, PendingRequest]:
    """A group that awaits assignments, and two SyncGroups of its follower on two connections."""
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    (follower,) = formed.followers
    earlier = follower.send_sync()
    earlier.silent(A_WHILE / 2)
    later = follower.second_connection().send_sync()
    later.silent(A_WHILE / 2)
    return formed, earlier, later


def expect_assigned(d: Dialogue, formed: FormedGroup, waiting: PendingRequest) -> None:
    """The leader assigns, and the follower that waits gets its part."""
    d.expect(formed.leader.sync(formed.assignments), error="NONE")
    (follower,) = formed.followers
    d.expect(waiting.answer(), error="NONE", assignment=formed.assignments[follower.member_id])


@case(
    "sync.leader-assigns.named-twice",
    "Of two assignments for one member the later one counts.",
    _SYNC,
    level=Level.INFO,
)
def named_twice(d: Dialogue) -> None:
    leader = awaiting_assignments(d, d.member("a")).leader
    twice = [{"member_id": leader.member_id, "assignment": share} for share in (b"first", b"last")]
    own = {"generation_id": leader.generation_id, "member_id": leader.member_id}
    named = {"protocol_type": "consumer", "protocol_name": leader.protocol_name}
    reply = leader.send("SyncGroup", {**own, **named, "assignments": twice}).answer(PROMPTLY)
    d.expect(reply, error="NONE", assignment=b"last")
