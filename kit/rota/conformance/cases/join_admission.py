"""JoinGroup: who is let in, who is refused, in which order the checks come."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, subscription
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import all_leave, awaiting_assignments, join_together, stable
from rota.conformance.steps.version_ranges import HANDSHAKE

_NEW = "GroupMetadataManager.classicGroupJoinNewMember"
_EXISTING = "GroupMetadataManager.classicGroupJoinExistingMember"
_CHECKS = "GroupMetadataManager.classicGroupJoin"
_PROTOCOLS = "ClassicGroup.supportsProtocols"


@case(
    "join.member-id-required.id-handed-out",
    "A newcomer without a member id is not admitted but handed an id, with MEMBER_ID_REQUIRED.",
    "KIP-394; GroupMetadataManager.classicGroupJoinNewDynamicMember",
    needs=HANDSHAKE,
)
def member_id_required(d: Dialogue) -> None:
    a = d.member("a")
    reply = a.join("", within=PROMPTLY)
    d.expect(reply, error="MEMBER_ID_REQUIRED", generation_id=-1, leader="", members=[])
    d.require(reply["member_id"] != "", "a member id in the answer", "an empty member id")


@case(
    "join.member-id-required.second-id",
    "Asking again without an id gives another id; nothing ties the two requests together.",
    "KIP-394; GroupMetadataManager.classicGroupJoinNewDynamicMember",
    needs=HANDSHAKE,
)
def second_id(d: Dialogue) -> None:
    a = d.member("a")
    first = a.join("", within=PROMPTLY)
    d.expect(first, error="MEMBER_ID_REQUIRED")
    second = a.join("", within=PROMPTLY)
    d.expect(second, error="MEMBER_ID_REQUIRED")
    differ = first["member_id"] != second["member_id"]
    d.require(differ, "two different member ids", f"{first['member_id']!r} twice")


@case(
    "join.pending-member.admitted",
    "The id that was handed out admits its owner, who keeps it as member id.",
    "KIP-394",
    needs=HANDSHAKE,
)
def handed_out_id_admits(d: Dialogue) -> None:
    a = d.member("a")
    with d.reaching("a member id that was handed out"):
        given = a.join("", within=PROMPTLY)
        d.expect(given, error="MEMBER_ID_REQUIRED")
    d.expect(a.join(), error="NONE", member_id=given["member_id"], leader=given["member_id"])


@case(
    "join.new-member.admitted-at-once",
    "Before version 4 of JoinGroup a newcomer without a member id is admitted at once, with an id.",
    "KIP-394 (compatibility)",
    needs={"JoinGroup": (0, 3)},
)
def old_version_admits(d: Dialogue) -> None:
    a = d.member("a")
    reply = a.join("")
    d.expect(reply, error="NONE")
    d.require(reply["member_id"] != "", "a member id in the answer", "an empty member id")
    d.expect(reply, leader=reply["member_id"])


@case(
    "join.unknown-group.refused",
    "A member id that was never handed out is refused with UNKNOWN_MEMBER_ID where there is no group yet.",
    _CHECKS,
)
def unknown_id_no_group(d: Dialogue) -> None:
    d.expect(d.member("a").join("never-handed-out", within=PROMPTLY), error="UNKNOWN_MEMBER_ID")


@case(
    "join.unknown-member.stable",
    "A member id that was never handed out is refused with UNKNOWN_MEMBER_ID and disturbs nobody.",
    f"{_EXISTING}; ClassicGroup.validateMember",
)
def unknown_id_stable_group(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    d.expect(d.member("b").join("never-handed-out", within=PROMPTLY), error="UNKNOWN_MEMBER_ID")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "join.unknown-group.echoes-id",
    "An answer that refuses a JoinGroup carries the member id of the request.",
    _CHECKS,
    level=Level.SHOULD,
)
def refused_id_echoed(d: Dialogue) -> None:
    reply = d.member("a").join("never-handed-out", within=PROMPTLY)
    with d.reaching("a refused JoinGroup"):
        d.expect(reply, error="UNKNOWN_MEMBER_ID")
    d.expect(reply, member_id="never-handed-out", generation_id=-1, leader="", members=[])


@case(
    "join.invalid-session-timeout.too-short",
    "A session timeout below the broker's least one is refused with INVALID_SESSION_TIMEOUT.",
    f"group.min.session.timeout.ms; {_CHECKS}",
)
def session_too_short(d: Dialogue) -> None:
    reply = d.member("a").join("", within=PROMPTLY, session_timeout_ms=1)
    d.expect(reply, error="INVALID_SESSION_TIMEOUT")


@case(
    "join.invalid-session-timeout.too-long",
    "A session timeout above the broker's greatest one is refused with INVALID_SESSION_TIMEOUT.",
    f"group.max.session.timeout.ms; {_CHECKS}",
)
def session_too_long(d: Dialogue) -> None:
    reply = d.member("a").join("", within=PROMPTLY, session_timeout_ms=2**31 - 1)
    d.expect(reply, error="INVALID_SESSION_TIMEOUT")


@case(
    "join.invalid-group-id.empty",
    "JoinGroup with an empty group id is refused with INVALID_GROUP_ID.",
    _CHECKS,
)
def empty_group_id(d: Dialogue) -> None:
    reply = d.member("a").join("", within=PROMPTLY, group_id="")
    d.expect(reply, error="INVALID_GROUP_ID")


@case(
    "join.invalid-group-id.before-session-timeout",
    "JoinGroup checks the group id before the session timeout: with both wrong it is INVALID_GROUP_ID.",
    _CHECKS,
    level=Level.SHOULD,
)
def group_id_before_session_timeout(d: Dialogue) -> None:
    reply = d.member("a").join("", within=PROMPTLY, group_id="", session_timeout_ms=1)
    d.expect(reply, error="INVALID_GROUP_ID")


@case(
    "join.invalid-session-timeout.before-member-id",
    "JoinGroup checks the session timeout before the member id: a stranger's is INVALID_SESSION_TIMEOUT.",
    _CHECKS,
    level=Level.SHOULD,
)
def session_timeout_before_member_id(d: Dialogue) -> None:
    reply = d.member("a").join("never-handed-out", within=PROMPTLY, session_timeout_ms=1)
    d.expect(reply, error="INVALID_SESSION_TIMEOUT")


@case(
    "join.inconsistent-protocol.other-type",
    "A newcomer of another protocol type than the group's is refused with INCONSISTENT_GROUP_PROTOCOL.",
    f"{_NEW}; {_PROTOCOLS}",
)
def other_protocol_type(d: Dialogue) -> None:
    stable(d, d.member("a"))
    b = d.member("b", protocol_type="connect")
    d.expect(b.join("", within=PROMPTLY), error="INCONSISTENT_GROUP_PROTOCOL")


@case(
    "join.inconsistent-protocol.type-of-the-next-first-member",
    "When all have left the next member brings the group's protocol type, and the former one is refused.",
    f"{_NEW}; {_PROTOCOLS}; ClassicGroup.add",
)
def type_of_the_next_first_member(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    all_leave(d, a)
    with d.reaching("a generation of b, of another type"):
        d.expect(d.member("b", protocol_type="connect").enter().answer(), error="NONE")
    d.expect(d.member("c").join("", within=PROMPTLY), error="INCONSISTENT_GROUP_PROTOCOL")


@case(
    "join.inconsistent-protocol.no-protocols",
    "An empty list of protocols is refused with INCONSISTENT_GROUP_PROTOCOL, also by an empty group.",
    f"{_NEW}; {_PROTOCOLS}",
)
def no_protocols(d: Dialogue) -> None:
    reply = d.member("a", protocols=[]).join("", within=PROMPTLY)
    d.expect(reply, error="INCONSISTENT_GROUP_PROTOCOL")


@case(
    "join.inconsistent-protocol.no-type",
    "An empty protocol type is refused with INCONSISTENT_GROUP_PROTOCOL, also by an empty group.",
    f"{_NEW}; {_PROTOCOLS}",
)
def no_protocol_type(d: Dialogue) -> None:
    reply = d.member("a", protocol_type="").join("", within=PROMPTLY)
    d.expect(reply, error="INCONSISTENT_GROUP_PROTOCOL")


@case(
    "join.inconsistent-protocol.before-member-id",
    "Protocols are checked before the member id: unsuitable ones win over an unknown id.",
    _EXISTING,
    level=Level.SHOULD,
)
def protocols_before_member(d: Dialogue) -> None:
    stable(d, d.member("a"))
    b = d.member("b", protocol_type="connect")
    d.expect(b.join("never-handed-out", within=PROMPTLY), error="INCONSISTENT_GROUP_PROTOCOL")


@case(
    "join.next-generation.first",
    "The first generation of a group is 1.",
    "ClassicGroup.initNextGeneration",
    level=Level.SHOULD,
)
def first_generation(d: Dialogue) -> None:
    a = d.member("a")
    with d.reaching("a first generation"):
        reply = a.enter().answer()
        d.expect(reply, error="NONE")
    d.expect(reply, generation_id=1)


@case(
    "join.next-generation.reply",
    "A granted JoinGroup names the elected protocol, the leader, the member and, from version 7, the type.",
    "KIP-559; JoinGroup response schema",
)
def reply_fields(d: Dialogue) -> None:
    formed = join_together(d, d.member("a"), d.member("b"))
    leader = formed.leader.member_id
    typed = {"protocol_type": "consumer"} if d.versions["JoinGroup"] >= 7 else {}
    for member in formed.everyone:
        reply = formed.replies[member.name]
        d.expect(reply, leader=leader, member_id=member.member_id, protocol_name="range", **typed)


@case(
    "join.next-generation.members-for-leader-only",
    "Only the leader's answer lists the members: everyone's id with the metadata for the elected protocol.",
    "ClassicGroup.currentClassicGroupMembers",
)
def members_for_leader_only(d: Dialogue) -> None:
    a, b, c = (d.member(n, protocols=[("range", subscription(f"{n} speaks"))]) for n in "abc")
    formed = awaiting_assignments(d, a, b, c)
    for follower in formed.followers:
        d.expect(formed.replies[follower.name], members=[])
    listed = {m["member_id"]: m["metadata"] for m in formed.replies[formed.leader.name]["members"]}
    wanted = {m.member_id: m.settings["protocols"][0][1] for m in (a, b, c)}
    d.require(set(listed) == set(wanted), f"{len(wanted)} members for the leader", f"{len(listed)} members")
    d.require(listed == wanted, "each member's own metadata in the leader's list", "other metadata")


@case(
    "join.invalid-group-id.well-formed",
    "A refused JoinGroup is answered with empty strings where the schema allows no null.",
    "JoinGroup response schema",
)
def error_well_formed(d: Dialogue) -> None:
    stranger = d.member("a", protocol_type="")
    reply = stranger.join("never-handed-out", within=PROMPTLY, session_timeout_ms=1, group_id="")
    with d.reaching("a refused JoinGroup", rule="join.invalid-group-id"):
        d.require(reply.error != "NONE", "an error", "NONE")
    d.require(not reply.nulls, "no null in the answer", f"null in {', '.join(reply.nulls)}")
