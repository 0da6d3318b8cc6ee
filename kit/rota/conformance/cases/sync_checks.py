"""SyncGroup: what is refused, and in which order the checks come."""

from __future__ import annotations

from typing import Any

from rota.conformance.dialogues.dialogue import Dialogue, Member
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.families.axes import MEMBERS, OUTSIDERS, Role
from rota.conformance.families.family import family
from rota.conformance.families.rounds import still_assigns
from rota.conformance.families.scene import Scene
from rota.conformance.families.situations import (
    IN_EACH_PHASE,
    IN_EACH_STATE,
    PREPARING,
    STATIC_LEADERS,
    WITH_MEMBERS,
    WITH_PENDING,
)
from rota.conformance.families.values import newer_generations, older_generations
from rota.conformance.steps.group_formation import awaiting_assignments, stable
from rota.conformance.steps.version_ranges import HANDSHAKE, STATIC

_CHECKS = "GroupMetadataManager.validateSyncGroup"
_TYPED = {"SyncGroup": (5, 5)}


def _usurped(scene: Scene) -> dict[str, bytes]:
    """Assignments that must not become anyone's."""
    return {member.member_id: b"usurped" for member in scene.everyone}


@family(
    "sync.unknown-member.outsiders",
    "SyncGroup with an id that is no member's is refused with UNKNOWN_MEMBER_ID, whatever its generation.",
    f"{_CHECKS}; GroupMetadataManager.classicGroupSync",
    situations=IN_EACH_STATE,
    asked_by=OUTSIDERS,
    afterwards=still_assigns,
    known_as={
        "no-group": "sync.unknown-member.no-group",
        "stable-two-dynamic-again": "sync.unknown-member.stranger",
    },
)
def outsiders(scene: Scene, outsider: Member) -> None:
    for generation in (scene.generation, *older_generations(scene), *newer_generations(scene)):
        reply = outsider.sync(_usurped(scene), generation_id=generation)
        scene.d.expect(reply, error="UNKNOWN_MEMBER_ID", assignment=b"")


@family(
    "sync.unknown-member.handed-out",
    "An id that was handed out and has not joined is no member yet: SyncGroup with it is UNKNOWN_MEMBER_ID.",
    f"KIP-394; {_CHECKS}",
    situations=WITH_PENDING,
    asked_by=(Role.PENDING,),
    afterwards=still_assigns,
    known_as={"stable-one-dynamic": "sync.unknown-member.pending"},
)
def pending(scene: Scene, member: Member) -> None:
    for generation in (scene.generation, -1, 0):
        reply = member.sync(_usurped(scene), generation_id=generation)
        scene.d.expect(reply, error="UNKNOWN_MEMBER_ID", assignment=b"")


@family(
    "sync.illegal-generation.below",
    "SyncGroup of a generation before the group's is refused with ILLEGAL_GENERATION, in any state.",
    _CHECKS,
    situations=WITH_MEMBERS,
    asked_by=(*MEMBERS, Role.NEWCOMER),
    afterwards=still_assigns,
    known_as={
        "completing-one-dynamic": "sync.illegal-generation.older",
        "called-one-dynamic": "sync.illegal-generation.before-state",
    },
)
def older_generation(scene: Scene, member: Member) -> None:
    for generation in older_generations(scene):
        reply = member.sync(_usurped(scene), generation_id=generation)
        scene.d.expect(reply, error="ILLEGAL_GENERATION", assignment=b"")


@family(
    "sync.illegal-generation.above",
    "SyncGroup of a generation after the group's is refused with ILLEGAL_GENERATION, in any state.",
    _CHECKS,
    situations=IN_EACH_PHASE,
    asked_by=(*MEMBERS, Role.NEWCOMER),
    afterwards=still_assigns,
    known_as={"completing-one-dynamic": "sync.illegal-generation.newer"},
)
def newer_generation(scene: Scene, member: Member) -> None:
    for generation in newer_generations(scene):
        reply = member.sync(_usurped(scene), generation_id=generation)
        scene.d.expect(reply, error="ILLEGAL_GENERATION", assignment=b"")


@family(
    "sync.rebalance-in-progress.preparing",
    "SyncGroup of the current generation while the members join again is refused with REBALANCE_IN_PROGRESS.",
    "GroupMetadataManager.classicGroupSyncToClassicGroup",
    situations=PREPARING,
    asked_by=(*MEMBERS, Role.NEWCOMER),
    known_as={"called-one-dynamic": "sync.rebalance-in-progress.current-generation"},
)
def during_rebalance(scene: Scene, member: Member) -> None:
    for _ in range(2):
        reply = member.sync(_usurped(scene))
        scene.d.expect(reply, error="REBALANCE_IN_PROGRESS", assignment=b"")


@case(
    "sync.invalid-group-id.empty",
    "SyncGroup with an empty group id is refused with INVALID_GROUP_ID.",
    "GroupMetadataManager.classicGroupSync",
    level=Level.SHOULD,
)
def empty_group_id(d: Dialogue) -> None:
    reply = d.member("a").sync(group_id="", member_id="nobody", generation_id=1, protocol_name="range")
    d.expect(reply, error="INVALID_GROUP_ID")


