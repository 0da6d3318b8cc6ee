"""Commits under names that histories share: offsets by their place in the request, times from when it came.

What the group's rules say to a commit does not depend on which offset is committed, nor on when: they put
both into the record as they are. So a shape is asked in the commit's place, and the records that come of it
are filled in again. A commit with what may be more than a number (an offset below 0, a time or a retention of
its own) has no shape.
"""

from __future__ import annotations

from dataclasses import dataclass

from rota.kernel import replace
from rota.linearise.parts import WHOEVER_ASKS
from rota.spec import Call
from rota.spec.offset_messages import OffsetCommitRequest
from rota.spec.offset_state import Committed, OffsetBatch, OffsetRecord, OffsetTombstone

UNTOLD = -1
"""A time or a retention that a commit does not tell."""


@dataclass(frozen=True)
class Shape:
    """A commit without its numbers. call: it, under the names of histories; offsets: those that it commits,
    in the order of the request; now_ms: when."""

    call: Call
    offsets: tuple[int, ...]
    now_ms: int

    def filled(self, batch: OffsetBatch, number: int) -> OffsetBatch:
        """What goes to the log for the commit itself. batch: for its shape; number: of the request."""
        answer = batch.answer and replace(batch.answer, to=str(number))
        return OffsetBatch(tuple(map(self._filled, batch.records)), answer)

    def _filled(self, record: OffsetRecord | OffsetTombstone) -> OffsetRecord:
        assert isinstance(record, OffsetRecord), "a commit removes no offset"
        return replace(record, value=self.value(record.value))

    def value(self, one: Committed) -> Committed:
        """An offset of the commit itself. one: the shape's."""
        return Committed(
            self.offsets[one.committed_offset],
            one.committed_leader_epoch,
            one.metadata,
            self.now_ms + one.commit_timestamp_ms,
            one.expire_timestamp_ms,
        )


def shape_of(call: Call) -> Shape | None:
    """The shape of a commit, None for what has none. call: under the names of histories."""
    request = call.request
    if not isinstance(request, OffsetCommitRequest) or request.retention_time_ms != UNTOLD:
        return None
    offsets: list[int] = []
    topics = []
    for topic in request.topics:
        partitions = []
        for one in topic.partitions:
            if one.committed_offset < 0 or one.commit_timestamp != UNTOLD:
                return None
            partitions.append(replace(one, committed_offset=len(offsets)))
            offsets.append(one.committed_offset)
        topics.append(replace(topic, partitions=tuple(partitions)))
    shape = replace(call, request=replace(request, topics=tuple(topics)), to=str(WHOEVER_ASKS), now_ms=0)
    return Shape(shape, tuple(offsets), call.now_ms)
