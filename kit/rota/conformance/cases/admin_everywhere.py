"""Administration in every situation of a group: what is described and listed, and that nothing is deleted."""

from __future__ import annotations

from typing import Any

from rota.conformance.cases.admin_list import expect_state
from rota.conformance.dialogues.dialogue import Member
from rota.conformance.families.axes import Phase, Role, State
from rota.conformance.families.family import family
from rota.conformance.families.scene import Scene
from rota.conformance.families.situations import (
    IN_EACH_PHASE,
    IN_EACH_STATE,
    STATIC_IN_EACH_PHASE,
    having,
)
from rota.conformance.steps.administration import delete, described, expect_deleted
from rota.conformance.steps.version_ranges import DELETE, DESCRIBE

_THERE = [situation for situation in IN_EACH_STATE if situation.state is not State.NO_GROUP]
_FIRST = having(IN_EACH_STATE, Phase.FIRST)


@family(
    "admin.describe.everywhere",
    "DescribeGroups tells the group's state and who its members are, static ones by their instance ids, too.",
    "GroupMetadataManager.describeGroups; ClassicGroup.describe",
    situations=_THERE,
    asked_by=(Role.NEW,),
    needs={**DESCRIBE, "DescribeGroups": (4, 6)},
)
def describes(scene: Scene, somebody: Member) -> None:
    group = described(scene.d)
    state = group["group_state"]
    scene.d.require(state == scene.phase.state, scene.phase.state, str(state))
    told = _instances_told(group)
    wanted = {member.member_id: member.settings.get("group_instance_id") for member in scene.everyone}
    missing = [scene.d.transcript.named(who) for who in wanted if told.get(who, "") != wanted[who]]
    scene.d.require(not missing, "every member with its instance id", f"others than {', '.join(missing)}")
    waiting = sum(name not in {each.name for each in scene.everyone} for name in scene.waiting)
    number = len(wanted) + waiting
    scene.d.require(len(told) == number, f"{number} members", f"{len(told)}")


def _instances_told(group: Any) -> dict[str, str | None]:
    return {member["member_id"]: member["group_instance_id"] for member in group["members"]}


@family(
    "admin.list.everywhere",
    "From version 4 ListGroups tells the state of each group, and finds it by that state and by no other.",
    "KIP-518; GroupMetadataManager.listGroups",
    situations=_THERE,
    asked_by=(Role.NEW,),
    needs={"ListGroups": (4, 5)},
)
def lists(scene: Scene, somebody: Member) -> None:
    expect_state(scene.d, scene.phase.state)


@family(
    "admin.delete-non-empty-group.everywhere",
    "A group that has members, or is being joined, cannot be deleted: NON_EMPTY_GROUP; it goes on.",
    "KIP-229; GroupCoordinatorShard.deleteGroups; ClassicGroup.validateDeleteGroup",
    situations=(*IN_EACH_PHASE, *STATIC_IN_EACH_PHASE, *_FIRST),
    asked_by=(Role.NEW,),
    needs=DELETE,
)
def deletes(scene: Scene, somebody: Member) -> None:
    expect_deleted(scene.d, delete(scene.d), "NON_EMPTY_GROUP")
