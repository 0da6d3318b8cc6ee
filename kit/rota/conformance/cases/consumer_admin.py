"""What others ask about consumer groups: descriptions, lists, deletion; requests of the classic protocol."""

from __future__ import annotations

from typing import Any

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.registry import otherwise
from rota.conformance.dialogues.script import Level
from rota.conformance.rules import CONSUMER
from rota.conformance.steps.administration import delete, expect_deleted
from rota.conformance.steps.consumer import (
    alone,
    asked_to_give_up,
    commit,
    describe,
    described,
    expect_committed,
    expect_described,
    expect_fetched,
    fetch,
    of_member,
    owns_all,
    shared,
    two,
)
from rota.conformance.steps.consumer_case import BY_NAME, rule_case
from rota.conformance.steps.consumer_topics import places_in
from rota.conformance.steps.group_formation import stable

_DESCRIBE = "KIP-848; GroupMetadataManager.consumerGroupDescribe"
_DESCRIBED = "KIP-848; ConsumerGroup.asDescribedGroup"
_LIST = "KIP-848; GroupMetadataManager.listGroups"
_DELETE = "ConsumerGroup.validateDeleteGroup"
_CLASSIC = "GroupMetadataManager.describeGroups"
_JOIN = "GroupMetadataManager.throwIfClassicProtocolIsNotSupported"

_TYPED = {"ListGroups": (5, 5)}
_DELETES = {"DeleteGroups": (0, 2)}


@rule_case(
    "admin.describe-invalid-id.empty",
    "A description of a group with an empty id is INVALID_GROUP_ID.",
    "GroupCoordinatorService.consumerGroupDescribe",
    topics=False,
)
def empty_id(d: Dialogue) -> None:
    expect_described(d, "INVALID_GROUP_ID", "")


@rule_case(
    "admin.describe-no-group.absent",
    "A description of a group that is not there is GROUP_ID_NOT_FOUND.",
    _DESCRIBE,
    topics=False,
)
def absent(d: Dialogue) -> None:
    expect_described(d, "GROUP_ID_NOT_FOUND")


@rule_case(
    "admin.describe-no-group.classic",
    "A classic group is none to ConsumerGroupDescribe: GROUP_ID_NOT_FOUND.",
    _DESCRIBE,
    topics=False,
)
def classic_group(d: Dialogue) -> None:
    stable(d, d.member("classic"))
    expect_described(d, "GROUP_ID_NOT_FOUND")


@rule_case(
    "admin.describe.each-asked",
    "Each group that is asked about is answered for itself.",
    _DESCRIBE,
)
def each_asked(d: Dialogue) -> None:
    alone(d)
    found = {
        one["group_id"]: error_name(one["error_code"])
        for one in describe(d, d.group_id, f"{d.group_id}-nobody")["groups"]
    }
    wanted = {d.group_id: "NONE", f"{d.group_id}-nobody": "GROUP_ID_NOT_FOUND"}
    d.require(found == wanted, "NONE and GROUP_ID_NOT_FOUND", ", ".join(sorted(found.values())))


@rule_case(
    "admin.describe.stable",
    "A description tells the state, equal epochs, and each member with what it has, which is its target.",
    _DESCRIBED,
)
def stable_group(d: Dialogue) -> None:
    a, b, _ = shared(d)
    group = described(d)
    d.require(group["group_state"] == "Stable", "the state Stable", str(group["group_state"]))
    d.require(group["group_epoch"] == group["assignment_epoch"] == a.epoch, "one epoch", "several")
    for one in (a, b):
        said = of_member(d, group, one)
        has, target = (places_in(said[name]) for name in ("assignment", "target_assignment"))
        d.require(has == target == one.held, f"what {one.id} has", "something else")
        d.require(said["member_epoch"] == one.epoch, f"epoch {one.epoch}", str(said["member_epoch"]))


@rule_case(
    "admin.describe.reconciling",
    "A group whose members are not yet at their target is Reconciling, with the targets of all.",
    _DESCRIBED,
)
def reconciling(d: Dialogue) -> None:
    _, b, subject = two(d)
    group = described(d)
    d.require(group["group_state"] == "Reconciling", "the state Reconciling", str(group["group_state"]))
    said = of_member(d, group, b)
    has, target = (places_in(said[name]) for name in ("assignment", "target_assignment"))
    d.require(not has and len(target & subject.places) == 1, "a target and nothing yet", "something else")


@rule_case(
    "admin.describe.still-its-own",
    "What a member was told to give up and has not is described as its own.",
    _DESCRIBED,
)
def still_its_own(d: Dialogue) -> None:
    a, _, subject, _ = asked_to_give_up(d)
    has = places_in(of_member(d, described(d), a)["assignment"])
    d.require(has == subject.places, "all partitions", f"{len(has)} of them")


@otherwise(
    f"{CONSUMER}.admin.describe.still-its-own",
    "pending_is_not_described",
    "What a member was told to give up is not described as its own any more.",
)
def not_its_own(d: Dialogue) -> None:
    a, _, _, _ = asked_to_give_up(d)
    has = places_in(of_member(d, described(d), a)["assignment"])
    d.require(has == a.held, "what it may keep", f"{len(has)} partitions")


def _listed(d: Dialogue, **filters: list[str]) -> Any:
    """The group's entry in the list, None where there is none."""
    asked = {"states_filter": [], "types_filter": [], **filters}
    groups = d.member("admin").send_whole("ListGroups", asked).answer()["groups"]
    return next((one for one in groups if one["group_id"] == d.group_id), None)


