"""SyncGroup: the leader hands in the assignment, everybody gets their own part of it."""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.classic.messages import SyncGroupReply, SyncGroupRequest
from rota.spec.classic.records import record_of
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState, TimerKind
from rota.spec.context import Spec, only, request_of
from rota.spec.messages import Call
from rota.spec.vocabulary import ErrorCode

HANDLER = (
    "sync.protocol-required",
    "hosting.inactive",
    "sync.invalid-group-id",
    "hosting.loading",
    "hosting.elsewhere",
    "sync.fenced-instance-id",
    "sync.unknown-member",
    "sync.illegal-generation",
    "sync.inconsistent-protocol",
    "sync.rebalance-in-progress",
    "sync.stable",
    "sync.follower-waits",
    "sync.leader-assigns",
)

NAMES_SINCE = 5
"""The SyncGroup version that names the protocol (KIP-559)."""

SOURCE = "upstream GroupMetadataManager#classicGroupSyncToClassicGroup"
CHECKS = "upstream GroupMetadataManager#validateSyncGroup"


def _request(call: Call) -> SyncGroupRequest:
    return request_of(call, SyncGroupRequest)


def _refuse(group: Group | None, call: Call, error: ErrorCode) -> Steps:
    return only(Step(group).answer(call.to, SyncGroupReply(error)))


