"""JoinGroup of a member that the group already has."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, subscription
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import awaiting_assignments, lead_stable, stable
from rota.conformance.steps.membership import pending_member, static
from rota.conformance.steps.version_ranges import HANDSHAKE, STATIC

_EXISTING = "GroupMetadataManager.classicGroupJoinExistingMember"
_UPDATE = "GroupMetadataManager.updateMemberThenRebalanceOrCompleteJoin"


@case(
    "join.unchanged.follower",
    "A follower of a Stable group that joins again unchanged is answered at once; nothing rebalances.",
    _EXISTING,
)
def follower_unchanged(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"))
    (follower,) = formed.followers
    now = follower.generation_id
    d.expect(follower.join(within=PROMPTLY), error="NONE", generation_id=now, members=[])
    d.expect(formed.leader.heartbeat(), error="NONE")


@case(
    "join.unchanged.other-timeouts",
    "Other timeouts alone do not make a follower's JoinGroup a change.",
    _EXISTING,
    level=Level.SHOULD,
)
def follower_other_timeouts(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"))
    (follower,) = formed.followers
    now = follower.generation_id
    reply = follower.join(within=PROMPTLY, session_timeout_ms=7000, rebalance_timeout_ms=50_000)
    d.expect(reply, error="NONE", generation_id=now)


@case(
    "join.changed-protocols.metadata",
    "A follower of a Stable group that joins with other metadata starts a rebalance.",
    _UPDATE,
)
def follower_changed(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"))
    (follower,) = formed.followers
    before = follower.generation_id
    changed = follower.send_join(protocols=[("range", subscription("changed"))])
    changed.silent()
    d.expect(formed.leader.heartbeat(), error="REBALANCE_IN_PROGRESS")
    d.expect(formed.leader.join(), error="NONE", generation_id=before + 1)
    d.expect(changed.answer(), error="NONE", generation_id=before + 1)


@case(
    "join.changed-protocols.order",
    "The same protocols in another order are a change: the rebalance may elect another one.",
    "ClassicGroupMember.matches",
)
def follower_reordered(d: Dialogue) -> None:
    both = [("range", subscription()), ("roundrobin", subscription())]
    formed = stable(d, d.member("a", protocols=both), d.member("b", protocols=both))
    (follower,) = formed.followers
    reordered = follower.send_join(protocols=both[::-1])
    reordered.silent()
    d.expect(formed.leader.heartbeat(), error="REBALANCE_IN_PROGRESS")
    d.expect(formed.leader.join(), error="NONE")
    d.expect(reordered.answer(), error="NONE")


@case(
    "join.leader-rejoins.unchanged",
    "The leader of a Stable group that joins again starts a rebalance even if nothing changed.",
    _EXISTING,
)
def leader_rejoins(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"))
    (follower,) = formed.followers
    before = follower.generation_id
    again = formed.leader.send_join()
    again.silent()
    d.expect(follower.heartbeat(), error="REBALANCE_IN_PROGRESS")
    d.expect(follower.join(), error="NONE", generation_id=before + 1)
    d.expect(again.answer(), error="NONE", generation_id=before + 1)


@case(
    "join.unchanged.while-completing",
    "While assignments are awaited, a follower that joins again unchanged gets the same generation at once.",
    _EXISTING,
)
def completing_follower(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    (follower,) = formed.followers
    now = follower.generation_id
    d.expect(follower.join(within=PROMPTLY), error="NONE", generation_id=now, members=[])
    d.expect(formed.leader.sync(formed.assignments), error="NONE")


@case(
    "join.unchanged.leader-while-completing",
    "While assignments are awaited, the leader that joins again unchanged gets the member list again.",
    _EXISTING,
)
def completing_leader(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    now = formed.leader.generation_id
    reply = formed.leader.join(within=PROMPTLY)
    d.expect(reply, error="NONE", generation_id=now, leader=formed.leader.member_id)
    everyone = {member.member_id for member in formed.everyone}
    d.require(reply.member_ids == everyone, "the list of both members", f"{len(reply.member_ids)} members")


@case(
    "join.changed-protocols.while-completing",
    "While assignments are awaited, a member that joins with other metadata starts a rebalance.",
    _UPDATE,
)
def completing_changed(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    (follower,) = formed.followers
    before = follower.generation_id
    changed = follower.send_join(protocols=[("range", subscription("changed"))])
    changed.silent()
    d.expect(formed.leader.heartbeat(), error="REBALANCE_IN_PROGRESS")
    d.expect(formed.leader.join(), error="NONE", generation_id=before + 1)
    d.expect(changed.answer(), error="NONE", generation_id=before + 1)


@case(
    "join.pending-member.after-a-refusal",
    "An id that was handed out survives a JoinGroup with unsuitable protocols: the next one is admitted.",
    f"KIP-394; {_EXISTING}",
    needs=HANDSHAKE,
)
def after_a_refusal(d: Dialogue) -> None:
    a = pending_member(d, "a")
    suitable = a.settings["protocols"]
    with d.reaching("a JoinGroup that is refused"):
        d.expect(a.join(within=PROMPTLY, protocols=[]), error="INCONSISTENT_GROUP_PROTOCOL")
    d.expect(a.join(protocols=suitable), error="NONE", member_id=a.member_id)


@case(
    "join.unchanged.static-follower",
    "A static follower that joins again with its own id, unchanged, is answered at once as any follower.",
    _EXISTING,
    needs=STATIC,
)
def static_follower(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two")
    now = lead_stable(d, a, b).leader.generation_id
    d.expect(b.join(within=PROMPTLY), error="NONE", generation_id=now, member_id=b.member_id, members=[])
    d.expect(a.heartbeat(), error="NONE")


@case(
    "join.leader-rejoins.static",
    "A static leader that joins again with its own id starts a rebalance as any leader.",
    _EXISTING,
    needs=STATIC,
)
def static_leader(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two")
    before = lead_stable(d, a, b).leader.generation_id
    joining = a.send_join()
    joining.silent()
    d.expect(b.heartbeat(), error="REBALANCE_IN_PROGRESS")
    d.expect(b.join(), error="NONE", generation_id=before + 1)
    d.expect(joining.answer(), error="NONE", generation_id=before + 1, leader=a.member_id)
