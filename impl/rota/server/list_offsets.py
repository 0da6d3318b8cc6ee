"""ListOffsets: where a partition begins and ends, and which offset belongs to a time.

Clients that read what is committed are told nothing of what is not stable yet.

Source: KIP-79, KIP-98, KIP-734, KIP-405, KIP-1005, KIP-1023; upstream's ReplicaManager#fetchOffset, and a
running Kafka 4.4.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping
from typing import Any

from rota.server.context import RequestContext
from rota.server.errors import ErrorCode, Refusal
from rota.server.partition import LEADER_EPOCH, Looking, PartitionLog, TimedOffset, check_leader_epoch
from rota.server.topics import Topics

_SPECIAL: Mapping[int, tuple[int, Callable[[PartitionLog], TimedOffset | Looking]]] = {
    -1: (1, lambda log: TimedOffset(log.log_end)),
    -2: (1, lambda log: TimedOffset(log.log_start)),
    -3: (7, PartitionLog.offset_of_max_timestamp),
    -4: (8, lambda log: TimedOffset(log.log_start)),
    -5: (9, lambda log: TimedOffset()),
    -6: (11, lambda log: TimedOffset()),
}
"""What is asked for by a negative timestamp, and the version that brought it: latest, earliest, newest
timestamp, earliest local, latest tiered, earliest pending upload. Nothing is tiered here."""

_LATEST, _EARLIEST = -1, (-2, -4)

READ_COMMITTED = 1
"""The isolation level of clients that are not to see what is in no transaction that has been committed."""

Body = Mapping[str, Any]


def list_offsets(
    topics: Topics, body: Body, context: RequestContext
) -> Generator[None, None, dict[str, Any]]:
    """The response body, in steps. A partition that is asked for twice gets INVALID_REQUEST, as in Kafka."""
    counts = Counter(
        (entry["name"], item["partition_index"]) for entry in body["topics"] for item in entry["partitions"]
    )
    found = []
    for entry in body["topics"]:
        name = entry["name"]
        indexes = {item["partition_index"]: item for item in entry["partitions"]}
        partitions = []
        for index, item in indexes.items():
            yield
            stable = body.get("isolation_level") == READ_COMMITTED and body["replica_id"] < 0
            asked = name, item, context, counts[name, index] > 1
            partitions.append((yield from _partition(topics, *asked, stable)))
        found.append({"name": name, "partitions": partitions})
    return {"topics": found}


def _partition(
    topics: Topics, name: str, item: Body, context: RequestContext, repeated: bool, stable: bool
) -> Generator[None, None, dict[str, Any]]:
    answer = {"partition_index": item["partition_index"]}
    try:
        if repeated:
            raise Refusal(ErrorCode.INVALID_REQUEST, "a partition that is asked for twice")
        log = topics.led(topics.named(name), item["partition_index"], context.endpoint.node_id)
        check_leader_epoch(item.get("current_leader_epoch", -1))
        found = yield from _offset(log, item["timestamp"], context.version)
        if stable and item["timestamp"] not in _EARLIEST and found.offset >= log.last_stable:
            found = TimedOffset(log.last_stable if item["timestamp"] == _LATEST else -1)
    except Refusal as refusal:
        return answer | {"error_code": refusal.error_code}
    leader_epoch = LEADER_EPOCH if found.offset >= 0 else -1
    return answer | {"offset": found.offset, "timestamp": found.timestamp, "leader_epoch": leader_epoch}


def _offset(log: PartitionLog, timestamp: int, version: int) -> Looking:
    """Errors: Refusal with UNSUPPORTED_VERSION for a negative timestamp without meaning in that version."""
    if timestamp >= 0:
        return (yield from log.offset_of_time(timestamp))
    since, find = _SPECIAL.get(timestamp, (version + 1, PartitionLog.offset_of_max_timestamp))
    if version < since:
        raise Refusal(ErrorCode.UNSUPPORTED_VERSION, f"timestamp {timestamp} in version {version}")
    found = find(log)
    return found if isinstance(found, TimedOffset) else (yield from found)
