"""SyncGroup: who waits, what the leader may assign, what a Stable group answers."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue, Member, PendingRequest
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.families.axes import MEMBERS, Phase, Role
from rota.conformance.families.family import family
from rota.conformance.families.rounds import assign, still_assigns
from rota.conformance.families.scene import NEVER_HANDED_OUT, Scene
from rota.conformance.families.situations import STABLE, WITH_FOLLOWERS, WITH_MEMBERS, having
from rota.conformance.steps.group_formation import FormedGroup, awaiting_assignments

_SYNC = "GroupMetadataManager.classicGroupSyncToClassicGroup"

_TO_ASSIGN = having(WITH_FOLLOWERS, Phase.COMPLETING, Phase.SYNCING)


@family(
    "sync.follower-waits.each",
    "A follower waits for the leader's SyncGroup and then gets the bytes that the leader assigned to it.",
    _SYNC,
    situations=having(_TO_ASSIGN, Phase.COMPLETING),
    asked_by=(Role.FOLLOWER,),
    apart=True,
    known_as={"completing-two-dynamic.follower": "sync.follower-waits.for-leader"},
)
def follower_waits(scene: Scene, follower: Member) -> None:
    _waits(scene, follower, {})


@family(
    "sync.follower-waits.assigns-in-vain",
    "Only the leader assigns: what a follower sends as assignments is ignored.",
    _SYNC,
    situations=_TO_ASSIGN,
    asked_by=(Role.FOLLOWER,),
    apart=True,
    known_as={"completing-two-dynamic.follower": "sync.follower-waits.own-assignments-ignored"},
)
def follower_assigns(scene: Scene, follower: Member) -> None:
    _waits(scene, follower, {member.member_id: b"usurped" for member in scene.everyone})


def _waits(scene: Scene, follower: Member, given: dict[str, bytes]) -> None:
    """Where it waits already, the later SyncGroup replaces the earlier one."""
    waiting = follower.send_sync(given)
    waiting.silent(A_WHILE / 2)
    scene.waiting = {**scene.waiting, follower.name: waiting}
    assign(scene, scene.assignments)


@family(
    "sync.leader-assigns.to-everyone",
    "Each member gets the bytes that the leader assigned to it, in whatever order they come.",
    _SYNC,
    situations=(*_TO_ASSIGN, *having(WITH_MEMBERS, Phase.COMPLETING)[:1]),
    asked_by=(Role.LEADER,),
    apart=True,
)
def assigned(scene: Scene, leader: Member) -> None:
    """Of equal lengths, so that only their owners tell them apart, and followers before the leader."""
    given = {member.member_id: f"part {number}".encode() for number, member in enumerate(scene.everyone)}
    assign(scene, dict(reversed(given.items())))


@family(
    "sync.leader-assigns.some-left-out",
    "Members that the leader's assignment leaves out, or gives nothing, are answered too, with empty bytes.",
    _SYNC,
    situations=_TO_ASSIGN,
    asked_by=(Role.LEADER,),
    apart=True,
    known_as={"completing-two-dynamic.leader": "sync.leader-assigns.left-out"},
    least=2,
)
def left_out(scene: Scene, leader: Member) -> None:
    """The last follower is left out; another one is given nothing, or else the leader is."""
    last = scene.everyone[-1]
    given = {member.member_id: b"a part" for member in scene.everyone if member is not last}
    given[scene.everyone[-2].member_id] = b"" if len(scene.everyone) > 2 else b"all of it"
    assign(scene, given)


@family(
    "sync.leader-assigns.nobody",
    "A leader may send no assignments at all: everyone gets empty bytes.",
    _SYNC,
    situations=_TO_ASSIGN,
    asked_by=(Role.LEADER,),
    apart=True,
    known_as={"completing-two-dynamic.leader": "sync.leader-assigns.nothing"},
)
def nothing_assigned(scene: Scene, leader: Member) -> None:
    assign(scene, {})


@family(
    "sync.leader-assigns.strangers",
    "Assignments for ids that are not in the group are ignored, wherever they stand.",
    _SYNC,
    situations=(*_TO_ASSIGN, *having(WITH_MEMBERS, Phase.COMPLETING)[:1]),
    asked_by=(Role.LEADER,),
    apart=True,
    known_as={"completing-one-dynamic.leader": "sync.leader-assigns.unknown-ids"},
)
def unknown_ids(scene: Scene, leader: Member) -> None:
    given = {NEVER_HANDED_OUT: b"for nobody", **{former.member_id: b"for nobody" for former in scene.former}}
    for member in scene.everyone:
        given |= {
            member.member_id: scene.assignments[member.member_id],
            f"{member.member_id}-": b"for nobody",
        }
    assign(scene, {**given, "": b"for nobody"})


@family(
    "sync.stable.members",
    "SyncGroup in a Stable group answers the stored assignment each time; new ones in it are ignored.",
    _SYNC,
    situations=STABLE,
    asked_by=MEMBERS,
    afterwards=still_assigns,
    known_as={"stable-two-dynamic-again": "sync.stable.new-assignments-ignored"},
)
def stable_ignores_new(scene: Scene, member: Member) -> None:
    stored = scene.assignments[member.member_id]
    for other in ({}, {each.member_id: b"something else" for each in scene.everyone}):
        scene.d.expect(member.sync(other), error="NONE", assignment=stored)


@family(
    "sync.stable.late-followers",
    "A follower that syncs after the group became Stable gets its stored assignment at once.",
    _SYNC,
    situations=having(_TO_ASSIGN, Phase.COMPLETING),
    asked_by=(Role.FOLLOWER,),
    apart=True,
    known_as={"completing-two-dynamic.follower": "sync.stable.late-follower"},
)
def late_follower(scene: Scene, follower: Member) -> None:
    with scene.d.reaching("a Stable group with followers that have not synced"):
        scene.d.expect(scene.lead.sync(scene.assignments), error="NONE")
    for member in reversed(scene.followers):
        scene.d.expect(member.sync(), error="NONE", assignment=scene.assignments[member.member_id])


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
