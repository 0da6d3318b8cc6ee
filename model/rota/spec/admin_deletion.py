"""A deleted group and its offsets: while their tombstones are in flight, and when the log has answered."""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.admin_messages import DeleteGroupsReply
from rota.spec.classic.records import GroupRecord
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.context import Spec, only
from rota.spec.offset_delete import CONSUMER
from rota.spec.offset_log import commit_error
from rota.spec.offset_state import GroupForgotten, GroupForgottenAnswer, Offsets, OffsetStep, OffsetSteps
from rota.spec.vocabulary import AppendError

DELETION_HANDLER = ("admin.deletion-failed", "admin.deletion-stored")
FORGET_HANDLER = ("admin.offsets-wait", "admin.offsets-forgotten")
FORGOTTEN_HANDLER = ("admin.offsets-kept", "admin.offsets-forgotten")


@rule("admin.deletion-failed", source="upstream CoordinatorRuntime")
def deletion_failed(spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None) -> Steps:
    """The tombstones could not be stored.

    The Java coordinator takes the group back, unless it was made anew meanwhile, and whoever waits is
    told; after a time-out it goes on without the group, for its tombstone may be stored after all. The
    Scala coordinator has removed it for good.

    Left out: ids that were handed out come back, too. Nobody knows them but a client that was told that
    the deletion failed, or their owner, who asks for another.
    """
    if error is None:
        return ()
    stored = error is AppendError.REQUEST_TIMED_OUT
    step = Step(group)
    if spec.profile.deletion_waits_for_record:
        if group is None and not stored:
            step = step.to(_former(record))
        step = step.tell_offsets(GroupForgottenAnswer(stored))
    if record.answer is None:
        return only(step)
    message = record.answer.message
    if not isinstance(message, DeleteGroupsReply):
        raise TypeError(f"no answer to a deletion: {message!r}")
    return only(step.answer(record.answer.to, replace(message, error_code=commit_error(spec, error))))


def _former(record: GroupRecord) -> Group:
    return Group(
        generation_id=record.generation_id,
        protocol_type=record.protocol_type,
        subscriptions=() if record.protocol_type == CONSUMER else None,
    )


@rule("admin.deletion-stored", source="upstream GroupCoordinatorShard#deleteGroups")
def deletion_stored(spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None) -> Steps:
    """The tombstones are stored: the offsets are gone for every reader, and who waits is told.

    Left out: what the log keeps of the group until it is compacted. The last record counts when a group
    is loaded, and that is the tombstone.
    """
    step = Step(group)
    if spec.profile.deletion_waits_for_record:
        step = step.tell_offsets(GroupForgottenAnswer(stored=True))
    return only(step if record.answer is None else step.answer(record.answer.to, record.answer.message))


@rule("admin.offsets-wait", source="upstream GroupCoordinatorShard#deleteGroups")
def offsets_wait(spec: Spec, offsets: Offsets, forgotten: GroupForgotten) -> OffsetSteps:
    """Until the log has the tombstones the offsets are still there for those who read them.

    Left out: the Java coordinator's timeline of states by position in the log. A count of tombstones in
    flight (`Offsets.leaving`) tells a reader all that the older state of the group would: that there
    still is one.
    """
    if not spec.profile.deletion_waits_for_record:
        return ()
    return (OffsetStep(replace(offsets, leaving=offsets.leaving + 1), line=(forgotten,)),)


@rule("admin.offsets-kept", source="upstream CoordinatorRuntime")
def offsets_kept(spec: Spec, offsets: Offsets, forgotten: GroupForgotten, stored: bool) -> OffsetSteps:
    """The tombstones could not be stored: nothing has changed.

    Nothing is left out: the offsets were not touched when the deletion began, so there is nothing to put
    back but the count of tombstones in flight.
    """
    return () if stored else (OffsetStep(replace(offsets, leaving=offsets.leaving - 1)),)


@rule("admin.offsets-forgotten", source="upstream OffsetMetadataManager#deleteAllOffsets")
def offsets_forgotten(
    spec: Spec, offsets: Offsets, forgotten: GroupForgotten, stored: bool = True
) -> OffsetSteps:
    """The group's offsets are gone, and those of open transactions too, unless the group has expired.

    What is still in flight is ignored where deletions do not wait for the log (`offsets.stored`).

    Left out: a tombstone per partition, which upstream writes in one batch with the group's. They are
    stored or lost together, so the group's stands for all.
    """
    left = offsets.without(offsets.committed, expired=True) if forgotten.expired else Offsets()
    if not spec.profile.deletion_waits_for_record:
        return (OffsetStep(left),)
    return (OffsetStep(replace(left, appended=offsets.appended, leaving=offsets.leaving - 1)),)
