"""JoinGroup: who is let in, who is refused, in which order the checks come."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue, Member
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.families.axes import MEMBERS, Kind, Phase, Role, State
from rota.conformance.families.family import family
from rota.conformance.families.rounds import all_join, still_assigns, told_to_rejoin
from rota.conformance.families.scene import Scene
from rota.conformance.families.situations import EVERYWHERE, IN_EACH_PHASE, IN_EACH_STATE, PREPARING, having
from rota.conformance.families.values import GREATEST, LEAST
from rota.conformance.steps.administration import describe
from rota.conformance.steps.group_formation import all_leave, awaiting_assignments, join_together, stable
from rota.conformance.steps.version_ranges import DESCRIBE, HANDSHAKE

_NEW = "GroupMetadataManager.classicGroupJoinNewMember"
_EXISTING = "GroupMetadataManager.classicGroupJoinExistingMember"
_CHECKS = "GroupMetadataManager.classicGroupJoin"
_PROTOCOLS = "ClassicGroup.supportsProtocols"


@family(
    "join.member-id-required.everywhere",
    "A newcomer without a member id is handed one, with MEMBER_ID_REQUIRED, not admitted; nobody notices.",
    "KIP-394; GroupMetadataManager.classicGroupJoinNewDynamicMember",
    situations=(*(s for s in IN_EACH_STATE if not s.phase.has_members), *IN_EACH_PHASE),
    asked_by=(Role.NEW,),
    needs=HANDSHAKE,
    afterwards=still_assigns,
    known_as={
        "no-group": "join.member-id-required.id-handed-out",
        "stable-one-dynamic": "join.member-id-required.group-undisturbed",
    },
)
def member_id_required(scene: Scene, newcomer: Member) -> None:
    """Also to a second one, who is given another id."""
    ids = set()
    for _ in range(2):
        reply = scene.d.member(newcomer.name).join("", within=PROMPTLY)
        scene.d.expect(reply, error="MEMBER_ID_REQUIRED", generation_id=-1, leader="", members=[])
        ids.add(reply["member_id"])
    scene.d.require("" not in ids, "a member id in the answer", "an empty member id")
    scene.d.require(len(ids) == 2, "another id for another one", "the same id twice")


@case(
    "join.pending-member.brings-its-type",
    "Whoever uses a handed-out id as the first of an Empty group gives it its own protocol type.",
    "ClassicGroup.add",
    needs={"JoinGroup": (7, 9)},
)
def brings_its_type(d: Dialogue) -> None:
    a, b = d.member("a", protocol_type="connect"), d.member("b")
    stable(d, a)
    all_leave(d, a)
    d.expect(b.enter().answer(), error="NONE", protocol_type="consumer")


@case(
    "join.member-id-required.since-4",
    "JoinGroup is answered with a member id first from version 4 on, in which the handshake is new.",
    "KIP-394; GroupMetadataManager.classicGroupJoinNewDynamicMember",
    needs={"JoinGroup": (4, 4)},
)
def member_id_required_since_4(d: Dialogue) -> None:
    a = d.member("a")
    reply = a.join("", within=PROMPTLY)
    d.expect(reply, error="MEMBER_ID_REQUIRED", generation_id=-1, leader="", members=[])
    d.require(reply["member_id"] != "", "a member id in the answer", "an empty member id")


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


_DYNAMIC = [s for s in IN_EACH_PHASE if s.kind is Kind.DYNAMIC and s.state is not State.PREPARING]


@family(
    "join.new-member.before-4",
    "Before version 4 of JoinGroup a newcomer without a member id is admitted at once, with an id.",
    "KIP-394 (compatibility)",
    situations=(*having(EVERYWHERE, Phase.NEVER, Phase.DELETED, Phase.EMPTIED)[:3], *_DYNAMIC),
    asked_by=(Role.NEW,),
    apart=True,
    needs={"JoinGroup": (0, 3)},
    known_as={"no-group.new": "join.new-member.admitted-at-once"},
)
@family(
    "join.new-member.while-preparing",
    "Before version 4 a newcomer to a rebalance that goes on waits with the others, and has an id then.",
    "KIP-394 (compatibility)",
    situations=[s for s in PREPARING if s.kind is Kind.DYNAMIC],
    asked_by=(Role.NEW,),
    apart=True,
    needs={"JoinGroup": (0, 3)},
)
def old_version_admits(scene: Scene, newcomer: Member) -> None:
    """Among members it waits until they have joined again."""
    joining = newcomer.send_join("")
    if scene.phase.has_members:
        joining.silent(A_WHILE / 4)
        told_to_rejoin(scene)
        all_join(scene, {newcomer.name: joining, **scene.waiting}, scene.everyone, scene.lead)
    else:
        scene.d.expect(joining.answer(), error="NONE", leader=newcomer.member_id)
    former = {member.member_id for member in (*scene.everyone, *scene.former)}
    scene.d.require(newcomer.member_id not in {"", *former}, "a new member id", "an empty one, or another's")


@family(
    "join.unknown-group.outsiders",
    "A member id that is none is refused with UNKNOWN_MEMBER_ID where there is no group, or none any more.",
    _CHECKS,
    situations=having(EVERYWHERE, Phase.NEVER, Phase.DELETED),
    asked_by=(Role.STRANGER, Role.FORMER),
    known_as={"no-group": "join.unknown-group.refused"},
)
@family(
    "join.unknown-member.outsiders",
    "A member id that is not in the group is refused with UNKNOWN_MEMBER_ID and disturbs nobody.",
    f"{_EXISTING}; ClassicGroup.validateMember",
    situations=[situation for situation in IN_EACH_STATE if situation.phase is not Phase.NEVER],
    asked_by=(Role.STRANGER, Role.FORMER),
    afterwards=still_assigns,
    known_as={"stable-two-dynamic-again": "join.unknown-member.stable"},
)
def outsiders(scene: Scene, outsider: Member) -> None:
    for _ in range(2):
        scene.d.expect(scene.join_as(outsider), error="UNKNOWN_MEMBER_ID")


@case(
    "join.unknown-group.makes-none",
    "A JoinGroup that is refused since there is no group of its id makes none.",
    _CHECKS,
    level=Level.SHOULD,
    needs=DESCRIBE,
)
def refusal_makes_no_group(d: Dialogue) -> None:
    reply = d.member("a").join("never-handed-out", within=PROMPTLY)
    with d.reaching("a refused JoinGroup"):
        d.expect(reply, error="UNKNOWN_MEMBER_ID")
    state = describe(d)["groups"].only()["group_state"]
    d.require(state == "Dead", "the state Dead, which is that of no group", str(state))


@case(
    "join.unknown-group.echoes-id",
    "An answer that refuses a JoinGroup carries the member id of the request.",
    _CHECKS,
    level=Level.SHOULD,
)
def refused_id_echoed(d: Dialogue) -> None:
    reply = d.member("a").join("never-handed-out", within=PROMPTLY)
    with d.reaching("a refused JoinGroup", "join.unknown-group"):
        d.expect(reply, error="UNKNOWN_MEMBER_ID")
    d.expect(reply, member_id="never-handed-out", generation_id=-1, leader="", members=[])


_ANYBODY = (Role.NEW, *MEMBERS)


@family(
    "join.invalid-session-timeout.below",
    "A session timeout below the broker's least one is refused with INVALID_SESSION_TIMEOUT, to anybody.",
    f"group.min.session.timeout.ms; {_CHECKS}",
    situations=IN_EACH_STATE,
    asked_by=_ANYBODY,
    afterwards=still_assigns,
    known_as={"no-group": "join.invalid-session-timeout.too-short"},
)
def session_too_short(scene: Scene, somebody: Member) -> None:
    for timeout in (1, 0, -1, LEAST):
        reply = scene.join_as(somebody, session_timeout_ms=timeout)
        scene.d.expect(reply, error="INVALID_SESSION_TIMEOUT")


@family(
    "join.invalid-session-timeout.above",
    "A session timeout above the broker's greatest one is refused with INVALID_SESSION_TIMEOUT, to anybody.",
    f"group.max.session.timeout.ms; {_CHECKS}",
    situations=IN_EACH_STATE,
    asked_by=_ANYBODY,
    afterwards=still_assigns,
    known_as={"no-group": "join.invalid-session-timeout.too-long"},
)
def session_too_long(scene: Scene, somebody: Member) -> None:
    reply = scene.join_as(somebody, session_timeout_ms=GREATEST)
    scene.d.expect(reply, error="INVALID_SESSION_TIMEOUT")


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


@family(
    "join.inconsistent-protocol.other-types",
    "Who joins with another protocol type than the group's is refused with INCONSISTENT_GROUP_PROTOCOL.",
    f"{_NEW}; {_PROTOCOLS}",
    situations=(*having(IN_EACH_STATE, Phase.FIRST), *IN_EACH_PHASE),
    asked_by=_ANYBODY,
    afterwards=still_assigns,
    known_as={"stable-one-dynamic": "join.inconsistent-protocol.other-type"},
)
def other_protocol_type(scene: Scene, somebody: Member) -> None:
    for name in ("connect", "consume", "consumers"):
        scene.d.expect(scene.join_as(somebody, protocol_type=name), error="INCONSISTENT_GROUP_PROTOCOL")


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


@family(
    "join.inconsistent-protocol.empty-lists",
    "An empty list of protocols is refused with INCONSISTENT_GROUP_PROTOCOL, also by an empty group.",
    f"{_NEW}; {_PROTOCOLS}",
    situations=IN_EACH_STATE,
    asked_by=_ANYBODY,
    afterwards=still_assigns,
    known_as={"no-group": "join.inconsistent-protocol.no-protocols"},
)
def no_protocols(scene: Scene, somebody: Member) -> None:
    scene.d.expect(scene.join_as(somebody, protocols=[]), error="INCONSISTENT_GROUP_PROTOCOL")


@family(
    "join.inconsistent-protocol.empty-types",
    "An empty protocol type is refused with INCONSISTENT_GROUP_PROTOCOL, also by an empty group.",
    f"{_NEW}; {_PROTOCOLS}",
    situations=IN_EACH_STATE,
    asked_by=_ANYBODY,
    afterwards=still_assigns,
    known_as={"no-group": "join.inconsistent-protocol.no-type"},
)
def no_protocol_type(scene: Scene, somebody: Member) -> None:
    scene.d.expect(scene.join_as(somebody, protocol_type=""), error="INCONSISTENT_GROUP_PROTOCOL")


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
