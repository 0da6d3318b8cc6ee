"""Fetch: batches from many partitions at once, or later, when enough of them are there or time is up.

There are no fetch sessions (KIP-227): a request that opens one is answered in full with session id 0, upon
which the client goes on sending full requests; one that goes on with a session gets an error.
Source: KIP-74, KIP-227, KIP-516; upstream's ReplicaManager#fetchMessages and a running Kafka 4.4.0.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rota.coordinator import Purgatory
from rota.server.connection import RequestContext
from rota.server.errors import ErrorCode, Refusal
from rota.server.partition import PartitionLog, check_leader_epoch
from rota.server.topics import Topics

_TOPIC_IDS_SINCE = 13
_NEW_SESSION, _NO_SESSION = 0, -1
_READ_COMMITTED = 1

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
    """What a request can be answered with now, batches in tuples; `enough` if it should be."""

    responses: list[dict[str, Any]]
    enough: bool

    def body(self) -> dict[str, Any]:
        for response in self.responses:
            for answer in response["partitions"]:
                answer["records"] = b"".join(answer["records"])
        return {"responses": self.responses}


@dataclass(frozen=True, slots=True)
class _Fetch:
    """A request: what it wants, by topic. Every attempt to answer it reads anew."""

    topics: tuple[tuple[dict[str, Any], tuple[_Wanted, ...]], ...]
    min_bytes: int
    max_bytes: int
    from_follower: bool
    read_committed: bool

    def logs(self) -> set[PartitionLog]:
        return {item.log for _, wanted in self.topics for item in wanted if item.log is not None}

    def read(self) -> _Read:
        """Partitions in the order asked for. Only the first that has anything may exceed the limits."""
        size, available, failed = 0, 0, False
        responses = []
        for name, wanted in self.topics:
            answers = []
            for item in wanted:
                limit = min(item.max_bytes, self.max_bytes - size)
                answer, more = self._partition(item, limit, at_least_one=not size)
                length = sum(map(len, answer["records"]))
                # Kafka fills the limit up with part of a batch, which a consumer ignores.
                size += length
                available += max(length, limit) if more else length
                failed = failed or (item.log is not None and "error_code" in answer)
                answers.append(answer)
            responses.append({**name, "partitions": answers})
        return _Read(responses, failed or available >= self.min_bytes)

    def _partition(self, item: _Wanted, limit: int, at_least_one: bool) -> tuple[dict[str, Any], bool]:
        """An answer, and whether there is more that does not fit."""
        answer: dict[str, Any] = {"partition_index": item.index, "high_watermark": -1, "records": ()}
        answer["aborted_transactions"] = [] if self.read_committed else None
        if item.log is None:
            return answer | {"error_code": item.error_code}, False
        try:
            if self.from_follower:
                raise Refusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, "there is no other replica")
            check_leader_epoch(item.leader_epoch)
            batches, more = item.log.read(item.offset, limit, at_least_one)
        except Refusal as refusal:
            return answer | {"error_code": refusal.error_code}, False
        end = item.log.log_end
        answer |= {"high_watermark": end, "last_stable_offset": end, "log_start_offset": item.log.log_start}
        return answer | {"records": batches}, more


class Fetches:
    """The handler, with the parked fetches. `max_bytes` bounds every answer."""

    def __init__(self, topics: Topics, max_bytes: int, loop: asyncio.AbstractEventLoop) -> None:
        self._topics = topics
        self._max_bytes = max_bytes
        self._loop = loop
        self._parked: Purgatory[RequestContext, tuple[_Fetch, asyncio.TimerHandle]] = Purgatory()
        self._watching: defaultdict[PartitionLog, dict[RequestContext, _Fetch]] = defaultdict(dict)

    def __len__(self) -> int:
        """How many are parked."""
        return len(self._parked)

    def __call__(self, body: Body, context: RequestContext) -> None:
        """Answers at once or parks the request until there are `min_bytes`, for `max_wait_ms` at most."""
        if body.get("session_epoch", _NO_SESSION) not in (_NEW_SESSION, _NO_SESSION):
            context.reply({"error_code": ErrorCode.FETCH_SESSION_ID_NOT_FOUND})
            return
        fetch = self._fetch(body, context.version)
        read = fetch.read()
        if read.enough or body["max_wait_ms"] <= 0 or not fetch.logs():
            context.reply(read.body())
            return
        timer = self._loop.call_later(body["max_wait_ms"] / 1000, self._end, context)
        self._parked.park(context, (fetch, timer))
        for log in fetch.logs():
            self._watching[log][context] = fetch
        context.when_lost(lambda: self._take(context))

    def appended(self, log: PartitionLog) -> None:
        """Answers those that have enough now that this log has grown."""
        for context, fetch in tuple(self._watching.get(log, {}).items()):
            read = fetch.read()
            if read.enough and self._take(context) is not None:
                context.reply(read.body())

    def end_all(self) -> None:
        """Answers every parked request with what there is."""
        for context in tuple(self._parked):
            self._end(context)

    def _end(self, context: RequestContext) -> None:
        fetch = self._take(context)
        if fetch is not None:
            context.reply(fetch.read().body())

    def _take(self, context: RequestContext) -> _Fetch | None:
        """Takes a fetch out, once: the caller answers it, or drops it if its client is gone."""
        taken = self._parked.take(context)
        if taken is None:
            return None
        fetch, timer = taken
        timer.cancel()
        for log in fetch.logs():
            del self._watching[log][context]
            if not self._watching[log]:
                del self._watching[log]
        return fetch

    def _fetch(self, body: Body, version: int) -> _Fetch:
        max_bytes = min(body.get("max_bytes", self._max_bytes), self._max_bytes)
        replica_id = body.get("replica_id", body.get("replica_state", {}).get("replica_id", -1))
        return _Fetch(
            tuple(self._topic(entry, version) for entry in body["topics"]),
            min(body["min_bytes"], max_bytes),
            max_bytes,
            replica_id >= 0,
            body["isolation_level"] == _READ_COMMITTED,
        )

    def _topic(self, entry: Body, version: int) -> tuple[dict[str, Any], tuple[_Wanted, ...]]:
        name = {key: entry[key] for key in ("topic", "topic_id") if key in entry}
        return name, tuple(self._wanted(entry, item, version) for item in entry["partitions"])

    def _wanted(self, entry: Body, item: Body, version: int) -> _Wanted:
        log, error_code = None, 0
        try:
            if version >= _TOPIC_IDS_SINCE:
                topic = self._topics.identified(entry["topic_id"])
            else:
                topic = self._topics.named(entry["topic"])
            log = topic.partition(item["partition"])
        except Refusal as refusal:
            error_code = refusal.error_code
        epoch = item.get("current_leader_epoch", -1)
        return _Wanted(
            item["partition"], item["fetch_offset"], item["partition_max_bytes"], epoch, log, error_code
        )
