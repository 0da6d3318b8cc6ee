"""Fetch: batches from many partitions at once, or later, when enough of them are there or time is up.

A request may go on with a fetch session (`fetch_sessions`): what it is about comes from there.
Source: KIP-74, KIP-227, KIP-516; upstream's ReplicaManager#fetchMessages and a running Kafka 4.4.0.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from rota.coordinator import Purgatory
from rota.server.answers import Later, slices
from rota.server.context import RequestContext
from rota.server.errors import ErrorCode, Refusal
from rota.server.fetch_sessions import Opened, Sessions
from rota.server.list_offsets import READ_COMMITTED
from rota.server.partition import PartitionLog, check_leader_epoch
from rota.server.topics import Topics
from rota.server.turns import Turns
from rota.wire import Pieces

ANSWER_BYTES = 16 << 20
"""What the records of one answer may have, whatever fetch.max.bytes says: the client asks for more."""

LONG_BYTES = 1 << 20
"""Answers with more records are written in several steps."""

READ_AT_ONCE = 200
"""How many partitions of a request are looked up, read or put together in one step."""

_TOPIC_IDS_SINCE = 13

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A partition of a request; without a log it is not there, and `error_code` says so."""

    index: int
    offset: int
    max_bytes: int
    leader_epoch: int
    log: PartitionLog | None
    error_code: int


@dataclass(frozen=True, slots=True)
class _Read:
    """What a request can be answered with now, batches in tuples.

    missing: how many bytes more there have to be; none, or fewer, if it should be answered. size: of batches.
    """

    responses: list[dict[str, Any]]
    missing: int
    size: int
    session_id: int = 0

    def body(
        self, together: Callable[[tuple[bytes, ...]], bytes | Pieces]
    ) -> Generator[None, None, dict[str, Any]]:
        """The response's body. together: makes one value of a partition's batches."""
        partitions = chain.from_iterable(response["partitions"] for response in self.responses)
        for answers in slices(partitions, READ_AT_ONCE):
            for answer in answers:
                answer["records"] = together(answer["records"])
            yield
        return {"responses": self.responses, "session_id": self.session_id}


@dataclass(frozen=True, slots=True)
class _Fetch:
    """A request: what it wants, by topic. Every attempt to answer it reads anew."""

    topics: tuple[tuple[dict[str, Any], tuple[_Wanted, ...]], ...]
    min_bytes: int
    max_bytes: int
    from_follower: bool
    read_committed: bool
    opened: Opened

    def logs(self) -> dict[PartitionLog, list[int]]:
        """The offsets that are asked for, by log."""
        offsets: defaultdict[PartitionLog, list[int]] = defaultdict(list)
        for _, wanted in self.topics:
            for item in wanted:
                if item.log is not None:
                    offsets[item.log].append(item.offset)
        return offsets

    def read(self) -> Generator[None, None, _Read]:
        """Partitions in the order asked for. Only the first that has anything may exceed the limits."""
        size, available, failed = 0, 0, False
        responses = []
        steps = count(1)
        for name, wanted in self.topics:
            answers = []
            for item in wanted:
                if next(steps) % READ_AT_ONCE == 0:
                    yield
                limit = min(item.max_bytes, self.max_bytes - size)
                answer, more = self._partition(item, limit, at_least_one=not size)
                length = sum(map(len, answer["records"]))
                # Kafka fills the limit up with part of a batch, which a consumer ignores.
                size += length
                available += max(length, limit) if more else length
                failed = failed or (item.log is not None and "error_code" in answer)
                answers.append(answer)
            responses.append({**name, "partitions": answers})
        return _Read(responses, 0 if failed else self.min_bytes - available, size)

    def _partition(self, item: _Wanted, limit: int, at_least_one: bool) -> tuple[dict[str, Any], bool]:
        """An answer, and whether there is more that does not fit, of what may be read."""
        answer: dict[str, Any] = {"partition_index": item.index, "high_watermark": -1, "records": ()}
        answer["aborted_transactions"] = [] if self.read_committed else None
        if item.log is None:
            return answer | {"error_code": item.error_code}, False
        try:
            if self.from_follower:
                raise Refusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, "there is no other replica")
            check_leader_epoch(item.leader_epoch)
            found = item.log.read(item.offset, limit, at_least_one, self.read_committed)
        except Refusal as refusal:
            return answer | {"error_code": refusal.error_code}, False
        answer |= {"high_watermark": item.log.log_end, "last_stable_offset": item.log.last_stable}
        answer |= {"log_start_offset": item.log.log_start, "records": found.batches}
        if self.read_committed:
            answer["aborted_transactions"] = item.log.aborted(item.offset, found.end)
        return answer, found.more


