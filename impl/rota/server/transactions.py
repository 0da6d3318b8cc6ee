"""The transaction coordinator with a clock, and markers in the logs: what its steps ask for is carried out.

A transaction that has ended is answered when all its markers are written: those in partitions at once, a
few at a time, that of offsets when the groups' log has it. Which transactions there are is in memory.

Source: KIP-98, KIP-664, KIP-890; upstream's KafkaApis, AddPartitionsToTxnManager and
TransactionMarkerChannelManager, and a running Kafka 4.4.0.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from rota.coordinator import TxnOffsetCommit
from rota.server.answers import Later, slices
from rota.server.context import RequestContext
from rota.server.errors import ErrorCode, Refusal
from rota.server.partition import PartitionLog
from rota.server.placement import OFFSETS
from rota.server.timers import LoopTimers
from rota.server.topics import Topics
from rota.server.turns import Turns
from rota.transactions import (
    Arm,
    CoordinatorConfig,
    Effects,
    EndReply,
    Partition,
    State,
    TransactionCoordinator,
    WriteMarkers,
)
from rota.transactions import ErrorCode as TransactionError
from rota.wire.records import BatchInfo

AGAIN_SECONDS = 0.1
"""How soon the end of offsets is written again that the groups' log has refused."""

MARKED_AT_ONCE = 100
"""How many markers are written in one step."""

_NAMES_OF_STATES = frozenset({*map(str, State), "Dead", "PrepareEpochFence"})
"""Kafka's; of the last two there are none here."""

_LISTED_AT_ONCE = 100

_FENCED_SINCE = {"InitProducerId": 4, "AddPartitionsToTxn": 2, "AddOffsetsToTxn": 2, "EndTxn": 2}
"""First version of each API whose clients know PRODUCER_FENCED (KIP-588)."""

_ADDED_BY_BATCHES_SINCE, _ABORTABLE_SINCE = 12, 11
_ADDED_BY_COMMITS_SINCE, _COMMIT_ABORTABLE_SINCE = 5, 4
_BUMPS_SINCE = 5
_SEVERAL_SINCE = 4

Body = Mapping[str, Any]
EndOffsets = Callable[[int, bool, Callable[[int], None]], None]
"""Writes the end of a producer's transaction to the groups' log, whose error code is given back."""


@dataclass(frozen=True)
class Around:
    """What transactions need of the server: its logs, who is told that they have grown, and its groups."""

    topics: Topics
    grown: Callable[[PartitionLog], object]
    partition_of: Callable[[str], int]
    end_offsets: EndOffsets
    wall_clock: Callable[[], int]
    next_producer_id: Callable[[], int]


