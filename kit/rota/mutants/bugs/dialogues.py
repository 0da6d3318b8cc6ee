"""Mistakes that no property of the world sees: what they get wrong is an answer to a stranger, or a date.

Each is found by a dialogue that says what is answered: a row of the checklist or a scenario of the tests.
`dies_in` says which of the two; `by` is the name of the row's test upstream, or that of the scenario.
"""

from __future__ import annotations

from dataclasses import replace

from rota.mutants.bugs.retell import retold, untold
from rota.mutants.mutant import CHECKLIST, SCENARIOS, bug
from rota.spec import (
    Call,
    ErrorCode,
    Group,
    GroupRecord,
    GroupState,
    JoinGroupReply,
    JoinGroupRequest,
    LeavingMember,
    Spec,
    Step,
    SyncGroupRequest,
)
from rota.spec import offset_delete as delete_rules
from rota.spec import offset_fetch as fetch_rules
from rota.spec import offset_log as log_rules
from rota.spec.classic import admission as admission_rules
from rota.spec.classic import heartbeat as heartbeat_rules
from rota.spec.classic import join as join_rules
from rota.spec.classic import persistence as persistence_rules
from rota.spec.classic import replacement as replacement_rules
from rota.spec.classic import static as static_rules
from rota.spec.classic import sync as sync_rules
from rota.spec.classic.step import Steps
from rota.spec.context import only, request_of
from rota.spec.messages import ReplyMessage
from rota.spec.offset_messages import OffsetCommitRequest, OffsetFetchRequest, commit_reply
from rota.spec.offset_state import (
    NO_PRODUCER,
    OffsetBatch,
    OffsetRead,
    OffsetRecord,
    Offsets,
    OffsetStep,
    OffsetSteps,
)
from rota.spec.vocabulary import AppendError

SECOND_JOINS = "03-second-joins-a-stable-group"
DELETES = "16d-operator-deletes-offsets"
WHO_COMMITS = "09b-who-may-commit"
LOG_COMMITS = "09c-commit-waits-for-the-log"
TWO_PRODUCERS = "24d-two-producers-at-once"


