"""Offsets of transactions: TxnOffsetCommit, and what the end of a transaction does with them.

The transaction coordinator's part is left out: it verifies the transaction before the group is looked at,
and what it refuses changes nothing here. The end of a transaction is a marker in the log, which is written
until it is there, so it never fails.
"""

from __future__ import annotations

from rota.kernel import replace
from rota.kernel.rules import rule
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState
from rota.spec.context import Spec, only, request_of
from rota.spec.messages import Call
from rota.spec.offset_messages import TxnOffsetCommitRequest
from rota.spec.offset_state import Offsets, OffsetStep, OffsetSteps, PendingOffset, TransactionEnd
from rota.spec.offsets import CHECKS, OMM, committed, member_error, refuse
from rota.spec.vocabulary import ErrorCode

HANDLER = (
    "hosting.inactive",
    "transactions.commit-invalid-group-id",
    "hosting.loading",
    "hosting.elsewhere",
    "transactions.commit-unknown-group",
    "transactions.commit-without-membership",
    "transactions.commit-unknown-member",
    "transactions.commit-fenced-instance-id",
    "transactions.commit-illegal-generation",
    "transactions.commit",
)
END_HANDLER = ("transactions.aborted", "transactions.ended")

VALIDATE = OMM + "validateTransactionalOffsetCommit"
END = OMM + "replayEndTransactionMarker"


def _request(call: Call) -> TxnOffsetCommitRequest:
    return request_of(call, TxnOffsetCommitRequest)


@rule(
    "transactions.commit-invalid-group-id",
    source="upstream GroupCoordinatorService#commitTransactionalOffsets",
)
def invalid_group_id(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The empty group id is refused, which OffsetCommit accepts.

    Left out: an empty transactional id and its authorisation (TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    both decided in KafkaApis. A transaction that is refused leaves nothing in the group.
    """
    return () if _request(call).group_id else refuse(group, call, _request(call), ErrorCode.INVALID_GROUP_ID)


@rule(
    "transactions.commit-unknown-group", source=VALIDATE + "; GroupCoordinator#handleTxnCommitOffsets (3.x)"
)
def unknown_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A transactional commit with a generation needs a group.

    The Scala coordinator makes the group first, and then finds that its sender is no member of it.

    Left out: the verification of the transaction, which comes before or after this check depending on the
    coordinator. Both refusals leave the offsets as they were, so their order shows in the error alone,
    and only to a producer whose transaction is not open.
    """
    if group is not None or _request(call).generation_id < 0:
        return ()
    if spec.profile.absent_group_transaction_creates:
        return refuse(Group(), call, _request(call), ErrorCode.UNKNOWN_MEMBER_ID)
    return refuse(group, call, _request(call), ErrorCode.ILLEGAL_GENERATION)


@rule("transactions.commit-without-membership", source=CHECKS + "; " + VALIDATE)
def commit_without_membership(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Without generation and ids, as before version 3, anybody may commit to a group in any state.

    To an Empty group a generation below 0 is enough; where there is no group, a simple one is made.

    Left out: the Java coordinator's undoing of a simple group whose first offsets are not stored, as for
    `offsets.commit-without-membership`. An Empty group without offsets answers a fetch as no group does.
    """
    request = _request(call)
    empty = group is None or group.state is GroupState.EMPTY
    nameless = not request.member_id and request.group_instance_id is None
    if request.generation_id >= 0 or not (empty or nameless):
        return ()
    return only(committed(spec, Step(group or Group()), call, request, request.producer_id))


@rule("transactions.commit-unknown-member", source="KIP-447; " + CHECKS, since="TxnOffsetCommit v3")
def unknown_member(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A transactional commit of someone who is no member of a group with members is refused.

    Nothing is left out: an id or an instance id is enough to be asked for membership, even with
    generation -1, as upstream's condition has it.
    """
    if member_error(spec, group, _request(call)) is not ErrorCode.UNKNOWN_MEMBER_ID:
        return ()
    return refuse(group, call, _request(call), ErrorCode.UNKNOWN_MEMBER_ID)


@rule("transactions.commit-fenced-instance-id", source="KIP-447; " + CHECKS, since="TxnOffsetCommit v3")
def fenced_instance_id(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A transactional commit with an instance id that another member id holds is fenced.

    Left out: the producer's epoch, by which a zombie producer is fenced as well. The transaction
    coordinator does that before the group is asked; this is the fence by membership.
    """
    if member_error(spec, group, _request(call)) is not ErrorCode.FENCED_INSTANCE_ID:
        return ()
    return refuse(group, call, _request(call), ErrorCode.FENCED_INSTANCE_ID)


@rule("transactions.commit-illegal-generation", source="KIP-447; " + CHECKS, since="TxnOffsetCommit v3")
def illegal_generation(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A transactional commit of a member must name the current generation.

    Left out: that a producer aborts its transaction when it is told so. The transaction may end either
    way at any time here (`rota.environment.broker.offsets`), and what was refused is in neither.
    """
    if group is None or _request(call).generation_id == group.generation_id:
        return ()
    return refuse(group, call, _request(call), ErrorCode.ILLEGAL_GENERATION)


@rule("transactions.commit", source=OMM + "commitTransactionalOffset")
def commit(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A member commits in any state, also in CompletingRebalance; it is no sign of life.

    Left out: when the producer's transaction began, and that the transaction coordinator was told of the
    group's partition (AddOffsetsToTxn). An offset is pending from the moment it is stored until a marker
    of its producer, whatever came before.
    """
    return only(committed(spec, Step(group), call, _request(call), _request(call).producer_id))


@rule("transactions.aborted", source=END)
def aborted(spec: Spec, offsets: Offsets, end: TransactionEnd) -> OffsetSteps:
    """An aborted transaction's offsets are dropped: if a commit follows, it finds nothing.

    Left out: the epoch of the producer and of the coordinator in the marker. The log takes a marker only
    from the transaction's own coordinator, so a stale one does not get there.
    """
    if end.committed:
        return ()
    return (OffsetStep(replace(offsets, pending=_of_others(offsets, end))),)


def _of_others(offsets: Offsets, end: TransactionEnd) -> tuple[PendingOffset, ...]:
    return tuple(one for one in offsets.pending if one.record.producer_id != end.producer_id)


@rule("transactions.ended", source=END + "; GroupMetadata#completePendingTxnOffsetCommit (3.x)")
def ended(spec: Spec, offsets: Offsets, end: TransactionEnd) -> OffsetSteps:
    """A committed transaction's offsets count from now on, if no later record has set the offset.

    It is the place of the offset in the log that counts, not that of the end: an offset that was
    committed meanwhile stays, and one of another transaction that is older is overtaken by this one.

    Left out: positions in the log, which upstream compares. `PendingOffset.overtaken` remembers the
    outcome of the comparison from the moment a later record came.
    """
    after = offsets.committed
    pending: list[PendingOffset] = []
    for one in offsets.pending:
        if one.record.producer_id != end.producer_id:
            pending.append(one)
        elif not one.overtaken:
            after = after.set(one.record.key, one.record.value)
            pending = [replace(x, overtaken=x.overtaken or x.record.key == one.record.key) for x in pending]
    return (OffsetStep(replace(offsets, committed=after, pending=tuple(pending))),)
