"""Whether a transaction may be ended as its producer asks, by the state that it is in.

Source: KIP-98, KIP-890; upstream's TransactionCoordinator#endTransaction and #endTransactionWithTV1, and a
running Kafka 4.4.0.
"""

from __future__ import annotations

from rota.transactions.errors import ErrorCode
from rota.transactions.transaction import LAST_EPOCH, State, Transaction


def verdict(
    found: Transaction, producer_id: int, producer_epoch: int, is_commit: bool, bumps: bool
) -> int | None:
    """The answer that an EndTxn gets at once: NONE if it has been done before; None if it is to be done now.

    `bumps`: the epoch grows with it, so that a request that is sent again has the epoch before.
    """
    rotated = _is_sent_again_with_last_epoch(found, producer_id, producer_epoch) and bumps
    if found.producer_id != producer_id and not rotated:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    sent_again = rotated or (bumps and producer_epoch == found.producer_epoch - 1)
    if not _has_epoch(found, producer_epoch, sent_again, bumps):
        return ErrorCode.PRODUCER_FENCED
    if found.is_ending:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if found.state is State.ONGOING:
        return None
    return _after_the_end(found, is_commit, bumps, sent_again)


def _has_epoch(found: Transaction, producer_epoch: int, sent_again: bool, bumps: bool) -> bool:
    """Whether the epoch is the current one, or the one before it in a request that is sent again."""
    if sent_again:
        return found.state not in (State.ONGOING, State.EMPTY)
    if bumps and found.is_ending:
        return False  # whoever has the epoch of the marker wants to end what has not begun
    return producer_epoch == found.producer_epoch


def _after_the_end(found: Transaction, is_commit: bool, bumps: bool, sent_again: bool) -> int | None:
    """Where no transaction is open: what was done is done, and with growing epochs nothing can be aborted."""
    done = found.state is (State.COMPLETE_COMMIT if is_commit else State.COMPLETE_ABORT)
    if not bumps:
        return ErrorCode.NONE if done else ErrorCode.INVALID_TXN_STATE
    if sent_again:
        return ErrorCode.NONE if done else ErrorCode.INVALID_TXN_STATE
    return ErrorCode.INVALID_TXN_STATE if is_commit else None


def _is_sent_again_with_last_epoch(found: Transaction, producer_id: int, producer_epoch: int) -> bool:
    """Whether the producer has a new id since, and asks with the last epoch of the one before."""
    return found.previous_id == producer_id and producer_epoch == LAST_EPOCH and found.producer_epoch == 0
