"""Heartbeat: what is answered in each state of the group, and what is refused."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import awaiting_assignments, stable
from rota.conformance.steps.version_ranges import HANDSHAKE

_CHECKS = "GroupMetadataManager.validateClassicGroupHeartbeat"
_STATES = "GroupMetadataManager.classicGroupHeartbeatToClassicGroup"


@case("heartbeat.alive.stable", "Heartbeats of the members of a Stable group are answered NONE.", _STATES)
def in_stable(d: Dialogue) -> None:
    for member in stable(d, d.member("a"), d.member("b")).everyone:
        d.expect(member.heartbeat(), error="NONE")


@case(
    "heartbeat.unknown-member.stranger",
    "A heartbeat with an id that the group does not have is answered UNKNOWN_MEMBER_ID.",
    _CHECKS,
)
def unknown_member(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    d.expect(a.heartbeat(member_id="never-handed-out"), error="UNKNOWN_MEMBER_ID")


@case(
    "heartbeat.unknown-member.no-group",
    "A heartbeat to a group that does not exist is answered UNKNOWN_MEMBER_ID.",
    "GroupMetadataManager.classicGroupHeartbeat",
)
def no_group(d: Dialogue) -> None:
    reply = d.member("a").heartbeat(member_id="never-handed-out", generation_id=1)
    d.expect(reply, error="UNKNOWN_MEMBER_ID")


@case(
    "heartbeat.unknown-member.pending",
    "An id that was handed out and has not joined is no member yet: its heartbeat is UNKNOWN_MEMBER_ID.",
    f"KIP-394; {_CHECKS}",
    needs=HANDSHAKE,
)
def pending_member(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    stable(d, a)
    with d.reaching("a member id that was handed out"):
        d.expect(b.join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
    d.expect(b.heartbeat(generation_id=a.generation_id), error="UNKNOWN_MEMBER_ID")


@case(
    "heartbeat.illegal-generation.older",
    "A member's heartbeat of a generation before the group's is answered ILLEGAL_GENERATION.",
    _CHECKS,
)
def older_generation(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    d.expect(a.heartbeat(generation_id=a.generation_id - 1), error="ILLEGAL_GENERATION")


@case(
    "heartbeat.illegal-generation.newer",
    "A member's heartbeat of a generation after the group's is answered ILLEGAL_GENERATION.",
    _CHECKS,
)
def newer_generation(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    d.expect(a.heartbeat(generation_id=a.generation_id + 1), error="ILLEGAL_GENERATION")


@case(
    "heartbeat.unknown-member.before-generation",
    "Heartbeat checks the member id before the generation: a stranger is UNKNOWN_MEMBER_ID in any.",
    _CHECKS,
)
def member_before_generation(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    reply = a.heartbeat(member_id="never-handed-out", generation_id=a.generation_id + 7)
    d.expect(reply, error="UNKNOWN_MEMBER_ID")


@case(
    "heartbeat.illegal-generation.before-state",
    "Heartbeat checks the generation before the state: an old one is ILLEGAL_GENERATION in a rebalance.",
    _CHECKS,
)
def generation_before_state(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    with d.reaching("a rebalance"):
        d.member("b").enter().silent()
    d.expect(a.heartbeat(generation_id=a.generation_id - 1), error="ILLEGAL_GENERATION")


@case(
    "heartbeat.rebalance-in-progress.before-rejoining",
    "While the members join again, a heartbeat of the old generation is answered REBALANCE_IN_PROGRESS.",
    _STATES,
)
def during_rebalance(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    with d.reaching("a rebalance"):
        d.member("b").enter().silent()
    d.expect(a.heartbeat(), error="REBALANCE_IN_PROGRESS")


@case(
    "heartbeat.rebalance-in-progress.after-rejoining",
    "A heartbeat of a member that has joined again and waits is answered REBALANCE_IN_PROGRESS.",
    _STATES,
)
def during_rebalance_waiting(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"))
    with d.reaching("a rebalance"):
        formed.leader.send_join().silent(A_WHILE / 2)
    d.expect(formed.leader.second_connection().heartbeat(), error="REBALANCE_IN_PROGRESS")


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
    "heartbeat.alive.while-completing",
    "While assignments are awaited, heartbeats of the new generation are answered NONE.",
    _STATES,
)
def while_completing(d: Dialogue) -> None:
    for member in awaiting_assignments(d, d.member("a"), d.member("b")).everyone:
        d.expect(member.heartbeat(), error="NONE")


@case(
    "heartbeat.invalid-group-id.empty",
    "A heartbeat with an empty group id is answered INVALID_GROUP_ID.",
    "GroupCoordinatorService.heartbeat",
    level=Level.SHOULD,
)
def empty_group_id(d: Dialogue) -> None:
    reply = d.member("a").heartbeat(group_id="", member_id="nobody", generation_id=1)
    d.expect(reply, error="INVALID_GROUP_ID")
