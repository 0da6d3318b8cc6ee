"""ConsumerGroupHeartbeat: what a request must say, and who is a member.

The checks stand in Kafka's order; those up to `target.unknown-assignor` look at nothing but the request.
"""

from __future__ import annotations

from rota.kernel.rules import rule
from rota.spec.consumer.context import GCS, GMM, ConsumerSpec, beat, refused
from rota.spec.consumer.group import AnyGroup, ClassicGroup, ConsumerGroup, Metadata
from rota.spec.consumer.messages import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    UNCHANGED,
    Call,
    ConsumerGroupHeartbeatRequest,
)
from rota.spec.consumer.step import Steps
from rota.spec.consumer.vocabulary import ErrorCode
from rota.spec.vocabulary import Hosting

HEARTBEAT_HANDLER = (
    "membership.inactive",
    "membership.no-member-id",
    "membership.no-group-id",
    "membership.blank-instance-or-rack",
    "membership.first-without-timeout",
    "membership.first-with-partitions",
    "membership.first-without-subscription",
    "membership.epoch-of-nobody",
    "target.unknown-assignor",
    "membership.static",
    "membership.regular-expression",
    "membership.loading",
    "membership.elsewhere",
    "leave.unknown-member",
    "leave.member",
    "membership.unknown-group",
    "membership.other-protocol",
    "membership.full",
    "membership.unknown-member",
    "epochs.ahead",
    "epochs.behind",
    "membership.heartbeat",
)

CHECKED = GCS + "throwIfConsumerGroupHeartbeatRequestIsInvalid"
HOSTED = "upstream CoordinatorRuntime#scheduleWriteOperation"


