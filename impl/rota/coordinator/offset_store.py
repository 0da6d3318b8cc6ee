"""Committed offsets, those that wait for the end of a transaction, and what stands in line for the log."""

from collections import deque
from dataclasses import dataclass, field

from rota.coordinator.ledger import InLine
from rota.coordinator.offset_messages import NO_PRODUCER_ID, OffsetRecord, OffsetTombstone

Place = tuple[str, str, int]
"""Group, topic, partition."""


@dataclass
class OffsetStore:
    """Offsets that the log has acknowledged, and what waits for answers that it still owes.

    committed: by group, topic and partition. pending: offsets of open transactions, each with its position in
    the log, by producer id and place. positions: of committed offsets that are not the log's oldest. line:
    appends, and fetches behind them, in the order of the log.
    """

    committed: dict[str, dict[str, dict[int, OffsetRecord]]] = field(default_factory=dict)
    pending: dict[int, dict[Place, tuple[int, OffsetRecord]]] = field(default_factory=dict)
    positions: dict[Place, int] = field(default_factory=dict)
    line: deque[InLine] = field(default_factory=deque)
    last_position: int = 0

    def next_position(self) -> int:
        """The position of an append that is made now: later in the log is greater."""
        self.last_position += 1
        return self.last_position

    def apply(
        self,
        group_id: str,
        record: OffsetRecord | OffsetTombstone,
        position: int = 0,
        producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        """Take over an acknowledged record; one of a transaction waits for its end.

        A tombstone ends what is pending, too.
        """
        place = (group_id, record.topic, record.partition_index)
        if isinstance(record, OffsetTombstone):
            self._remove(place)
        elif producer_id != NO_PRODUCER_ID:
            self.pending.setdefault(producer_id, {})[place] = position, record
        else:
            self._commit(place, position, record)

    def get(self, group_id: str, topic: str, partition_index: int) -> OffsetRecord | None:
        """A partition's offset, None if there is none."""
        return self.committed.get(group_id, {}).get(topic, {}).get(partition_index)

    def is_pending(self, group_id: str, topic: str, partition_index: int) -> bool:
        """Whether a transaction that has not ended yet has committed an offset of the partition."""
        return any((group_id, topic, partition_index) in places for places in self.pending.values())

    def has_pending(self, group_id: str) -> bool:
        """Whether a transaction that has not ended yet has committed an offset of the group."""
        return any(place[0] == group_id for places in self.pending.values() for place in places)

    def end_transaction(self, producer_id: int, is_commit: bool) -> None:
        """What a producer has pending counts from now on, unless a later record does; or is forgotten."""
        for place, (position, record) in self.pending.pop(producer_id, {}).items():
            if is_commit and (self.get(*place) is None or position > self.positions.get(place, 0)):
                self._commit(place, position, record)

    def forget(self, group_id: str) -> None:
        """The group is gone with all that it has here."""
        for topic, partitions in self.committed.pop(group_id, {}).items():
            for index in partitions:
                self.positions.pop((group_id, topic, index), None)
        for places in self.pending.values():
            for place in [place for place in places if place[0] == group_id]:
                del places[place]

    def _commit(self, place: Place, position: int, record: OffsetRecord) -> None:
        group_id, topic, index = place
        self.committed.setdefault(group_id, {}).setdefault(topic, {})[index] = record
        self.positions[place] = position

    def _remove(self, place: Place) -> None:
        group_id, topic, index = place
        self.committed.get(group_id, {}).get(topic, {}).pop(index, None)
        self.positions.pop(place, None)
        for places in self.pending.values():
            places.pop(place, None)
