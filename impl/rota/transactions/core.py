"""The transaction coordinator as its caller sees it: requests, timers and written markers in, effects out.

Source: KIP-98, KIP-360, KIP-588, KIP-890; upstream's TransactionCoordinator, TransactionMetadata and
TransactionStateManager, and a running Kafka 4.4.0.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rota.transactions import ending
from rota.transactions.effects import NOTHING, Arm, Cancel, Effects, EndReply, InitReply, Token, WriteMarkers
from rota.transactions.errors import ErrorCode
from rota.transactions.transaction import LAST_EPOCH, NO_EPOCH, Partition, State, Transaction


@dataclass(frozen=True)
class CoordinatorConfig:
    """`transaction_max_timeout_ms`: the longest that a producer may ask for; `max_bytes`: of all ids."""

    transaction_max_timeout_ms: int = 900_000
    max_bytes: int = 16 << 20


class TransactionCoordinator:
    """All transactional ids. `next_producer_id` gives a number that no producer has had.

    `now_ms` is the wall clock's wherever it is asked for. Where `max_bytes` are in use the ids that were used
    longest ago are forgotten, as Kafka does after a week; never one with a transaction that is open.
    """

    def __init__(self, config: CoordinatorConfig, next_producer_id: Callable[[], int]) -> None:
        self._config = config
        self._next_producer_id = next_producer_id
        self._known: OrderedDict[str, Transaction] = OrderedDict()
        self._waiting: dict[str, Token] = {}
        self._held = 0

    def __len__(self) -> int:
        """How many ids are known."""
        return len(self._known)

    @property
    def held(self) -> int:
        """Bytes that all ids count for."""
        return self._held

    def all(self) -> Iterator[Transaction]:
        """Every id that is known, the one used last in the end; not to be changed."""
        return iter(self._known.values())

    def get(self, transactional_id: str) -> Transaction | None:
        """An id that is known; not to be changed."""
        return self._known.get(transactional_id)

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, producer_id: int = -1, producer_epoch: int = NO_EPOCH
    ) -> tuple[InitReply, Effects]:
        """InitProducerId of a transactional producer: it gets an epoch, and whoever had one before is fenced.

        A producer that goes on after an error gives its id and epoch. A transaction that is open is aborted
        first, and the producer asks again meanwhile: CONCURRENT_TRANSACTIONS.
        """
        if not transactional_id or (producer_id == -1) != (producer_epoch == NO_EPOCH):
            return InitReply(ErrorCode.INVALID_REQUEST), NOTHING
        if not 0 < timeout_ms <= self._config.transaction_max_timeout_ms:
            return InitReply(ErrorCode.INVALID_TRANSACTION_TIMEOUT), NOTHING
        found = self._known.get(transactional_id)
        if found is None:
            found = self._created(transactional_id, timeout_ms)
            if found is None:
                return InitReply(ErrorCode.COORDINATOR_NOT_AVAILABLE), NOTHING
        self._known.move_to_end(transactional_id)
        if found.is_ending:
            return InitReply(ErrorCode.CONCURRENT_TRANSACTIONS), NOTHING
        if producer_id != -1 and not _may_go_on(found, producer_id, producer_epoch):
            return InitReply(ErrorCode.PRODUCER_FENCED), NOTHING
        if found.state is State.ONGOING:
            return InitReply(ErrorCode.CONCURRENT_TRANSACTIONS), self._fence(found)
        error = self._next_epoch(found, producer_epoch)
        if error != ErrorCode.NONE:
            return InitReply(error), NOTHING
        self._held -= found.held
        found.initialised(timeout_ms)
        self._held += found.held
        return InitReply(ErrorCode.NONE, found.producer_id, found.producer_epoch), NOTHING

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[Partition],
        now_ms: int,
    ) -> tuple[int, Effects]:
        """AddPartitionsToTxn: partitions are in the transaction, which begins if none is open."""
        error = self.error_of(transactional_id, producer_id, producer_epoch)
        if error != ErrorCode.NONE:
            return error, NOTHING
        found = self._known[transactional_id]
        new = {*partitions} - found.partitions
        if found.state is State.ONGOING and not new:
            return ErrorCode.NONE, NOTHING
        before = found.held
        begins = found.state is not State.ONGOING
        kept = set() if begins else {*found.partitions}
        found.partitions |= new
        if not self._has_room(found.held - before, found):
            found.partitions = kept
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, NOTHING
        self._held += found.held - before
        self._known.move_to_end(transactional_id)
        if not begins:
            return ErrorCode.NONE, NOTHING
        found.state, found.started_ms = State.ONGOING, now_ms
        return ErrorCode.NONE, Effects(timers=(Arm(transactional_id, found.timeout_ms),))

    def error_of(self, transactional_id: str, producer_id: int, producer_epoch: int) -> int:
        """Whether a producer may add to its transaction, or NONE."""
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        found = self._known.get(transactional_id)
        if found is None or found.producer_id != producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if found.producer_epoch != producer_epoch:
            return ErrorCode.PRODUCER_FENCED
        return ErrorCode.CONCURRENT_TRANSACTIONS if found.is_ending else ErrorCode.NONE

    def verify(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partition: Partition
    ) -> int:
        """Whether a partition is in the producer's transaction: TRANSACTION_ABORTABLE if it is not."""
        error = self.error_of(transactional_id, producer_id, producer_epoch)
        if error == ErrorCode.NONE and partition not in self._known[transactional_id].partitions:
            return ErrorCode.TRANSACTION_ABORTABLE
        return error

    def end_transaction(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        is_commit: bool,
        bumps: bool,
        token: Token,
    ) -> Effects:
        """EndTxn; its answer comes when the markers are written. `bumps`: the epoch grows (KIP-890), as it
        does since version 5."""
        if not transactional_id:
            return _answered(token, EndReply(ErrorCode.INVALID_REQUEST))
        found = self._known.get(transactional_id)
        if found is None:
            return _answered(token, EndReply(ErrorCode.INVALID_PRODUCER_ID_MAPPING))
        verdict = ending.verdict(found, producer_id, producer_epoch, is_commit, bumps)
        if verdict == ErrorCode.NONE:
            return _answered(token, _went_on(found, bumps))
        if verdict is not None:
            return _answered(token, EndReply(verdict))
        self._known.move_to_end(transactional_id)
        was_open = found.state is State.ONGOING
        if bumps:
            self._bump(found)
        self._waiting[transactional_id] = token
        timers = (Cancel(transactional_id),) if was_open else ()
        return Effects(timers=timers, markers=(self._ended(found, is_commit),))

    def fire(self, transactional_id: str) -> Effects:
        """A transaction has taken longer than its producer wanted: it is aborted, and the producer fenced."""
        found = self._known.get(transactional_id)
        if found is None or found.state is not State.ONGOING:
            return NOTHING
        return self._fence(found, timed_out=True)

    def written(self, transactional_id: str) -> Effects:
        """The markers of a transaction are all written. Raises KeyError if none are being written."""
        found = self._known[transactional_id]
        if not found.is_ending:
            raise KeyError(f"no markers of {transactional_id!r} are being written")
        self._held -= found.held
        found.partitions.clear()
        self._held += found.held
        is_commit = found.state is State.PREPARE_COMMIT
        found.state = State.COMPLETE_COMMIT if is_commit else State.COMPLETE_ABORT
        if found.next_id != -1:
            found.previous_id, found.producer_id = found.producer_id, found.next_id
            found.producer_epoch, found.next_id = 0, -1
        token = self._waiting.pop(transactional_id, None)
        return NOTHING if token is None else _answered(token, _went_on(found, bumps=True))

    def _created(self, transactional_id: str, timeout_ms: int) -> Transaction | None:
        """A new id, None if there is no room for one."""
        made = Transaction(transactional_id, timeout_ms, -1)
        if not self._has_room(made.held):
            return None
        made.producer_id = self._next_producer_id()
        self._known[transactional_id] = made
        self._held += made.held
        return made

    def _next_epoch(self, found: Transaction, expected: int) -> int:
        """The producer's next epoch, or that which it has been given already and has not heard of."""
        if found.is_exhausted and expected in (NO_EPOCH, found.producer_epoch):
            found.previous_id, found.producer_id = found.producer_id, self._next_producer_id()
            # Who is behind an epoch that is used up may ask again with it.
            found.last_epoch = NO_EPOCH if expected == NO_EPOCH else found.producer_epoch
            found.producer_epoch = 0
        elif expected == NO_EPOCH or found.producer_epoch == NO_EPOCH:
            found.producer_epoch, found.last_epoch = found.producer_epoch + 1, NO_EPOCH
        elif expected == found.producer_epoch:
            found.producer_epoch, found.last_epoch = found.producer_epoch + 1, found.producer_epoch
        elif expected != found.last_epoch:
            return ErrorCode.PRODUCER_FENCED
        return ErrorCode.NONE

    def _bump(self, found: Transaction) -> None:
        """The epoch of the marker and of what comes behind it; with the last one a new id comes behind it."""
        if found.is_exhausted:
            found.next_id = self._next_producer_id()
        found.last_epoch, found.producer_epoch = found.producer_epoch, found.producer_epoch + 1

    def _fence(self, found: Transaction, timed_out: bool = False) -> Effects:
        """An open transaction is aborted with the next epoch, which nobody is told."""
        found.last_epoch, found.producer_epoch = (
            found.producer_epoch,
            min(found.producer_epoch, LAST_EPOCH) + 1,
        )
        timers = () if timed_out else (Cancel(found.transactional_id),)
        return Effects(timers=timers, markers=(self._ended(found, is_commit=False),))

    def _ended(self, found: Transaction, is_commit: bool) -> WriteMarkers:
        found.state = State.PREPARE_COMMIT if is_commit else State.PREPARE_ABORT
        partitions = tuple(sorted(found.partitions))
        return WriteMarkers(
            found.transactional_id, found.producer_id, found.producer_epoch, is_commit, partitions
        )

    def _has_room(self, more: int, user: Transaction | None = None) -> bool:
        """Whether so many bytes more fit in; ids that are idle are forgotten for them, except `user`."""
        excess = self._held + more - self._config.max_bytes
        going: list[Transaction] = []
        for found in self._known.values():
            if excess <= 0:
                break
            if found.is_idle and found is not user:
                going.append(found)
                excess -= found.held
        if excess > 0:
            return False
        for found in going:
            del self._known[found.transactional_id]
            self._held -= found.held
        return True


def _may_go_on(found: Transaction, producer_id: int, producer_epoch: int) -> bool:
    """Whether a producer that had this id and epoch may still be the one of a transactional id."""
    if found.producer_epoch == NO_EPOCH or producer_id == found.producer_id:
        return True
    return producer_id == found.previous_id and producer_epoch >= LAST_EPOCH


def _went_on(found: Transaction, bumps: bool) -> EndReply:
    """What a transaction's end is answered with; before version 5 nobody reads id and epoch."""
    return EndReply(ErrorCode.NONE, found.producer_id, found.producer_epoch) if bumps else EndReply()


def _answered(token: Token, reply: EndReply) -> Effects:
    return Effects(replies=((token, reply),))
