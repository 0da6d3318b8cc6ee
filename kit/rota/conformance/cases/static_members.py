"""Static members (KIP-345): how they come in, and which ids may be used with an instance id."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Member
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.families.axes import MEMBERS, Phase, Role, State
from rota.conformance.families.family import family
from rota.conformance.families.rounds import still_assigns
from rota.conformance.families.scene import UNKNOWN_INSTANCE, Scene
from rota.conformance.families.situations import IN_EACH_PHASE, STATIC_IN_EACH_PHASE
from rota.conformance.steps.group_formation import lead_stable, stable
from rota.conformance.steps.membership import form_of, pending_member, static
from rota.conformance.steps.version_ranges import STATIC

_NEW = "KIP-345; GroupMetadataManager.classicGroupJoinNewStaticMember"
_VALIDATE = "KIP-345; ClassicGroup.validateMember"
_STRANGER = "never-handed-out"


@case(
    "static.new-member.id-form",
    "The id of a static member is made of its instance id and a UUID.",
    "ClassicGroup.generateMemberId",
    level=Level.INFO,
    needs=STATIC,
)
def id_form(d: Dialogue) -> None:
    reply = static(d, "a", "one").join("")
    d.expect(reply, error="NONE")
    form = form_of(reply["member_id"])
    d.require(form == "one-UUID", "an id of the form one-UUID", form)


@case(
    "join.next-generation.instance-ids",
    "From version 5 the leader's list names the instance ids of static members, and null for the others.",
    "KIP-345; JoinGroup response schema",
    needs=STATIC,
)
def instance_ids_listed(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), d.member("b")
    formed = lead_stable(d, a, b)
    actual = {m["member_id"]: m["group_instance_id"] for m in formed.replies["a"]["members"]}
    wanted = {a.member_id: "one", b.member_id: None}
    d.require(actual == wanted, "instance ids one and null", f"{sorted(map(str, actual.values()))}")


@case(
    "join.unknown-group.static",
    "A static newcomer with a member id is refused with UNKNOWN_MEMBER_ID where there is no group yet.",
    "GroupMetadataManager.classicGroupJoin",
    needs=STATIC,
)
def id_without_group(d: Dialogue) -> None:
    d.expect(static(d, "a", "one").join(_STRANGER, within=PROMPTLY), error="UNKNOWN_MEMBER_ID")


@case(
    "static.pending-with-instance.server-error",
    "An id that was handed out cannot be used with an instance id: UNKNOWN_SERVER_ERROR.",
    "GroupMetadataManager.classicGroupJoinExistingMember, which takes it for impossible",
    level=Level.INFO,
    needs={**STATIC, "JoinGroup": (5, 9)},
)
def pending_with_instance(d: Dialogue) -> None:
    a = pending_member(d, "a")
    reply = a.join(within=PROMPTLY, group_instance_id="one")
    d.expect(reply, error="UNKNOWN_SERVER_ERROR")


@family(
    "static.validate.without-their-instance",
    "Requests with a static member's id are accepted also without its instance id.",
    _VALIDATE,
    situations=STATIC_IN_EACH_PHASE,
    asked_by=MEMBERS,
    level=Level.SHOULD,
    needs=STATIC,
    afterwards=still_assigns,
    known_as={"stable-one-static": "static.validate.without-instance"},
)
def without_instance(scene: Scene, member: Member) -> None:
    error = "REBALANCE_IN_PROGRESS" if scene.phase.state is State.PREPARING else "NONE"
    scene.d.expect(member.heartbeat(group_instance_id=None), error=error)
    if scene.phase is Phase.STABLE:
        stored = scene.assignments[member.member_id]
        scene.d.expect(member.sync(group_instance_id=None), error="NONE", assignment=stored)


@family(
    "static.validate.other-instances",
    "An instance id that the group does not know is UNKNOWN_MEMBER_ID, whosever member id comes with it.",
    _VALIDATE,
    situations=(*STATIC_IN_EACH_PHASE, *IN_EACH_PHASE),
    asked_by=(*MEMBERS, Role.NEWCOMER),
    needs=STATIC,
    afterwards=still_assigns,
    known_as={
        "stable-one-static": "static.validate.unknown-instance",
        "stable-one-dynamic": "static.validate.dynamic-stays-dynamic",
    },
)
def unknown_instance(scene: Scene, member: Member) -> None:
    """The empty one is none of the group's either."""
    for instance in (UNKNOWN_INSTANCE, member.member_id, ""):
        scene.d.expect(member.heartbeat(group_instance_id=instance), error="UNKNOWN_MEMBER_ID")
        scene.d.expect(member.sync(group_instance_id=instance), error="UNKNOWN_MEMBER_ID")
        reply = scene.join_as(member, group_instance_id=instance)
        scene.d.expect(reply, error="UNKNOWN_MEMBER_ID")