@rule(
    "sync.protocol-required",
    source="KIP-559; upstream KafkaApis#handleSyncGroupRequest",
    since="SyncGroup v5",
)
def protocol_required(spec: Spec, group: Group | None, call: Call) -> Steps:
    """From version 5 on protocol type and name have to be given; checked before anything else.

    Left out: the authorisation that KafkaApis checks next, with GROUP_AUTHORIZATION_FAILED. Who may not
    read the group changes nothing in it.
    """
    request = _request(call)
    if call.version < NAMES_SINCE or None not in (request.protocol_type, request.protocol_name):
        return ()
    return _refuse(group, call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


@rule("sync.invalid-group-id", source="upstream GroupCoordinatorService#syncGroup")
def invalid_group_id(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A SyncGroup without a group id is refused.

    Nothing is left out: GroupCoordinatorService#syncGroup checks only that the id is not empty, and
    answers without an assignment and without a protocol.
    """
    if _request(call).group_id:
        return ()
    return _refuse(group, call, ErrorCode.INVALID_GROUP_ID)


def _invalid(spec: Spec, group: Group | None, call: Call, error: ErrorCode) -> bool:
    request = _request(call)
    return spec.ask("static.validate", group, request.member_id, request.group_instance_id) is error


@rule("sync.fenced-instance-id", source="KIP-345; " + CHECKS, since="SyncGroup v3")
def fenced_instance_id(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A SyncGroup with an instance id that another member id holds is fenced.

    Its sender was replaced after it had joined, while it waited or computed assignments.

    Nothing is left out: the check comes before the generation's, and an assignment that a fenced leader
    brings is dropped with its request.
    """
    if not _invalid(spec, group, call, ErrorCode.FENCED_INSTANCE_ID):
        return ()
    return _refuse(group, call, ErrorCode.FENCED_INSTANCE_ID)


@rule("sync.unknown-member", source=CHECKS)
def unknown_member(spec: Spec, group: Group | None, call: Call) -> Steps:
    """No group, an Empty one, a pending id or a foreign one: the member is unknown.

    Left out: COORDINATOR_NOT_AVAILABLE for a SyncGroup that has found its group and gets the group's lock
    when that is Dead. Here finding and changing the group is one transition; a moment later the answer is
    this one.
    """
    if not _invalid(spec, group, call, ErrorCode.UNKNOWN_MEMBER_ID):
        return ()
    return _refuse(group, call, ErrorCode.UNKNOWN_MEMBER_ID)


def _live(group: Group | None) -> Group:
    if group is None:
        raise AssertionError("sync.unknown-member comes before every rule that needs the group")
    return group


@rule("sync.illegal-generation", source=CHECKS)
def illegal_generation(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Only the current generation may sync; checked before the state.

    Nothing is left out: older and newer numbers are refused alike, and as upstream nothing but the number
    is compared, so one that was given out twice is accepted (`weakness.lost-generation-assigns`).
    """
    if _request(call).generation_id == _live(group).generation_id:
        return ()
    return _refuse(group, call, ErrorCode.ILLEGAL_GENERATION)


@rule("sync.inconsistent-protocol", source="KIP-559; " + CHECKS, since="SyncGroup v5")
def inconsistent_protocol(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A protocol type or name that is given must be the group's.

    A group without one, in its first join phase, accepts any with the Java coordinator and none with the
    Scala coordinator.

    Nothing is left out: names are compared letter by letter, and below version 5, where a SyncGroup names
    none (None), it fits every group.
    """
    request, group = _request(call), _live(group)
    unset = (None,) if spec.profile.unnamed_protocol_fits else ()
    type_fits = request.protocol_type in (None, group.protocol_type) or group.protocol_type in unset
    name_fits = request.protocol_name in (None, group.protocol_name) or group.protocol_name in unset
    if type_fits and name_fits:
        return ()
    return _refuse(group, call, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


@rule("sync.rebalance-in-progress", source=SOURCE)
def rebalance_in_progress(spec: Spec, group: Group | None, call: Call) -> Steps:
    """While a rebalance is prepared the member must join again.

    Nothing is left out: the request is not parked, its assignments are dropped and the session timer runs
    on, for this SyncGroup is no sign of life with either coordinator.
    """
    if _live(group).state is not GroupState.PREPARING_REBALANCE:
        return ()
    return _refuse(group, call, ErrorCode.REBALANCE_IN_PROGRESS)


def synced(step: Step, member_id: str) -> Step:
    """This id owes no SyncGroup any more; the sync timer stops with the last one."""
    group = replace(step.live, pending_sync=step.live.pending_sync - {member_id})
    step = step.to(group)
    return step if group.pending_sync else step.cancel(TimerKind.SYNC)


@rule("sync.stable", source=SOURCE)
def stable(spec: Spec, group: Group | None, call: Call) -> Steps:
    """In Stable the stored assignment is answered at once; assignments in the request are ignored.

    With the Java coordinator the session timer is not touched, the Scala coordinator restarts it.

    Nothing is left out: the sender no longer owes a SyncGroup, and the sync timer, which goes on after
    the step to Stable, stops with the last one that does.
    """
    group, member_id = _live(group), _request(call).member_id
    if group.state is not GroupState.STABLE:
        return ()
    member = group.members[member_id]
    step = synced(Step(group), member_id)
    if spec.profile.sync_restarts_session:
        step = step.arm(TimerKind.SESSION, member.session_timeout_ms, member_id)
    reply = SyncGroupReply(ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment)
    return only(step.answer(call.to, reply))


def _parked(spec: Spec, group: Group, call: Call) -> Step:
    """Park the request; an earlier one of the same member is replaced, and only rota answers it."""
    member_id = _request(call).member_id
    before = group.members[member_id]
    step = synced(Step(group.with_member(member_id, replace(before, awaiting_sync=call.to))), member_id)
    if not spec.profile.answers_replaced:
        return step
    return step.answer(before.awaiting_sync, SyncGroupReply(ErrorCode.REBALANCE_IN_PROGRESS))


@rule("sync.follower-waits", source=SOURCE)
def follower_waits(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A follower waits for the leader's assignment; assignments that it sends are ignored.

    Left out: the connection behind the parked request. The coordinator is not told when it breaks and
    answers all the same; in the model that answer goes to nobody, which changes the group as little.
    """
    group = _live(group)
    if _request(call).member_id == group.leader:
        return ()
    return only(_parked(spec, group, call))


@rule("sync.leader-assigns", source=SOURCE)
def leader_assigns(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The leader's assignment is appended to the log; nobody is answered before the log has answered.

    Members it leaves out get empty bytes, ids that are not members are ignored, of a repeated id the last
    counts. A second SyncGroup of the leader appends once more; the first answer of the log decides.

    Left out: each member's client id and host in the record, and the version of its schema. After a
    fail-over they are shown to people at most, no rule reads them.
    """
    group = _live(group)
    given = {entry.member_id: entry.assignment for entry in _request(call).assignments}
    assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
    return only(_parked(spec, group, call).append(record_of(group, assignments)))
