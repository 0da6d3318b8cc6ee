"""What becomes of offsets on their way to the log, and when the log answers.

These rules are functions of the offsets alone: a commit that was accepted once is stored whatever has become
of the group meanwhile. Each says what goes to the end of the queue for the log, without reading what is in
it. How offsets are read stands in `rota.spec.offset_fetch`.
"""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.context import Spec, only
from rota.spec.effects import Reply
from rota.spec.offset_messages import (
    CommitReply,
    OffsetDeleteReply,
    with_errors,
)
from rota.spec.offset_state import (
    NO_PRODUCER,
    OffsetBatch,
    OffsetRecord,
    Offsets,
    OffsetStep,
    OffsetSteps,
    OffsetTombstone,
)
from rota.spec.offsets import OMM
from rota.spec.persistence import REPLY_FOR, TOO_LARGE
from rota.spec.vocabulary import AppendError, ErrorCode

BEGIN_HANDLER = ("offsets.nothing-to-delete", "offsets.deleted-at-once", "offsets.appended")
ANSWER_HANDLER = ("offsets.failed", "offsets.stored")
FOUND_HANDLER = ("offsets.simple-group",)

SCALA = "upstream GroupMetadata#"


def _only(step: OffsetStep) -> OffsetSteps:
    return (step,)


@rule("offsets.nothing-to-delete", source=OMM + "deleteOffsets")
def nothing_to_delete(spec: Spec, offsets: Offsets, batch: OffsetBatch) -> OffsetSteps:
    """Where there is no offset, neither stored nor pending nor in flight, no tombstone is written.

    Left out: the metric of deletions, and that the Java coordinator answers after earlier writes even if
    it writes nothing itself. The answer is the same then.
    """
    if any(isinstance(record, OffsetRecord) or _exists(offsets, record) for record in batch.records):
        return ()
    return _only(OffsetStep(offsets).answer(batch.answer))


def _exists(offsets: Offsets, record: OffsetTombstone) -> bool:
    found = record.key in offsets.committed or offsets.is_pending(*record.key)
    return found or offsets.is_appended(*record.key)


@rule("offsets.deleted-at-once", source=SCALA + "removeOffsets; GroupMetadataManager#cleanupGroupMetadata")
def deleted_at_once(spec: Spec, offsets: Offsets, batch: OffsetBatch) -> OffsetSteps:
    """The Scala coordinator deletes from its memory and answers; its tombstones are not waited for.

    What is in flight for the partition is forgotten, too, and will be ignored when the log has stored it.

    Left out: after a fail-over such a commit is there again, as is everything whose tombstone was lost.
    Only what was acknowledged and not deleted since is promised to a client, so no promise is broken by
    an offset that comes back.
    """
    if spec.profile.deletion_waits_for_record or any(isinstance(r, OffsetRecord) for r in batch.records):
        return ()
    after = offsets
    for record in batch.records:
        after = after.stored(record)
    gone = {record.key for record in batch.records}
    forgotten = [key for key in after.appended if key[:2] in gone and key[2] == NO_PRODUCER]
    after = replace(after, appended=after.appended.without(*forgotten))
    return _only(OffsetStep(after).answer(batch.answer))


@rule("offsets.appended", source="upstream CoordinatorRuntime; GroupMetadataManager#storeOffsets (3.x)")
def appended(spec: Spec, offsets: Offsets, batch: OffsetBatch) -> OffsetSteps:
    """A batch goes to the log; until it has answered, readers see what was there before.

    Left out: that the Java coordinator gathers the batches of several requests into one
    (append.linger.ms) which is stored or lost as a whole. The model's log answers one batch after the
    other in the same order, and failures of two in a row are two faults.
    """
    return _only(OffsetStep(offsets.with_appended(batch), line=(batch,)))


def commit_error(spec: Spec, error: AppendError) -> ErrorCode:
    """What the profile's brokers tell a request whose offsets the log has failed to store.

    Source: upstream GroupMetadataManager#maybeConvertOffsetCommitError (3.x), GroupCoordinatorService
    #handleOperationException.
    """
    if error is AppendError.REQUEST_TIMED_OUT:
        return spec.profile.offset_append_timeout_error
    if error in TOO_LARGE:
        return spec.profile.offset_append_too_large_error
    return REPLY_FOR[error]


@rule(
    "offsets.failed", source="upstream CoordinatorRuntime; GroupMetadataManager#createPutCacheCallback (3.x)"
)
def failed(spec: Spec, offsets: Offsets, batch: OffsetBatch, error: AppendError | None) -> OffsetSteps:
    """Nothing of the batch is stored, and the request has failed.

    The Java coordinator says so of every partition, the Scala coordinator not of those that it left out.
    After a time-out nobody knows: the Java coordinator goes on with what it has appended, which may be
    stored after all; the Scala coordinator forgets it. The Scala coordinator also forgets what the same
    producer had pending before.

    Left out: after a fail-over its forgotten commit may be there. The client was told that the commit
    failed and may find either offset, as after any time-out.
    """
    if error is None:
        return ()
    step = OffsetStep(offsets.answered(batch)).answer(_failure(spec, batch.answer, commit_error(spec, error)))
    if not spec.profile.failed_commit_forgotten:
        late = error is AppendError.REQUEST_TIMED_OUT
        return (step, replace(step, offsets=_all_stored(spec, offsets, batch))) if late else _only(step)
    producers = {
        (record.key, record.producer_id) for record in batch.records if isinstance(record, OffsetRecord)
    }
    pending = tuple(
        one for one in step.offsets.pending if (one.record.key, one.record.producer_id) not in producers
    )
    return _only(replace(step, offsets=replace(step.offsets, pending=pending)))


def _failure(spec: Spec, answer: Reply | None, error: ErrorCode) -> Reply | None:
    if answer is None:
        return None
    message = answer.message
    if isinstance(message, OffsetDeleteReply):
        return replace(answer, message=OffsetDeleteReply(error))
    if not isinstance(message, CommitReply):
        raise TypeError(f"no answer to a change of offsets: {message!r}")
    keeps = spec.profile.failed_commit_keeps_too_large
    topics = with_errors(message.topics, lambda e: e if keeps and e is not ErrorCode.NONE else error)
    return replace(answer, message=replace(message, topics=topics))


@rule("offsets.stored", source=OMM + "replay; GroupMetadata#onOffsetCommitAppend (3.x)")
def stored(spec: Spec, offsets: Offsets, batch: OffsetBatch, error: AppendError | None) -> OffsetSteps:
    """The batch is stored: fetches see it, and it is answered.

    The last offset in the log wins, not the highest.

    Left out: the record's position in the log, which upstream keeps with each offset. The order in which
    batches are answered is that of their positions.
    """
    return _only(OffsetStep(_all_stored(spec, offsets, batch)).answer(batch.answer))


def _all_stored(spec: Spec, offsets: Offsets, batch: OffsetBatch) -> Offsets:
    after = offsets.answered(batch)
    for record in batch.records:
        forgotten = not offsets.is_appended(*record.key) and isinstance(record, OffsetRecord)
        if spec.profile.deletion_waits_for_record or not forgotten:
            after = after.stored(record)
    return after


@rule("offsets.simple-group", source=OMM + "replay; GroupMetadataManager#doLoadGroupsAndOffsets (3.x)")
def simple_group(spec: Spec, group: Group | None) -> Steps:
    """Offsets that are stored, or there after a fail-over, have a group: if need be one without a type.

    Left out: the time at which such a group was loaded, upstream's state timestamp for it. A group
    without a protocol type expires by its commits, never by that time (`expiry.simple-group`).
    """
    return only(Step(group or Group()))
