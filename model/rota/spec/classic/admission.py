"""JoinGroup of newcomers: the size limit, the member-id handshake, the admission of a member."""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.classic.join import HANDSHAKE_SINCE, existing, join_request, recorded
from rota.spec.classic.messages import JoinGroupReply
from rota.spec.classic.rebalance import GMM
from rota.spec.classic.state import Group, Member
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState, TimerKind
from rota.spec.context import Spec, only
from rota.spec.messages import Call
from rota.spec.vocabulary import ErrorCode


@rule("join.group-max-size-reached", source="KIP-389; " + GMM + "acceptJoiningMember")
def group_max_size_reached(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A full group takes nobody: the answer has no member id, and whoever asked is no member any more.

    Tried before protocols and member are looked at, so a static member that has restarted is refused in a
    full group although it would only replace itself. While a rebalance is prepared only members with a
    parked JoinGroup count: newcomers can push out members that come late. Ids that were handed out never
    count. The Java coordinator does not look whether the join phase is over now, the Scala coordinator
    and rota's do.

    Left out: the refused id's timer, which upstream leaves armed. When it is due it finds nobody under
    that id and does nothing, so the model stops it at once.
    """
    group = existing(group)
    member_id = join_request(call).member_id
    if not spec.profile.size_limit or _has_room(group, member_id, spec.config.group_max_size):
        return ()
    step = Step(replace(group, pending=group.pending - {member_id})).cancel(TimerKind.PENDING, member_id)
    steps = spec.apply("leave.remove-member", step, member_id) if member_id in group.members else only(step)
    if spec.profile.refusal_completes_phase and group.state is GroupState.PREPARING_REBALANCE:
        steps = spec.then(steps, "join.rebalance-or-complete")
    refusal = JoinGroupReply(ErrorCode.GROUP_MAX_SIZE_REACHED)
    return tuple(step.answer(call.to, refusal) for step in steps)


def _has_room(group: Group, member_id: str, limit: int) -> bool:
    if group.state is GroupState.EMPTY:
        return True
    if group.state is GroupState.PREPARING_REBALANCE:
        return member_id in group.awaiting_join or len(group.awaiting_join) < limit
    return member_id in group.members or len(group.members) < limit


@rule(
    "join.member-id-required",
    source="KIP-394; " + GMM + "classicGroupJoinNewDynamicMember",
    since="JoinGroup v4",
)
def member_id_required(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A newcomer is sent away with a member id and must join again with it.

    Only the id is remembered, for the session timeout of this request; the group's state does not change.

    Left out: how the id is made (client id, a hyphen, a random UUID). It comes with the request as
    `Call.fresh_id`; rules only need that it differs from all ids in use.
    """
    request, present = join_request(call), existing(group)
    if request.member_id or not _shakes_hands(spec, call):
        return ()
    step = Step(replace(present, pending=present.pending | {call.fresh_id}))
    step = step.arm(TimerKind.PENDING, request.session_timeout_ms, call.fresh_id)
    step = step.answer(call.to, JoinGroupReply(ErrorCode.MEMBER_ID_REQUIRED, member_id=call.fresh_id))
    return recorded(spec, group, only(step))


def _shakes_hands(spec: Spec, call: Call) -> bool:
    return spec.profile.member_id_handshake and call.version >= HANDSHAKE_SINCE


@rule("join.new-member", source=GMM + "classicGroupJoinNewDynamicMember", since="JoinGroup v0-v3")
def new_member(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Before the handshake existed a newcomer is admitted at once, under a new id.

    Left out: the member's client id and host, which the broker stores and shows in DescribeGroups. No
    rule of the coordinator reads them.
    """
    if join_request(call).member_id or _shakes_hands(spec, call):
        return ()
    return recorded(spec, group, admit(spec, existing(group), call, call.fresh_id))


@rule("join.pending-member", source="KIP-394; " + GMM + "classicGroupJoinExistingMember")
def pending_member(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A newcomer that comes back with the id it was given is admitted.

    Nothing is left out: of the first request upstream keeps the id alone, no protocols and no timeouts,
    so the second one is judged by what it says itself; whether it comes from the same client is not
    asked.
    """
    group, member_id = existing(group), join_request(call).member_id
    if member_id not in group.pending:
        return ()
    return admit(spec, group, call, member_id)


def admit(spec: Spec, group: Group, call: Call, member_id: str) -> Steps:
    """Add a member, park its JoinGroup and rebalance.

    It has five minutes until its first join phase must have ended, whatever its session timeout; brokers
    before 2.2 set no limit, and a member stays for as long as its request is parked. The first of an Empty
    group sets the protocol type and leads. Source: KAFKA-7610; upstream
    GroupMetadataManager#addMemberThenRebalanceOrCompleteJoin, ClassicGroup#add.
    """
    request = join_request(call)
    limited = spec.profile.new_member_timer
    member = Member(
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocols=request.protocols,
        awaiting_join=call.to,
        is_new=limited,
        group_instance_id=request.group_instance_id,
    )
    grown = replace(
        group.with_member(member_id, member),
        protocol_type=group.protocol_type if group.members else request.protocol_type,
        leader=group.leader or member_id,
        pending=group.pending - {member_id},
        new_member_added=group.new_member_added or _extends_delay(spec, group),
    )
    step = Step(grown).cancel(TimerKind.PENDING, member_id)
    if limited:
        step = step.arm(TimerKind.NEW_MEMBER, spec.config.new_member_join_timeout_ms, member_id)
    return spec.apply("join.rebalance-or-complete", step)


def _extends_delay(spec: Spec, group: Group) -> bool:
    """Whether a newcomer may extend the initial delay: with the Scala coordinator only before generation 1.

    Source: upstream GroupMetadataManager#addMemberThenRebalanceOrCompleteJoin;
    GroupCoordinator#addMemberAndRebalance.
    """
    if group.initial_join is None:
        return False
    return group.generation_id == 0 or not spec.profile.extends_first_generation_only
