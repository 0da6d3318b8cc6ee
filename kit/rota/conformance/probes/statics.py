"""Static members (KIP-345): joining, restarts, fencing, time-outs, leaving."""

from __future__ import annotations

from typing import Any

from rota.conformance.dialogue import A_WHILE, Dialogue, Member, subscription
from rota.conformance.groups import stable
from rota.conformance.registry import probe
from rota.conformance.talk import DESCRIBE, STATIC, describe, lead, lead_stable, static

_NEW = "KIP-345; GroupMetadataManager#classicGroupJoinNewStaticMember"
_REPLACE = "KIP-345; GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin"
_FENCED = "KIP-345; ClassicGroup#validateMember"
_LEAVE = "KIP-345; GroupMetadataManager#classicGroupLeaveToClassicGroup"
_TIMEOUT = "KIP-345; GroupMetadataManager#completeClassicGroupJoin"
_BOTH = {**STATIC, **DESCRIBE}


@probe(
    "static.join.at-once",
    "A static member is admitted without the handshake; its id is made of its instance id and a UUID.",
    f"{_NEW}; ClassicGroup#generateMemberId",
    needs=STATIC,
)
def at_once(d: Dialogue) -> None:
    static(d, "a", "one").join("")


@probe(
    "static.checks.without-instance",
    "A static member's id may be sent without its instance id.",
    _FENCED,
    needs=STATIC,
)
def without_instance(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    a.heartbeat(group_instance_id=None)
    a.sync(group_instance_id=None)


@probe(
    "static.checks.unknown-instance",
    "An instance id that the group does not know is UNKNOWN_MEMBER_ID, whosever member id comes with it.",
    _FENCED,
    needs=STATIC,
)
def unknown_instance(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    a.heartbeat(group_instance_id="two")
    a.sync(group_instance_id="two")


@probe(
    "static.checks.fenced-before-generation",
    "A wrong member id with a known instance id is fenced, before the generation is looked at.",
    f"{_FENCED}; GroupMetadataManager#validateClassicGroupHeartbeat, #validateSyncGroup",
    needs=STATIC,
)
def fenced_first(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    wrong: dict[str, Any] = {"member_id": "never-handed-out", "generation_id": a.generation_id + 7}
    a.heartbeat(**wrong)
    a.sync(**wrong)
    a.join("never-handed-out")


@probe(
    "static.restart.follower",
    "A static follower that restarts takes its place over: a new id, no rebalance, the old id is fenced.",
    _REPLACE,
    needs=STATIC,
)
def restart_follower(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two", protocols=[("range", subscription())])
    lead_stable(d, a, b)
    again = static(d, "again", "two", protocols=[("range", subscription())])
    again.join("")
    a.heartbeat()
    again.heartbeat()
    again.sync()
    _old(b)


def _old(member: Member) -> None:
    """What the id is told that was taken over: with its instance id, and without."""
    member.heartbeat()
    member.heartbeat(group_instance_id=None)
    member.sync()


@probe(
    "static.restart.changed-metadata",
    "A restart with other metadata starts no rebalance either; only DescribeGroups shows the new metadata.",
    _REPLACE,
    needs=_BOTH,
)
def restart_changed_metadata(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two", protocols=[("range", subscription("old"))])
    lead_stable(d, a, b)
    static(d, "again", "two", protocols=[("range", subscription("brand new"))]).join("")
    a.heartbeat()
    describe(d)


@probe(
    "static.restart.added-protocol",
    "A restart that lists one protocol more starts no rebalance while the elected one stays.",
    _REPLACE,
    needs=STATIC,
)
def restart_added_protocol(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two", protocols=[("range", subscription("same"))])
    lead_stable(d, a, b)
    static(
        d, "again", "two", protocols=[("range", subscription("same")), ("roundrobin", subscription("same"))]
    ).join("")
    a.heartbeat()


@probe(
    "static.restart.other-protocol",
    "A restart after which another protocol would be elected starts a rebalance.",
    _REPLACE,
    needs=STATIC,
)
def restart_other_protocol(d: Dialogue) -> None:
    both = [("range", subscription("same")), ("roundrobin", subscription("same"))]
    stable(d, static(d, "a", "one", protocols=both))
    static(d, "again", "one", protocols=both[::-1]).join("")


@probe(
    "static.restart.leader",
    "From version 9 a leader that restarts is told that it leads, who the members are, and not to assign.",
    f"{_REPLACE}; KIP-814",
    needs={**STATIC, "JoinGroup": (9, 9)},
)
def restart_leader(d: Dialogue) -> None:
    _restart_leader(d)


@probe(
    "static.restart.leader-before-9",
    "Before version 9 a leader that restarts is told that its old id leads, and no members.",
    f"{_REPLACE}; KIP-814",
    needs={**STATIC, "JoinGroup": (5, 8)},
)
def restart_leader_before_nine(d: Dialogue) -> None:
    _restart_leader(d)


def _restart_leader(d: Dialogue) -> None:
    a, b = static(d, "a", "one", protocols=[("range", subscription("same"))]), static(d, "b", "two")
    lead_stable(d, a, b)
    again = static(d, "again", "one", protocols=[("range", subscription("same"))])
    again.join("")
    b.heartbeat()
    again.sync()


@probe(
    "static.restart.completing",
    "A restart while assignments are awaited starts a rebalance; the old id's SyncGroup is fenced.",
    _REPLACE,
    needs=STATIC,
)
def restart_completing(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two")
    lead(d, a, b)
    waiting = b.send_sync()
    waiting.silent(A_WHILE / 2)
    again = static(d, "again", "two").send_join("")
    waiting.answer()
    again.silent(A_WHILE / 2)
    a.join()
    again.answer()


@probe(
    "static.restart.preparing",
    "A restart while the members join takes the place of the one that waits, which is fenced.",
    _REPLACE,
    needs=STATIC,
)
def restart_preparing(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two")
    lead_stable(d, a, b)
    newcomer = d.member("c").enter()
    first = static(d, "again", "two").send_join("")
    first.silent(A_WHILE / 2)
    second = static(d, "anew", "two").send_join("")
    first.answer()
    a.join()
    second.answer()
    newcomer.answer()


@probe(
    "static.timeout.kept",
    "A static member that does not join again in time stays: the new generation lists it.",
    _TIMEOUT,
    needs=STATIC,
    seconds=4.0,
)
def absent_is_kept(d: Dialogue) -> None:
    a, b, c = d.member("a"), static(d, "b", "two"), d.member("c")
    for member in (a, b, c):
        member.settings["rebalance_timeout_ms"] = 2000
    lead_stable(d, a, b)
    newcomer = c.enter()
    again = a.send_join()
    again.timed()
    newcomer.answer()
    b.heartbeat()


@probe(
    "static.timeout.leader",
    "A static leader that does not join again in time stays, but another one leads.",
    f"{_TIMEOUT}; ClassicGroup#maybeElectNewJoinedLeader",
    needs=STATIC,
    seconds=4.0,
)
def absent_leader(d: Dialogue) -> None:
    a, b = static(d, "a", "one", rebalance_timeout_ms=2000), d.member("b", rebalance_timeout_ms=2000)
    lead_stable(d, a, b)
    b.send_join(protocols=[("range", subscription("changed"))]).timed()


@probe(
    "static.leave.by-instance",
    "A static member leaves by its instance id alone; named twice, the second is unknown.",
    _LEAVE,
    needs=STATIC,
)
def leave_by_instance(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    named = {"member_id": "", "group_instance_id": "one"}
    d.member("admin").send("LeaveGroup", {"members": [named, named]}).answer()
    a.heartbeat()


@probe(
    "static.leave.wrong-id",
    "A wrong member id with a known instance id is fenced, and nobody leaves.",
    _LEAVE,
    needs=STATIC,
)
def leave_wrong_id(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    named = {"member_id": "never-handed-out", "group_instance_id": "one"}
    d.member("admin").send("LeaveGroup", {"members": [named]}).answer()
    a.heartbeat()


@probe(
    "static.leave.unknown-instance",
    "An instance id that the group does not know cannot leave.",
    _LEAVE,
    needs=STATIC,
)
def leave_unknown_instance(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    named = {"member_id": "", "group_instance_id": "two"}
    d.member("admin").send("LeaveGroup", {"members": [named]}).answer()
    a.heartbeat()


@probe(
    "static.describe.first-client-id",
    "DescribeGroups keeps the client id with which a static member first came, whatever it restarts with.",
    "ClassicGroup#replaceStaticMember",
    needs=_BOTH,
)
def first_client_id(d: Dialogue) -> None:
    same = [("range", subscription("same"))]
    stable(d, static(d, "a", "one", protocols=same))
    static(d, "again", "one", protocols=same).join("")
    describe(d)