@family(
    "sync.inconsistent-protocol.other-types",
    "From version 5 a protocol type that is not the group's is refused with INCONSISTENT_GROUP_PROTOCOL.",
    f"KIP-559; {_CHECKS}",
    situations=IN_EACH_PHASE,
    asked_by=MEMBERS,
    needs=_TYPED,
    afterwards=still_assigns,
    known_as={"completing-one-dynamic": "sync.inconsistent-protocol.type"},
)
def other_types(scene: Scene, member: Member) -> None:
    for name in ("connect", "Consumer", "consume", "consumers", ""):
        reply = member.sync(_usurped(scene), protocol_type=name)
        scene.d.expect(reply, error="INCONSISTENT_GROUP_PROTOCOL", assignment=b"")


@family(
    "sync.inconsistent-protocol.other-names",
    "From version 5 a protocol that was not elected is refused with INCONSISTENT_GROUP_PROTOCOL.",
    f"KIP-559; {_CHECKS}",
    situations=IN_EACH_PHASE,
    asked_by=MEMBERS,
    needs=_TYPED,
    afterwards=still_assigns,
    known_as={
        "completing-one-dynamic": "sync.inconsistent-protocol.name",
        "called-one-dynamic": "sync.inconsistent-protocol.before-state",
    },
)
def other_names(scene: Scene, member: Member) -> None:
    for name in ("roundrobin", "sticky", "Range", "rang", "ranges", ""):
        reply = member.sync(_usurped(scene), protocol_name=name)
        scene.d.expect(reply, error="INCONSISTENT_GROUP_PROTOCOL", assignment=b"")


@family(
    "sync.protocol-required.everywhere",
    "From version 5 everybody has to give protocol type and name: null is INCONSISTENT_GROUP_PROTOCOL.",
    "KIP-559; KafkaApis.handleSyncGroupRequest",
    situations=IN_EACH_STATE,
    asked_by=(*MEMBERS, Role.NEWCOMER, *OUTSIDERS),
    needs=_TYPED,
    afterwards=still_assigns,
    known_as={"stable-two-dynamic-again": "sync.protocol-required.null"},
)
def null_names(scene: Scene, somebody: Member) -> None:
    for names in (("protocol_type",), ("protocol_name",), ("protocol_type", "protocol_name")):
        null: dict[str, Any] = dict.fromkeys(names)
        reply = somebody.sync(_usurped(scene), **null)
        scene.d.expect(reply, error="INCONSISTENT_GROUP_PROTOCOL", assignment=b"")


@family(
    "sync.fenced-instance-id.impostors",
    "SyncGroup with a known instance id and another's member id is fenced, whatever its generation.",
    f"KIP-345; ClassicGroup.validateMember; {_CHECKS}",
    situations=STATIC_LEADERS,
    asked_by=MEMBERS,
    needs=STATIC,
    afterwards=still_assigns,
    known_as={"stable-two-static-again": "sync.fenced-instance-id.wrong-id"},
)
def fenced(scene: Scene, member: Member) -> None:
    for impostor in scene.impostors(member):
        for generation in (scene.generation, scene.generation - 1, scene.generation + 7):
            reply = member.sync(_usurped(scene), member_id=impostor, generation_id=generation)
            scene.d.expect(reply, error="FENCED_INSTANCE_ID", assignment=b"")


@case(
    "sync.unknown-member.well-formed",
    "A refused SyncGroup is answered with an empty assignment, not with null.",
    "SyncGroup response schema",
)
def error_well_formed(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    reply = a.sync(member_id="never-handed-out", generation_id=a.generation_id + 7)
    d.require(not reply.nulls, "no null in the answer", f"null in {', '.join(reply.nulls)}")


@case(
    "sync.inconsistent-protocol.not-before-5",
    "Before version 5 SyncGroup names no protocol, and nothing of it is checked.",
    f"KIP-559; {_CHECKS}",
    needs={"SyncGroup": (0, 4)},
)
def before_five(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"))
    leader = formed.leader
    d.expect(leader.sync(formed.assignments), error="NONE", assignment=formed.assignments[leader.member_id])


@case(
    "sync.illegal-generation.before-protocol",
    "SyncGroup checks the generation before the protocol.",
    _CHECKS,
    needs=_TYPED,
)
def generation_before_protocol(d: Dialogue) -> None:
    leader = awaiting_assignments(d, d.member("a")).leader
    reply = leader.sync(generation_id=leader.generation_id + 1, protocol_name="roundrobin")
    d.expect(reply, error="ILLEGAL_GENERATION")


@case(
    "sync.rebalance-in-progress.first-generation",
    "Before the first generation SyncGroup may name any protocol: the group has none to compare it with.",
    _CHECKS,
    level=Level.INFO,
    needs={**_TYPED, **HANDSHAKE},
    initial_delay_ms=1000,
    least_delay_ms=1000,
)
def before_first_generation(d: Dialogue) -> None:
    a = d.member("a")
    with d.reaching("a first join phase"):
        a.enter().silent(0.2)
    reply = a.second_connection().sync(generation_id=0, protocol_name="range")
    d.expect(reply, error="REBALANCE_IN_PROGRESS")
