"""Offsets in every situation of a group: who may commit in it, who is refused, and that anyone may fetch."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import Member
from rota.conformance.families.axes import MEMBERS, OUTSIDERS, Phase, Role, State
from rota.conformance.families.family import family
from rota.conformance.families.scene import Scene
from rota.conformance.families.situations import (
    COMPLETING,
    IN_EACH_PHASE,
    IN_EACH_STATE,
    PREPARING,
    STABLE,
    STATIC_IN_EACH_PHASE,
    having,
)
from rota.conformance.families.values import newer_generations, older_generations
from rota.conformance.steps.offsets import commit, expect_each, expect_fetched, topic
from rota.conformance.steps.version_ranges import COMMIT, FETCH

_COMMIT = "OffsetMetadataManager.validateOffsetCommit; ClassicGroup.validateOffsetCommit"
_FETCH = "OffsetMetadataManager.fetchOffsets"
_NEEDS = {**COMMIT, **FETCH, "OffsetCommit": (7, 9)}
"""From version 7 a commit can name its sender's instance id (KIP-345)."""

_BUSY = (*IN_EACH_PHASE, *STATIC_IN_EACH_PHASE, *having(IN_EACH_STATE, Phase.FIRST))
"""A group with members in each phase, dynamic ones and static ones, and before its first generation."""


def _nothing_stored(scene: Scene) -> None:
    """What was refused is not there, and nobody was disturbed."""
    expect_fetched(scene.d, -1)
    scene.undisturbed()


@family(
    "offsets.unknown-member.outsiders",
    "A commit of who is no member of a group that has members is UNKNOWN_MEMBER_ID, and is not stored.",
    f"KIP-394; {_COMMIT}",
    situations=_BUSY,
    asked_by=OUTSIDERS,
    needs=_NEEDS,
    afterwards=_nothing_stored,
)
def outsiders(scene: Scene, outsider: Member) -> None:
    topic(scene.d)
    for generation in (scene.generation, -1, scene.generation + 1):
        reply = commit(outsider, generation_id_or_member_epoch=generation)
        expect_each(scene.d, reply, "UNKNOWN_MEMBER_ID")


@family(
    "offsets.fenced-instance-id.everywhere",
    "A commit with a member's instance id and another one's member id is fenced, and is not stored.",
    f"KIP-345; {_COMMIT}",
    situations=STATIC_IN_EACH_PHASE,
    asked_by=MEMBERS,
    needs=_NEEDS,
    afterwards=_nothing_stored,
)
def fenced(scene: Scene, member: Member) -> None:
    topic(scene.d)
    for impostor in scene.impostors(member):
        expect_each(scene.d, commit(member, member_id=impostor), "FENCED_INSTANCE_ID")


@family(
    "offsets.illegal-generation.everywhere",
    "A member's commit of another generation is ILLEGAL_GENERATION, in any state, and is not stored.",
    _COMMIT,
    situations=(*IN_EACH_PHASE, *STATIC_IN_EACH_PHASE),
    asked_by=(*MEMBERS, Role.NEWCOMER),
    needs=_NEEDS,
    afterwards=_nothing_stored,
)
def other_generations(scene: Scene, member: Member) -> None:
    topic(scene.d)
    older = [generation for generation in older_generations(scene) if generation >= 0]
    for generation in (*older, *newer_generations(scene)):
        reply = commit(member, generation_id_or_member_epoch=generation)
        expect_each(scene.d, reply, "ILLEGAL_GENERATION")


@family(
    "offsets.rebalance-in-progress.everyone",
    "While assignments are awaited every member's commit is REBALANCE_IN_PROGRESS, and is not stored.",
    _COMMIT,
    situations=COMPLETING,
    asked_by=MEMBERS,
    needs=_NEEDS,
    afterwards=_nothing_stored,
)
def completing(scene: Scene, member: Member) -> None:
    topic(scene.d)
    expect_each(scene.d, commit(member), "REBALANCE_IN_PROGRESS")


@family(
    "offsets.commit.everyone",
    "In a Stable group, and while the members join, every member commits, and what it commits is stored.",
    _COMMIT,
    situations=(*STABLE, *PREPARING),
    asked_by=MEMBERS,
    needs=_NEEDS,
)
def commits(scene: Scene, member: Member) -> None:
    topic(scene.d)
    for offset in (7 + len(member.name), 3):
        expect_each(scene.d, commit(member, offset=offset), "NONE")
        expect_fetched(scene.d, offset)


@family(
    "offsets.fetch-asked.everywhere",
    "Where nothing was committed OffsetFetch gives -1 and no error, whatever state the group is in.",
    _FETCH,
    situations=[situation for situation in IN_EACH_STATE if situation.state is not State.NO_GROUP],
    asked_by=(Role.NEW,),
    needs=FETCH,
)
def fetches(scene: Scene, somebody: Member) -> None:
    expect_fetched(scene.d, -1)
