"""JoinGroup: the order of its checks, and rejoining in every state.

The rules are tried in the order of `HANDLER`; each has the blocks guard, state, timers, log, reply. Who is
admitted stands in `rota.spec.classic.admission`, the replacement of static members in
`rota.spec.classic.static`.
"""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.classic.messages import JoinGroupReply, JoinGroupRequest
from rota.spec.classic.rebalance import GMM, joined_reply
from rota.spec.classic.records import record_of
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState, RecordKind
from rota.spec.context import Spec, only, request_of
from rota.spec.messages import Call
from rota.spec.vocabulary import ErrorCode, Hosting

HANDLER = (
    "hosting.inactive",
    "join.invalid-group-id",
    "join.invalid-session-timeout",
    "hosting.loading",
    "hosting.elsewhere",
    "join.unknown-group",
    "join.group-max-size-reached",
    "join.inconsistent-protocol",
    "static.replaced",
    "static.new-member",
    "join.member-id-required",
    "join.new-member",
    "static.pending-with-instance",
    "join.pending-member",
    "join.fenced-instance-id",
    "join.unknown-member",
    "join.while-preparing",
    "join.leader-rejoins",
    "join.changed-protocols",
    "join.unchanged",
)

HANDSHAKE_SINCE = 4
"""The JoinGroup version from which a new member must come back with the id it was given (KIP-394)."""


def join_request(call: Call) -> JoinGroupRequest:
    return request_of(call, JoinGroupRequest)


def refuse(group: Group | None, call: Call, error: ErrorCode) -> Steps:
    """The common shape of refusals: nothing changes, the request's member id is echoed."""
    return only(Step(group).answer(call.to, JoinGroupReply(error, member_id=join_request(call).member_id)))


