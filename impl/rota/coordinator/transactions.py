"""TxnOffsetCommit, and the end of transactions: offsets that count only if their transaction commits.

Source: Kafka's Java coordinator, OffsetMetadataManager#commitTransactionalOffset,
#validateTransactionalOffsetCommit and #replayEndTransactionMarker; KIP-447. Whether the producer may commit
is the transaction coordinator's business and was asked before.
"""

from rota.coordinator import offsets
from rota.coordinator.group import Group, GroupState
from rota.coordinator.ledger import DeferredEvent, ReplyTo
from rota.coordinator.messages import ErrorCode
from rota.coordinator.offset_messages import (
    OffsetCommit,
    TransactionEnded,
    TransactionMarker,
    TxnOffsetCommit,
)
from rota.coordinator.offset_store import OffsetStore
from rota.coordinator.purgatory import ParkedRequest
from rota.coordinator.step import Step


def commit_error(group: Group | None, request: TxnOffsetCommit) -> int:
    """The first check that a TxnOffsetCommit fails, or NONE; `group` is None if there is none of its id.

    One that names neither generation nor member nor instance, as in old versions, passes in every state. A
    rebalance stops none.
    """
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group is None:
        return ErrorCode.NONE if request.generation_id < 0 else ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    nameless = request.generation_id < 0 and not request.member_id and request.group_instance_id is None
    if nameless or (request.generation_id < 0 and group.state is GroupState.EMPTY):
        return ErrorCode.NONE
    error = group.member_error(request.member_id, request.group_instance_id)
    if error == ErrorCode.NONE and request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def txn_offset_commit(
    step: Step,
    store: OffsetStore,
    request: TxnOffsetCommit,
    parked: ParkedRequest,
    timestamp_ms: int,
) -> None:
    """Carry out a TxnOffsetCommit that passed `commit_error`. It is no sign of a member's life."""
    plain = OffsetCommit(request.group_id, request.topics)
    reply, records = offsets.checked(step, plain, timestamp_ms)
    offsets.write(step, store, request.group_id, records, parked, reply, request.producer_id)


def end(
    step: Step, store: OffsetStore, producer_id: int, is_commit: bool, parked: ParkedRequest | None = None
) -> None:
    """Write a transaction's marker; its offsets count, or are forgotten, when the log has answered.

    If the log refuses nothing has happened: who ended the transaction, and waits as `parked`, tries again.
    """

    def effect(reply_to: ReplyTo, error_code: int) -> None:
        if error_code == ErrorCode.NONE:
            store.end_transaction(producer_id, is_commit)
        if parked is not None:
            reply_to(parked, TransactionEnded(error_code))

    entry = DeferredEvent(effect)
    store.deferred.add(entry)
    step.append_deferred("", TransactionMarker(producer_id, is_commit), entry)
