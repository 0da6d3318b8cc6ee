"""A transactional id: who its producer is, and the transaction that it has open, ends or has ended.

Source: KIP-98, KIP-360, KIP-588, KIP-890; upstream's TransactionMetadata.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

Partition = tuple[str, int]
"""A topic and the index of a partition."""

NO_EPOCH = -1

LAST_EPOCH = 32_766
"""The last epoch of a producer id; one more is kept for the marker that fences it."""

TRANSACTION_BYTES, PARTITION_BYTES = 512, 128
"""What a transactional id, and a partition in a transaction, count for in memory beside their names."""


class State(StrEnum):
    """Where a transactional id is, by Kafka's names."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


@dataclass(slots=True)
class Transaction:
    """What is known of a transactional id.

    `last_epoch` is the one before `producer_epoch` as long as its holder may ask again with it (-1: nobody
    may); `previous_id` the producer id whose epochs are used up. `started_ms` is the wall clock's, -1 before
    the first transaction. `next_id`: the producer id that follows when the markers are written, -1 for none.
    """

    transactional_id: str
    timeout_ms: int
    producer_id: int
    producer_epoch: int = NO_EPOCH
    last_epoch: int = NO_EPOCH
    previous_id: int = -1
    next_id: int = -1
    state: State = State.EMPTY
    partitions: set[Partition] = field(default_factory=set)
    started_ms: int = -1

    @property
    def is_ending(self) -> bool:
        """Whether its markers are being written."""
        return self.state in (State.PREPARE_COMMIT, State.PREPARE_ABORT)

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open."""
        return self.state in (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)

    @property
    def is_exhausted(self) -> bool:
        """Whether its producer id has no further epoch."""
        return self.producer_epoch >= LAST_EPOCH

    @property
    def held(self) -> int:
        """Bytes that it counts for."""
        names = sum(PARTITION_BYTES + len(topic) for topic, _ in self.partitions)
        return TRANSACTION_BYTES + len(self.transactional_id) + names

    def initialised(self, timeout_ms: int) -> None:
        """Its producer begins anew: there is no transaction any more."""
        self.state, self.timeout_ms = State.EMPTY, timeout_ms
        self.partitions.clear()
        self.started_ms = -1