@family(
    "static.validate.instances-of-others",
    "A member's id with the instance id of another one is fenced.",
    _VALIDATE,
    situations=[situation for situation in STATIC_IN_EACH_PHASE if situation.number > 1],
    asked_by=MEMBERS,
    needs=STATIC,
    afterwards=still_assigns,
    known_as={"stable-two-static-again": "static.validate.anothers-instance"},
)
def anothers_instance(scene: Scene, member: Member) -> None:
    for other in scene.everyone:
        instance = other.settings.get("group_instance_id")
        if instance is None or other.name == member.name:
            continue
        scene.d.expect(member.heartbeat(group_instance_id=instance), error="FENCED_INSTANCE_ID")
        scene.d.expect(member.sync(group_instance_id=instance), error="FENCED_INSTANCE_ID")
        scene.d.expect(scene.join_as(member, group_instance_id=instance), error="FENCED_INSTANCE_ID")


@family(
    "static.validate.empty-ids",
    "An instance id alone, without member id, is fenced by Heartbeat and SyncGroup.",
    _VALIDATE,
    situations=STATIC_IN_EACH_PHASE,
    asked_by=MEMBERS,
    level=Level.SHOULD,
    needs=STATIC,
    afterwards=still_assigns,
    known_as={"stable-one-static": "static.validate.empty-id"},
)
def empty_id(scene: Scene, member: Member) -> None:
    if scene.impostors(member):
        scene.d.expect(member.heartbeat(member_id=""), error="FENCED_INSTANCE_ID")
        scene.d.expect(member.sync(member_id=""), error="FENCED_INSTANCE_ID")


@family(
    "join.fenced-instance-id.impostors",
    "JoinGroup with a known instance id and another's member id is fenced; the answer carries that id.",
    f"{_VALIDATE}; GroupMetadataManager.classicGroupJoinExistingMember",
    situations=STATIC_IN_EACH_PHASE,
    asked_by=MEMBERS,
    needs=STATIC,
    afterwards=still_assigns,
    known_as={"stable-one-static": "join.fenced-instance-id.wrong-id"},
)
def join_fenced(scene: Scene, member: Member) -> None:
    for impostor in scene.impostors(member):
        reply = scene.join_as(member, member_id=impostor)
        scene.d.expect(reply, error="FENCED_INSTANCE_ID", member_id=impostor)


@family(
    "heartbeat.fenced-instance-id.impostors",
    "A heartbeat with a known instance id and another's member id is fenced, whatever its generation.",
    f"{_VALIDATE}; GroupMetadataManager.validateClassicGroupHeartbeat",
    situations=STATIC_IN_EACH_PHASE,
    asked_by=MEMBERS,
    needs=STATIC,
    known_as={"stable-one-static": "heartbeat.fenced-instance-id.wrong-id"},
)
def heartbeat_fenced(scene: Scene, member: Member) -> None:
    for impostor in scene.impostors(member):
        for generation in (scene.generation, scene.generation - 1, scene.generation + 7):
            reply = member.heartbeat(member_id=impostor, generation_id=generation)
            scene.d.expect(reply, error="FENCED_INSTANCE_ID")


@case(
    "join.inconsistent-protocol.before-instance",
    "Protocols are checked before the instance id: unsuitable ones win over a member id that is fenced.",
    "GroupMetadataManager.classicGroupJoinExistingMember",
    level=Level.SHOULD,
    needs=STATIC,
)
def protocols_before_instance(d: Dialogue) -> None:
    stable(d, static(d, "a", "one"))
    intruder = static(d, "b", "one", protocol_type="connect")
    d.expect(intruder.join(_STRANGER, within=PROMPTLY), error="INCONSISTENT_GROUP_PROTOCOL")
