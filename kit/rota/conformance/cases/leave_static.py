"""LeaveGroup of static members: by instance id, by member id, by both, from version 3 (KIP-345)."""

from __future__ import annotations

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue, Reply
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import lead_stable, stable
from rota.conformance.steps.membership import leave_as, static
from rota.conformance.steps.version_ranges import LEAVES

_LEAVE = "KIP-345; GroupMetadataManager.classicGroupLeaveToClassicGroup"


def _expect(d: Dialogue, reply: Reply, *wanted: str) -> None:
    """NONE at the top, and these errors of the identities, in their order."""
    d.expect(reply, error_code=0)
    actual = [error_name(member["error_code"]) for member in reply["members"]]
    d.require(actual == list(wanted), ", ".join(wanted), ", ".join(actual) or "no answer for a member")


@case(
    "leave.by-instance-id.gone",
    "An instance id alone is enough to remove a static member; its id is unknown then.",
    _LEAVE,
    needs=LEAVES,
)
def by_instance(d: Dialogue) -> None:
    a, b = d.member("a"), static(d, "b", "two")
    lead_stable(d, a, b)
    _expect(d, leave_as(d, ("", "two")), "NONE")
    d.expect(b.heartbeat(), error="UNKNOWN_MEMBER_ID")
    d.expect(a.heartbeat(), error="REBALANCE_IN_PROGRESS")


@case(
    "leave.by-instance-id.answer",
    "The answer repeats the instance id and the empty member id; it does not tell whose id it was.",
    f"{_LEAVE}; LeaveGroup response schema",
    level=Level.SHOULD,
    needs=LEAVES,
)
def by_instance_answer(d: Dialogue) -> None:
    stable(d, static(d, "a", "one"))
    reply = leave_as(d, ("", "one"))
    _expect(d, reply, "NONE")
    member = reply["members"].only()
    actual = (member["member_id"], member["group_instance_id"])
    d.require(actual == ("", "one"), "an empty member id and the instance id one", f"{actual}")


@case(
    "leave.by-instance-id.named-twice",
    "An instance id that is named twice in a batch leaves once; its second mention is UNKNOWN_MEMBER_ID.",
    _LEAVE,
    level=Level.SHOULD,
    needs=LEAVES,
)
def named_twice(d: Dialogue) -> None:
    stable(d, static(d, "a", "one"))
    _expect(d, leave_as(d, ("", "one"), ("", "one")), "NONE", "UNKNOWN_MEMBER_ID")


@case(
    "leave.by-instance-id.waiting-join",
    "The JoinGroup in which a static member waits is answered UNKNOWN_MEMBER_ID when it is removed so.",
    _LEAVE,
    needs=LEAVES,
)
def waiting_join(d: Dialogue) -> None:
    a, b = d.member("a"), static(d, "b", "two")
    lead_stable(d, a, b)
    waiting = b.send_join(protocols=[*b.settings["protocols"], ("sticky", b"")])
    with d.reaching("a join phase in which the static member waits"):
        waiting.silent(A_WHILE / 2)
    _expect(d, leave_as(d, ("", "two")), "NONE")
    d.expect(waiting.answer(PROMPTLY), error="UNKNOWN_MEMBER_ID")


@case(
    "leave.by-instance-id.comes-back",
    "A static member that was removed and comes back is a newcomer, not a restart.",
    _LEAVE,
    needs=LEAVES,
)
def comes_back(d: Dialogue) -> None:
    a, b = d.member("a"), static(d, "b", "two")
    before = lead_stable(d, a, b).leader.generation_id
    _expect(d, leave_as(d, ("", "two")), "NONE")
    d.expect(a.join(), error="NONE", generation_id=before + 1)
    joining = b.send_join("")
    joining.silent(A_WHILE / 4)
    d.expect(a.join(), error="NONE", generation_id=before + 2)
    d.expect(joining.answer(PROMPTLY), error="NONE", generation_id=before + 2)


@case(
    "leave.fenced-instance-id.wrong-id",
    "A wrong member id beside a known instance id is fenced, and nobody leaves.",
    _LEAVE,
    needs=LEAVES,
)
def wrong_id(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    _expect(d, leave_as(d, ("never-handed-out", "one")), "FENCED_INSTANCE_ID")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "leave.fenced-instance-id.anothers-id",
    "Another member's id beside a known instance id is fenced, and neither of the two leaves.",
    _LEAVE,
    needs=LEAVES,
)
def anothers_id(d: Dialogue) -> None:
    a, b, c = d.member("a"), static(d, "b", "two"), static(d, "c", "three")
    lead_stable(d, a, b, c)
    reply = leave_as(d, (a.member_id, "two"), (c.member_id, "two"))
    _expect(d, reply, "FENCED_INSTANCE_ID", "FENCED_INSTANCE_ID")
    for member in (a, b, c):
        d.expect(member.heartbeat(), error="NONE")


@case(
    "leave.unknown-member.unknown-instance",
    "An instance id that the group does not know cannot leave: UNKNOWN_MEMBER_ID, whatever the member id.",
    _LEAVE,
    needs=LEAVES,
)
def unknown_instance(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    actual = leave_as(d, ("", "two"), (a.member_id, "two"))
    _expect(d, actual, "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "leave.unknown-member.nobody",
    "A batch entry with neither member id nor instance id is UNKNOWN_MEMBER_ID.",
    _LEAVE,
    level=Level.SHOULD,
    needs=LEAVES,
)
def no_identity(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    _expect(d, leave_as(d, ("", None)), "UNKNOWN_MEMBER_ID")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "leave.batch.mixed",
    "In one batch some leave by instance id, some by member id, some by both; who is unknown spoils nothing.",
    _LEAVE,
    needs=LEAVES,
)
def mixed(d: Dialogue) -> None:
    a, b, c, e = d.member("a"), static(d, "b", "two"), d.member("c"), static(d, "e", "five")
    lead_stable(d, a, b, c, e)
    actual = leave_as(d, ("", "six"), ("", "two"), (c.member_id, None), (e.member_id, "five"))
    _expect(d, actual, "UNKNOWN_MEMBER_ID", "NONE", "NONE", "NONE")
    reply = a.join()
    d.expect(reply, error="NONE")
    d.require(reply.member_ids == {a.member_id}, "one member left", f"{len(reply.member_ids)} members")


@case(
    "leave.member.static-without-instance",
    "A static member's id is enough to leave, without its instance id.",
    _LEAVE,
    level=Level.SHOULD,
    needs=LEAVES,
)
def without_instance(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    d.expect(a.leave(), error="NONE")
    d.expect(a.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "leave.unknown-group.by-instance",
    "Instance ids of a group that does not exist are UNKNOWN_MEMBER_ID, each of them.",
    "GroupCoordinatorService.leaveGroup",
    level=Level.SHOULD,
    needs=LEAVES,
)
def unknown_group(d: Dialogue) -> None:
    _expect(d, leave_as(d, ("", "one"), ("", "two")), "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID")
