"""JoinGroup: admission by the member-id handshake, rejoining in every state.

The rules are tried in the order of `HANDLER`; each has the blocks guard, state, timers, log, reply.
"""

from __future__ import annotations

from dataclasses import replace

from rota.kernel.rules import rule
from rota.spec.context import Spec, only, request_of
from rota.spec.messages import Call, JoinGroupReply, JoinGroupRequest
from rota.spec.rebalance import GMM, joined_reply
from rota.spec.state import Group, Member
from rota.spec.step import Step, Steps, TimerKind
from rota.spec.vocabulary import ErrorCode, GroupState

HANDLER = (
    "static.not-supported.join",
    "join.invalid-group-id",
    "join.invalid-session-timeout",
    "join.unknown-group",
    "join.inconsistent-protocol",
    "join.member-id-required",
    "join.new-member",
    "join.pending-member",
    "join.unknown-member",
    "join.while-preparing",
    "join.leader-rejoins",
    "join.changed-protocols",
    "join.unchanged",
)

HANDSHAKE_SINCE = 4
"""The JoinGroup version from which a new member must come back with the id it was given (KIP-394)."""


def _request(call: Call) -> JoinGroupRequest:
    return request_of(call, JoinGroupRequest)


def _refuse(group: Group | None, call: Call, error: ErrorCode) -> Steps:
    """The common shape of refusals: nothing changes, the request's member id is echoed."""
    return only(Step(group).answer(call.to, JoinGroupReply(error, member_id=_request(call).member_id)))