class TransactionService:
    """One transaction coordinator on the running event loop, and the handlers of its requests."""

    def __init__(
        self, config: CoordinatorConfig, around: Around, loop: asyncio.AbstractEventLoop, turns: Turns
    ) -> None:
        self.core = TransactionCoordinator(config, around.next_producer_id)
        self._around = around
        self._loop = loop
        self._timers: LoopTimers[str] = LoopTimers(loop, lambda name: self._do(self.core.fire(name)))
        self._marking = Later(turns)
        self._stopped = False

    def init_producer_id(self, body: Body, version: int) -> Body:
        """InitProducerId: a number of its own for whoever has no transactional id, else an epoch."""
        if body["transactional_id"] is None:
            if (body.get("producer_id", -1) == -1) != (body.get("producer_epoch", -1) == -1):
                return {"error_code": ErrorCode.INVALID_REQUEST, "producer_id": -1, "producer_epoch": -1}
            return {"producer_id": self._around.next_producer_id(), "producer_epoch": 0}
        before = body.get("producer_id", -1), body.get("producer_epoch", -1)
        reply, effects = self.core.init_producer_id(
            body["transactional_id"], body["transaction_timeout_ms"], *before
        )
        self._do(effects)
        return reply._asdict() | {"error_code": _told(reply.error_code, "InitProducerId", version)}

    def add_partitions(self, body: Body, version: int) -> Generator[None, None, Body]:
        """AddPartitionsToTxn: of one transaction, or from version 4 on, which brokers use, of several."""
        if version < _SEVERAL_SINCE:
            one = {name: body[f"v3_and_below_{name}"] for name in ("transactional_id", "topics")}
            one |= {name: body[f"v3_and_below_{name}"] for name in ("producer_id", "producer_epoch")}
            return {"results_by_topic_v3_and_below": (yield from self._added(one, version))}
        results = []
        for one in body["transactions"]:
            answered = yield from self._added(one, version)
            results.append({"transactional_id": one["transactional_id"], "topic_results": answered})
        return {"results_by_transaction": results}

    def add_offsets(self, body: Body, version: int) -> Body:
        """AddOffsetsToTxn: the partition of a group's offsets is in the transaction."""
        error = self._add(body, [self._of_group(body["group_id"])])
        return {"error_code": _told(error, "AddOffsetsToTxn", version)}

    def end(self, body: Body, context: RequestContext) -> None:
        """EndTxn; from version 5 on it gives the producer the next epoch."""
        self._do(
            self.core.end_transaction(
                body["transactional_id"],
                body["producer_id"],
                body["producer_epoch"],
                body["committed"],
                context.version >= _BUMPS_SINCE,
                context,
            )
        )

    def describe(self, body: Body, version: int) -> Body:
        """DescribeTransactions."""
        return {"transaction_states": [self._described(name) for name in body["transactional_ids"]]}

    def list_all(self, body: Body, version: int) -> Generator[None, None, Body]:
        """ListTransactions. No patterns: a regular expression of Python's may take for ever."""
        if body.get("transactional_id_pattern"):
            return {"error_code": ErrorCode.UNSUPPORTED_VERSION}
        states, ids = body["state_filters"], {*body["producer_id_filters"]}
        unknown = [each for each in states if each not in _NAMES_OF_STATES]
        longer, now = body.get("duration_filter", -1), self._around.wall_clock()
        found = []
        for some in slices([*self.core.all()], _LISTED_AT_ONCE):
            found += [
                {
                    "transactional_id": each.transactional_id,
                    "producer_id": each.producer_id,
                    "transaction_state": str(each.state),
                }
                for each in some
                if (not states or str(each.state) in states)
                and (not ids or each.producer_id in ids)
                and (longer < 0 or now - each.started_ms > longer)
            ]
            yield
        return {"unknown_state_filters": unknown, "transaction_states": found}

    def describe_producers(self, body: Body, context: RequestContext) -> Generator[None, None, Body]:
        """DescribeProducers."""
        topics, node_id = [], context.endpoint.node_id
        for topic in body["topics"]:
            partitions = []
            for index in topic["partition_indexes"]:
                yield
                partitions.append(
                    {"partition_index": index, **self._producers(topic["name"], index, node_id)}
                )
            topics.append({"name": topic["name"], "partitions": partitions})
        return {"topics": topics}

    def check_batch(self, transactional_id: str, info: BatchInfo, partition: Partition, version: int) -> None:
        """Whether a batch's partition is in its producer's transaction; in newer versions it is from now on.

        Errors: Refusal, with what the clients of a version know.
        """
        who = transactional_id, info.producer_id, info.producer_epoch
        if version >= _ADDED_BY_BATCHES_SINCE:
            error, effects = self.core.add_partitions(*who, [partition], self._around.wall_clock())
            self._do(effects)
        else:
            error = self.core.verify(*who, partition)
        _refuse_batch(error, version)

    def check_commit(self, request: TxnOffsetCommit, version: int) -> int:
        """Whether a group's offsets are in a producer's transaction; in newer versions they are from now on.

        The error code for a TxnOffsetCommit of that version, or NONE.
        """
        who = request.transactional_id, request.producer_id, request.producer_epoch
        partition = self._of_group(request.group_id)
        if version >= _ADDED_BY_COMMITS_SINCE:
            error, effects = self.core.add_partitions(*who, [partition], self._around.wall_clock())
            self._do(effects)
        else:
            error = self.core.verify(*who, partition)
        if error == TransactionError.TRANSACTION_ABORTABLE and version < _COMMIT_ABORTABLE_SINCE:
            return ErrorCode.INVALID_TXN_STATE
        return ErrorCode.INVALID_PRODUCER_EPOCH if error == TransactionError.PRODUCER_FENCED else error

    def stop(self) -> None:
        """Does nothing more. What is open then is never committed."""
        self._stopped = True
        self._timers.clear()

    def _of_group(self, group_id: str) -> Partition:
        return OFFSETS, self._around.partition_of(group_id)

    def _add(self, body: Body, partitions: Sequence[Partition]) -> int:
        who = body["transactional_id"], body["producer_id"], body["producer_epoch"]
        error, effects = self.core.add_partitions(*who, partitions, self._around.wall_clock())
        self._do(effects)
        return error

    def _added(self, body: Body, version: int) -> Generator[None, None, list[Body]]:
        """What is answered for one transaction: all its partitions are in it, or none is."""
        known: dict[Partition, bool] = {}
        for topic in body["topics"]:
            count = self._around.topics.partition_count(topic["name"])
            known |= {(topic["name"], index): 0 <= index < count for index in topic["partitions"]}
            yield
        if not all(known.values()):
            errors = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED)
            return _by_topic(body, lambda partition: errors[known[partition]])
        if body.get("verify_only"):
            who = body["transactional_id"], body["producer_id"], body["producer_epoch"]
            return _by_topic(body, lambda partition: self.core.verify(*who, partition))
        error = _told(self._add(body, list(known)), "AddPartitionsToTxn", version)
        return _by_topic(body, lambda partition: error)

    def _described(self, transactional_id: str) -> Body:
        found = self.core.get(transactional_id)
        if found is None:
            error = (
                TransactionError.TRANSACTIONAL_ID_NOT_FOUND if transactional_id else ErrorCode.INVALID_REQUEST
            )
            return {"error_code": error, "transactional_id": transactional_id}
        topics: dict[str, list[int]] = {}
        for topic, index in sorted(found.partitions):
            topics.setdefault(topic, []).append(index)
        return {
            "transactional_id": transactional_id,
            "transaction_state": str(found.state),
            "transaction_timeout_ms": found.timeout_ms,
            "transaction_start_time_ms": found.started_ms,
            "producer_id": found.producer_id,
            "producer_epoch": found.producer_epoch,
            "topics": [{"topic": name, "partitions": indexes} for name, indexes in topics.items()],
        }

    def _producers(self, topic: str, index: int, node_id: int) -> Body:
        try:
            log = self._around.topics.led(self._around.topics.named(topic), index, node_id)
            return {"active_producers": list(log.producers.described())}
        except Refusal as refusal:
            return {"error_code": refusal.error_code, "error_message": refusal.message}

    def _do(self, effects: Effects) -> None:
        if self._stopped:
            return
        for timer in effects.timers:
            if isinstance(timer, Arm):
                self._timers.arm(timer.transactional_id, timer.delay_ms)
            else:
                self._timers.cancel(timer.transactional_id)
        for markers in effects.markers:
            self._marking.add(self._mark(markers))
        for token, reply in effects.replies:
            assert isinstance(token, RequestContext)
            _answer(token, reply)

    def _mark(self, markers: WriteMarkers) -> Iterator[None]:
        """Writes the end of a transaction wherever it has been."""
        now_ms = self._around.wall_clock()
        for some in slices(markers.partitions, MARKED_AT_ONCE):
            for log in chain.from_iterable(self._logs(partition) for partition in some):
                log.end_transaction(markers.producer_id, markers.producer_epoch, markers.is_commit, now_ms)
                self._around.grown(log)
            yield
        if any(topic == OFFSETS for topic, _ in markers.partitions):
            self._end_offsets(markers)
        else:
            self._do(self.core.written(markers.transactional_id))

    def _logs(self, partition: Partition) -> Iterator[PartitionLog]:
        """A partition's log; none for offsets, and if its topic has gone meanwhile."""
        topic, index = partition
        if topic != OFFSETS and index < self._around.topics.partition_count(topic):
            yield self._around.topics.named(topic).partition(index)

    def _end_offsets(self, markers: WriteMarkers) -> None:
        def ended(error_code: int) -> None:
            if self._stopped:
                return
            if error_code == ErrorCode.NONE:
                self._do(self.core.written(markers.transactional_id))
            else:
                self._loop.call_later(AGAIN_SECONDS, self._end_offsets, markers)

        if not self._stopped:
            self._around.end_offsets(markers.producer_id, markers.is_commit, ended)


