"""SyncGroup: what is refused, and in which order the checks come."""

from __future__ import annotations

from typing import Any

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import awaiting_assignments, stable
from rota.conformance.steps.version_ranges import HANDSHAKE

_CHECKS = "GroupMetadataManager.validateSyncGroup"
_TYPED = {"SyncGroup": (5, 5)}


@case(
    "sync.unknown-member.stranger",
    "SyncGroup with an id that the group does not have is refused with UNKNOWN_MEMBER_ID.",
    _CHECKS,
)
def unknown_member(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    d.expect(a.sync(member_id="never-handed-out"), error="UNKNOWN_MEMBER_ID")


@case(
    "sync.unknown-member.no-group",
    "SyncGroup to a group that does not exist is refused with UNKNOWN_MEMBER_ID.",
    "GroupMetadataManager.classicGroupSync",
)
def no_group(d: Dialogue) -> None:
    reply = d.member("a").sync(member_id="never-handed-out", generation_id=1, protocol_name="range")
    d.expect(reply, error="UNKNOWN_MEMBER_ID")


@case(
    "sync.unknown-member.pending",
    "An id that was handed out and has not joined is no member yet: SyncGroup with it is UNKNOWN_MEMBER_ID.",
    f"KIP-394; {_CHECKS}",
    needs=HANDSHAKE,
)
def pending_member(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    stable(d, a)
    with d.reaching("a member id that was handed out"):
        d.expect(b.join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
    reply = b.sync(generation_id=a.generation_id, protocol_name="range")
    d.expect(reply, error="UNKNOWN_MEMBER_ID")


@case(
    "sync.illegal-generation.older",
    "SyncGroup of a generation before the group's is refused with ILLEGAL_GENERATION.",
    _CHECKS,
)
def older_generation(d: Dialogue) -> None:
    a = d.member("a")
    awaiting_assignments(d, a)
    d.expect(a.sync(generation_id=a.generation_id - 1), error="ILLEGAL_GENERATION")


@case(
    "sync.illegal-generation.newer",
    "SyncGroup of a generation after the group's is refused with ILLEGAL_GENERATION.",
    _CHECKS,
)
def newer_generation(d: Dialogue) -> None:
    a = d.member("a")
    awaiting_assignments(d, a)
    d.expect(a.sync(generation_id=a.generation_id + 1), error="ILLEGAL_GENERATION")


@case(
    "sync.unknown-member.before-generation",
    "SyncGroup checks the member id before the generation: a stranger is UNKNOWN_MEMBER_ID in any.",
    _CHECKS,
)
def member_before_generation(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    reply = a.sync(member_id="never-handed-out", generation_id=a.generation_id + 7)
    d.expect(reply, error="UNKNOWN_MEMBER_ID")


@case(
    "sync.illegal-generation.before-state",
    "SyncGroup checks the generation before the state: an old one is ILLEGAL_GENERATION in a rebalance.",
    _CHECKS,
)
def generation_before_state(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    d.member("b").enter().silent()
    d.expect(a.sync(generation_id=a.generation_id - 1), error="ILLEGAL_GENERATION")


@case(
    "sync.rebalance-in-progress.current-generation",
    "SyncGroup of the current generation while the members join again is refused with REBALANCE_IN_PROGRESS.",
    "GroupMetadataManager.classicGroupSyncToClassicGroup",
)
def during_rebalance(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    with d.reaching("a rebalance"):
        d.member("b").enter().silent()
    d.expect(a.sync(), error="REBALANCE_IN_PROGRESS")


@case(
    "sync.invalid-group-id.empty",
    "SyncGroup with an empty group id is refused with INVALID_GROUP_ID.",
    "GroupMetadataManager.classicGroupSync",
    level=Level.SHOULD,
)
def empty_group_id(d: Dialogue) -> None:
    reply = d.member("a").sync(group_id="", member_id="nobody", generation_id=1, protocol_name="range")
    d.expect(reply, error="INVALID_GROUP_ID")


@case(
    "sync.inconsistent-protocol.type",
    "From version 5 a protocol type that is not the group's is refused with INCONSISTENT_GROUP_PROTOCOL.",
    f"KIP-559; {_CHECKS}",
    needs=_TYPED,
)
def other_type(d: Dialogue) -> None:
    _mismatch(d, protocol_type="connect")


@case(
    "sync.inconsistent-protocol.name",
    "From version 5 a protocol name that was not elected is refused with INCONSISTENT_GROUP_PROTOCOL.",
    f"KIP-559; {_CHECKS}",
    needs=_TYPED,
)
def other_name(d: Dialogue) -> None:
    _mismatch(d, protocol_name="roundrobin")


@case(
    "sync.protocol-required.null",
    "From version 5 protocol type and name have to be given: null is INCONSISTENT_GROUP_PROTOCOL.",
    "KIP-559; KafkaApis.handleSyncGroupRequest",
    level=Level.SHOULD,
    needs=_TYPED,
)
def null_names(d: Dialogue) -> None:
    _mismatch(d, protocol_type=None)
    _mismatch(d, protocol_name=None)


def _mismatch(d: Dialogue, **fields: Any) -> None:
    formed = awaiting_assignments(d, d.member("a"))
    reply = formed.leader.sync(formed.assignments, **fields)
    d.expect(reply, error="INCONSISTENT_GROUP_PROTOCOL", assignment=b"")
    d.expect(formed.leader.leave(), error="NONE")


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
    "sync.inconsistent-protocol.empty",
    "From version 5 an empty protocol type or name is none of the group's: INCONSISTENT_GROUP_PROTOCOL.",
    f"{_CHECKS}; KafkaApis.handleSyncGroupRequest",
    level=Level.SHOULD,
    needs=_TYPED,
)
def empty_names(d: Dialogue) -> None:
    _mismatch(d, protocol_type="")
    _mismatch(d, protocol_name="")
    _mismatch(d, protocol_type="", protocol_name="")


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
    "sync.inconsistent-protocol.before-state",
    "SyncGroup checks the protocol before the state: a wrong one wins over a rebalance.",
    _CHECKS,
    level=Level.SHOULD,
    needs=_TYPED,
)
def protocol_before_state(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    with d.reaching("a rebalance"):
        d.member("b").enter().silent()
    d.expect(a.sync(protocol_name="roundrobin"), error="INCONSISTENT_GROUP_PROTOCOL")


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
