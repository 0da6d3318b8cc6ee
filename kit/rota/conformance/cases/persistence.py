"""What is seen once a group, an assignment or a group's end is stored; a log that fails is out of reach."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.administration import described
from rota.conformance.steps.group_formation import ON_ITS_WAY, awaiting_assignments, stable
from rota.conformance.steps.membership import heartbeat_until_error, pending_member
from rota.conformance.steps.version_ranges import DESCRIBE, HANDSHAKE

_DESCRIBE = "GroupMetadataManager.describeGroups"
_SYNC = "GroupMetadataManager.classicGroupSyncToClassicGroup"


@case(
    "persistence.assignment-stored.own-share",
    "The leader's assignment releases everyone who waits in SyncGroup; each is answered its own bytes.",
    f"{_SYNC}; GroupMetadataManager.propagateAssignment",
)
def own_share(d: Dialogue) -> None:
    formed = awaiting_assignments(d, *(d.member(name) for name in "abc"))
    waiting = [(follower, follower.send_sync()) for follower in formed.followers]
    d.wait(ON_ITS_WAY)
    given = formed.assignments
    d.expect(formed.leader.sync(given), error="NONE", assignment=given[formed.leader.member_id])
    for follower, sync in waiting:
        d.expect(sync.answer(PROMPTLY), error="NONE", assignment=given[follower.member_id])


@case(
    "persistence.assignment-stored.makes-stable",
    "The leader's SyncGroup makes the group Stable; it does not wait for the followers to sync.",
    _SYNC,
)
def leader_suffices(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    d.expect(formed.leader.sync(formed.assignments), error="NONE")
    d.expect(formed.leader.heartbeat(), error="NONE")
    d.expect(formed.followers[0].heartbeat(), error="NONE")


@case(
    "persistence.assignment-stored.names-protocol",
    "From version 5 a granted SyncGroup names the group's protocol type and protocol.",
    "KIP-559; SyncGroup response schema",
    needs={"SyncGroup": (5, 5)},
)
def reply_names_protocol(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"))
    reply = formed.leader.sync(formed.assignments)
    d.expect(reply, error="NONE", protocol_type="consumer", protocol_name="range")


@case(
    "persistence.creation-stored.after-handshake",
    "A group exists, Empty, from the moment that an id was handed out in it.",
    f"KIP-394; {_DESCRIBE}",
    level=Level.SHOULD,
    needs={**DESCRIBE, **HANDSHAKE},
)
def after_handshake(d: Dialogue) -> None:
    pending_member(d, "a")
    group = described(d)
    actual = (group["group_state"], group["protocol_type"], group["members"])
    d.require(actual == ("Empty", "", []), "an Empty group without type and members", f"{actual}")


@case(
    "persistence.creation-stored.after-refused-join",
    "A first JoinGroup that is refused for its protocols leaves an Empty group behind.",
    f"GroupMetadataManager.classicGroupJoin; {_DESCRIBE}",
    level=Level.INFO,
    needs=DESCRIBE,
)
def after_refused(d: Dialogue) -> None:
    reply = d.member("a", protocols=[]).join("", within=PROMPTLY)
    with d.reaching("a JoinGroup that is refused"):
        d.expect(reply, error="INCONSISTENT_GROUP_PROTOCOL")
    state = described(d)["group_state"]
    d.require(state == "Empty", "the state Empty", str(state))


@case(
    "persistence.emptied-stored.last-leaves",
    "The LeaveGroup of the last member is answered, and the group is Empty then.",
    "GroupMetadataManager.completeClassicGroupJoin, whose record of an Empty group the answer waits for",
    needs=DESCRIBE,
)
def all_leave(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    d.expect(a.leave(), error="NONE")
    state = described(d)["group_state"]
    d.require(state == "Empty", "the state Empty", str(state))


@case(
    "persistence.assignment-stored.session-anew",
    "With the answer to its SyncGroup a member's session begins anew, however long it has waited.",
    "GroupMetadataManager.propagateAssignment, .rescheduleClassicGroupMemberHeartbeat",
    level=Level.SHOULD,
    seconds=9.0,
)
def session_anew(d: Dialogue) -> None:
    """It waits for 4 s and is silent for 4.5 s: together longer than its session of 6 s, each is shorter."""
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    follower, began = formed.followers[0], d.transcript.elapsed()
    waiting = follower.send_sync()
    waiting.silent(4.0)
    d.in_time(began, 5.5)
    d.expect(formed.leader.sync(formed.assignments), error="NONE")
    d.expect(waiting.answer(PROMPTLY), error="NONE")
    since = d.transcript.elapsed()
    error = heartbeat_until_error(d, formed.leader, 4.5)
    d.in_time(since, 5.5)
    d.require(error == "NONE", "a group that is left as it is", error)
    d.expect(follower.heartbeat(), error="NONE")
