"""LeaveGroup: members go of their own accord, one or a batch; and what a removal does, whatever its cause."""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.classic.messages import (
    JoinGroupReply,
    LeaveGroupReply,
    LeaveGroupRequest,
    LeavingMember,
    MemberOutcome,
    SyncGroupReply,
)
from rota.spec.classic.rebalance import GMM
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState, TimerKind
from rota.spec.context import Spec, only, request_of
from rota.spec.effects import Reply
from rota.spec.messages import Call
from rota.spec.vocabulary import ErrorCode

HANDLER = (
    "hosting.inactive",
    "leave.invalid-group-id",
    "hosting.loading",
    "hosting.elsewhere",
    "leave.unknown-group",
    "leave.batch",
)

SOURCE = "upstream GroupMetadataManager#classicGroupLeaveToClassicGroup"

Branch = tuple[Step, tuple[MemberOutcome, ...], frozenset[str]]
"""One way in which a batch may go: what it has done, what its members are told, the rules that said so."""


def _request(call: Call) -> LeaveGroupRequest:
    return request_of(call, LeaveGroupRequest)


def _outcome(identity: LeavingMember, error: ErrorCode) -> MemberOutcome:
    return MemberOutcome(identity.member_id, identity.group_instance_id, error)


@rule("leave.invalid-group-id", source="upstream GroupCoordinatorService#leaveGroup")
def invalid_group_id(spec: Spec, group: Group | None, call: Call) -> Steps:
    """An empty group id is refused at the top level, without a word on the members.

    Nothing is left out: both coordinators return before they look at the list of members, so it may be of
    any length or empty.
    """
    if _request(call).group_id:
        return ()
    return only(Step(group).answer(call.to, LeaveGroupReply(ErrorCode.INVALID_GROUP_ID)))


@rule("leave.unknown-group", source="upstream GroupCoordinatorService#leaveGroup")
def unknown_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Of a group that does not exist every member is unknown; the top level says NONE.

    Below version 3 the only member's error becomes the top-level one (`rota.spec.versions`).

    Left out: how the Java coordinator gets there, by an exception that its service turns into one line
    per member. The lines are the same.
    """
    if group is not None:
        return ()
    outcomes = tuple(_outcome(identity, ErrorCode.UNKNOWN_MEMBER_ID) for identity in _request(call).members)
    return only(Step(None).answer(call.to, LeaveGroupReply(ErrorCode.NONE, outcomes)))


@rule("leave.batch", source=SOURCE)
def batch(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Everybody named goes first, then the group reacts once; with the Scala coordinator after each.

    In Stable and CompletingRebalance a rebalance begins, while one is prepared it may complete. If nobody
    named was known nothing happens. Who is named later in the batch may be answered a JoinGroup by the
    Scala coordinator and is removed right after.

    With the Java coordinator the answer of a LeaveGroup that empties the group waits for the log.

    Left out: the reason of each leave (LeaveGroup v5, KIP-800), which is only logged, and the Java
    coordinator's wait for writes of other requests. Neither changes what an answer says, and the wait
    only moves it to a later time.
    """
    if group is None:
        return ()
    branches: list[Branch] = [(Step(group), (), frozenset())]
    for identity in _request(call).members:
        branches = [after for branch in branches for after in _one(spec, branch, identity)]
    return tuple(
        dict.fromkeys(
            _answered(spec, done, Reply(call.to, LeaveGroupReply(ErrorCode.NONE, outcomes)))
            for step, outcomes, left in branches
            for done in ((step,) if spec.profile.leaves_one_by_one else _react(spec, step, left))
        )
    )


def _answered(spec: Spec, step: Step, reply: Reply) -> Step:
    """The step with its answer, or with a record that carries the answer until it is stored."""
    if step.records and spec.profile.leave_waits_for_record:
        *others, last = step.records
        return replace(step, records=(*others, replace(last, answer=reply)))
    return step.answer(reply.to, reply.message)


OUTCOMES = {
    "leave.by-instance-id": ErrorCode.NONE,
    "leave.pending-member": ErrorCode.NONE,
    "leave.fenced-instance-id": ErrorCode.FENCED_INSTANCE_ID,
    "leave.unknown-member": ErrorCode.UNKNOWN_MEMBER_ID,
    "leave.member": ErrorCode.NONE,
}
"""The rules for one identity of a batch, in the order in which they are tried, and what it is told."""


def _one(spec: Spec, branch: Branch, identity: LeavingMember) -> list[Branch]:
    """One identity of the batch: the first rule whose guard holds."""
    step, outcomes, left = branch
    for slug, error in OUTCOMES.items():
        steps = spec.apply(slug, step, identity)
        if steps and spec.profile.leaves_one_by_one:
            steps = tuple(done for after in steps for done in _react(spec, after, frozenset({slug})))
        if steps:
            return [(after, (*outcomes, _outcome(identity, error)), left | {slug}) for after in steps]
    raise AssertionError("leave.member takes whatever the others leave")


