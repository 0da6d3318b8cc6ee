"""Heartbeat: what is answered in each state of the group, and what is refused."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Member
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.families.axes import MEMBERS, OUTSIDERS, Role
from rota.conformance.families.family import family
from rota.conformance.families.scene import Scene
from rota.conformance.families.situations import (
    COMPLETING,
    IN_EACH_PHASE,
    IN_EACH_STATE,
    PREPARING,
    STABLE,
    WITH_MEMBERS,
    WITH_PENDING,
)
from rota.conformance.families.values import newer_generations, older_generations
from rota.conformance.steps.version_ranges import HANDSHAKE

_CHECKS = "GroupMetadataManager.validateClassicGroupHeartbeat"
_STATES = "GroupMetadataManager.classicGroupHeartbeatToClassicGroup"


@family(
    "heartbeat.alive.members",
    "Heartbeats of members are answered NONE in a Stable group, and also while assignments are awaited.",
    _STATES,
    situations=(*STABLE, *COMPLETING),
    asked_by=MEMBERS,
    known_as={
        "stable-one-dynamic": "heartbeat.alive.stable",
        "completing-two-dynamic": "heartbeat.alive.while-completing",
    },
)
def alive(scene: Scene, member: Member) -> None:
    for _ in range(2):
        scene.d.expect(member.heartbeat(), error="NONE")


@family(
    "heartbeat.unknown-member.outsiders",
    "A heartbeat with an id that is no member's is answered UNKNOWN_MEMBER_ID, whatever its generation.",
    f"{_CHECKS}; GroupMetadataManager.classicGroupHeartbeat",
    situations=IN_EACH_STATE,
    asked_by=OUTSIDERS,
    known_as={
        "no-group": "heartbeat.unknown-member.no-group",
        "stable-two-dynamic-again": "heartbeat.unknown-member.stranger",
    },
)
def outsiders(scene: Scene, outsider: Member) -> None:
    for generation in (scene.generation, *older_generations(scene), *newer_generations(scene)):
        scene.d.expect(outsider.heartbeat(generation_id=generation), error="UNKNOWN_MEMBER_ID")


@family(
    "heartbeat.unknown-member.handed-out",
    "An id that was handed out and has not joined is no member yet: its heartbeat is UNKNOWN_MEMBER_ID.",
    f"KIP-394; {_CHECKS}",
    situations=WITH_PENDING,
    asked_by=(Role.PENDING,),
    known_as={"stable-one-dynamic": "heartbeat.unknown-member.pending"},
)
def pending(scene: Scene, member: Member) -> None:
    for generation in (scene.generation, -1, 0):
        scene.d.expect(member.heartbeat(generation_id=generation), error="UNKNOWN_MEMBER_ID")


@family(
    "heartbeat.illegal-generation.below",
    "A member's heartbeat of a generation before the group's is answered ILLEGAL_GENERATION, in any state.",
    _CHECKS,
    situations=WITH_MEMBERS,
    asked_by=(*MEMBERS, Role.NEWCOMER),
    known_as={
        "stable-one-dynamic": "heartbeat.illegal-generation.older",
        "called-one-dynamic": "heartbeat.illegal-generation.before-state",
    },
)
def older_generation(scene: Scene, member: Member) -> None:
    for generation in older_generations(scene):
        scene.d.expect(member.heartbeat(generation_id=generation), error="ILLEGAL_GENERATION")


@family(
    "heartbeat.illegal-generation.above",
    "A member's heartbeat of a generation after the group's is answered ILLEGAL_GENERATION, in any state.",
    _CHECKS,
    situations=IN_EACH_PHASE,
    asked_by=(*MEMBERS, Role.NEWCOMER),
    known_as={"stable-one-dynamic": "heartbeat.illegal-generation.newer"},
)
def newer_generation(scene: Scene, member: Member) -> None:
    for generation in newer_generations(scene):
        scene.d.expect(member.heartbeat(generation_id=generation), error="ILLEGAL_GENERATION")


@family(
    "heartbeat.rebalance-in-progress.preparing",
    "While the members join, the heartbeats of all are REBALANCE_IN_PROGRESS, of those who have joined, too.",
    _STATES,
    situations=PREPARING,
    asked_by=(*MEMBERS, Role.NEWCOMER),
    known_as={
        "called-one-dynamic": "heartbeat.rebalance-in-progress.before-rejoining",
        "rejoining-two-dynamic-again": "heartbeat.rebalance-in-progress.after-rejoining",
    },
)
def during_rebalance(scene: Scene, member: Member) -> None:
    for _ in range(2):
        scene.d.expect(member.heartbeat(), error="REBALANCE_IN_PROGRESS")


@case(
    "heartbeat.rebalance-in-progress.first-generation",
    "A member that waits for the very first generation may send a heartbeat of generation 0.",
    _STATES,
    level=Level.INFO,
    needs=HANDSHAKE,
    initial_delay_ms=1000,
    least_delay_ms=1000,
)
def before_first_generation(d: Dialogue) -> None:
    a = d.member("a")
    with d.reaching("a member id that was handed out"):
        d.expect(a.join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
    with d.reaching("a first join phase"):
        a.send_join().silent(0.2)
    d.expect(a.second_connection().heartbeat(generation_id=0), error="REBALANCE_IN_PROGRESS")


@case(
    "heartbeat.invalid-group-id.empty",
    "A heartbeat with an empty group id is answered INVALID_GROUP_ID.",
    "GroupCoordinatorService.heartbeat",
    level=Level.SHOULD,
)
def empty_group_id(d: Dialogue) -> None:
    reply = d.member("a").heartbeat(group_id="", member_id="nobody", generation_id=1)
    d.expect(reply, error="INVALID_GROUP_ID")
