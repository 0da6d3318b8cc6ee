"""The log's answers to a group's records, rules of their own: much may have happened since the append."""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.classic.messages import JoinGroupReply, LeaveGroupReply
from rota.spec.classic.rebalance import GMM, answer_syncs
from rota.spec.classic.records import GroupRecord
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState, RecordKind, TimerKind
from rota.spec.context import Spec, only
from rota.spec.persistence import append_error
from rota.spec.vocabulary import AppendError, ErrorCode

HANDLER = (
    "persistence.creation-failed",
    "persistence.creation-stored",
    "persistence.emptied-failed",
    "persistence.emptied-stored",
    "static.replacement-failed",
    "static.replacement-stored",
    "persistence.late-answer",
    "persistence.assignment-failed",
    "persistence.assignment-stored",
)

SOURCE = "upstream GroupMetadataManager#classicGroupSyncToClassicGroup"


@rule("persistence.creation-failed", source=GMM + "classicGroupJoinToClassicGroup", since="Apache Kafka 4.0")
def creation_failed(spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None) -> Steps:
    """A group whose creation could not be stored is not there any more; who waits in it is told.

    Ids that were handed out and their timers go with it. A group that has had a generation stays.

    Left out: upstream reverts what the failed batch of records has changed, which after a mere time-out
    is nothing; there the group stays, with members whose JoinGroup has been refused, until their timers
    remove them. And the join timer is left armed, which may end a first phase of a group created anew too
    early. To the group such a member is like one whose connection has gone, and in the model a join phase
    may end as early as it likes: both have their runs from other causes.
    """
    if record.kind is not RecordKind.CREATION or error is None:
        return ()
    if group is None or group.generation_id != record.generation_id:
        return only(Step(group))
    step = Step(group).cancel(TimerKind.INITIAL_JOIN).cancel(TimerKind.JOIN)
    for member_id in group.pending:
        step = step.cancel(TimerKind.PENDING, member_id)
    for member_id, member in group.members.items():
        step = step.cancel(TimerKind.SESSION, member_id).cancel(TimerKind.NEW_MEMBER, member_id)
        step = step.answer(member.awaiting_join, JoinGroupReply(append_error(spec, error)))
    return only(replace(step, group=None))


@rule("persistence.creation-stored", source=GMM + "classicGroupJoinToClassicGroup", since="Apache Kafka 4.0")
def creation_stored(spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None) -> Steps:
    """The creation of a group is stored: nobody has waited for it.

    Nothing is left out: upstream's future for this record has something to do only if it fails; the
    JoinGroup was answered or parked by the step that created the group.
    """
    if record.kind is not RecordKind.CREATION:
        return ()
    return only(Step(group))


@rule("persistence.emptied-failed", source=GMM + "completeClassicGroupJoin, classicGroupLeave")
def emptied_failed(spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None) -> Steps:
    """That a group is Empty could not be stored: it is Empty all the same.

    The LeaveGroup that waits for the record is told at the top level, without a word on the members,
    though they are gone. Older records could bring members back after a fail-over.

    Left out: a warning in the log of the broker, the only thing that upstream's callback does itself. The
    members that come back are in the model: the log machine loads the last record that was stored.
    """
    if record.kind is not RecordKind.EMPTIED or error is None:
        return ()
    if record.answer is None:
        return only(Step(group))
    return only(Step(group).answer(record.answer.to, LeaveGroupReply(append_error(spec, error))))


@rule("persistence.emptied-stored", source=GMM + "completeClassicGroupJoin, classicGroupLeave")
def emptied_stored(spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None) -> Steps:
    """That a group is Empty is stored: the LeaveGroup that waits for the record is answered.

    Whatever happened to the group since. Where a timer emptied it nobody waits.

    Nothing is left out: the answer was made when the members left and lies in the record, as upstream's
    waits in its queue of deferred events.
    """
    if record.kind is not RecordKind.EMPTIED:
        return ()
    if record.answer is None:
        return only(Step(group))
    return only(Step(group).answer(record.answer.to, record.answer.message))


@rule("persistence.late-answer", source=SOURCE)
def late_answer(spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None) -> Steps:
    """An answer that finds another state or generation than the append does nothing.

    Nothing is left out: whoever waited was told when the group left CompletingRebalance. The record
    itself is in the log if it was stored, and the next coordinator may load it (`loading.load`).
    """
    completing = group is not None and group.state is GroupState.COMPLETING_REBALANCE
    if group is not None and completing and record.generation_id == group.generation_id:
        return ()
    return only(Step(group))


@rule("persistence.assignment-failed", source=SOURCE + "; #appendGroupMetadataErrorToResponseError")
def assignment_failed(spec: Spec, group: Group, record: GroupRecord, error: AppendError | None) -> Steps:
    """The assignment could not be stored: the parked syncs are told so and the group rebalances.

    Left out: with the Scala coordinator NOT_ENOUGH_REPLICAS_AFTER_APPEND leads to the same answer as
    NOT_ENOUGH_REPLICAS. The rule depends on the answer alone, and `AppendError` has an error for each.
    """
    if error is None:
        return ()
    step = answer_syncs(Step(group), append_error(spec, error))
    return spec.apply("join.prepare-rebalance", step)


@rule("persistence.assignment-stored", source=SOURCE)
def assignment_stored(spec: Spec, group: Group, record: GroupRecord, error: AppendError | None) -> Steps:
    """The assignment is stored: every parked sync gets its own part, and the group is Stable.

    Left out: the metric of completed rebalances, and where in the log the record lies. What matters is
    the order of records, which the log machine keeps.
    """
    step = answer_syncs(Step(group), ErrorCode.NONE, record.assignments)
    return only(step.to(replace(step.live, state=GroupState.STABLE)))
