"""LeaveGroup in every situation of a group: who goes, who stays and joins again, who is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import PROMPTLY, Member, PendingRequest, Reply
from rota.conformance.families.axes import MEMBERS, Kind, Phase, Role
from rota.conformance.families.family import family
from rota.conformance.families.scene import NEVER_HANDED_OUT, Scene, somebody_new
from rota.conformance.families.situations import (
    IN_EACH_STATE,
    STATIC_IN_EACH_PHASE,
    WITH_FOLLOWERS,
    WITH_MEMBERS,
    having,
)
from rota.conformance.steps.membership import leave_as
from rota.conformance.steps.version_ranges import LEAVES

_LEAVE = "GroupMetadataManager.classicGroupLeaveToClassicGroup"
_ALONE = tuple(situation for situation in WITH_MEMBERS if situation.number == 1)


@family(
    "leave.unknown-member.outsiders",
    "LeaveGroup of an id that is no member's is UNKNOWN_MEMBER_ID, in any state, and disturbs nobody.",
    _LEAVE,
    situations=[s for s in IN_EACH_STATE if s.phase not in (Phase.NEVER, Phase.DELETED)],
    asked_by=(Role.STRANGER, Role.FORMER),
)
def outsiders(scene: Scene, outsider: Member) -> None:
    scene.d.expect(outsider.leave(), error="UNKNOWN_MEMBER_ID")


@family(
    "leave.fenced-instance-id.everywhere",
    "A known instance id beside another one's member id is fenced, in any state, and nobody leaves.",
    f"KIP-345; {_LEAVE}",
    situations=STATIC_IN_EACH_PHASE,
    asked_by=MEMBERS,
    needs=LEAVES,
)
def fenced(scene: Scene, member: Member) -> None:
    for impostor in scene.impostors(member):
        reply = leave_as(scene.d, (impostor, member.settings["group_instance_id"]))
        _expect_one(scene, reply, "FENCED_INSTANCE_ID")


@family(
    "leave.unknown-member.unknown-instances",
    "An instance id that nobody holds cannot leave: UNKNOWN_MEMBER_ID, whatever the member id.",
    f"KIP-345; {_LEAVE}",
    situations=STATIC_IN_EACH_PHASE,
    asked_by=MEMBERS,
    needs=LEAVES,
)
def unknown_instances(scene: Scene, member: Member) -> None:
    for member_id in ("", member.member_id, NEVER_HANDED_OUT):
        _expect_one(scene, leave_as(scene.d, (member_id, "nobody's")), "UNKNOWN_MEMBER_ID")


@family(
    "leave.member.everyone",
    "Whoever leaves is no member any more; the others join again, all in the next generation, and one leads.",
    f"{_LEAVE}; ClassicGroup.remove",
    situations=WITH_FOLLOWERS,
    asked_by=MEMBERS,
    apart=True,
    least=2,
)
def leaves(scene: Scene, member: Member) -> None:
    _gone(scene, member, lambda: member.leave())


@family(
    "leave.by-instance-id.everyone",
    "A static member that leaves by its instance id alone is no member any more; the others join again.",
    f"KIP-345; {_LEAVE}",
    situations=[s for s in WITH_FOLLOWERS if s.kind is Kind.STATIC],
    asked_by=MEMBERS,
    apart=True,
    least=2,
    needs=LEAVES,
)
def leaves_by_instance(scene: Scene, member: Member) -> None:
    _gone(scene, member, lambda: leave_as(scene.d, ("", member.settings["group_instance_id"])))


@family(
    "leave.member.the-last-one",
    "When the only member leaves nobody waits for it: who comes, or has come already, is alone in the group.",
    f"{_LEAVE}; ClassicGroup.remove",
    situations=having(_ALONE, Phase.CALLED, Phase.COMPLETING, Phase.STABLE),
    asked_by=MEMBERS,
    apart=True,
)
def last_leaves(scene: Scene, member: Member) -> None:
    scene.d.expect(member.leave(), error="NONE")
    scene.d.expect(member.heartbeat(), error="UNKNOWN_MEMBER_ID")
    newcomer = scene.newcomer or somebody_new(scene.d, "newcomer", scene.kind)
    joining = scene.waiting.get(newcomer.name) or newcomer.enter()
    _one_generation(scene, {newcomer: joining})


def _gone(scene: Scene, member: Member, leave: Callable[[], Reply]) -> None:
    """A member leaves: what waits of it is refused, the others are told to join again, and do."""
    d = scene.d
    d.expect(leave(), error="NONE")
    d.expect(member.heartbeat(), error="UNKNOWN_MEMBER_ID")
    staying = [each for each in scene.everyone if each.name != member.name]
    joining = {}
    if scene.phase is Phase.REJOINING and member.name in scene.waiting:
        d.expect(scene.waiting[member.name].answer(PROMPTLY), error="UNKNOWN_MEMBER_ID")
    for each in (*staying, *filter(None, [scene.newcomer])):
        waiting = scene.waiting.get(each.name)
        if waiting is not None and scene.phase is Phase.SYNCING:
            d.expect(waiting.answer(PROMPTLY), error="REBALANCE_IN_PROGRESS", assignment=b"")
        elif waiting is not None:
            joining[each] = waiting
    for each in staying:
        if each not in joining:
            with scene.asked_by(f"{each.name}, who stays, asks"):
                d.expect(each.heartbeat(), error="REBALANCE_IN_PROGRESS")
    for each in staying:
        if each not in joining:
            joining[each] = each.send_join()
    _one_generation(scene, joining)


def _one_generation(scene: Scene, joining: Mapping[Member, PendingRequest]) -> None:
    """All who join are in one generation, nobody else is, and one of them leads."""
    replies = {member: join.answer() for member, join in joining.items()}
    leader = next(iter(replies.values()))["leader"]
    for reply in replies.values():
        scene.d.expect(reply, error="NONE", leader=leader)
    ids = {member.member_id for member in replies}
    listed = next(
        (reply.member_ids for member, reply in replies.items() if member.member_id == leader), set()
    )
    wanted = f"one of {len(ids)} as leader, and just these {len(ids)} in its list"
    scene.d.require(
        listed == ids, wanted, f"{scene.d.transcript.named(leader)} as leader, {len(listed)} listed"
    )
    generations = {member.generation_id for member in replies}
    scene.d.require(len(generations) == 1, "one generation", f"{sorted(generations)}")


def _expect_one(scene: Scene, reply: Reply, error: str) -> None:
    """NONE at the top, and this error of the only entry."""
    scene.d.expect(reply, error_code=0)
    member = reply["members"].only()
    scene.d.require(error_name(member["error_code"]) == error, error, error_name(member["error_code"]))
