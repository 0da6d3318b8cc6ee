"""Committed offsets: a state of their own, beside the group.

A fold over what the log has acknowledged. The queue of appends in flight is not part of it: rules say what
goes to its end (`OffsetStep.line`), and whoever holds the offsets keeps the queue and answers from its front.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from rota.kernel import FrozenMap, frozen, replace
from rota.spec.effects import ForOffsets, Reply
from rota.spec.messages import Call

NO_PRODUCER = -1
"""The producer id of what is no part of a transaction, as in the log."""


@frozen
class Committed:
    """An offset as it is stored. Milliseconds. Source: upstream OffsetAndMetadata.

    expire_timestamp_ms: where the commit asked for a retention of its own.
    """

    committed_offset: int
    committed_leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp_ms: int = 0
    expire_timestamp_ms: int | None = None


@frozen
class OffsetRecord:
    """A record of the log: an offset, of a transaction where producer_id says so."""

    topic: str
    partition_index: int
    value: Committed
    producer_id: int = NO_PRODUCER

    @property
    def key(self) -> tuple[str, int]:
        """Topic and partition."""
        return self.topic, self.partition_index


@frozen
class OffsetTombstone:
    """A record of the log: the end of an offset. expired: because of its age, not by a request."""

    topic: str
    partition_index: int
    expired: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """Topic and partition."""
        return self.topic, self.partition_index


@frozen
class OffsetBatch(ForOffsets):
    """Records that are stored together or not at all. answer: when they are stored, None: to nobody."""

    records: tuple[OffsetRecord | OffsetTombstone, ...]
    answer: Reply | None = None


@frozen
class GroupForgotten(ForOffsets):
    """The group is removed and takes its offsets with it, as soon as the log has its tombstone.

    It waits in line for the log's answer to the group's record (`RecordKind.DELETION`), which is written in
    one batch with the tombstones of the offsets. expired: because nobody needed the group any more, not by
    DeleteGroups.
    """

    expired: bool = False


@frozen
class GroupForgottenAnswer(ForOffsets):
    """What the log said to a group's tombstone. stored: it has it."""

    stored: bool


@frozen
class TransactionEnd(ForOffsets):
    """The marker that ends a producer's transaction. committed: else it is aborted."""

    producer_id: int
    committed: bool


@frozen
class OffsetRead(ForOffsets):
    """An OffsetFetch on its way to the offsets. known: there is its group; waits: for all earlier appends."""

    call: Call
    known: bool
    waits: bool = False


BEFORE_ALL = -(2**63)
"""Milliseconds, a moment at which no offset has expired: it is only asked whether any is left."""


@frozen
class Expire(ForOffsets):
    """What may be removed for its age.

    base_ms: from when the retention counts, None: from each commit; subscribed: topics that keep their
    offsets; removable: the group may go if no offset is left.
    """

    now_ms: int
    base_ms: int | None
    subscribed: frozenset[str] = frozenset()
    removable: bool = False


@frozen
class RetentionCheck:
    """It is time to look what has expired. Milliseconds.

    since_ms: when the group came into its state, None where that is not known (from an old record).
    """

    now_ms: int
    since_ms: int | None = None


InLine = OffsetBatch | TransactionEnd | OffsetRead | GroupForgotten
"""What waits for the log, in its order."""


@frozen
class PendingOffset:
    """An offset of an open transaction. overtaken: a later record has set the committed one."""

    record: OffsetRecord
    overtaken: bool = False


@frozen
class Offsets:
    """The offsets of a group.

    committed: by topic and partition; pending: of open transactions, in the order of the log (which decides
    who wins, so no positions are kept); appended: those in flight, by topic, partition and producer, the
    last of each (rules that write look at what is in flight, too); leaving: how
    many tombstones of the group are in flight, most often none.
    """

    committed: FrozenMap[tuple[str, int], Committed] = field(default_factory=FrozenMap)
    pending: tuple[PendingOffset, ...] = ()
    appended: FrozenMap[tuple[str, int, int], Committed] = field(default_factory=FrozenMap)
    leaving: int = 0

    def is_pending(self, topic: str, partition_index: int) -> bool:
        """Whether an open transaction has an offset for a partition."""
        return any(one.record.key == (topic, partition_index) for one in self.pending)

    def is_appended(self, topic: str, partition_index: int) -> bool:
        """Whether an offset for a partition is in flight."""
        return any(key[:2] == (topic, partition_index) for key in self.appended)

    def with_appended(self, batch: OffsetBatch) -> Offsets:
        """With a batch in flight."""
        appended = self.appended
        for record in batch.records:
            if isinstance(record, OffsetRecord):
                appended = appended.set((*record.key, record.producer_id), record.value)
        return replace(self, appended=appended)

    def answered(self, batch: OffsetBatch) -> Offsets:
        """With a batch not in flight any more; a later one for the same partition still is."""
        over = [
            (*record.key, record.producer_id)
            for record in batch.records
            if isinstance(record, OffsetRecord)
            and self.appended.get((*record.key, record.producer_id)) == record.value
        ]
        return replace(self, appended=self.appended.without(*over))

    def stored(self, record: OffsetRecord | OffsetTombstone) -> Offsets:
        """After one more record: later in the log than all before."""
        if isinstance(record, OffsetTombstone):
            return self.without((record.key,), expired=record.expired)
        if record.producer_id != NO_PRODUCER:
            others = (one for one in self.pending if not _same(one.record, record))
            return replace(self, pending=(*others, PendingOffset(record)))
        return replace(
            self, committed=self.committed.set(record.key, record.value), pending=self._overtaken(record.key)
        )

    def without(self, keys: Iterable[tuple[str, int]], *, expired: bool) -> Offsets:
        """Without these partitions; what expires leaves open transactions alone."""
        gone = set(keys)
        pending = tuple(
            replace(one, overtaken=False) if one.record.key in gone else one
            for one in self.pending
            if expired or one.record.key not in gone
        )
        return replace(self, committed=self.committed.without(*gone), pending=pending)

    def _overtaken(self, key: tuple[str, int]) -> tuple[PendingOffset, ...]:
        return tuple(replace(one, overtaken=True) if one.record.key == key else one for one in self.pending)


def _same(one: OffsetRecord, other: OffsetRecord) -> bool:
    return (one.key, one.producer_id) == (other.key, other.producer_id)


@frozen
class OffsetStep:
    """One allowed outcome for the offsets.

    line: what goes to the end of the queue for the log, whatever is in it already; removes_group: no offset
    is left, and the group may go.
    """

    offsets: Offsets
    replies: tuple[Reply, ...] = ()
    line: tuple[InLine, ...] = ()
    removes_group: bool = False
    rules: tuple[str, ...] = ()

    def answer(self, reply: Reply | None) -> OffsetStep:
        """With one more answer, if anybody waits for it."""
        return self if reply is None else replace(self, replies=(*self.replies, reply))

    def fired(self, *slugs: str) -> OffsetStep:
        """With the rules that took part."""
        return replace(self, rules=(*self.rules, *slugs))


OffsetSteps = tuple[OffsetStep, ...]
