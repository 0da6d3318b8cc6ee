"""Static members restart in every phase of a group: the leader and followers, once and once more."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Member, PendingRequest, Reply
from rota.conformance.families.axes import MEMBERS, Kind, Phase, Role, State
from rota.conformance.families.family import family
from rota.conformance.families.rounds import all_join, told_to_rejoin
from rota.conformance.families.scene import Scene
from rota.conformance.families.situations import EVERYWHERE, IN_EACH_PHASE, Situation, having
from rota.conformance.steps.membership import static
from rota.conformance.steps.version_ranges import STATIC

_NEW = "KIP-345; GroupMetadataManager.classicGroupJoinNewStaticMember"
_REPLACE = "KIP-345; GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin"

SKIP_ASSIGNMENT = 9
"""The version of JoinGroup from which a restarted leader is told that it leads (KIP-814)."""


def _static(phase: Phase, *numbers: tuple[int, bool]) -> list[Situation]:
    return [Situation(phase, number, Kind.STATIC, again) for number, again in numbers]


@family(
    "static.new-member.without-members",
    "A static newcomer needs no handshake: it is admitted at once, in every version, and is given an id.",
    _NEW,
    situations=having(EVERYWHERE, Phase.NEVER, Phase.DELETED, Phase.HANDED_OUT, Phase.EMPTIED),
    asked_by=(Role.STRANGER,),
    apart=True,
    needs=STATIC,
    known_as={"no-group.stranger": "static.new-member.at-once"},
)
def new_member(scene: Scene, _: Member) -> None:
    """Also under an instance id that one had who has left."""
    newcomer = static(scene.d, "newcomer", "desk-5")
    reply = newcomer.join("")
    scene.d.expect(reply, error="NONE")
    scene.d.require(newcomer.member_id != "", "a member id in the answer", "an empty member id")
    known = {former.member_id for former in scene.former}
    scene.d.require(newcomer.member_id not in known, "a new member id", "that of one who has left")
    scene.d.expect(reply, leader=newcomer.member_id)


@family(
    "static.new-member.among-members",
    "A static newcomer needs no handshake: it waits at once until the members have joined again.",
    _NEW,
    situations=IN_EACH_PHASE,
    asked_by=(Role.STRANGER,),
    apart=True,
    needs=STATIC,
    known_as={"stable-two-static-again.stranger": "static.new-member.rebalances"},
)
def newcomer_rebalances(scene: Scene, _: Member) -> None:
    newcomer = static(scene.d, "static", "desk-4")
    joining = {**scene.waiting, newcomer.name: newcomer.send_join("")}
    joining[newcomer.name].silent(A_WHILE / 4)
    told_to_rejoin(scene)
    if scene.phase.state is not State.PREPARING:
        joining = {newcomer.name: joining[newcomer.name]}
    replies = all_join(scene, joining, scene.everyone, scene.lead)
    told = replies[scene.lead.name].member_ids
    scene.d.require(newcomer.member_id in told, "the newcomer in the leader's list", "it is not there")


@family(
    "static.replaced-in-stable.again",
    "A static member of a Stable group that restarts is given a new id in the same generation, each time.",
    _REPLACE,
    situations=_static(Phase.STABLE, (1, False), (2, False), (3, True)),
    asked_by=MEMBERS,
    apart=True,
    known_as={"stable-two-static.follower": "static.replaced-in-stable.same-generation"},
)
def replaced_in_stable(scene: Scene, member: Member) -> None:
    """It has the assignment that it had; every id from before is fenced, nobody else notices."""
    former = [member]
    for _ in range(2):
        again = _another(scene, member)
        reply = again.join("", within=PROMPTLY)
        scene.d.expect(reply, error="NONE", generation_id=scene.generation)
        _told_who_leads(scene, member, again, reply)
        known = {each.member_id for each in former}
        scene.d.require(again.member_id not in known, "another id than before", "an id from before")
        for old in former:
            _fenced(scene, old)
        for each in (again, *_others(scene, member)):
            scene.d.expect(each.heartbeat(), error="NONE")
        stored = f"for {member.name}".encode()
        scene.d.expect(again.sync(), error="NONE", assignment=stored)
        former.append(again)


@family(
    "static.replaced-while-preparing.again",
    "Who restarts while the members join has joined, in its old place; whoever waits there is fenced.",
    _REPLACE,
    situations=(
        *_static(Phase.CALLED, (1, False), (2, True)),
        *_static(Phase.REJOINING, (2, False), (3, True)),
    ),
    asked_by=MEMBERS,
    apart=True,
    known_as={"rejoining-two-static.follower": "static.replaced-while-preparing.counts-as-joining"},
)
def replaced_while_preparing(scene: Scene, member: Member) -> None:
    waiting = dict(scene.waiting)
    mine = waiting.pop(member.name, None)
    _restarts_and_all_join(scene, member, mine, waiting)


@family(
    "static.replaced-while-completing.again",
    "A restart while assignments are awaited starts a rebalance; the old id's SyncGroup is fenced.",
    _REPLACE,
    situations=(
        *_static(Phase.COMPLETING, (1, False), (2, True)),
        *_static(Phase.SYNCING, (2, True), (3, False)),
    ),
    asked_by=MEMBERS,
    apart=True,
    known_as={
        "syncing-two-static-again.follower": "static.replaced-while-completing.rebalances",
        "syncing-three-static.follower": "static.replaced-while-completing.others-sent-back",
        "completing-two-static-again.leader": "static.replaced-while-completing.leader",
    },
)
def replaced_while_completing(scene: Scene, member: Member) -> None:
    waiting = dict(scene.waiting)
    mine = waiting.pop(member.name, None)
    scene.waiting = waiting
    again = _another(scene, member)
    joining = again.send_join("")
    if mine is not None:
        scene.d.expect(mine.answer(PROMPTLY), error="FENCED_INSTANCE_ID", assignment=b"")
    if scene.everyone != (member,):
        joining.silent(A_WHILE / 4)
        told_to_rejoin(scene, member)
        _restarts_and_all_join(scene, member, joining, {}, number=1)
    else:
        scene.d.expect(joining.answer(), error="NONE", generation_id=scene.generation + 1)
        scene.d.require(again.member_id != member.member_id, "another id than before", "the same id")


def _restarts_and_all_join(
    scene: Scene,
    member: Member,
    mine: PendingRequest | None,
    others: dict[str, PendingRequest],
    number: int = 2,
) -> None:
    """The member restarts so often, while others are missing: each time the JoinGroup before is fenced.

    `mine` is the member's own request that waits, `others` are those of the others.
    """
    missing = [each for each in _others(scene, member) if each.name not in others]
    for _ in range(number if missing else 1):
        again = _another(scene, member)
        joining = again.send_join("")
        if mine is not None:
            scene.d.expect(mine.answer(PROMPTLY), error="FENCED_INSTANCE_ID")
        mine = joining
        if missing:
            joining.silent(A_WHILE / 4)
    leader = again if member.name == scene.lead.name else scene.lead
    replies = all_join(scene, {again.name: joining, **others}, missing, leader)
    scene.d.require(again.member_id != member.member_id, "another id than before", "the same id")
    everyone = {each.member_id for each in (again, *_others(scene, member))}
    if scene.newcomer is not None:
        everyone.add(scene.newcomer.member_id)
    told = replies[leader.name].member_ids
    scene.d.require(told == everyone, "each member once in the leader's list", f"{len(told)} members")
    _fenced(scene, scene.ready(member))


def _another(scene: Scene, member: Member) -> Member:
    """The member after a restart: on another connection, without its id."""
    return scene.d.member(f"{member.name}-again", **member.settings)


def _others(scene: Scene, member: Member) -> list[Member]:
    return [each for each in scene.everyone if each.name != member.name]


def _told_who_leads(scene: Scene, member: Member, again: Member, reply: Reply) -> None:
    if member.name != scene.lead.name:
        scene.d.expect(reply, leader=scene.lead.member_id, members=[])
    elif scene.d.versions["JoinGroup"] >= SKIP_ASSIGNMENT:
        scene.d.expect(reply, leader=again.member_id, skip_assignment=True)
        everyone = {again.member_id, *(each.member_id for each in _others(scene, member))}
        scene.d.require(
            reply.member_ids == everyone, "the list of all members", f"{len(reply.member_ids)} members"
        )


def _fenced(scene: Scene, old: Member) -> None:
    """The id from before a restart is of no use any more."""
    own = old.second_connection()
    scene.d.expect(own.heartbeat(), error="FENCED_INSTANCE_ID")
    scene.d.expect(own.sync(), error="FENCED_INSTANCE_ID")
    scene.d.expect(own.join(within=PROMPTLY), error="FENCED_INSTANCE_ID")
    scene.d.expect(own.heartbeat(group_instance_id=None), error="UNKNOWN_MEMBER_ID")
