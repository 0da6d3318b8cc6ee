"""DeleteRecords, and OffsetForLeaderEpoch of the one leader epoch that there is.

Source: KIP-107, KIP-320; upstream's ReplicaManager#deleteRecords and #lastOffsetForLeaderEpoch, and a running
Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from rota.server.context import RequestContext
from rota.server.errors import ErrorCode, Refusal
from rota.server.internal_topics import check_writable
from rota.server.partition import LEADER_EPOCH, check_leader_epoch
from rota.server.topics import Topics

_TO_THE_END = -1

Body = Mapping[str, Any]


class DeleteRecords:
    """The handler."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def __call__(self, body: Body, context: RequestContext) -> Generator[None, None, dict[str, Any]]:
        """Of a partition that is named twice the last offset counts."""
        told = []
        for entry in body["topics"]:
            offsets = {item["partition_index"]: item["offset"] for item in entry["partitions"]}
            partitions = []
            for index, offset in offsets.items():
                partitions.append(self._deleted(entry["name"], index, offset, context.endpoint.node_id))
                yield
            told.append({"name": entry["name"], "partitions": partitions})
        return {"topics": told}

    def _deleted(self, name: str, index: int, offset: int, node_id: int) -> dict[str, Any]:
        answer = {"partition_index": index, "low_watermark": -1}
        try:
            log = self._topics.led(self._topics.named(name), index, node_id)
            check_writable(name)
            if not log.config.is_deleted:
                raise Refusal(ErrorCode.POLICY_VIOLATION, "the topic is only compacted")
            if not _TO_THE_END <= offset <= log.log_end:
                raise Refusal(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} is not there")
            log.delete_before(log.log_end if offset == _TO_THE_END else offset)
        except Refusal as refusal:
            return answer | {"error_code": refusal.error_code}
        return answer | {"low_watermark": log.log_start}


class OffsetForLeaderEpoch:
    """The handler."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def __call__(self, body: Body, context: RequestContext) -> Generator[None, None, dict[str, Any]]:
        """Where the epoch ends: at the end of the log, if it is the one that there is."""
        told = []
        for entry in body["topics"]:
            partitions = []
            for item in entry["partitions"]:
                partitions.append(self._end(entry["topic"], item, context.endpoint.node_id))
                yield
            told.append({"topic": entry["topic"], "partitions": partitions})
        return {"topics": told}

    def _end(self, name: str, item: Body, node_id: int) -> dict[str, Any]:
        answer = {"partition": item["partition"]}
        try:
            log = self._topics.led(self._topics.named(name), item["partition"], node_id)
            check_leader_epoch(item["current_leader_epoch"])
        except Refusal as refusal:
            return answer | {"error_code": refusal.error_code}
        if item["leader_epoch"] != LEADER_EPOCH:
            return answer
        return answer | {"leader_epoch": LEADER_EPOCH, "end_offset": log.log_end}