# -- members ----------------------------------------------------------------------------------------------
@bug("join.fenced-instance-id", dies_in=CHECKLIST, by="staticMemberReJoinWithExplicitUnknownMemberId")
def fenced_join_is_unknown(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Whose place another process has taken is told that it is unknown, and comes back as that."""
    return retold(join_rules.fenced_instance_id(spec, group, call), _unknown)


def _unknown(message: ReplyMessage) -> ReplyMessage:
    return JoinGroupReply(ErrorCode.UNKNOWN_MEMBER_ID)


@bug(
    "static.pending-with-instance",
    dies_in=CHECKLIST,
    by="testJoinGroupExistingPendingMemberWithGroupInstanceIdThrowsException",
)
def handed_out_id_made_static(spec: Spec, group: Group | None, call: Call) -> Steps:
    """An id that was handed out may become a static member's."""
    return ()


@bug("leave.by-instance-id", dies_in=CHECKLIST, by="testLeaveGroupStaticMemberWithUnknownMemberId")
def instances_cannot_be_removed(spec: Spec, step: Step, identity: LeavingMember) -> Steps:
    """An instance id without a member id is nobody's."""
    return ()


@bug("loading.over-capacity", dies_in=CHECKLIST, by="testOnLoadedExceedGroupMaxSizeTriggersRebalance")
def too_many_stay(spec: Spec, group: Group | None, record: GroupRecord | None) -> Steps:
    """A loaded group that has more members than the limit allows stays as it is."""
    return ()


@bug("persistence.emptied-stored", dies_in=SCENARIOS, by="16a-last-member-leaves")
def last_leaver_unanswered(
    spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None
) -> Steps:
    """The last member's LeaveGroup is never answered."""
    return retold(persistence_rules.emptied_stored(spec, group, record, error), untold)


@bug("persistence.emptied-failed", dies_in=SCENARIOS, by="16h-end-of-a-group-is-not-stored")
def failed_end_unanswered(
    spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None
) -> Steps:
    """When the end of a group cannot be stored, who left is not told anything."""
    return retold(persistence_rules.emptied_failed(spec, group, record, error), untold)


@bug("sync.leader-assigns", dies_in=SCENARIOS, by="12-leader-omits-a-member", seen_in="a broker")
def list_must_be_complete(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The leader must assign to exactly the members, or nobody is answered."""
    steps = sync_rules.leader_assigns(spec, group, call)
    named = {entry.member_id for entry in request_of(call, SyncGroupRequest).assignments}
    complete = group is not None and named == set(group.members)
    return steps if complete else tuple(replace(step, records=()) for step in steps)


@bug("heartbeat.illegal-generation", dies_in=SCENARIOS, by=SECOND_JOINS, seen_in="KAFKA-2557; tansu")
def state_before_generation(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The state is looked at before the generation: a member of an older one is told to join again."""
    if group is not None and group.state is GroupState.PREPARING_REBALANCE:
        return ()
    return heartbeat_rules.illegal_generation(spec, group, call)


@bug(
    "static.replaced",
    dies_in=CHECKLIST,
    by="staticMemberRejoinWithUpdatedSessionAndRebalanceTimeoutsAndPersistChange",
    seen_in="KAFKA-14009",
)
def former_timeouts_hold(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A static member that restarts keeps the timeouts of its former self."""
    former = None if group is None else group.holder(request_of(call, JoinGroupRequest).group_instance_id)
    if group is None or former is None:
        return static_rules.replaced(spec, group, call)
    kept = group.members[former]
    same = replace(
        request_of(call, JoinGroupRequest),
        session_timeout_ms=kept.session_timeout_ms,
        rebalance_timeout_ms=kept.rebalance_timeout_ms,
    )
    return static_rules.replaced(spec, group, replace(call, request=same))


@bug("join.pending-member", dies_in=SCENARIOS, by="18e-next-first-member-sets-the-type")
def first_type_for_ever(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The first member of a group's life sets its protocol type, not the first one after it was Empty."""
    steps = admission_rules.pending_member(spec, group, call)
    former = None if group is None else group.protocol_type
    return tuple(replace(step, group=_of_type(step.live, former)) for step in steps) if former else steps


def _of_type(group: Group, protocol_type: str) -> Group:
    return replace(group, protocol_type=protocol_type)


@bug(
    "static.replacement-failed",
    dies_in=SCENARIOS,
    by="20p-restart-is-undone-while-its-next-join-waits",
)
def late_failure_answers_who_waits(
    spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None
) -> Steps:
    """A restart that fails late refuses the JoinGroup that the new id has waiting since."""
    told = record if group is None else replace(record, generation_id=group.generation_id)
    return replacement_rules.replacement_failed(spec, group, told, error)


# -- offsets ----------------------------------------------------------------------------------------------
@bug("offsets.stored", dies_in=SCENARIOS, by=TWO_PRODUCERS)
def stored_under_the_highest_producer(
    spec: Spec, offsets: Offsets, batch: OffsetBatch, error: AppendError | None
) -> OffsetSteps:
    """An offset of a transaction is stored under the highest producer id that has one open."""
    (step,) = log_rules.stored(spec, offsets, batch, error)
    highest = max((one.record.producer_id for one in step.offsets.pending), default=NO_PRODUCER)
    theirs = tuple(
        one if one in offsets.pending else replace(one, record=replace(one.record, producer_id=highest))
        for one in step.offsets.pending
    )
    return (replace(step, offsets=replace(step.offsets, pending=theirs)),)


@bug("offsets.fetch", dies_in=SCENARIOS, by=TWO_PRODUCERS)
def all_there_are_are_stable(spec: Spec, offsets: Offsets, read: OffsetRead) -> OffsetSteps:
    """A fetch of all offsets, which names none, is not told of those that a transaction may change."""
    request = request_of(read.call, OffsetFetchRequest)
    if request.topics is not None:
        return fetch_rules.fetch(spec, offsets, read)
    plain = replace(read.call, request=replace(request, require_stable=False))
    return fetch_rules.fetch(spec, offsets, replace(read, call=plain))


@bug("offsets.appended", dies_in=SCENARIOS, by=LOG_COMMITS)
def answered_before_stored(spec: Spec, offsets: Offsets, batch: OffsetBatch) -> OffsetSteps:
    """A commit is answered before the log has it."""
    return tuple(
        replace(step, line=(replace(batch, answer=None),)).answer(batch.answer)
        for step in log_rules.appended(spec, offsets, batch)
    )


@bug("offsets.stored", dies_in=SCENARIOS, by=WHO_COMMITS)
def highest_offset_stays(
    spec: Spec, offsets: Offsets, batch: OffsetBatch, error: AppendError | None
) -> OffsetSteps:
    """An offset that is lower than the stored one is acknowledged and ignored."""
    kept = tuple(record for record in batch.records if not _lower(offsets, record))
    (step,) = log_rules.stored(spec, offsets, replace(batch, records=kept), error)
    return (replace(step, offsets=step.offsets.answered(batch)),)


def _lower(offsets: Offsets, record: object) -> bool:
    if not isinstance(record, OffsetRecord) or record.key not in offsets.committed:
        return False
    return record.value.committed_offset < offsets.committed[record.key].committed_offset


@bug("offsets.failed", dies_in=SCENARIOS, by=LOG_COMMITS)
def failed_commit_acknowledged(
    spec: Spec, offsets: Offsets, batch: OffsetBatch, error: AppendError | None
) -> OffsetSteps:
    """A commit that could not be stored is acknowledged."""
    return () if error is None else (OffsetStep(offsets.answered(batch)).answer(batch.answer),)


@bug("offsets.commit-without-membership", dies_in=SCENARIOS, by=WHO_COMMITS)
def generation_for_everybody(spec: Spec, group: Group | None, call: Call) -> Steps:
    """While nobody is in the group a commit needs a generation all the same."""
    return ()


@bug("offsets.metadata-too-large", dies_in=CHECKLIST, by="testTxnOffsetMetadataTooLarge")
def metadata_unlimited(metadata: str | None, limit: int) -> bool:
    """Metadata may be as long as one likes."""
    return False


@bug("offsets.unstable", dies_in=CHECKLIST, by="testFetchPendingTxnOffsetsWithCommit")
def open_transactions_unseen(
    offsets: Offsets, topic: str, partition_index: int, while_appending: bool
) -> bool:
    """Open transactions make nothing unstable."""
    return False


@bug("offsets.nothing-to-delete", dies_in=SCENARIOS, by=DELETES)
def tombstones_for_nothing(spec: Spec, offsets: Offsets, batch: OffsetBatch) -> OffsetSteps:
    """A tombstone is written where there was no offset."""
    return ()


@bug("offsets.deleted-at-once", dies_in=SCENARIOS, by="16e-deletion-that-does-not-wait")
def deletion_waits(spec: Spec, offsets: Offsets, batch: OffsetBatch) -> OffsetSteps:
    """Every deletion waits for the log."""
    return ()


@bug("offsets.delete-invalid-group-id", dies_in=SCENARIOS, by=DELETES)
def nameless_group_deleted_from(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The nameless group may be asked for deletions."""
    return ()


@bug("offsets.delete-unknown-group", dies_in=CHECKLIST, by="testDeleteOffsetOfNonExistingGroup")
def absent_group_deleted_from(spec: Spec, group: Group | None, call: Call) -> Steps:
    """To delete offsets of a group that is not there is no error."""
    return () if group is not None else delete_rules.delete(spec, Group(), call)


@bug("offsets.delete", dies_in=CHECKLIST, by="testDeleteOffsetOfStableConsumerGroup")
def subscribed_offsets_deleted(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Offsets of topics that members are subscribed to are deleted like all others."""
    empty = None if group is None else replace(group, state=GroupState.EMPTY)
    return tuple(replace(step, group=group) for step in delete_rules.delete(spec, empty, call))


@bug("offsets.delete-non-empty-group", dies_in=SCENARIOS, by=DELETES)
def others_are_consumers(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Members of another type are treated like consumers."""
    return ()


@bug("offsets.topics-of", dies_in=CHECKLIST, by="testDeleteOffsetOfStableConsumerGroup")
def subscriptions_unread(metadata: bytes) -> frozenset[str] | None:
    """What a member subscribes to is not read: it might be anything."""
    return None


@bug("offsets.commit", dies_in=SCENARIOS, by="09a-commit-while-a-rebalance-is-prepared")
def commit_not_stored(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A commit is answered and forgotten."""
    request = request_of(call, OffsetCommitRequest)
    message = commit_reply(request, lambda each: ErrorCode.NONE)
    return only(Step(group).answer(call.to, message))


@bug("offsets.stable-fetch-waits", dies_in=SCENARIOS, by="09c-commit-waits-for-the-log")
def stable_fetch_never_answered(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A fetch of stable offsets is taken and never answered."""
    return only(Step(group)) if fetch_rules.stable_fetch_waits(spec, group, call) else ()


@bug(
    "offsets.simple-group",
    dies_in=SCENARIOS,
    by="17e-offsets-are-loaded-without-a-group",
    seen_in="KAFKA-4704",
)
def offsets_without_a_group(spec: Spec, group: Group | None) -> Steps:
    """Offsets are stored, or loaded, without a group: whoever reads them is told that there are none."""
    return only(Step(group))
