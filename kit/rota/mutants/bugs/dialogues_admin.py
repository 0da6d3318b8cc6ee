"""Mistakes in transactions, the administration and expiry that no property of the world sees.

Marked like those in `rota.mutants.bugs.dialogues`.
"""

from __future__ import annotations

from dataclasses import replace

from rota.mutants.bugs.retell import retold, untold
from rota.mutants.mutant import CHECKLIST, SCENARIOS, bug
from rota.spec import Call, ErrorCode, Group, GroupRecord, Hosting, Spec
from rota.spec import admin as admin_rules
from rota.spec import admin_deletion as deletion_rules
from rota.spec import offsets as offset_rules
from rota.spec import transactions as transaction_rules
from rota.spec.admin_messages import DescribeGroupsReply, ListGroupsRequest
from rota.spec.classic.step import Steps
from rota.spec.context import request_of
from rota.spec.messages import ReplyMessage
from rota.spec.offset_messages import TxnOffsetCommitRequest
from rota.spec.offset_state import (
    Committed,
    Expire,
    GroupForgotten,
    Offsets,
    OffsetStep,
    OffsetSteps,
    RetentionCheck,
    TransactionEnd,
)
from rota.spec.vocabulary import AppendError

EXPIRE = "16b-offsets-of-an-empty-group-expire"
UNREAD = "16g-offsets-that-nobody-reads-expire"
DELETES_GROUP = "16c-operator-deletes-a-group"
NOT_DELETED = "16f-deletion-is-not-stored"
WHO_TRANSACTS = "24c-who-may-commit-in-a-transaction"