@rule("membership.inactive", source=GCS + "consumerGroupHeartbeat")
def inactive(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A coordinator that does not run says so before it looks at the request."""
    if call.hosting is not Hosting.INACTIVE:
        return ()
    return refused(group, call, ErrorCode.COORDINATOR_NOT_AVAILABLE)


@rule("membership.no-member-id", source=CHECKED)
def no_member_id(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A member brings its id, but for version 0, whose joining members are given one; blanks are none."""
    request = beat(call)
    needed = call.version >= 1 or request.member_epoch > JOIN_EPOCH or request.member_epoch == LEAVE_EPOCH
    if request.member_id.strip() or not needed:
        return ()
    return refused(group, call, ErrorCode.INVALID_REQUEST)


@rule("membership.no-group-id", source=CHECKED)
def no_group_id(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A blank group id is refused."""
    if beat(call).group_id.strip():
        return ()
    return refused(group, call, ErrorCode.INVALID_REQUEST)


@rule("membership.blank-instance-or-rack", source=CHECKED)
def blank_instance_or_rack(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """An instance or a rack that is named is not blank."""
    request = beat(call)
    if all(one is None or one.strip() for one in (request.instance_id, request.rack_id)):
        return ()
    return refused(group, call, ErrorCode.INVALID_REQUEST)


@rule("membership.first-without-timeout", source=CHECKED)
def first_without_timeout(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Who joins says how long it may take to give up partitions."""
    request = beat(call)
    if request.member_epoch != JOIN_EPOCH or request.rebalance_timeout_ms != UNCHANGED:
        return ()
    return refused(group, call, ErrorCode.INVALID_REQUEST)


@rule("membership.first-with-partitions", source=CHECKED)
def first_with_partitions(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Who joins owns nothing, and says that."""
    request = beat(call)
    if request.member_epoch != JOIN_EPOCH or request.topic_partitions == frozenset():
        return ()
    return refused(group, call, ErrorCode.INVALID_REQUEST)


@rule("membership.first-without-subscription", source=CHECKED)
def first_without_subscription(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Who joins says what it subscribes to, be it nothing."""
    request = beat(call)
    said = (request.subscribed_topic_names, request.subscribed_topic_regex) != (None, None)
    if request.member_epoch != JOIN_EPOCH or said:
        return ()
    return refused(group, call, ErrorCode.INVALID_REQUEST)


@rule("membership.epoch-of-nobody", source=CHECKED)
def epoch_of_nobody(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Below -2 there is no epoch, and -2 is only for static members."""
    request = beat(call)
    away = request.member_epoch == STATIC_LEAVE_EPOCH and request.instance_id is None
    if not away and request.member_epoch >= STATIC_LEAVE_EPOCH:
        return ()
    return refused(group, call, ErrorCode.INVALID_REQUEST)


@rule("membership.static", source="KIP-848")
def static(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Static members are refused.

    Left out: all that Kafka does with an instance id. No member of a group here has one.
    """
    if beat(call).instance_id is None:
        return ()
    return refused(group, call, ErrorCode.INVALID_REQUEST)


@rule("membership.regular-expression", source="KIP-848")
def regular_expression(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A subscription by a regular expression is refused; the empty one, which is none, is not.

    Left out: resolution of expressions, which happens beside the requests.
    """
    if not beat(call).subscribed_topic_regex:
        return ()
    return refused(group, call, ErrorCode.INVALID_REQUEST)


@rule("membership.loading", source=HOSTED)
def loading(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """While the group's log is read nobody is served."""
    if call.hosting is not Hosting.LOADING:
        return ()
    return refused(group, call, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


@rule("membership.elsewhere", source=HOSTED)
def elsewhere(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A broker that is not the group's coordinator says so, once the request is well-formed."""
    if call.hosting is not Hosting.ELSEWHERE:
        return ()
    return refused(group, call, ErrorCode.NOT_COORDINATOR)


@rule("membership.unknown-group", source=GMM + "getOrMaybeCreateConsumerGroup")
def unknown_group(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A group comes into being with a member that joins, not with one that believes to be in it or leaves."""
    if group is not None or beat(call).member_epoch == JOIN_EPOCH:
        return ()
    return refused(group, call, ErrorCode.GROUP_ID_NOT_FOUND)


@rule("membership.other-protocol", source=GMM + "getOrMaybeCreateConsumerGroup, validateOnlineUpgrade")
def other_protocol(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A classic group is none for this protocol; an empty one gives way to who joins.

    Left out: migration policies other than `disabled`, under which a classic group is converted.
    """
    if not isinstance(group, ClassicGroup) or (group.empty and beat(call).member_epoch == JOIN_EPOCH):
        return ()
    return refused(group, call, ErrorCode.GROUP_ID_NOT_FOUND)


@rule("membership.full", source=GMM + "throwIfConsumerGroupIsFull")
def full(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A full group refuses who is not in it, at any epoch."""
    members = group.members if isinstance(group, ConsumerGroup) else {}
    if len(members) < spec.config.max_size or beat(call).member_id in members:
        return ()
    return refused(group, call, ErrorCode.GROUP_MAX_SIZE_REACHED)


@rule("membership.unknown-member", source="upstream ConsumerGroup#getOrMaybeCreateMember")
def unknown_member(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """Who is not in the group may only join; who joins under a known id is that member."""
    request = beat(call)
    known = isinstance(group, ConsumerGroup) and request.member_id in group.members
    if known or request.member_epoch == JOIN_EPOCH:
        return ()
    return refused(group, call, ErrorCode.UNKNOWN_MEMBER_ID)


@rule("membership.fields", source="upstream ConsumerGroupMember.Builder", decides=True)
def fields(spec: ConsumerSpec, old: Metadata, request: ConsumerGroupHeartbeatRequest) -> Metadata:
    """What a member says replaces what it said; of what it does not mention nothing changes."""
    names, timeout = request.subscribed_topic_names, request.rebalance_timeout_ms
    return Metadata(
        old.subscribed_topic_names if names is None else names,
        old.rebalance_timeout_ms if timeout == UNCHANGED else timeout,
        old.rack_id if request.rack_id is None else request.rack_id,
        old.server_assignor if request.server_assignor is None else request.server_assignor,
    )
