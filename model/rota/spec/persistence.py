"""The log's answers. Each is a transition of its own: much may have happened since the append."""

from __future__ import annotations

from dataclasses import replace

from rota.kernel.rules import rule
from rota.spec.context import Spec, only
from rota.spec.rebalance import answer_syncs
from rota.spec.state import Group
from rota.spec.step import GroupRecord, Step, Steps
from rota.spec.vocabulary import AppendError, ErrorCode, GroupState

HANDLER = ("persistence.late-answer", "persistence.assignment-failed", "persistence.assignment-stored")

SOURCE = "upstream GroupMetadataManager#classicGroupSyncToClassicGroup"

REPLY_FOR = {
    AppendError.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    AppendError.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    AppendError.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    AppendError.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    AppendError.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    AppendError.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""What members are told when the append fails. Source: upstream appendGroupMetadataErrorToResponseError."""


@rule("persistence.late-answer", source=SOURCE)
def late_answer(spec: Spec, group: Group, record: GroupRecord, error: AppendError | None) -> Steps:
    """An answer that finds another state or generation than the append does nothing."""
    if group.state is GroupState.COMPLETING_REBALANCE and record.generation_id == group.generation_id:
        return ()
    return only(Step(group))


@rule("persistence.assignment-failed", source=SOURCE + "; #appendGroupMetadataErrorToResponseError")
def assignment_failed(spec: Spec, group: Group, record: GroupRecord, error: AppendError | None) -> Steps:
    """The assignment could not be stored: the parked syncs are told so and the group rebalances."""
    if error is None:
        return ()
    step = answer_syncs(Step(group), REPLY_FOR[error])
    return spec.apply("join.prepare-rebalance", step)


@rule("persistence.assignment-stored", source=SOURCE)
def assignment_stored(spec: Spec, group: Group, record: GroupRecord, error: AppendError | None) -> Steps:
    """The assignment is stored: every parked sync gets its own part, and the group is Stable."""
    step = answer_syncs(Step(group), ErrorCode.NONE, record.assignments)
    return only(step.to(replace(step.live, state=GroupState.STABLE)))
