"""Rounds of a scene: the members join the next generation, the leader assigns, all get what is theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rota.conformance.dialogues.dialogue import PROMPTLY, Member, PendingRequest, Reply
from rota.conformance.families.axes import Phase, State
from rota.conformance.families.scene import Scene, rebalances


def still_assigns(scene: Scene) -> None:
    """Who is in the generation gets its assignment as if nothing had been asked, or still has it."""
    if scene.phase.state is State.COMPLETING:
        assign(scene, scene.assignments)
    elif scene.phase.state is State.STABLE:
        for member in scene.everyone:
            with scene.asked_by("a member asks whom no question must disturb"):
                scene.d.expect(member.sync(), error="NONE", assignment=scene.assignments[member.member_id])
    else:
        scene.undisturbed()


def assign(scene: Scene, given: Mapping[str, bytes]) -> None:
    """The leader assigns; those who wait, and those who come later, get what is theirs, or empty bytes."""
    d = scene.d
    reply = scene.lead.sync(given)
    d.expect(reply, error="NONE", assignment=given.get(scene.lead.member_id, b""))
    for member in scene.followers:
        own = given.get(member.member_id, b"")
        waiting = scene.waiting.get(member.name)
        synced = waiting.answer(PROMPTLY) if waiting is not None else member.sync()
        with scene.asked_by(f"{member.name}, a follower, {'waits' if waiting else 'comes later'}"):
            d.expect(synced, error="NONE", assignment=own)


def told_to_rejoin(scene: Scene, *but: Member) -> None:
    """The members learn that the group rebalances: who waits in SyncGroup at once, others by heartbeat."""
    waiting = scene.waiting if scene.phase is Phase.SYNCING else {}
    for name, sync in waiting.items():
        with scene.asked_by(f"{name} waits"):
            scene.d.expect(sync.answer(PROMPTLY), error="REBALANCE_IN_PROGRESS", assignment=b"")
    if waiting:
        scene.waiting = {}
    for member in scene.everyone:
        if member.name in {each.name for each in but}:
            continue
        with scene.asked_by(f"{member.name} asks"):
            rebalances(scene.d, scene.ready(member))


def all_join(
    scene: Scene, joining: Mapping[str, PendingRequest], members: Iterable[Member], leader: Member
) -> dict[str, Reply]:
    """Those join who do not yet: all are answered with the next generation and its leader."""
    waiting = dict(joining)
    for member in members:
        if member.name not in waiting:
            waiting[member.name] = member.send_join()
    replies: dict[str, Reply] = {}
    for name, join in waiting.items():
        replies[name] = join.answer()
        with scene.asked_by(f"{name} joins the next generation"):
            scene.d.expect(replies[name], error="NONE", generation_id=scene.generation + 1)
            scene.d.expect(replies[name], leader=leader.member_id)
    return replies