def _answer(context: RequestContext, reply: EndReply) -> None:
    context.reply(reply._asdict() | {"error_code": _told(reply.error_code, "EndTxn", context.version)})


def _told(error: int, api: str, version: int) -> int:
    """The error as clients of a version know it."""
    if error == TransactionError.PRODUCER_FENCED and version < _FENCED_SINCE[api]:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error


def _by_topic(body: Body, error_of: Callable[[Partition], int]) -> list[Body]:
    return [
        {
            "name": topic["name"],
            "results_by_partition": [
                {"partition_index": index, "partition_error_code": error_of((topic["name"], index))}
                for index in dict.fromkeys(topic["partitions"])
            ],
        }
        for topic in body["topics"]
    ]


def _refuse_batch(error: int, version: int) -> None:
    """Errors: Refusal, if there is an error; old clients retry what may be right later as they do others."""
    if error == TransactionError.NONE:
        return
    if error == TransactionError.PRODUCER_FENCED:
        raise Refusal(ErrorCode.INVALID_PRODUCER_EPOCH, "another producer has this transactional id now")
    if error == TransactionError.TRANSACTION_ABORTABLE and version < _ABORTABLE_SINCE:
        raise Refusal(ErrorCode.INVALID_TXN_STATE, "Partition was not added to the transaction")
    if error == TransactionError.COORDINATOR_NOT_AVAILABLE or (
        error == TransactionError.CONCURRENT_TRANSACTIONS and version < _ADDED_BY_BATCHES_SINCE
    ):
        name = TransactionError(error).name
        text = f"Unable to verify the partition has been added to the transaction. Underlying error: {name}"
        raise Refusal(ErrorCode.NOT_ENOUGH_REPLICAS, text)
    raise Refusal(ErrorCode(error), TransactionError(error).name)