@dataclass(eq=False, slots=True)
class _Parked:
    """A fetch that waits. It is read again when its logs have grown by the `missing` bytes, not before."""

    fetch: _Fetch
    timer: asyncio.TimerHandle
    missing: int
    logs: Mapping[PartitionLog, Sequence[int]]

    def has_grown(self, log: PartitionLog, size: int) -> bool:
        """A log of its has grown: whether it is to be read again, also since what it asks for is gone."""
        offsets = self.logs[log]
        self.missing -= size * len(offsets)
        return self.missing <= 0 or any(offset < log.log_start for offset in offsets)


class Fetches:
    """The handler, with the parked fetches and the sessions, of which there are `session_slots` at most.

    `max_bytes` bounds every answer, and so does ANSWER_BYTES.
    """

    def __init__(
        self,
        topics: Topics,
        max_bytes: int,
        loop: asyncio.AbstractEventLoop,
        turns: Turns | None = None,
        session_slots: int = 1_000,
    ) -> None:
        self.sessions = Sessions(session_slots, loop.time, topics.name_of)
        self._topics = topics
        self._max_bytes = min(max_bytes, ANSWER_BYTES)
        self._loop = loop
        self._later = Later(turns or Turns(loop))
        self._parked: Purgatory[RequestContext, _Parked] = Purgatory()
        self._watching: defaultdict[PartitionLog, dict[RequestContext, _Parked]] = defaultdict(dict)
        self._ends: dict[PartitionLog, tuple[int, int]] = {}

    def __len__(self) -> int:
        """How many are parked."""
        return len(self._parked)

    def __call__(self, body: Body, context: RequestContext) -> None:
        """Answers at once or parks the request until there are `min_bytes`, for `max_wait_ms` at most."""
        self._later.add(self._begin(body, context))

    def _begin(self, body: Body, context: RequestContext) -> Iterator[None]:
        if context.is_lost:
            return
        try:
            opened = yield from self.sessions.open(body, context.version)
        except Refusal as refusal:
            context.reply({"error_code": refusal.error_code})
            return
        fetch = yield from self._fetch(body, opened, context)
        read = yield from fetch.read()
        logs = fetch.logs()
        if read.missing <= 0 or body["max_wait_ms"] <= 0 or not logs:
            yield from _answer(context, fetch, read)
            return
        timer = self._loop.call_later(body["max_wait_ms"] / 1000, self._end, context)
        parked = _Parked(fetch, timer, read.missing, logs)
        self._parked.park(context, parked)
        for log in logs:
            self._watching[log][context] = parked
            self._ends.setdefault(log, (log.log_end, log.last_stable))
        context.when_lost(lambda: self._take(context))

    def appended(self, log: PartitionLog) -> None:
        """Reads for those again that may have enough now that this log has grown."""
        watching = self._watching.get(log)
        if not watching:
            return
        before, self._ends[log] = self._ends[log], (log.log_end, log.last_stable)
        sizes = [log.size_between(*ends) for ends in zip(before, self._ends[log], strict=True)]
        for context, parked in tuple(watching.items()):
            if parked.has_grown(log, sizes[parked.fetch.read_committed]):
                self._later.add(self._again(context, parked))

    def _again(self, context: RequestContext, parked: _Parked) -> Iterator[None]:
        if context not in self._parked:
            return
        read = yield from parked.fetch.read()
        parked.missing = read.missing
        if read.missing <= 0 and self._take(context) is not None:
            yield from _answer(context, parked.fetch, read)

    def end_all(self) -> None:
        """Answers every parked request with what there is."""
        for context in tuple(self._parked):
            self._end(context)
        self._later.finish()

    def _end(self, context: RequestContext) -> None:
        parked = self._take(context)
        if parked is not None:
            self._later.add(_last(context, parked.fetch))

    def _take(self, context: RequestContext) -> _Parked | None:
        """Takes a fetch out, once: the caller answers it, or drops it if its client is gone."""
        parked = self._parked.take(context)
        if parked is None:
            return None
        parked.timer.cancel()
        context.when_lost(_nothing)  # it refers to the context: a cycle would keep both for long
        for log in parked.logs:
            del self._watching[log][context]
            if not self._watching[log]:
                del self._watching[log], self._ends[log]
        return parked

    def _fetch(self, body: Body, opened: Opened, context: RequestContext) -> Generator[None, None, _Fetch]:
        max_bytes = min(body.get("max_bytes", self._max_bytes), self._max_bytes)
        replica_id = body.get("replica_id", body.get("replica_state", {}).get("replica_id", -1))
        topics = []
        steps = count(1)
        for entry in opened.topics:
            name: dict[str, Any] = {key: entry[key] for key in ("topic", "topic_id") if key in entry}
            wanted = []
            for item in entry["partitions"]:
                if next(steps) % READ_AT_ONCE == 0:
                    yield
                wanted.append(self._wanted(entry, item, context))
            topics.append((name, tuple(wanted)))
        return _Fetch(
            tuple(topics),
            min(body["min_bytes"], max_bytes),
            max_bytes,
            replica_id >= 0,
            body["isolation_level"] == READ_COMMITTED,
            opened,
        )

    def _wanted(self, entry: Body, item: Body, context: RequestContext) -> _Wanted:
        log, error_code = None, 0
        try:
            if context.version >= _TOPIC_IDS_SINCE:
                topic = self._topics.identified(entry["topic_id"])
            else:
                topic = self._topics.named(entry["topic"])
            log = self._topics.led(topic, item["partition"], context.endpoint.node_id)
        except Refusal as refusal:
            error_code = self._error(entry, refusal)
        epoch = item.get("current_leader_epoch", -1)
        return _Wanted(
            item["partition"], item["fetch_offset"], item["partition_max_bytes"], epoch, log, error_code
        )

    def _error(self, entry: Body, refusal: Refusal) -> int:
        """What is said of a topic whose name a session knows though its id is gone."""
        known_as = entry.get("known_as")
        if refusal.error_code != ErrorCode.UNKNOWN_TOPIC_ID or known_as is None:
            return refusal.error_code
        if self._topics.partition_count(known_as):
            return ErrorCode.INCONSISTENT_TOPIC_ID
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _nothing() -> None:
    """For a client that is lost when its fetch is answered."""


def _last(context: RequestContext, fetch: _Fetch) -> Iterator[None]:
    yield from _answer(context, fetch, (yield from fetch.read()))


def _answer(context: RequestContext, fetch: _Fetch, read: _Read) -> Iterator[None]:
    """Answers a request: in steps, if it is long."""
    told = yield from fetch.opened.told(read.responses)
    read = _Read(told["responses"], read.missing, read.size, told["session_id"])
    if read.size < LONG_BYTES:
        context.reply((yield from read.body(b"".join)))
        return
    yield
    # without a copy of the batches, so that a client that reads slowly costs nothing
    pieces = context.in_pieces((yield from read.body(Pieces)))
    yield
    context.reply_in_pieces(pieces, sum(map(len, pieces)) - read.size)
