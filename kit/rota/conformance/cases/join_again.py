"""JoinGroup of a member that the group already has."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue, Member, Reply
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.families.axes import MEMBERS, Role
from rota.conformance.families.family import family, for_each
from rota.conformance.families.reaching import listed
from rota.conformance.families.rounds import all_join, still_assigns, told_to_rejoin
from rota.conformance.families.scene import Scene
from rota.conformance.families.situations import (
    COMPLETING,
    STABLE,
    WITH_ASSIGNMENTS,
    WITH_PENDING,
)
from rota.conformance.steps.group_formation import stable

_EXISTING = "GroupMetadataManager.classicGroupJoinExistingMember"
_UPDATE = "GroupMetadataManager.updateMemberThenRebalanceOrCompleteJoin"
_RANGE, _ROUNDROBIN = listed("both")

Protocols = list[tuple[str, bytes]]


def _same_generation(scene: Scene, reply: Reply, member: Member) -> None:
    scene.d.expect(
        reply,
        error="NONE",
        generation_id=scene.generation,
        leader=scene.lead.member_id,
        member_id=member.member_id,
        protocol_name=scene.protocol,
    )


@family(
    "join.unchanged.followers",
    "A follower that joins again unchanged in a Stable group, or before assignments are there, is answered "
    "at once; nothing rebalances.",
    _EXISTING,
    situations=[situation for situation in (*STABLE, *COMPLETING) if situation.number > 1],
    asked_by=(Role.FOLLOWER,),
    afterwards=still_assigns,
    known_as={
        "stable-two-dynamic-again": "join.unchanged.follower",
        "stable-two-static-again": "join.unchanged.static-follower",
        "completing-two-dynamic": "join.unchanged.while-completing",
    },
)
def follower_unchanged(scene: Scene, follower: Member) -> None:
    for _ in range(2):
        reply = scene.join_as(follower)
        _same_generation(scene, reply, follower)
        scene.d.expect(reply, members=[])


@family(
    "join.unchanged.leaders",
    "While assignments are awaited, the leader that joins again unchanged gets the member list again.",
    _EXISTING,
    situations=COMPLETING,
    asked_by=(Role.LEADER,),
    afterwards=still_assigns,
    known_as={"completing-two-dynamic": "join.unchanged.leader-while-completing"},
)
def completing_leader(scene: Scene, leader: Member) -> None:
    for _ in range(2):
        reply = scene.join_as(leader)
        _same_generation(scene, reply, leader)
        everyone = {member.member_id for member in scene.everyone}
        scene.d.require(
            reply.member_ids == everyone, "the list of all members", f"{len(reply.member_ids)} members"
        )


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


@family(
    "join.leader-rejoins.stable",
    "The leader of a Stable group that joins again starts a rebalance even if nothing changed.",
    _EXISTING,
    situations=STABLE,
    asked_by=(Role.LEADER,),
    apart=True,
    known_as={
        "stable-two-dynamic-again.leader": "join.leader-rejoins.unchanged",
        "stable-two-static-again.leader": "join.leader-rejoins.static",
    },
)
def leader_rejoins(scene: Scene, leader: Member) -> None:
    """The second time as the first."""
    for _ in range(2):
        joining = leader.send_join()
        if scene.followers:
            joining.silent(A_WHILE / 4)
        told_to_rejoin(scene, leader)
        all_join(scene, {leader.name: joining}, scene.followers, leader)
        scene.generation += 1
        with scene.d.reaching("a Stable group once more"):
            waiting = [follower.send_sync() for follower in scene.followers]
            scene.d.expect(leader.sync(scene.assignments), error="NONE")
            for sync in waiting:
                scene.d.expect(sync.answer(), error="NONE")


@family(
    "join.changed-protocols.members",
    "A member that joins with other metadata starts a rebalance; who waits for its assignment joins again.",
    _UPDATE,
    situations=WITH_ASSIGNMENTS,
    asked_by=MEMBERS,
    apart=True,
    known_as={
        "stable-two-static-again.follower": "join.changed-protocols.metadata",
        "completing-three-mixed.follower": "join.changed-protocols.while-completing",
    },
)
def changed(scene: Scene, member: Member) -> None:
    """The leader learns the new metadata, which is as long as the old."""
    new = listed(member.name.upper())
    joining = member.send_join(protocols=new)
    if scene.followers:
        joining.silent(A_WHILE / 4)
    told_to_rejoin(scene, member)
    replies = all_join(scene, {member.name: joining}, scene.everyone, scene.lead)
    told = {each["member_id"]: each["metadata"] for each in replies[scene.lead.name]["members"]}
    wanted = {m.member_id: m.settings["protocols"][0][1] for m in scene.everyone} | {
        member.member_id: new[0][1]
    }
    scene.d.require(told == wanted, "the new metadata in the leader's list", "other metadata")


@for_each(
    "join.changed-protocols.follower",
    "Any change of a follower's list starts a rebalance: order, one more, one fewer, bytes of any protocol.",
    "ClassicGroupMember.matches",
    {
        "order": [_ROUNDROBIN, _RANGE],
        "one-more": [_RANGE, _ROUNDROBIN, ("sticky", b"")],
        "one-fewer": [_RANGE],
        "bytes-of-the-second": [_RANGE, ("roundrobin", bytes(reversed(_ROUNDROBIN[1])))],
        "one-byte": [("range", _RANGE[1][:-1] + b"?"), _ROUNDROBIN],
        "no-bytes": [("range", b""), _ROUNDROBIN],
        "exchanged-bytes": [("range", _ROUNDROBIN[1]), ("roundrobin", _RANGE[1])],
    },
)
def follower_changed(d: Dialogue, new: Protocols) -> None:
    formed = stable(d, *(d.member(name, protocols=listed("both")) for name in "ab"))
    (follower,) = formed.followers
    before = follower.generation_id
    joining = follower.send_join(protocols=new)
    joining.silent(A_WHILE / 2)
    d.expect(formed.leader.heartbeat(), error="REBALANCE_IN_PROGRESS")
    d.expect(formed.leader.join(), error="NONE", generation_id=before + 1)
    d.expect(joining.answer(), error="NONE", generation_id=before + 1)


@family(
    "join.pending-member.after-refusals",
    "An id that was handed out survives JoinGroups that are refused: the next one is admitted.",
    f"KIP-394; {_EXISTING}",
    situations=WITH_PENDING,
    asked_by=(Role.PENDING,),
    apart=True,
    known_as={"handed-out.pending": "join.pending-member.after-a-refusal"},
)
def after_refusals(scene: Scene, pending: Member) -> None:
    """All others join as well, where there are any."""
    d = scene.d
    for wrong, error in (
        ({"protocols": []}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({"protocol_type": ""}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({"session_timeout_ms": 1}, "INVALID_SESSION_TIMEOUT"),
    ):
        d.expect(scene.join_as(pending, **wrong), error=error)
    joining = pending.send_join()
    if scene.phase.has_members:
        joining.silent(A_WHILE / 4)
        all_join(scene, {pending.name: joining, **scene.waiting}, scene.everyone, scene.lead)
    else:
        d.expect(joining.answer(), error="NONE", member_id=pending.member_id, leader=pending.member_id)