@rule("static.not-supported.join", source="upstream KafkaApis#handleJoinGroupRequest", since="JoinGroup v5")
def not_static(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A group instance id is refused, as by brokers whose metadata version predates static members.

    Stands in for static membership (KIP-345), which is not modelled yet. The member id is not echoed.
    """
    if _request(call).group_instance_id is None:
        return ()
    return only(Step(group).answer(call.to, JoinGroupReply(ErrorCode.UNSUPPORTED_VERSION)))


@rule("join.invalid-group-id", source="upstream GroupCoordinatorService#joinGroup")
def invalid_group_id(spec: Spec, group: Group | None, call: Call) -> Steps:
    """An empty group id is refused before anything else is looked at."""
    if _request(call).group_id:
        return ()
    return _refuse(group, call, ErrorCode.INVALID_GROUP_ID)


@rule("join.invalid-session-timeout", source="upstream GroupCoordinatorService#joinGroup")
def invalid_session_timeout(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The session timeout must be within the broker's bounds, both inclusive."""
    low, high = spec.config.group_min_session_timeout_ms, spec.config.group_max_session_timeout_ms
    if low <= _request(call).session_timeout_ms <= high:
        return ()
    return _refuse(group, call, ErrorCode.INVALID_SESSION_TIMEOUT)


@rule("join.unknown-group", source=GMM + "classicGroupJoinToClassicGroup")
def unknown_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A member id for a group that does not exist is unknown, and the group is not created."""
    if group is not None or not _request(call).member_id:
        return ()
    return _refuse(None, call, ErrorCode.UNKNOWN_MEMBER_ID)


def _existing(group: Group | None) -> Group:
    """From here on the group exists: a JoinGroup without a member id creates it, even if it is refused.

    Omitted: the record that upstream writes for a group created so, and the failure of that write.
    """
    return Group() if group is None else group


@rule("join.inconsistent-protocol", source="upstream ClassicGroup#supportsProtocols")
def inconsistent_protocol(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Protocol type and list must fit the group; checked before the member id.

    An Empty group asks only that neither is empty.
    """
    request, group = _request(call), _existing(group)
    names = [protocol.name for protocol in request.protocols]
    if group.state is GroupState.EMPTY:
        fits = bool(request.protocol_type and names)
    else:
        lists = [member.names for member in group.members.values()]
        fits = request.protocol_type == group.protocol_type and spec.ask("voting.supports", lists, names)
    if fits:
        return ()
    return _refuse(group, call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


@rule(
    "join.member-id-required",
    source="KIP-394; " + GMM + "classicGroupJoinNewDynamicMember",
    since="JoinGroup v4",
)
def member_id_required(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A newcomer is sent away with a member id and must join again with it.

    Only the id is remembered, for the session timeout of this request; the group's state does not change.
    """
    request, group = _request(call), _existing(group)
    if request.member_id or call.version < HANDSHAKE_SINCE:
        return ()
    step = Step(replace(group, pending=group.pending | {call.fresh_id}))
    step = step.arm(TimerKind.PENDING, request.session_timeout_ms, call.fresh_id)
    return only(step.answer(call.to, JoinGroupReply(ErrorCode.MEMBER_ID_REQUIRED, member_id=call.fresh_id)))


@rule("join.new-member", source=GMM + "classicGroupJoinNewDynamicMember", since="JoinGroup v0-v3")
def new_member(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Before the handshake existed a newcomer is admitted at once, under a new id."""
    if _request(call).member_id or call.version >= HANDSHAKE_SINCE:
        return ()
    return _admit(spec, _existing(group), call, call.fresh_id)


@rule("join.pending-member", source="KIP-394; " + GMM + "classicGroupJoinExistingMember")
def pending_member(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A newcomer that comes back with the id it was given is admitted."""
    group, member_id = _existing(group), _request(call).member_id
    if member_id not in group.pending:
        return ()
    return _admit(spec, group, call, member_id)


def _admit(spec: Spec, group: Group, call: Call, member_id: str) -> Steps:
    """Add a member, park its JoinGroup and rebalance.

    It has five minutes until its first join phase must have ended, whatever its session timeout. The
    first of an Empty group sets the protocol type and leads. Source: upstream
    GroupMetadataManager#addMemberThenRebalanceOrCompleteJoin, ClassicGroup#add.
    """
    request = _request(call)
    member = Member(
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocols=request.protocols,
        awaiting_join=call.to,
        is_new=True,
    )
    grown = replace(
        group.with_member(member_id, member),
        protocol_type=group.protocol_type if group.members else request.protocol_type,
        leader=group.leader or member_id,
        pending=group.pending - {member_id},
        new_member_added=group.new_member_added or group.initial_join is not None,
    )
    step = Step(grown).cancel(TimerKind.PENDING, member_id)
    step = step.arm(TimerKind.NEW_MEMBER, spec.config.new_member_join_timeout_ms, member_id)
    return spec.apply("join.rebalance-or-complete", step)


@rule("join.unknown-member", source=GMM + "classicGroupJoinExistingMember; ClassicGroup#validateMember")
def unknown_member(spec: Spec, group: Group | None, call: Call) -> Steps:
    """An id that is neither a member's nor pending is unknown."""
    group = _existing(group)
    if _request(call).member_id in group.members:
        return ()
    return _refuse(group, call, ErrorCode.UNKNOWN_MEMBER_ID)


def _rejoin(group: Group, call: Call) -> Step:
    """A known member's new lists and timeouts hold, and its request is parked.

    An earlier parked request of the same member is replaced and never answered. No timer is touched.
    Source: upstream ClassicGroup#updateMember.
    """
    request = _request(call)
    member = replace(
        group.members[request.member_id],
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocols=request.protocols,
        awaiting_join=call.to,
    )
    return Step(group.with_member(request.member_id, member))


@rule("join.while-preparing", source=GMM + "classicGroupJoinExistingMember")
def while_preparing(spec: Spec, group: Group | None, call: Call) -> Steps:
    """While a rebalance is prepared a member's JoinGroup is parked until the phase ends."""
    group = _existing(group)
    if group.state is not GroupState.PREPARING_REBALANCE:
        return ()
    return spec.apply("join.rebalance-or-complete", _rejoin(group, call))


@rule("join.leader-rejoins", source=GMM + "classicGroupJoinExistingMember")
def leader_rejoins(spec: Spec, group: Group | None, call: Call) -> Steps:
    """In Stable the leader's JoinGroup always begins a rebalance, even an unchanged one.

    It is how a leader asks for one after topics or partitions changed.
    """
    group = _existing(group)
    if group.state is not GroupState.STABLE or _request(call).member_id != group.leader:
        return ()
    return spec.apply("join.rebalance-or-complete", _rejoin(group, call))


@rule("join.changed-protocols", source=GMM + "classicGroupJoinExistingMember")
def changed_protocols(spec: Spec, group: Group | None, call: Call) -> Steps:
    """In CompletingRebalance and Stable other protocols, another order or other bytes begin a rebalance."""
    group, request = _existing(group), _request(call)
    if group.members[request.member_id].protocols == request.protocols:
        return ()
    return spec.apply("join.rebalance-or-complete", _rejoin(group, call))


@rule("join.unchanged", source=GMM + "classicGroupJoinExistingMember")
def unchanged(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Else the member gets the current generation again: its earlier answer must have been lost.

    Timeouts in the request are ignored and no timer is touched.
    """
    group = _existing(group)
    return only(Step(group).answer(call.to, joined_reply(group, _request(call).member_id)))
