"""LeaveGroup: what it does to those who stay, to requests that wait, and to ids that are not members."""

from __future__ import annotations

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue, Member, PendingRequest, Reply
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.steps.group_formation import FormedGroup, awaiting_assignments, stable
from rota.conformance.steps.membership import leave_as, pending_member
from rota.conformance.steps.version_ranges import HANDSHAKE
from rota.wire.error_codes import ERROR_CODES

_LEAVE = "GroupMetadataManager.classicGroupLeaveToClassicGroup"
_BATCH = {"LeaveGroup": (3, 5)}
_SINGLE = {"LeaveGroup": (0, 2)}


def _each(reply: Reply) -> list[str]:
    """The error of every identity of a batch, in the order of the answer."""
    return [error_name(member["error_code"]) for member in reply["members"]]


@case(
    "leave.member.gone",
    "Who has left is no member any more: its heartbeat is answered UNKNOWN_MEMBER_ID.",
    _LEAVE,
)
def no_longer_seen(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"))
    (follower,) = formed.followers
    d.expect(follower.leave(), error="NONE")
    d.expect(follower.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "leave.batch.begins-rebalance",
    "A member that leaves a Stable group starts a rebalance of the others.",
    _LEAVE,
)
def rebalances(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"))
    before = formed.leader.generation_id
    d.expect(formed.followers[0].leave(), error="NONE")
    d.expect(formed.leader.heartbeat(), error="REBALANCE_IN_PROGRESS")
    reply = formed.leader.join()
    d.expect(reply, error="NONE", generation_id=before + 1)
    d.require(reply.member_ids == {formed.leader.member_id}, "one member left", f"{len(reply.member_ids)}")


@case(
    "leave.remove-member.leader-replaced",
    "When the leader leaves, one of those who join again leads the next generation.",
    "ClassicGroup.remove; ClassicGroup.maybeElectNewJoinedLeader",
)
def leader_replaced(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"), d.member("c"))
    d.expect(formed.leader.leave(), error="NONE")
    waiting = [member.send_join() for member in formed.followers]
    leaders = {str(joined.answer()["leader"]) for joined in waiting}
    staying = {member.member_id for member in formed.followers}
    d.require(len(leaders) == 1 and leaders <= staying, "one of the two as leader", f"{sorted(leaders)}")


@case(
    "leave.member.in-the-initial-delay",
    "Who leaves during the initial delay is not in the generation that follows.",
    _LEAVE,
    needs=HANDSHAKE,
    initial_delay_ms=3000,
    least_delay_ms=1000,
    seconds=3.0,
)
def in_the_initial_delay(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    began = d.transcript.elapsed()
    staying, leaving = a.enter(), b.enter()
    d.in_time(began, 0.6 * d.initial_delay)
    d.expect(b.second_connection().leave(), error="NONE")
    d.in_time(began, 0.9 * d.initial_delay)
    d.expect(leaving.answer(PROMPTLY), error="UNKNOWN_MEMBER_ID")
    reply = staying.answer()
    d.expect(reply, error="NONE", leader=a.member_id)
    d.require(reply.member_ids == {a.member_id}, "one member", f"{len(reply.member_ids)}")


@case(
    "leave.remove-member.leader-while-completing",
    "A leader that leaves before it assigns makes the others join again, and one of them leads.",
    "ClassicGroup.remove; GroupMetadataManager.prepareRebalance",
)
def leader_while_completing(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"), d.member("b"), d.member("c"))
    waiting = [member.send_sync() for member in formed.followers]
    with d.reaching("followers that wait in SyncGroup"):
        waiting[0].silent(A_WHILE / 4)
    d.expect(formed.leader.leave(), error="NONE")
    for sync in waiting:
        d.expect(sync.answer(PROMPTLY), error="REBALANCE_IN_PROGRESS")
    again = [member.send_join() for member in formed.followers]
    replies = [joined.answer() for joined in again]
    for reply in replies:
        d.expect(reply, error="NONE", leader=replies[0]["leader"])
    staying = {member.member_id for member in formed.followers}
    leader = str(replies[0]["leader"])
    d.require(leader in staying, "one of the two as leader", d.transcript.named(leader))


@case(
    "leave.remove-member.waiting-follower",
    "When a follower that waits in JoinGroup leaves, the others need not wait for it.",
    _LEAVE,
)
def waiting_follower(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"), d.member("c"))
    stays, leaves = formed.followers
    waits = stays.send_join(protocols=[("range", subscription("changed"))])
    leaving = leaves.send_join(protocols=[("range", subscription("too"))])
    with d.reaching("a join phase in which both followers wait"):
        waits.silent(A_WHILE / 4)
        leaving.silent(A_WHILE / 4)
    d.expect(leaves.second_connection().leave(), error="NONE")
    reply = formed.leader.join(within=PROMPTLY)
    d.expect(reply, error="NONE")
    d.expect(waits.answer(PROMPTLY), error="NONE")
    wanted = {formed.leader.member_id, stays.member_id}
    d.require(reply.member_ids == wanted, "the two that stayed", f"{len(reply.member_ids)} members")


@case(
    "leave.unknown-member.stranger",
    "LeaveGroup with an id that the group does not have is answered UNKNOWN_MEMBER_ID.",
    _LEAVE,
)
def unknown_member(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    d.expect(a.leave("never-handed-out"), error="UNKNOWN_MEMBER_ID")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "leave.unknown-group.refused",
    "LeaveGroup to a group that does not exist is answered UNKNOWN_MEMBER_ID.",
    "GroupMetadataManager.classicGroupLeave",
)
def unknown_group(d: Dialogue) -> None:
    d.expect(d.member("a").leave("never-handed-out"), error="UNKNOWN_MEMBER_ID")


@case(
    "leave.unknown-group.batch",
    "For a group that does not exist the answer says NONE, and UNKNOWN_MEMBER_ID for each member of a batch.",
    "GroupCoordinatorService.leaveGroup",
    level=Level.SHOULD,
    needs=_BATCH,
)
def unknown_group_batch(d: Dialogue) -> None:
    reply = d.member("a").leave("never-handed-out", "neither")
    d.expect(reply, error_code=0)
    actual = _each(reply)
    wanted = ["UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"]
    d.require(actual == wanted, ", ".join(wanted), ", ".join(actual) or "no answer for a member")


@case(
    "leave.invalid-group-id.empty",
    "LeaveGroup with an empty group id is answered INVALID_GROUP_ID.",
    "GroupCoordinatorService.leaveGroup",
    level=Level.SHOULD,
)
def empty_group_id(d: Dialogue) -> None:
    a = d.member("a")
    body = {"group_id": "", "member_id": "nobody", "members": [{"member_id": "nobody"}]}
    d.expect(a.send("LeaveGroup", body).answer(PROMPTLY), error="INVALID_GROUP_ID")


@case(
    "leave.invalid-group-id.older-versions",
    "Before version 3, too, LeaveGroup with an empty group id is answered INVALID_GROUP_ID.",
    "GroupCoordinatorService.leaveGroup",
    level=Level.SHOULD,
    needs=_SINGLE,
    older="3.4.1 answers UNSUPPORTED_VERSION.",
)
def older_empty_group_id(d: Dialogue) -> None:
    reply = d.member("a").send("LeaveGroup", {"group_id": "", "member_id": "nobody"}).answer(PROMPTLY)
    d.expect(reply, error="INVALID_GROUP_ID")


@case(
    "leave.batch.error-on-top",
    "Before version 3 LeaveGroup names one member, and its error stands at the top.",
    f"KIP-345; {_LEAVE}",
    needs=_SINGLE,
)
def error_on_top(d: Dialogue) -> None:
    a = d.member("a")
    d.expect(a.leave("never-handed-out"), error_code=ERROR_CODES["UNKNOWN_MEMBER_ID"])
    stable(d, a)
    d.expect(a.leave("never-handed-out"), error_code=ERROR_CODES["UNKNOWN_MEMBER_ID"])
    d.expect(a.leave(), error_code=0)


@case(
    "leave.remove-member.waiting-join",
    "The JoinGroup in which a leaving member waits is answered UNKNOWN_MEMBER_ID.",
    _LEAVE,
)
def waiting_join(d: Dialogue) -> None:
    _waiting_join_refused(d)


@case(
    "leave.remove-member.waiting-join-nameless",
    "The JoinGroup in which a leaving member waits is answered without its id, which is gone.",
    _LEAVE,
    level=Level.INFO,
)
def waiting_join_nameless(d: Dialogue) -> None:
    d.expect(_waiting_join_refused(d), member_id="")


def _waiting_join_refused(d: Dialogue) -> Reply:
    formed = stable(d, d.member("a"), d.member("b"))
    again = formed.leader.send_join()
    with d.reaching("a join phase that waits for the follower"):
        again.silent(A_WHILE / 2)
    d.expect(formed.leader.second_connection().leave(), error="NONE")
    refused = again.answer(PROMPTLY)
    d.expect(refused, error="UNKNOWN_MEMBER_ID")
    return refused


@case(
    "leave.batch.several",
    "From version 3 several members leave at once; each gets its own answer, in the order of the request.",
    f"KIP-345; {_LEAVE}",
    needs=_BATCH,
)
def batch(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"), d.member("c"))
    first, second = (member.member_id for member in formed.followers)
    reply = formed.leader.leave(second, "never-handed-out", first)
    d.expect(reply, error_code=0)
    wanted = ["NONE", "UNKNOWN_MEMBER_ID", "NONE"]
    d.require(_each(reply) == wanted, ", ".join(wanted), ", ".join(_each(reply)) or "no answer for a member")
    echoed = [member["member_id"] for member in reply["members"]]
    d.require(echoed == [second, "never-handed-out", first], "the ids in their order", f"{echoed}")
    d.expect(formed.leader.heartbeat(), error="REBALANCE_IN_PROGRESS")
    again = formed.leader.join(within=PROMPTLY)
    d.expect(again, error="NONE")
    d.require(again.member_ids == {formed.leader.member_id}, "one member left", f"{len(again.member_ids)}")


@case(
    "leave.batch.named-twice",
    "A member that is named twice in a batch leaves once; its second mention is UNKNOWN_MEMBER_ID.",
    f"KIP-345; {_LEAVE}",
    level=Level.SHOULD,
    needs=_BATCH,
)
def batch_named_twice(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"))
    no_longer_seen = formed.followers[0].member_id
    actual = _each(formed.leader.leave(no_longer_seen, no_longer_seen))
    d.require(actual == ["NONE", "UNKNOWN_MEMBER_ID"], "NONE, UNKNOWN_MEMBER_ID", ", ".join(actual))


@case(
    "leave.batch.nobody",
    "A batch without members is answered NONE and changes nothing.",
    _LEAVE,
    level=Level.SHOULD,
    needs=_BATCH,
)
def batch_of_nobody(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    reply = a.send("LeaveGroup", {"members": []}).answer(PROMPTLY)
    d.expect(reply, error_code=0, members=[])
    d.expect(a.heartbeat(), error="NONE")


@case(
    "leave.pending-member.forgotten",
    "An id that was handed out can leave; joining with it afterwards is UNKNOWN_MEMBER_ID.",
    f"KIP-394; {_LEAVE}",
    needs=HANDSHAKE,
)
def pending(d: Dialogue) -> None:
    a = d.member("a")
    with d.reaching("a member id that was handed out"):
        d.expect(a.join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
    d.expect(a.leave(), error="NONE")
    d.expect(a.join(within=PROMPTLY), error="UNKNOWN_MEMBER_ID")


@case(
    "leave.pending-member.unblocks",
    "When an id leaves that was handed out and holds up a join phase, the phase ends at once.",
    f"KIP-394; {_LEAVE}",
    needs=HANDSHAKE,
)
def pending_unblocks(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    stable(d, a)
    with d.reaching("a join phase that waits for an id that was handed out"):
        d.expect(b.join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
        again = a.send_join()
        again.silent()
    d.expect(b.leave(), error="NONE")
    d.expect(again.answer(PROMPTLY), error="NONE")


@case(
    "leave.pending-member.disturbs-the-group",
    "An id that was handed out and leaves starts a rebalance of a Stable group that it was never in.",
    f"{_LEAVE}, which looks at the state and not at who has left",
    level=Level.INFO,
    needs=HANDSHAKE,
)
def pending_disturbs(d: Dialogue) -> None:
    d.expect(pending_left(d).heartbeat(), error="REBALANCE_IN_PROGRESS")


def pending_left(d: Dialogue) -> Member:
    """The member of a Stable group, after an id that was handed out has left."""
    a, b = d.member("a"), d.member("b")
    stable(d, a)
    with d.reaching("a member id that was handed out"):
        d.expect(b.join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
    d.expect(b.leave(), error="NONE")
    return a


@case(
    "leave.batch.one-evaluation",
    "A batch that removes the missing member and then one that waits leaves neither in the generation.",
    f"KIP-345; {_LEAVE}",
    level=Level.INFO,
    needs=_BATCH,
)
def one_evaluation(d: Dialogue) -> None:
    formed, waiting, staying = missing_and_waiting_left(d)
    d.expect(waiting.answer(PROMPTLY), error="UNKNOWN_MEMBER_ID")
    joined = staying.answer(PROMPTLY)
    d.expect(joined, error="NONE")
    d.require(joined.member_ids == {formed.leader.member_id}, "one member", f"{len(joined.member_ids)}")


def missing_and_waiting_left(d: Dialogue) -> tuple[FormedGroup, PendingRequest, PendingRequest]:
    """A batch has removed whom a join phase waits for, then one who waits; its JoinGroup and the leader's."""
    formed = stable(d, d.member("a"), d.member("b"), d.member("c"))
    missing, waits = formed.followers
    with d.reaching("a join phase that waits for one"):
        staying = formed.leader.send_join()
        staying.silent(A_WHILE / 4)
        waiting = waits.send_join()
        waiting.silent(A_WHILE / 4)
    reply = d.member("admin").leave(missing.member_id, waits.member_id)
    d.require(_each(reply) == ["NONE", "NONE"], "NONE, NONE", ", ".join(_each(reply)))
    return formed, waiting, staying


@case(
    "leave.remove-member.waiting-sync",
    "The SyncGroup in which a leaving member waits is never answered.",
    f"{_LEAVE}; ClassicGroup.remove, after which nobody knows of it",
    level=Level.INFO,
    seconds=2.0,
)
def waiting_sync(d: Dialogue) -> None:
    left_while_syncing(d).silent(PROMPTLY)


def left_while_syncing(d: Dialogue) -> PendingRequest:
    """The SyncGroup of a follower that has left while it waits."""
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    (follower,) = formed.followers
    waiting = follower.send_sync()
    with d.reaching("a follower that waits in SyncGroup"):
        waiting.silent(A_WHILE / 2)
    d.expect(follower.second_connection().leave(), error="NONE")
    return waiting


@case(
    "leave.pending-member.instance-ignored",
    "With an id that was handed out the instance id of a batch entry is not looked at.",
    _LEAVE,
    level=Level.INFO,
    needs={**_BATCH, **HANDSHAKE},
)
def pending_with_instance(d: Dialogue) -> None:
    a = pending_member(d, "a")
    reply = leave_as(d, (a.member_id, "no-such-instance"))
    d.require(_each(reply) == ["NONE"], "NONE", ", ".join(_each(reply)))
    d.expect(a.join(within=PROMPTLY), error="UNKNOWN_MEMBER_ID")
