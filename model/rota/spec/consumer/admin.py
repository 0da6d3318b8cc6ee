"""What others ask about a group: descriptions, lists, deletion; and requests of the classic protocol."""

from __future__ import annotations

from rota.kernel.rules import rule
from rota.spec.consumer.context import GCS, GMM, ConsumerSpec, request_of
from rota.spec.consumer.group import AnyGroup, ClassicGroup, ConsumerGroup, Current
from rota.spec.consumer.messages import (
    Call,
    ClassicRequest,
    ConsumerGroupDescribeReply,
    ConsumerGroupDescribeRequest,
    Described,
    ErrorReply,
    Listed,
    ListGroupsRequest,
)
from rota.spec.consumer.records import removed
from rota.spec.consumer.state import Partition
from rota.spec.consumer.step import Step, Steps
from rota.spec.consumer.vocabulary import ErrorCode, GroupState, RecordKind

DESCRIBE_HANDLER = ("admin.describe-invalid-id", "admin.describe-no-group", "admin.describe")
LIST_HANDLER = ("admin.list",)
DELETE_HANDLER = ("admin.delete-no-group", "admin.delete-members", "admin.delete")
CLASSIC_DESCRIBE_HANDLER = ("admin.describe-as-classic",)
CLASSIC_HANDLER = ("admin.classic-join", "admin.classic-other")

NEWEST_WITHOUT_NOT_FOUND = 5


def _told(group: AnyGroup | None, call: Call, error: ErrorCode, at_once: bool = True) -> Steps:
    return (Step(group, at_once=at_once).answer(call.to, ErrorReply(error)),)


@rule("admin.describe-invalid-id", source=GCS + "consumerGroupDescribe")
def describe_invalid_id(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """An empty group id is invalid."""
    if request_of(call, ConsumerGroupDescribeRequest).group_id:
        return ()
    return _told(group, call, ErrorCode.INVALID_GROUP_ID)


@rule("admin.describe-no-group", source=GMM + "consumerGroupDescribe")
def describe_no_group(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A group that is not there, or is a classic one, is not found."""
    if isinstance(group, ConsumerGroup):
        return ()
    return _told(group, call, ErrorCode.GROUP_ID_NOT_FOUND)


@rule("admin.describe", source="upstream ConsumerGroup#asDescribedGroup")
def describe(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A description: epochs, the assignor by the wishes of now, each member with what it has and shall have.

    What a member was told to give up is still its own. Partitions of topics that are gone are not shown,
    though the coordinator holds them.
    """
    if not isinstance(group, ConsumerGroup):
        return ()
    known = {one.topic_id for one in call.topics.values()}

    def shown(some: frozenset[Partition]) -> frozenset[Partition]:
        return frozenset(one for one in some if one.topic in known)

    members = tuple(
        Described(
            name,
            group.current.get(name, Current()).epoch,
            said.subscribed_topic_names,
            shown(group.current.get(name, Current()).owned),
            shown(group.targets.get(name, frozenset())),
        )
        for name, said in group.members.items()
    )
    assignor = spec.ask("target.preferred-assignor", group)
    reply = ConsumerGroupDescribeReply(group.state, group.epoch, group.target_epoch, assignor, members)
    return (Step(group, at_once=True).answer(call.to, reply),)


@rule("admin.list", source=GMM + "listGroups")
def list_groups(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """The list has the group with its type and state; filters ignore case, and unknown names fit nothing.

    Left out: the state of a classic group with members, which the other protocol tells.
    """
    asked = request_of(call, ListGroupsRequest)
    classic = isinstance(group, ClassicGroup)
    state = GroupState.EMPTY if classic else group.state if isinstance(group, ConsumerGroup) else None
    kind = "classic" if classic else "consumer"
    fits = (not asked.types_filter or kind in asked.types_filter) and (
        not asked.states_filter or str(state).lower() in asked.states_filter
    )
    return (Step(group, at_once=True).answer(call.to, Listed(state if fits else None, kind)),)


@rule("admin.delete-no-group", source=GCS + "deleteGroups")
def delete_no_group(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """What is not there is not deleted.

    Left out: classic groups, of which the other protocol decides.
    """
    if isinstance(group, ConsumerGroup):
        return ()
    return _told(group, call, ErrorCode.GROUP_ID_NOT_FOUND, at_once=False)


@rule("admin.delete-members", source="upstream ConsumerGroup#validateDeleteGroup")
def delete_members(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A group with members is not deleted."""
    if not isinstance(group, ConsumerGroup) or not group.members:
        return ()
    return _told(group, call, ErrorCode.NON_EMPTY_GROUP, at_once=False)


@rule("admin.delete", source="upstream ConsumerGroup#createGroupTombstoneRecords")
def delete(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """An empty group goes with its offsets, the target before the group; its epochs are forgotten."""
    gone = (RecordKind.TARGET, RecordKind.TOPICS, RecordKind.GROUP)
    step = Step(group, forgets="").write(*(removed(one) for one in gone))
    return (step.answer(call.to, ErrorReply(ErrorCode.NONE)),)


@rule("admin.describe-as-classic", source=GMM + "describeGroups")
def describe_as_classic(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """DescribeGroups takes such a group for dead, which newer versions call not found.

    Left out: descriptions of classic groups.
    """
    old = call.version <= NEWEST_WITHOUT_NOT_FOUND
    return _told(group, call, ErrorCode.NONE if old else ErrorCode.GROUP_ID_NOT_FOUND)


@rule("admin.classic-join", source=GMM + "throwIfClassicMemberCannotJoinConsumerGroup")
def classic_join(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A member of the classic protocol cannot join, whether there is room or not.

    Left out: the other migration policies, under which it can, and a full group says first that it is full;
    and an empty group, which gives way to it.
    """
    if request_of(call, ClassicRequest).api != "JoinGroup":
        return ()
    return _told(group, call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


@rule("admin.classic-other", source=GMM + "classicGroupHeartbeat, classicGroupSync")
def classic_other(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Heartbeat and SyncGroup of the classic protocol do not know a member of this one."""
    return _told(group, call, ErrorCode.UNKNOWN_MEMBER_ID)
