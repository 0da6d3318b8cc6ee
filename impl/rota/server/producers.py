"""Idempotent producers on one partition: a batch sent again is answered as before, a gap is refused.

Source: KIP-98, KIP-360; upstream's ProducerAppendInfo and ProducerStateEntry.
"""

from __future__ import annotations

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


@dataclass(slots=True)
class _Producer:
    epoch: int
    sent: tuple[Sent, ...] = ()


class Producers:
    """The producers whose last batch the partition's log still has, by id."""

    def __init__(self) -> None:
        self._known: dict[int, _Producer] = {}

    def __len__(self) -> int:
        return len(self._known)

    def duplicate(self, info: BatchInfo) -> Sent | None:
        """The batch that this one repeats, if it is among the last of its producer. To be asked first."""
        known = self._known.get(info.producer_id)
        if known is None or known.epoch != info.producer_epoch:
            return None
        numbers = (info.base_sequence, _last_sequence(info))
        return next(
            (sent for sent in known.sent if (sent.first_sequence, sent.last_sequence) == numbers), None
        )

    def check(self, info: BatchInfo) -> None:
        """Whether the batch may follow. A producer that is not known may begin at any number.

        Errors: Refusal with INVALID_PRODUCER_EPOCH or OUT_OF_ORDER_SEQUENCE_NUMBER.
        """
        known = self._known.get(info.producer_id)
        if known is None:
            return
        if info.producer_epoch < known.epoch:
            text = f"epoch {info.producer_epoch} of producer {info.producer_id}, which has {known.epoch}"
            raise Refusal(ErrorCode.INVALID_PRODUCER_EPOCH, text)
        expected = 0 if info.producer_epoch > known.epoch else (known.sent[-1].last_sequence + 1) % _SEQUENCES
        if info.base_sequence != expected:
            text = f"sequence number {info.base_sequence} of producer {info.producer_id}, not {expected}"
            raise Refusal(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, text)

    def appended(self, info: BatchInfo, base_offset: int) -> None:
        """The batch has been checked and is in the log now."""
        known = self._known.get(info.producer_id)
        if known is None or known.epoch != info.producer_epoch:
            known = self._known[info.producer_id] = _Producer(info.producer_epoch)
        last_offset = base_offset + info.last_offset - info.base_offset
        numbers = (info.base_sequence, _last_sequence(info))
        sent = Sent(*numbers, base_offset, last_offset, info.max_timestamp)
        known.sent = (*known.sent, sent)[-REMEMBERED:]

    def ends_with(self, producer_id: int, last_offset: int) -> bool:
        """Whether a producer's last batch is the one that ends there."""
        known = self._known.get(producer_id)
        return known is not None and known.sent[-1].last_offset == last_offset

    def deleted(self, producer_id: int, last_offset: int) -> None:
        """The log no longer has that batch; a producer without a later one is forgotten."""
        known = self._known.get(producer_id)
        if known is not None and known.sent[-1].last_offset <= last_offset:
            del self._known[producer_id]


def _last_sequence(info: BatchInfo) -> int:
    return (info.base_sequence + info.last_offset - info.base_offset) % _SEQUENCES
