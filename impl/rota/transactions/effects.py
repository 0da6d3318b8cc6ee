"""What comes out of the transaction coordinator: answers, timers, and markers that are to be written."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from rota.transactions.errors import ErrorCode
from rota.transactions.transaction import Partition

Token = Hashable
"""The address of an answer, which comes back with it."""


class InitReply(NamedTuple):
    """The answer to InitProducerId."""

    error_code: int = ErrorCode.NONE
    producer_id: int = -1
    producer_epoch: int = -1


class EndReply(NamedTuple):
    """The answer to EndTxn: since version 5 with the id and the epoch that the producer goes on with."""

    error_code: int = ErrorCode.NONE
    producer_id: int = -1
    producer_epoch: int = -1


class Arm(NamedTuple):
    """Fire the timer of a transactional id after a delay; it is armed no more than once at a time."""

    transactional_id: str
    delay_ms: int


class Cancel(NamedTuple):
    """Forget the timer of a transactional id."""

    transactional_id: str


class WriteMarkers(NamedTuple):
    """The end of a transaction is to be written to all its partitions; then `written` is called, once."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    partitions: tuple[Partition, ...]


class Effects(NamedTuple):
    """All effects of one step: timers first, then markers, then answers."""

    timers: tuple[Arm | Cancel, ...] = ()
    markers: tuple[WriteMarkers, ...] = ()
    replies: tuple[tuple[Token, EndReply], ...] = ()


NOTHING = Effects()