@rule_case(
    "admin.list.type-and-state",
    "The list has a consumer group with its type and its state.",
    _LIST,
    needs=_TYPED,
)
def type_and_state(d: Dialogue) -> None:
    alone(d)
    found = _listed(d)
    d.require(found is not None, "the group in the list", "none")
    told = found["group_type"].lower(), found["group_state"].lower()
    d.require(told == ("consumer", "stable"), "type consumer, state Stable", ", ".join(told))


@rule_case(
    "admin.list.filters",
    "Filters of types and states leave the group in the list where they name its own, in any case.",
    _LIST,
    needs=_TYPED,
)
def filters(d: Dialogue) -> None:
    alone(d)
    for fits in ({"types_filter": ["Consumer"]}, {"states_filter": ["stable"]}):
        d.require(_listed(d, **fits) is not None, "the group in the list", "none")
    for other in ({"types_filter": ["classic"]}, {"states_filter": ["Empty"]}):
        d.require(_listed(d, **other) is None, "no entry", "one")


@rule_case(
    "admin.delete-members.refused",
    "A group with members is not deleted: NON_EMPTY_GROUP, and the member goes on.",
    _DELETE,
    level=Level.MUST,
    needs=_DELETES,
)
def with_members(d: Dialogue) -> None:
    a, subject = alone(d)
    expect_deleted(d, delete(d), "NON_EMPTY_GROUP")
    a.beat()
    owns_all(d, a, subject)


@rule_case(
    "admin.delete.empty",
    "An empty group is deleted, with its offsets.",
    "ConsumerGroup.createGroupTombstoneRecords",
    needs={**_DELETES, **BY_NAME},
)
def deletes_empty(d: Dialogue) -> None:
    a, subject = alone(d)
    with d.reaching("an empty group with an offset", f"{CONSUMER}.offsets.commit"):
        expect_committed(d, commit(a, a.epoch, subject, [0]), "NONE")
        a.leave()
    expect_deleted(d, delete(d), "NONE")
    expect_described(d, "GROUP_ID_NOT_FOUND")
    expect_fetched(d, fetch(a, subject), -1)


@rule_case(
    "admin.delete.begins-anew",
    "A group that was deleted begins anew, at the epochs of a new group.",
    "ConsumerGroup.createGroupTombstoneRecords",
    needs=_DELETES,
)
def begins_anew(d: Dialogue) -> None:
    a, subject = alone(d)
    first = a.epoch
    a.leave()
    expect_deleted(d, delete(d), "NONE")
    a.join(subject)
    d.require(a.epoch == first, f"epoch {first}", f"epoch {a.epoch}")
    owns_all(d, a, subject)


@rule_case(
    "admin.delete-no-group.deleted-before",
    "What was deleted before is not there: GROUP_ID_NOT_FOUND.",
    "GroupCoordinatorService.deleteGroups",
    needs=_DELETES,
)
def deleted_before(d: Dialogue) -> None:
    a, _ = alone(d)
    with d.reaching("a group that was deleted", f"{CONSUMER}.admin.delete"):
        a.leave()
        expect_deleted(d, delete(d), "NONE")
    expect_deleted(d, delete(d), "GROUP_ID_NOT_FOUND")


def _as_classic(d: Dialogue) -> tuple[str, str]:
    """The error and the state that DescribeGroups has for the group."""
    found = d.member("admin").send_whole("DescribeGroups", {"groups": [d.group_id]}).answer()["groups"].only()
    return error_name(found["error_code"]), found["group_state"]


@rule_case(
    "admin.describe-as-classic.newer",
    "To DescribeGroups a consumer group is not found, from version 6 on.",
    _CLASSIC,
    needs={"DescribeGroups": (6, 6)},
)
def as_classic(d: Dialogue) -> None:
    alone(d)
    found = _as_classic(d)
    d.require(found == ("GROUP_ID_NOT_FOUND", "Dead"), "GROUP_ID_NOT_FOUND, Dead", ", ".join(found))


@rule_case(
    "admin.describe-as-classic.older",
    "To older versions of DescribeGroups a consumer group is Dead, without an error.",
    _CLASSIC,
    needs={"DescribeGroups": (0, 5)},
)
def as_classic_older(d: Dialogue) -> None:
    alone(d)
    found = _as_classic(d)
    d.require(found == ("NONE", "Dead"), "NONE, Dead", ", ".join(found))


@rule_case(
    "admin.classic-join.other-type",
    "A classic member of another protocol type cannot join: INCONSISTENT_GROUP_PROTOCOL, nothing changes.",
    _JOIN,
    level=Level.MUST,
    needs={"JoinGroup": (0, 3)},
)
def classic_join(d: Dialogue) -> None:
    a, subject = alone(d)
    classic = d.member("classic", protocol_type="connect")
    d.expect(classic.join(""), error="INCONSISTENT_GROUP_PROTOCOL")
    a.beat()
    owns_all(d, a, subject)


@rule_case(
    "admin.classic-other.heartbeat",
    "Heartbeat, of the classic protocol, does not know a member of this one: UNKNOWN_MEMBER_ID.",
    "GroupMetadataManager.classicGroupHeartbeat",
)
def classic_heartbeat(d: Dialogue) -> None:
    a, _ = alone(d)
    d.expect(a.member.heartbeat(member_id=a.id, generation_id=a.epoch), error="UNKNOWN_MEMBER_ID")


@rule_case(
    "admin.classic-other.sync",
    "SyncGroup, of the classic protocol, does not know a member of this one: UNKNOWN_MEMBER_ID.",
    "GroupMetadataManager.classicGroupSync",
)
def classic_sync(d: Dialogue) -> None:
    a, subject = alone(d)
    said = a.member.sync(
        member_id=a.id, generation_id=a.epoch, protocol_type="consumer", protocol_name="range"
    )
    d.expect(said, error="UNKNOWN_MEMBER_ID")
    a.beat()
    owns_all(d, a, subject)
