"""Logs of the offsets topic made record by record, and what their events amount to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rota.history import Event, Kind
from rota.log.group_records import EndOfTransaction, encode_key, encode_marker, encode_value
from rota.log.group_replay import Replay
from rota.wire.records import Record, encode_batch


class WrittenLog:
    """Batches as a broker appends them; `batches` can be written to files in whatever pieces."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.next = 0

    def write(self, *entries: tuple[Any, Any], producer_id: int = -1, **more: Any) -> WrittenLog:
        """A batch of keys and values; bytes stand as they are."""
        raw = [
            (
                key if isinstance(key, bytes | None) else encode_key(key),
                value if isinstance(value, bytes) else encode_value(value),
            )
            for key, value in entries
        ]
        return self._append(raw, producer_id=producer_id, is_transactional=producer_id >= 0, **more)

    def end(self, producer_id: int, is_commit: bool) -> WrittenLog:
        """The end of a producer's transaction."""
        marker = encode_marker(EndOfTransaction(is_commit, 3))
        return self._append([marker], producer_id=producer_id, is_transactional=True, is_control=True)

    def skip(self, offsets: int) -> WrittenLog:
        """Offsets that compaction has taken away."""
        self.next += offsets
        return self

    def bytes(self) -> bytes:
        return b"".join(self.batches)

    def folder(self, place: Path, partition: int = 0, segments: int = 1) -> Path:
        """A partition's folder with the batches in so many segments."""
        folder = place / f"__consumer_offsets-{partition}"
        folder.mkdir(parents=True)
        size = -(-len(self.batches) // segments)
        for start in range(0, len(self.batches), size):
            piece = self.batches[start : start + size]
            base = int.from_bytes(piece[0][:8], "big")
            (folder / f"{base:020}.log").write_bytes(b"".join(piece))
        return folder

    def _append(self, raw: Iterable[tuple[bytes | None, bytes | None]], **more: Any) -> WrittenLog:
        records = [
            Record(self.next + at, 1_700_000_000_000 + self.next + at, *entry) for at, entry in enumerate(raw)
        ]
        self.batches.append(encode_batch(records, base_offset=self.next, **more))
        self.next += len(records)
        return self


State = dict[tuple[object, ...], tuple[object, ...]]
"""(group,) → generation, protocol, leader, ids of members; (group, topic, partition) → offset, metadata."""


def state_of(events: Iterable[Event]) -> State:
    """What is left when the last event of each key counts."""
    state: State = {}
    for event in events:
        data = event.data
        if event.kind is Kind.GROUP_STORED:
            members = tuple(member["member"] for member in data["members"])
            state[event.group,] = (event.generation, data["protocol"], event.member, members)
        elif event.kind is Kind.GROUP_REMOVED:
            state.pop((event.group,), None)
        elif event.kind in (Kind.OFFSET_STORED, Kind.OFFSET_REMOVED):
            key = event.group, data["topic"], data["topic_partition"]
            state.pop(key, None)
            if event.kind is Kind.OFFSET_STORED:
                state[key] = data["committed"], data["metadata"]
    return state


def state_loaded(batches: Iterable[bytes]) -> State:
    """What a coordinator has that loads these batches."""
    replay, state = Replay(), State()
    for batch in batches:
        replay.take(batch)
    for group in replay.groups():
        if group.value is not None:
            members = tuple(member.member_id for member in group.value.members)
            value = group.value
            state[group.group_id,] = (value.generation, value.protocol, value.leader or "", members)
        for key, one in group.offsets:
            state[key.group, key.topic, key.partition] = one.offset, one.metadata
    return state
