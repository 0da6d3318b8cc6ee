"""Static members: a restart in a Stable group takes over the place; what is answered, who learns of it."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue, Member
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.steps.administration import described
from rota.conformance.steps.group_formation import lead, lead_stable, stable
from rota.conformance.steps.membership import heartbeat_until_error, static
from rota.conformance.steps.version_ranges import DESCRIBE, STATIC

_REPLACE = "KIP-345; GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin"
_LEADER = f"{_REPLACE}; KIP-814"
_SAME = [("range", subscription("same"))]


def _restarted(d: Dialogue) -> tuple[Member, Member, Member]:
    """A static leader, a static follower as it was, and after its restart."""
    a, b = static(d, "a", "one"), static(d, "b", "two", protocols=_SAME)
    lead_stable(d, a, b)
    again = static(d, "again", "two", protocols=_SAME)
    reply = again.join("", within=PROMPTLY)
    d.expect(reply, error="NONE", generation_id=b.generation_id, leader=a.member_id, members=[])
    return a, b, again


@case(
    "static.replaced.keeps-assignment",
    "Who has restarted gets by SyncGroup what was assigned to it before.",
    _REPLACE,
    needs=STATIC,
)
def keeps_assignment(d: Dialogue) -> None:
    a, _, again = _restarted(d)
    d.expect(again.sync(), error="NONE", assignment=b"for b")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "static.replaced-in-stable.other-timeouts",
    "Other timeouts in a restart do not rebalance.",
    _REPLACE,
    level=Level.SHOULD,
    needs=STATIC,
)
def other_timeouts(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two", protocols=_SAME)
    lead_stable(d, a, b)
    again = static(d, "again", "two", protocols=_SAME, session_timeout_ms=7000, rebalance_timeout_ms=50_000)
    d.expect(again.join("", within=PROMPTLY), error="NONE", generation_id=b.generation_id)
    d.expect(a.heartbeat(), error="NONE")


@case(
    "static.replaced-in-stable.changed-metadata",
    "A restart with other metadata for the elected protocol starts no rebalance: the leader sees no change.",
    _REPLACE,
    level=Level.INFO,
    needs=STATIC,
)
def changed_metadata(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two", protocols=[("range", subscription("old"))])
    lead_stable(d, a, b)
    again = static(d, "again", "two", protocols=[("range", subscription("brand new"))])
    d.expect(again.join("", within=PROMPTLY), error="NONE", generation_id=b.generation_id)
    d.expect(a.heartbeat(), error="NONE")


@case(
    "static.replaced-in-stable.added-protocol",
    "A restart that lists one protocol more starts no rebalance while the elected one stays.",
    _REPLACE,
    level=Level.INFO,
    needs=STATIC,
)
def added_protocol(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two", protocols=_SAME)
    lead_stable(d, a, b)
    again = static(d, "again", "two", protocols=[*_SAME, ("roundrobin", subscription("same"))])
    d.expect(again.join("", within=PROMPTLY), error="NONE", generation_id=b.generation_id)
    d.expect(a.heartbeat(), error="NONE")


@case(
    "static.replaced.old-id-fenced",
    "The id from before a restart is fenced wherever it comes with its instance id.",
    _REPLACE,
    needs=STATIC,
)
def old_id_fenced(d: Dialogue) -> None:
    a, b, again = _restarted(d)
    d.expect(b.heartbeat(), error="FENCED_INSTANCE_ID")
    d.expect(b.sync(), error="FENCED_INSTANCE_ID")
    d.expect(b.join(within=PROMPTLY), error="FENCED_INSTANCE_ID")
    d.expect(again.heartbeat(), error="NONE")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "static.replaced.old-id-unknown",
    "Without its instance id the id from before a restart is UNKNOWN_MEMBER_ID.",
    _REPLACE,
    needs=STATIC,
)
def old_id_unknown(d: Dialogue) -> None:
    _, b, _ = _restarted(d)
    d.expect(b.heartbeat(group_instance_id=None), error="UNKNOWN_MEMBER_ID")
    d.expect(b.sync(group_instance_id=None), error="UNKNOWN_MEMBER_ID")


@case(
    "static.replacement-stored.leader-skips",
    "From version 9 a restarted leader's answer names it leader, lists the members and sets skip_assignment.",
    _LEADER,
    needs={**STATIC, "JoinGroup": (9, 9)},
)
def leader_skips(d: Dialogue) -> None:
    a, b = static(d, "a", "one", protocols=_SAME), static(d, "b", "two")
    lead_stable(d, a, b)
    again = static(d, "again", "one", protocols=_SAME)
    reply = again.join("", within=PROMPTLY)
    d.expect(reply, error="NONE", generation_id=b.generation_id, leader=again.member_id, skip_assignment=True)
    wanted = {again.member_id, b.member_id}
    d.require(reply.member_ids == wanted, "the list of both members", f"{len(reply.member_ids)} members")
    d.expect(b.heartbeat(), error="NONE")
    d.expect(again.sync(), error="NONE", assignment=b"for a")


@case(
    "static.replacement-stored.follower-assigns-nothing",
    "From version 9 a restarted follower's answer names the leader, lists nobody and skips nothing.",
    _LEADER,
    needs={**STATIC, "JoinGroup": (9, 9)},
)
def follower_plain(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two", protocols=_SAME)
    lead_stable(d, a, b)
    reply = static(d, "again", "two", protocols=_SAME).join("", within=PROMPTLY)
    d.expect(reply, error="NONE", leader=a.member_id, members=[], skip_assignment=False)


@case(
    "static.replacement-stored.leader-before-9",
    "Before version 9 a restarted leader's answer names its old id leader, lists nobody: nobody leads.",
    _LEADER,
    level=Level.INFO,
    needs={**STATIC, "JoinGroup": (5, 8)},
)
def leader_before_nine(d: Dialogue) -> None:
    a, b = static(d, "a", "one", protocols=_SAME), static(d, "b", "two")
    lead_stable(d, a, b)
    again = static(d, "again", "one", protocols=_SAME)
    reply = again.join("", within=PROMPTLY)
    d.expect(reply, error="NONE", generation_id=b.generation_id, leader=a.member_id, members=[])
    d.expect(b.heartbeat(), error="NONE")
    d.expect(again.sync(), error="NONE", assignment=b"for a")


@case(
    "static.replaced.waiting-join-fenced",
    "The JoinGroup that waits under the old id is told FENCED_INSTANCE_ID at once, whoever takes its place.",
    _REPLACE,
    needs=STATIC,
    initial_delay_ms=1000,
    least_delay_ms=300,
)
def waiting_join_fenced(d: Dialogue) -> None:
    first = static(d, "a", "one", protocols=_SAME).send_join("")
    d.wait(d.initial_delay / 10)
    second = static(d, "again", "one", protocols=_SAME).send_join("")
    d.in_time(first.since, 0.6 * d.initial_delay)
    d.expect(first.answer(PROMPTLY), error="FENCED_INSTANCE_ID")
    d.expect(second.answer(), error="NONE")


@case(
    "static.replaced.leader-rejoins",
    "Who was the leader before a restart is it afterwards: its next JoinGroup rebalances, and it leads.",
    _REPLACE,
    needs={**STATIC, "JoinGroup": (9, 9)},
)
def leader_rejoins(d: Dialogue) -> None:
    a, b = static(d, "a", "one", protocols=_SAME), static(d, "b", "two")
    lead_stable(d, a, b)
    again = static(d, "again", "one", protocols=_SAME)
    with d.reaching("a leader that has restarted", rule="static.replaced-in-stable"):
        d.expect(again.join("", within=PROMPTLY), error="NONE", generation_id=b.generation_id)
    joining = again.send_join()
    joining.silent(A_WHILE / 2)
    d.expect(b.heartbeat(), error="REBALANCE_IN_PROGRESS")
    d.expect(b.join(), error="NONE", leader=again.member_id)
    d.expect(joining.answer(PROMPTLY), error="NONE", leader=again.member_id)


@case(
    "static.replacement-stored.described",
    "After a restart DescribeGroups shows the new id with its instance id and the new metadata.",
    f"{_REPLACE}; ClassicGroup.describe",
    level=Level.SHOULD,
    needs={**STATIC, "DescribeGroups": (4, 6)},
)
def restart_described(d: Dialogue) -> None:
    new = [("range", subscription("brand new"))]
    a, again = static(d, "a", "one", protocols=_SAME), static(d, "again", "one", protocols=new)
    stable(d, a)
    with d.reaching("a restart in a Stable group", rule="static.replaced-in-stable"):
        d.expect(again.join("", within=PROMPTLY), error="NONE", generation_id=a.generation_id)
    member = described(d)["members"].only()
    actual = {name: member[name] for name in ("member_id", "group_instance_id", "member_metadata")}
    wanted = {"member_id": again.member_id, "group_instance_id": "one", "member_metadata": new[0][1]}
    d.require(actual == wanted, "the new id with instance id one and the new metadata", f"{actual}")


@case(
    "static.replaced.first-client-id",
    "DescribeGroups keeps the client id with which a static member first came, whatever it restarts with.",
    "ClassicGroup.replaceStaticMember",
    level=Level.INFO,
    needs={**STATIC, **DESCRIBE},
)
def first_client_id(d: Dialogue) -> None:
    a, again = static(d, "a", "one", protocols=_SAME), static(d, "again", "one", protocols=_SAME)
    stable(d, a)
    with d.reaching("a restart in a Stable group", rule="static.replaced-in-stable"):
        d.expect(again.join("", within=PROMPTLY), error="NONE", generation_id=a.generation_id)
    member = described(d)["members"].only()
    d.require(member["client_id"] == "a", "the client id a", f"the client id {member['client_id']}")


@case(
    "static.replaced.haunted",
    "After a restart of a member that had not synced, the sync time-out of its old id still rebalances.",
    "KAFKA-12890; ClassicGroup.replaceStaticMember, ClassicGroup.allPendingSyncMembers",
    level=Level.INFO,
    needs=STATIC,
    seconds=5.0,
)
def haunted(d: Dialogue) -> None:
    error = heartbeat_until_error(d, restarted_before_it_synced(d), 5.0)
    d.require(error == "REBALANCE_IN_PROGRESS", "REBALANCE_IN_PROGRESS after three seconds", error)


def restarted_before_it_synced(d: Dialogue) -> Member:
    """The leader of a Stable group whose follower has restarted before it synced, and then has."""
    a, b = (static(d, name, f"{name}'s", rebalance_timeout_ms=3000, protocols=_SAME) for name in "ab")
    formed = lead(d, a, b)
    since = d.transcript.elapsed()
    again = static(d, "again", "b's", rebalance_timeout_ms=3000, protocols=_SAME)
    with d.reaching(
        "a Stable group in which everyone alive has synced, the follower after a restart",
        rule="static.replaced-in-stable",
    ):
        d.expect(a.sync(formed.assignments), error="NONE")
        d.expect(again.join("", within=PROMPTLY), error="NONE", generation_id=a.generation_id)
        d.expect(again.sync(), error="NONE")
        d.in_time(since, 2.0)
    return a


@case(
    "static.replaced.former-session",
    "A restart that asks for a longer session keeps the former one until its first heartbeat.",
    "ClassicGroup.replaceStaticMember; GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat",
    level=Level.INFO,
    needs=STATIC,
    seconds=8.0,
)
def former_session(d: Dialogue) -> None:
    a, b = d.member("a"), static(d, "b", "two", protocols=_SAME)
    lead_stable(d, a, b)
    again = static(d, "again", "two", protocols=_SAME, session_timeout_ms=20_000)
    with d.reaching("a restart that asks for 20 s instead of 6 s", rule="static.replaced-in-stable"):
        d.expect(again.join("", within=PROMPTLY), error="NONE", generation_id=b.generation_id)
    error = heartbeat_until_error(d, a, 8.5)
    d.require(error == "REBALANCE_IN_PROGRESS", "a rebalance after six seconds", error)
    d.expect(again.heartbeat(), error="UNKNOWN_MEMBER_ID")
