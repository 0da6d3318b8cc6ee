"""Producers with numbers on one partition: a batch sent again is answered as before, a gap is refused, and
where a transaction is open nothing behind its first record is stable.

Source: KIP-98, KIP-360, KIP-890; upstream's ProducerAppendInfo, ProducerStateEntry, ProducerStateManager and
TransactionIndex, and a running Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rota.server.errors import ErrorCode, Refusal
from rota.wire.records import BatchInfo

REMEMBERED = 5
"""Batches a producer may send again: as many as it may have in flight."""

_SEQUENCES = 2**31
"""Sequence numbers begin again at 0 after this many."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A batch that was appended: its sequence numbers, and where it is in the log."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    max_timestamp: int


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    """A transaction whose records are not to be read: from its first record to its marker."""

    producer_id: int
    first_offset: int
    last_offset: int


@dataclass(slots=True)
class _Producer:
    """`last_offset` is that of its newest batch or marker; `coordinator_epoch` -1 before the first marker."""

    epoch: int
    sent: tuple[Sent, ...] = ()
    last_offset: int = -1
    last_timestamp: int = -1
    coordinator_epoch: int = -1


class Producers:
    """The producers whose last batch or marker the partition's log still has, by id, and their transactions.

    `aborted` has the transactions that were aborted, in order of their markers.
    """

    def __init__(self) -> None:
        self.aborted: list[AbortedTransaction] = []
        self._known: dict[int, _Producer] = {}
        self._open: dict[int, int] = {}  # first offsets, which ascend

    def __len__(self) -> int:
        return len(self._known)

    @property
    def first_unstable(self) -> int | None:
        """The first offset of the transaction that has been open for longest, None if none is open."""
        return next(iter(self._open.values()), None)

    def is_open(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether a producer has records of an open transaction here, with this epoch."""
        return producer_id in self._open and self._known[producer_id].epoch == producer_epoch

    def duplicate(self, info: BatchInfo) -> Sent | None:
        """The batch that this one repeats, if it is among the last of its producer. To be asked first."""
        known = self._known.get(info.producer_id)
        if known is None or known.epoch != info.producer_epoch:
            return None
        numbers = (info.base_sequence, _last_sequence(info))
        return next(
            (sent for sent in known.sent if (sent.first_sequence, sent.last_sequence) == numbers), None
        )

    def check_epoch(self, info: BatchInfo) -> None:
        """Whether nobody has taken the producer's place. Errors: Refusal with INVALID_PRODUCER_EPOCH."""
        known = self._known.get(info.producer_id)
        if known is not None and info.producer_epoch < known.epoch:
            text = f"epoch {info.producer_epoch} of producer {info.producer_id}, which has {known.epoch}"
            raise Refusal(ErrorCode.INVALID_PRODUCER_EPOCH, text)

    def check(self, info: BatchInfo) -> None:
        """Whether the batch may follow. A producer that is not known may begin at any number.

        Errors: Refusal with INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, or INVALID_TXN_STATE for
        records outside of the transaction that their producer has open.
        """
        known = self._known.get(info.producer_id)
        if known is None:
            return
        self.check_epoch(info)
        expected = 0
        if info.producer_epoch == known.epoch and known.sent:
            expected = (known.sent[-1].last_sequence + 1) % _SEQUENCES
        if info.base_sequence != expected:
            text = f"sequence number {info.base_sequence} of producer {info.producer_id}, not {expected}"
            raise Refusal(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, text)
        if info.producer_id in self._open and not info.is_transactional:
            text = f"producer {info.producer_id} has a transaction open, and these records are not in it"
            raise Refusal(ErrorCode.INVALID_TXN_STATE, text)

    def appended(self, info: BatchInfo, base_offset: int) -> None:
        """The batch has been checked and is in the log now."""
        known = self._of_epoch(info.producer_id, info.producer_epoch)
        last_offset = base_offset + info.last_offset - info.base_offset
        numbers = (info.base_sequence, _last_sequence(info))
        sent = Sent(*numbers, base_offset, last_offset, info.max_timestamp)
        known.sent = (*known.sent, sent)[-REMEMBERED:]
        known.last_offset, known.last_timestamp = last_offset, info.max_timestamp
        if info.is_transactional:
            self._open.setdefault(info.producer_id, base_offset)

    def ended(self, producer_id: int, epoch: int, is_commit: bool, offset: int, now_ms: int) -> None:
        """The marker of a producer's transaction is in the log; its epoch is the producer's from here on."""
        known = self._of_epoch(producer_id, epoch)
        known.last_offset, known.last_timestamp, known.coordinator_epoch = offset, now_ms, 0
        first_offset = self._open.pop(producer_id, None)
        if first_offset is not None and not is_commit:
            self.aborted.append(AbortedTransaction(producer_id, first_offset, offset))

    def ends_with(self, producer_id: int, last_offset: int) -> bool:
        """Whether a producer's last batch is the one that ends there."""
        known = self._known.get(producer_id)
        return known is not None and known.sent[-1].last_offset == last_offset

    def deleted(self, producer_id: int, last_offset: int) -> None:
        """The log no longer has that batch; a producer without a later one is forgotten."""
        known = self._known.get(producer_id)
        if known is not None and known.last_offset <= last_offset and producer_id not in self._open:
            del self._known[producer_id]

    def begins_at(self, log_start: int) -> None:
        """The log begins there now: transactions that were aborted before are of no interest any more."""
        self.aborted = [each for each in self.aborted if each.last_offset >= log_start]

    def described(self) -> Iterator[dict[str, int]]:
        """Every producer, as DescribeProducers tells it."""
        for producer_id, known in self._known.items():
            yield {
                "producer_id": producer_id,
                "producer_epoch": known.epoch,
                "last_sequence": known.sent[-1].last_sequence if known.sent else -1,
                "last_timestamp": known.last_timestamp,
                "coordinator_epoch": known.coordinator_epoch,
                "current_txn_start_offset": self._open.get(producer_id, -1),
            }

    def _of_epoch(self, producer_id: int, epoch: int) -> _Producer:
        """What is known of a producer; with another epoch than before its sequence numbers begin anew."""
        known = self._known.get(producer_id)
        if known is None:
            known = self._known[producer_id] = _Producer(epoch)
        elif known.epoch != epoch:
            known.epoch, known.sent = epoch, ()
        return known


def _last_sequence(info: BatchInfo) -> int:
    return (info.base_sequence + info.last_offset - info.base_offset) % _SEQUENCES