@rule("join.invalid-group-id", source="upstream GroupCoordinatorService#joinGroup")
def invalid_group_id(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A JoinGroup without a group id is refused before its timeouts or the group are looked at.

    Left out: what KafkaApis refuses before it asks a coordinator: GROUP_AUTHORIZATION_FAILED, and
    instance ids where the metadata version is below 2.3. Such a JoinGroup never reaches the group.
    """
    if join_request(call).group_id:
        return ()
    return refuse(group, call, ErrorCode.INVALID_GROUP_ID)


@rule("join.invalid-session-timeout", source="upstream GroupCoordinatorService#joinGroup")
def invalid_session_timeout(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The session timeout must be within the broker's bounds, both inclusive.

    The Scala coordinator checks it only if it hosts the group, the Java coordinator before it knows that.

    Nothing is left out: the bounds are group.min.session.timeout.ms and group.max.session.timeout.ms (see
    `BrokerConfig`), and of the rebalance timeout, for which brokers have no bounds, any value passes here
    too.
    """
    if call.hosting is not Hosting.ACTIVE and not spec.profile.session_before_hosting:
        return ()
    low, high = spec.config.group_min_session_timeout_ms, spec.config.group_max_session_timeout_ms
    if low <= join_request(call).session_timeout_ms <= high:
        return ()
    return refuse(group, call, ErrorCode.INVALID_SESSION_TIMEOUT)


@rule("join.unknown-group", source=GMM + "classicGroupJoinToClassicGroup")
def unknown_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A member id for a group that does not exist is unknown, and the group is not created.

    Left out: groups of other types. The Java coordinator turns an empty group of the consumer protocol
    (KIP-848) into a classic one. The model's one group cannot be made as anything but a classic one.
    """
    if group is not None or not join_request(call).member_id:
        return ()
    return refuse(None, call, ErrorCode.UNKNOWN_MEMBER_ID)


def existing(group: Group | None) -> Group:
    """From here on the group exists: a JoinGroup without a member id creates it, even if it is refused."""
    return Group() if group is None else group


def recorded(spec: Spec, group: Group | None, steps: Steps) -> Steps:
    """The steps of a JoinGroup, with the record of a group that it created.

    The Java coordinator writes one, which nobody waits for (see `persistence.creation-failed`); the Scala
    coordinator writes none. Source: upstream GroupMetadataManager#classicGroupJoinToClassicGroup.
    """
    if group is not None or not spec.profile.creation_recorded:
        return steps
    record = record_of(Group(), {}, RecordKind.CREATION)
    return tuple(step.append(record) for step in steps)


@rule("join.inconsistent-protocol", source="upstream ClassicGroup#supportsProtocols")
def inconsistent_protocol(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Protocol type and list must fit the group; checked before the member id.

    An Empty group only asks that neither is empty. Otherwise the requester's own earlier list is among
    those that its new one must fit, so even a member that is alone cannot change to entirely different
    protocols.

    Left out: with this error the Java coordinator also refuses a JoinGroup to a share group. The model
    has no such group, whose members it could disturb.
    """
    request, present = join_request(call), existing(group)
    names = [protocol.name for protocol in request.protocols]
    if present.state is GroupState.EMPTY:
        fits = bool(request.protocol_type and names)
    else:
        lists = [member.names for member in present.members.values()]
        fits = request.protocol_type == present.protocol_type and spec.ask("voting.supports", lists, names)
    if fits:
        return ()
    return recorded(spec, group, refuse(present, call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL))


def _invalid(spec: Spec, group: Group, call: Call, error: ErrorCode) -> bool:
    request = join_request(call)
    return spec.ask("static.validate", group, request.member_id, request.group_instance_id) is error


@rule(
    "join.fenced-instance-id",
    source="KIP-345; " + GMM + "classicGroupJoinExistingMember",
    since="JoinGroup v5",
)
def fenced_instance_id(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A JoinGroup with an instance id that another member id holds is fenced.

    Its sender is a process whose place another process with the same group.instance.id has taken.

    Left out: the line in the broker's log that names both member ids and the operation. No client sees it.
    """
    group = existing(group)
    if not _invalid(spec, group, call, ErrorCode.FENCED_INSTANCE_ID):
        return ()
    return refuse(group, call, ErrorCode.FENCED_INSTANCE_ID)


@rule("join.unknown-member", source=GMM + "classicGroupJoinExistingMember; ClassicGroup#validateMember")
def unknown_member(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A JoinGroup under a member id that is neither a member's nor pending is told UNKNOWN_MEMBER_ID.

    So is one with an instance id that nobody holds.

    Left out: upstream's last branch, in which a known member rejoins an Empty group. An Empty group has
    no members (`shape.fields-match-state`), so nobody can get that far.
    """
    group = existing(group)
    if not _invalid(spec, group, call, ErrorCode.UNKNOWN_MEMBER_ID):
        return ()
    return refuse(group, call, ErrorCode.UNKNOWN_MEMBER_ID)


def _rejoin(spec: Spec, group: Group, call: Call) -> Step:
    """A known member's new lists and timeouts hold, and its request is parked.

    An earlier parked request of the same member is replaced. Only rota answers it, by the one error upon
    which clients of every age join again with their id. No timer is touched. Brokers before 3.4 keep the
    timeouts of the member's first request. Source: KAFKA-14009; upstream ClassicGroup#updateMember.
    """
    request = join_request(call)
    before = group.members[request.member_id]
    member = replace(before, protocols=request.protocols, awaiting_join=call.to)
    if spec.profile.rejoin_sets_timeouts:
        session_ms, rebalance_ms = request.session_timeout_ms, request.rebalance_timeout_ms
        member = replace(member, rebalance_timeout_ms=rebalance_ms, session_timeout_ms=session_ms)
    step = Step(group.with_member(request.member_id, member))
    again = JoinGroupReply(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, member_id=request.member_id)
    return step.answer(before.awaiting_join, again) if spec.profile.answers_replaced else step


@rule("join.while-preparing", source=GMM + "classicGroupJoinExistingMember")
def while_preparing(spec: Spec, group: Group | None, call: Call) -> Steps:
    """While a rebalance is prepared a member's JoinGroup is parked until the phase ends.

    Left out: what upstream parks, a callback (Scala) or a future (Java) that it completes later. The
    model keeps the address of the answer, which is all that completing it needs.
    """
    group = existing(group)
    if group.state is not GroupState.PREPARING_REBALANCE:
        return ()
    return spec.apply("join.rebalance-or-complete", _rejoin(spec, group, call))


@rule("join.leader-rejoins", source=GMM + "classicGroupJoinExistingMember")
def leader_rejoins(spec: Spec, group: Group | None, call: Call) -> Steps:
    """In Stable the leader's JoinGroup always begins a rebalance, even an unchanged one.

    It is how a leader asks for one after topics or partitions changed.

    Left out: the reason that a client gives from JoinGroup v8 on (KIP-800). The broker writes it to its
    log and decides nothing by it.
    """
    group = existing(group)
    if group.state is not GroupState.STABLE or join_request(call).member_id != group.leader:
        return ()
    return spec.apply("join.rebalance-or-complete", _rejoin(spec, group, call))


@rule("join.changed-protocols", source=GMM + "classicGroupJoinExistingMember")
def changed_protocols(spec: Spec, group: Group | None, call: Call) -> Steps:
    """In CompletingRebalance and Stable other protocols, another order or other bytes begin a rebalance.

    Nothing is left out: names, order and bytes are compared as ClassicGroupMember#matches does, and the
    bytes are not interpreted; a consumer that writes its generation into them (subscription schema v2 and
    later) differs after every generation.
    """
    group, request = existing(group), join_request(call)
    if group.members[request.member_id].protocols == request.protocols:
        return ()
    return spec.apply("join.rebalance-or-complete", _rejoin(spec, group, call))


@rule("join.unchanged", source=GMM + "classicGroupJoinExistingMember")
def unchanged(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A member that joins again without a change gets the current generation again.

    Its earlier answer must have been lost. Timeouts in the request are ignored and no timer is touched.

    Nothing is left out: in CompletingRebalance a leader gets its member list again, in Stable a leader
    never comes this far, which is why upstream's answer to followers in Stable has no list.
    """
    group = existing(group)
    return only(Step(group).answer(call.to, joined_reply(group, join_request(call).member_id)))