def _react(spec: Spec, step: Step, left: frozenset[str]) -> Steps:
    """What the group does once members have left. left: the rules that were applied to the identities."""
    group = step.live
    counting = {"leave.by-instance-id", "leave.member"}
    if spec.profile.pending_leave_rebalances or not group.can_rebalance:
        counting.add("leave.pending-member")
    if left.isdisjoint(counting) or group.state is GroupState.EMPTY:
        return only(step)
    return spec.apply("join.rebalance-or-complete", step)


@rule("leave.by-instance-id", source="KIP-345; " + SOURCE, since="LeaveGroup v3")
def by_instance_id(spec: Spec, step: Step, identity: LeavingMember) -> Steps:
    """An instance id without a member id: the member that holds it goes.

    It is how an administrator removes a static member.

    Nothing is left out: the answer repeats the empty member id of the request and not the id that was
    removed, as upstream's does (`_outcome`).
    """
    holder = None if identity.member_id else step.live.holder(identity.group_instance_id)
    if holder is None:
        return ()
    return spec.apply("leave.remove-member", step, holder)


@rule("leave.pending-member", source=SOURCE)
def pending_member(spec: Spec, step: Step, identity: LeavingMember) -> Steps:
    """An id that was handed out and not used is forgotten; an instance id beside it is not looked at.

    With the Java coordinator this begins a rebalance in Stable and CompletingRebalance; with the Scala
    coordinator, and with rota's, it only may complete one that is being prepared.

    Nothing is left out: the id's timer stops, and the id is unknown from then on to JoinGroup as to a
    second LeaveGroup.
    """
    group = step.live
    if identity.member_id not in group.pending:
        return ()
    step = step.to(replace(group, pending=group.pending - {identity.member_id}))
    return only(step.cancel(TimerKind.PENDING, identity.member_id))


def _invalid(spec: Spec, step: Step, identity: LeavingMember, error: ErrorCode) -> bool:
    given = identity.member_id, identity.group_instance_id
    return spec.ask("static.validate", step.live, *given) is error


@rule("leave.fenced-instance-id", source="KIP-345; " + SOURCE, since="LeaveGroup v3")
def fenced_instance_id(spec: Spec, step: Step, identity: LeavingMember) -> Steps:
    """An identity whose instance id another member id holds is fenced, and neither of the two is removed.

    Left out: the summary in the broker's log, which names the members of the batch that did leave. Each
    identity's own error is in the answer.
    """
    return only(step) if _invalid(spec, step, identity, ErrorCode.FENCED_INSTANCE_ID) else ()


@rule("leave.unknown-member", source=SOURCE + "; ClassicGroup#validateMember")
def unknown_member(spec: Spec, step: Step, identity: LeavingMember) -> Steps:
    """An id that is no member's is unknown, and so is an instance id that nobody holds.

    Nothing is left out: the other identities of the batch are not affected, and an identity named twice
    is known the first time and unknown the second.
    """
    return only(step) if _invalid(spec, step, identity, ErrorCode.UNKNOWN_MEMBER_ID) else ()


@rule("leave.member", source="upstream GroupMetadataManager#removeCurrentMemberFromClassicGroup")
def member(spec: Spec, step: Step, identity: LeavingMember) -> Steps:
    """A member goes; a static one may leave its instance id out.

    Left out: the client's side of it. Kafka's consumer sends no LeaveGroup for a static member (KIP-345),
    the coordinator would remove it like any other; which client leaves is decided in `rota.environment`.
    """
    return spec.apply("leave.remove-member", step, identity.member_id)


@rule(
    "leave.remove-member", source="upstream ClassicGroup#remove; " + GMM + "removeMemberAndUpdateClassicGroup"
)
def remove_member(spec: Spec, step: Step, member_id: str) -> Steps:
    """A member goes: its timers stop, its parked join is refused, leadership passes on at once.

    The parked JoinGroup is answered UNKNOWN_MEMBER_ID with an empty member id (before 2.1.1 it is not
    answered, KAFKA-7610); a parked SyncGroup is never answered by Kafka, and UNKNOWN_MEMBER_ID by rota. Any
    remaining member may inherit the lead, rejoined or not (upstream: hash order).

    Left out: the count of supporters per protocol name, which upstream lowers here. `voting.supports` and
    `voting.candidates` count from the lists of those who are left.
    """
    group = step.live
    member = group.members[member_id]
    if spec.profile.new_member_timer:
        step = step.answer(member.awaiting_join, JoinGroupReply(ErrorCode.UNKNOWN_MEMBER_ID))
    if spec.profile.answers_removed:
        step = step.answer(member.awaiting_sync, SyncGroupReply(ErrorCode.UNKNOWN_MEMBER_ID))
    step = step.cancel(TimerKind.SESSION, member_id).cancel(TimerKind.NEW_MEMBER, member_id)
    left = replace(
        group,
        members=group.members.without(member_id),
        pending_sync=group.pending_sync - {member_id},
    )
    if group.leader != member_id:
        return only(step.to(left))
    heirs = tuple(left.members) or (None,)
    return tuple(step.to(replace(left, leader=heir)) for heir in heirs)