# -- transactions -----------------------------------------------------------------------------------------
@bug("transactions.commit-invalid-group-id", dies_in=SCENARIOS, by=WHO_TRANSACTS)
def nameless_group_transacts(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The nameless group may be committed to in a transaction."""
    return ()


@bug("transactions.commit-without-membership", dies_in=CHECKLIST, by="testFetchTxnOffsetsWithAbort")
def producers_must_be_members(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A producer that names nobody is refused."""
    return ()


@bug("transactions.commit", dies_in=CHECKLIST, by="testTxnCommitOffsetWithKnownMemberId")
def transaction_refused_while_completing(spec: Spec, group: Group | None, call: Call) -> Steps:
    """In CompletingRebalance a commit in a transaction is refused like any other."""
    request = request_of(call, TxnOffsetCommitRequest)
    return offset_rules.refuse(group, call, request, ErrorCode.REBALANCE_IN_PROGRESS)


@bug("transactions.aborted", dies_in=CHECKLIST, by="testFetchTxnOffsetsWithAbort")
def abort_commits(spec: Spec, offsets: Offsets, end: TransactionEnd) -> OffsetSteps:
    """An aborted transaction's offsets count."""
    return ()


@bug("transactions.ended", dies_in=SCENARIOS, by="24b-a-later-commit-wins-over-a-transaction")
def end_decides(spec: Spec, offsets: Offsets, end: TransactionEnd) -> OffsetSteps:
    """The place of the transaction's end in the log counts, not that of its offsets."""
    pending = tuple(replace(one, overtaken=False) for one in offsets.pending)
    return transaction_rules.ended(spec, replace(offsets, pending=pending), end)


# -- administration ---------------------------------------------------------------------------------------
@bug("admin.describe-unknown-group", dies_in=SCENARIOS, by=EXPIRE)
def absent_group_is_empty(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A group that does not exist is described as an Empty one."""
    return () if group is not None else admin_rules.describe(spec, Group(), call)


@bug("admin.describe", dies_in=CHECKLIST, by="testDescribeGroupRebalancing")
def assignments_forgotten(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Nobody's part is told."""
    return retold(admin_rules.describe(spec, group, call), _without_parts)


def _without_parts(message: ReplyMessage) -> ReplyMessage:
    if not isinstance(message, DescribeGroupsReply):
        return message
    return replace(message, members=tuple(replace(one, member_assignment=b"") for one in message.members))


@bug("admin.list", dies_in=CHECKLIST, by="testListGroupsWithTypes")
def filters_ignored(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Every group is listed, whatever is asked for."""
    if group is None or call.hosting is not Hosting.ACTIVE:
        return admin_rules.list_groups(spec, group, call)
    asked = request_of(call, ListGroupsRequest)
    bare = replace(call, request=replace(asked, states_filter=(), types_filter=()))
    return admin_rules.list_groups(spec, group, bare)


@bug("admin.delete-unknown-group", dies_in=CHECKLIST, by="testClassicGroupMaybeDelete")
def absent_group_deleted(spec: Spec, group: Group | None, call: Call) -> Steps:
    """To delete what is not there is no error."""
    return () if group is not None else admin_rules.delete(spec, Group(), call)


@bug("admin.deletion-failed", dies_in=SCENARIOS, by=NOT_DELETED)
def group_gone_anyway(
    spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None
) -> Steps:
    """A group whose tombstone could not be stored is gone all the same."""
    steps = deletion_rules.deletion_failed(spec, group, record, error)
    return tuple(replace(step, group=group) for step in steps)


@bug("admin.deletion-stored", dies_in=SCENARIOS, by=DELETES_GROUP)
def deletion_unanswered(
    spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None
) -> Steps:
    """Who deletes a group is never told that it is done."""
    return retold(deletion_rules.deletion_stored(spec, group, record, error), untold)


@bug("admin.offsets-wait", dies_in=SCENARIOS, by=NOT_DELETED)
def offsets_go_first(spec: Spec, offsets: Offsets, forgotten: GroupForgotten) -> OffsetSteps:
    """The offsets of a group that is deleted are gone before the log knows."""
    waiting = deletion_rules.offsets_wait(spec, offsets, forgotten)
    return tuple(replace(step, offsets=Offsets()) for step in waiting)


@bug("admin.offsets-kept", dies_in=SCENARIOS, by=NOT_DELETED)
def offsets_lost_with_the_tombstone(
    spec: Spec, offsets: Offsets, forgotten: GroupForgotten, stored: bool
) -> OffsetSteps:
    """When a group's tombstone cannot be stored its offsets are gone."""
    return () if stored else (OffsetStep(Offsets()),)


@bug("admin.offsets-forgotten", dies_in=SCENARIOS, by=DELETES_GROUP)
def offsets_outlive_the_group(
    spec: Spec, offsets: Offsets, forgotten: GroupForgotten, stored: bool = True
) -> OffsetSteps:
    """The offsets of a group that is deleted are still there for the next one of its name."""
    return (OffsetStep(offsets),)


# -- expiry -----------------------------------------------------------------------------------------------
@bug("expiry.simple-group", dies_in=SCENARIOS, by=UNREAD)
def simple_groups_are_empty_ones(spec: Spec, group: Group, check: RetentionCheck) -> Steps:
    """The offsets of a group without members expire together, when the group is old enough."""
    return ()


@bug("expiry.expired", dies_in=SCENARIOS, by=EXPIRE)
def nothing_is_ever_old(value: Committed, now_ms: int, base_ms: int | None, retention_ms: int) -> bool:
    """No offset is ever too old."""
    return False


@bug("expiry.offsets-expired", dies_in=SCENARIOS, by=UNREAD)
def old_offsets_stay(spec: Spec, offsets: Offsets, expire: Expire) -> OffsetSteps:
    """Offsets go only together with their group."""
    return (OffsetStep(offsets),)


@bug("expiry.group-unused", dies_in=SCENARIOS, by=EXPIRE)
def group_goes_with_offsets(spec: Spec, offsets: Offsets, expire: Expire) -> OffsetSteps:
    """An Empty group goes at the first look, with offsets that are kept for its members."""
    return (OffsetStep(offsets, removes_group=True),) if expire.removable else ()
