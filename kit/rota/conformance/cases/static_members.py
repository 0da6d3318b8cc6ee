"""Static members (KIP-345): how they come in, and which ids may be used with an instance id."""

from __future__ import annotations

from typing import Any

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import lead_stable, stable
from rota.conformance.steps.membership import form_of, pending_member, static
from rota.conformance.steps.version_ranges import STATIC

_NEW = "KIP-345; GroupMetadataManager.classicGroupJoinNewStaticMember"
_VALIDATE = "KIP-345; ClassicGroup.validateMember"
_STRANGER = "never-handed-out"


@case(
    "static.new-member.at-once",
    "A static newcomer needs no handshake: it is admitted at once, in every version, and is given an id.",
    _NEW,
    needs=STATIC,
)
def at_once(d: Dialogue) -> None:
    reply = static(d, "a", "one").join("")
    d.expect(reply, error="NONE")
    d.require(reply["member_id"] != "", "a member id in the answer", "an empty member id")


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
    "static.new-member.rebalances",
    "A static newcomer to a Stable group starts a rebalance as any newcomer does.",
    _NEW,
    needs=STATIC,
)
def newcomer_rebalances(d: Dialogue) -> None:
    a = static(d, "a", "one")
    before = stable(d, a).leader.generation_id
    joining = static(d, "b", "two").send_join("")
    joining.silent(0.4)
    d.expect(a.heartbeat(), error="REBALANCE_IN_PROGRESS")
    d.expect(a.join(), error="NONE", generation_id=before + 1)
    d.expect(joining.answer(PROMPTLY), error="NONE", generation_id=before + 1)


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


@case(
    "static.validate.without-instance",
    "Requests with a static member's id are accepted also without its instance id.",
    _VALIDATE,
    level=Level.SHOULD,
    needs=STATIC,
)
def without_instance(d: Dialogue) -> None:
    a = static(d, "a", "one")
    formed = stable(d, a)
    d.expect(a.heartbeat(group_instance_id=None), error="NONE")
    reply = a.sync(group_instance_id=None)
    d.expect(reply, error="NONE", assignment=formed.assignments[a.member_id])


@case(
    "static.validate.unknown-instance",
    "An instance id that the group does not know is UNKNOWN_MEMBER_ID, whosever member id comes with it.",
    _VALIDATE,
    needs=STATIC,
)
def unknown_instance(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    d.expect(a.heartbeat(group_instance_id="two"), error="UNKNOWN_MEMBER_ID")
    d.expect(a.sync(group_instance_id="two"), error="UNKNOWN_MEMBER_ID")
    d.expect(a.second_connection().join(within=PROMPTLY, group_instance_id="two"), error="UNKNOWN_MEMBER_ID")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "static.validate.dynamic-stays-dynamic",
    "A dynamic member cannot become static: with an instance id its id is UNKNOWN_MEMBER_ID.",
    _VALIDATE,
    needs=STATIC,
)
def dynamic_stays_dynamic(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    d.expect(a.heartbeat(group_instance_id="one"), error="UNKNOWN_MEMBER_ID")
    d.expect(a.second_connection().join(within=PROMPTLY, group_instance_id="one"), error="UNKNOWN_MEMBER_ID")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "static.validate.anothers-instance",
    "A member's id with the instance id of another one is fenced.",
    _VALIDATE,
    needs=STATIC,
)
def anothers_instance(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two")
    lead_stable(d, a, b)
    d.expect(a.heartbeat(group_instance_id="two"), error="FENCED_INSTANCE_ID")
    d.expect(b.sync(group_instance_id="one"), error="FENCED_INSTANCE_ID")
    d.expect(a.heartbeat(), error="NONE")
    d.expect(b.heartbeat(), error="NONE")


@case(
    "static.validate.empty-id",
    "An instance id alone, without member id, is fenced by Heartbeat and SyncGroup.",
    _VALIDATE,
    level=Level.SHOULD,
    needs=STATIC,
)
def empty_id(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    d.expect(a.heartbeat(member_id=""), error="FENCED_INSTANCE_ID")
    d.expect(a.sync(member_id=""), error="FENCED_INSTANCE_ID")


@case(
    "join.fenced-instance-id.wrong-id",
    "JoinGroup with a known instance id and another's member id is fenced; the answer carries that id.",
    f"{_VALIDATE}; GroupMetadataManager.classicGroupJoinExistingMember",
    needs=STATIC,
)
def join_fenced(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    intruder = static(d, "b", "one")
    d.expect(intruder.join(_STRANGER, within=PROMPTLY), error="FENCED_INSTANCE_ID", member_id=_STRANGER)
    d.expect(a.heartbeat(), error="NONE")


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


@case(
    "heartbeat.fenced-instance-id.wrong-id",
    "A heartbeat with a known instance id and another's member id is fenced.",
    f"{_VALIDATE}; GroupMetadataManager.validateClassicGroupHeartbeat",
    needs=STATIC,
)
def heartbeat_fenced(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    d.expect(a.heartbeat(member_id=_STRANGER), error="FENCED_INSTANCE_ID")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "sync.fenced-instance-id.wrong-id",
    "SyncGroup with a known instance id and another's member id is fenced.",
    f"{_VALIDATE}; GroupMetadataManager.validateSyncGroup",
    needs=STATIC,
)
def sync_fenced(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    d.expect(a.sync(member_id=_STRANGER), error="FENCED_INSTANCE_ID", assignment=b"")


@case(
    "heartbeat.fenced-instance-id.before-generation",
    "Heartbeat checks the instance id before the generation: a wrong id is fenced in any.",
    f"{_VALIDATE}; GroupMetadataManager.validateClassicGroupHeartbeat",
    needs=STATIC,
)
def heartbeat_fenced_first(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    d.expect(a.heartbeat(**_wrong(a.generation_id)), error="FENCED_INSTANCE_ID")


@case(
    "sync.fenced-instance-id.before-generation",
    "SyncGroup checks the instance id before the generation: a wrong id is fenced in any.",
    f"{_VALIDATE}; GroupMetadataManager.validateSyncGroup",
    needs=STATIC,
)
def sync_fenced_first(d: Dialogue) -> None:
    a = static(d, "a", "one")
    stable(d, a)
    d.expect(a.sync(**_wrong(a.generation_id)), error="FENCED_INSTANCE_ID")


def _wrong(generation_id: int) -> dict[str, Any]:
    return {"member_id": _STRANGER, "generation_id": generation_id + 7}
