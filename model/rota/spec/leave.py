"""LeaveGroup: members go of their own accord, one or a batch."""

from __future__ import annotations

from dataclasses import replace

from rota.kernel.rules import rule
from rota.spec.context import Spec, only, request_of
from rota.spec.messages import Call, LeaveGroupReply, LeaveGroupRequest, LeavingMember, MemberOutcome
from rota.spec.state import Group
from rota.spec.step import Step, Steps, TimerKind
from rota.spec.vocabulary import ErrorCode, GroupState

HANDLER = (
    "hosting.inactive",
    "leave.invalid-group-id",
    "hosting.loading",
    "hosting.elsewhere",
    "leave.unknown-group",
    "leave.batch",
)

SOURCE = "upstream GroupMetadataManager#classicGroupLeaveToClassicGroup"

Outcomes = tuple[MemberOutcome, ...]


def _request(call: Call) -> LeaveGroupRequest:
    return request_of(call, LeaveGroupRequest)


def _outcome(identity: LeavingMember, error: ErrorCode) -> MemberOutcome:
    return MemberOutcome(identity.member_id, identity.group_instance_id, error)


@rule("leave.invalid-group-id", source="upstream GroupCoordinatorService#leaveGroup")
def invalid_group_id(spec: Spec, group: Group | None, call: Call) -> Steps:
    """An empty group id is refused at the top level, without a word on the members."""
    if _request(call).group_id:
        return ()
    return only(Step(group).answer(call.to, LeaveGroupReply(ErrorCode.INVALID_GROUP_ID)))


@rule("leave.unknown-group", source="upstream GroupCoordinatorService#leaveGroup")
def unknown_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Of a group that does not exist every member is unknown; the top level says NONE."""
    if group is not None:
        return ()
    outcomes = tuple(_outcome(identity, ErrorCode.UNKNOWN_MEMBER_ID) for identity in _request(call).members)
    return only(Step(None).answer(call.to, LeaveGroupReply(ErrorCode.NONE, outcomes)))


@rule("leave.batch", source=SOURCE)
def batch(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Everybody named goes first, then the group reacts once.

    In Stable and CompletingRebalance a rebalance begins, even if only a pending id left; while one is
    prepared it may complete. If nobody named was known nothing happens.
    """
    if group is None:
        return ()
    branches: list[tuple[Step, Outcomes]] = [(Step(group), ())]
    for identity in _request(call).members:
        branches = [
            (after, (*outcomes, outcome))
            for step, outcomes in branches
            for after, outcome in _one(spec, step, identity)
        ]
    return tuple(
        dict.fromkeys(
            done.answer(call.to, LeaveGroupReply(ErrorCode.NONE, outcomes))
            for step, outcomes in branches
            for done in _react(spec, step, outcomes)
        )
    )


def _one(spec: Spec, step: Step, identity: LeavingMember) -> list[tuple[Step, MemberOutcome]]:
    """One identity of the batch: the first of the three rules whose guard holds."""
    for slug in ("leave.pending-member", "leave.unknown-member", "leave.member"):
        steps = spec.apply(slug, step, identity)
        if steps:
            error = ErrorCode.UNKNOWN_MEMBER_ID if slug == "leave.unknown-member" else ErrorCode.NONE
            return [(after, _outcome(identity, error)) for after in steps]
    raise AssertionError("leave.member takes whatever the others leave")


@rule("leave.pending-member", source=SOURCE)
def pending_member(spec: Spec, step: Step, identity: LeavingMember) -> Steps:
    """An id that was handed out and not used is forgotten."""
    group = step.live
    if identity.member_id not in group.pending:
        return ()
    step = step.to(replace(group, pending=group.pending - {identity.member_id}))
    return only(step.cancel(TimerKind.PENDING, identity.member_id))


@rule("leave.unknown-member", source=SOURCE + "; ClassicGroup#validateMember")
def unknown_member(spec: Spec, step: Step, identity: LeavingMember) -> Steps:
    """An id that is no member's is unknown, and so is every instance id: there are no static members yet."""
    if identity.member_id in step.live.members and identity.group_instance_id is None:
        return ()
    return only(step)


@rule("leave.member", source="upstream GroupMetadataManager#removeCurrentMemberFromClassicGroup")
def member(spec: Spec, step: Step, identity: LeavingMember) -> Steps:
    """A member goes."""
    return spec.apply("leave.remove-member", step, identity.member_id)


def _react(spec: Spec, step: Step, outcomes: Outcomes) -> Steps:
    somebody_left = any(outcome.error_code is ErrorCode.NONE for outcome in outcomes)
    if not somebody_left or step.live.state is GroupState.EMPTY:
        return only(step)
    return spec.apply("join.rebalance-or-complete", step)
