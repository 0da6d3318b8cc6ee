"""Produce: one record batch a partition, checked and appended.

A batch of a transaction needs its partition to be in it. Up to version 11 the producer has said so before
(AddPartitionsToTxn); from version 12 on it is said by the batch itself.

Source: KIP-98, KIP-467, KIP-516, KIP-890; upstream's KafkaApis#handleProduceRequest, LogValidator and
ReplicaManager#maybeSendPartitionsToTransactionCoordinator, and a running Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from itertools import islice
from typing import Any, Protocol

from rota.server.context import RequestContext
from rota.server.errors import ErrorCode, Refusal
from rota.server.internal_topics import check_writable
from rota.server.partition import PartitionLog
from rota.server.topics import Topic, Topics
from rota.wire.record_scan import READABLE, check_records
from rota.wire.records import BatchInfo, CrcError, RecordsError, split

_TOPIC_IDS_SINCE, _ZSTD_SINCE = 13, 7

_OF_RECORDS = (ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP)
"""What is told with where the log begins, since it is the log that does not take these records."""

Body = Mapping[str, Any]


class Transactions(Protocol):
    """What is asked whether a batch may be in a transaction."""

    def check_batch(
        self, transactional_id: str, info: BatchInfo, partition: tuple[str, int], version: int
    ) -> None:
        """Whether the partition is in the producer's transaction. Errors: Refusal."""


class Produce:
    """The handler; `appended` is called for every log that has grown, after all of a request is appended."""

    def __init__(
        self, topics: Topics, appended: Callable[[PartitionLog], object], transactions: Transactions
    ) -> None:
        self._topics = topics
        self._transactions = transactions
        self._appended = appended

    def __call__(self, body: Body, context: RequestContext) -> Iterator[None]:
        """Answers, but with acks 0: nothing then, or the end of the connection if anything was refused."""
        grown: list[PartitionLog] = []
        responses = []
        for entry in body["topic_data"]:
            responses.append((yield from self._topic(entry, body, context, grown)))
            yield
        errors = {item.get("error_code") for entry in responses for item in entry["partition_responses"]}
        if body["acks"] != 0:
            context.reply({"responses": responses})
        elif errors <= {None}:
            context.no_reply()
        else:
            context.close_connection(f"Produce with acks 0 failed with {[*map(int, errors - {None})]}")
        for log in grown:
            self._appended(log)

    def _topic(
        self, entry: Body, body: Body, context: RequestContext, grown: list[PartitionLog]
    ) -> Generator[None, None, dict[str, Any]]:
        answers, version = [], context.version
        for item in entry["partition_data"]:
            answer = {"index": item["index"]}
            try:
                topic = self._found(entry, version)
                log = self._topics.led(topic, item["index"], context.endpoint.node_id)
                _check_request(body)
                check_writable(topic.name, context.client_id)
                info, batch = yield from _checked(log, item["records"], version)
                if info.is_transactional:
                    self._check_transaction(body, info, log, (topic.name, item["index"]), version)
                appended = log.append(info, batch)
                answer |= {"log_start_offset": log.log_start, "base_offset": appended.base_offset}
                answer |= {"log_append_time_ms": appended.log_append_time_ms}
                grown.append(log)
            except Refusal as refusal:
                answer |= {"error_code": refusal.error_code, "error_message": refusal.message}
                answer |= {"base_offset": -1, "log_start_offset": -1}
                if refusal.error_code in _OF_RECORDS:
                    answer["log_start_offset"] = log.log_start
            answers.append(answer)
            yield
        return {
            **{key: entry[key] for key in ("name", "topic_id") if key in entry},
            "partition_responses": answers,
        }

    def _found(self, entry: Body, version: int) -> Topic:
        if version >= _TOPIC_IDS_SINCE:
            return self._topics.identified(entry["topic_id"])
        return self._topics.named(entry["name"])

    def _check_transaction(
        self, body: Body, info: BatchInfo, log: PartitionLog, partition: tuple[str, int], version: int
    ) -> None:
        """Whether a batch is in a transaction as it says, which is not asked again for the next ones."""
        if body["transactional_id"] is None:
            text = "records of a transaction need a transactional id in the request"
            raise Refusal(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, text)
        if info.producer_id < 0:
            raise Refusal(ErrorCode.INVALID_RECORD, "records of a transaction without a producer id")
        if not log.is_open(info):
            self._transactions.check_batch(body["transactional_id"], info, partition, version)


def _checked(
    log: PartitionLog, records: bytes | memoryview | None, version: int
) -> Generator[None, None, tuple[BatchInfo, bytes]]:
    """The batch in a records field, and its header. Errors: Refusal."""
    if records is not None and len(records) > log.config.max_message_bytes:
        text = f"{len(records)} bytes are more than max.message.bytes, {log.config.max_message_bytes}"
        raise Refusal(ErrorCode.MESSAGE_TOO_LARGE, text)
    info, batch = _only_batch(bytes(records or b""))
    if info.compression == "zstd" and version < _ZSTD_SINCE:
        text = f"zstd needs Produce {_ZSTD_SINCE}, this is {version}"
        raise Refusal(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, text)
    yield from _check_batch(info, batch, log)
    return info, batch


def _check_request(body: Body) -> None:
    if body["acks"] not in (-1, 0, 1):
        raise Refusal(ErrorCode.INVALID_REQUIRED_ACKS, f"acks {body['acks']}; give -1, 0 or 1")


def _only_batch(records: bytes) -> tuple[BatchInfo, bytes]:
    """The batch in a records field. Errors: Refusal with CORRUPT_MESSAGE or INVALID_RECORD."""
    try:
        batches = list(islice(split(records), 2))
    except CrcError as error:
        raise Refusal(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    except RecordsError as error:
        raise Refusal(ErrorCode.INVALID_RECORD, str(error)) from None
    if len(batches) != 1:
        raise Refusal(
            ErrorCode.INVALID_RECORD, f"{'two' if batches else 'no'} record batches; give one a partition"
        )
    return batches[0]


def _check_batch(info: BatchInfo, batch: bytes, log: PartitionLog) -> Iterator[None]:
    """Whether a producer may send it to that log. Errors: Refusal."""
    wrong = ""
    if info.is_control:
        wrong = "only brokers write control batches"
    elif info.base_offset != 0:
        wrong = f"base offset {info.base_offset}, not 0"
    elif info.count < 1 or info.count != info.last_offset + 1:
        wrong = f"{info.count} records, but a last offset of {info.last_offset}"
    elif info.producer_id >= 0 and info.base_sequence < 0:
        wrong = f"producer id {info.producer_id} with sequence number {info.base_sequence}"
    if wrong:
        raise Refusal(ErrorCode.INVALID_RECORD, wrong)
    _check_times(info, log)
    if info.compression in READABLE:
        text = f"Compacted topic cannot accept message without key in topic partition {log.name}"
        try:
            yield from check_records(batch, info, text if log.config.is_compacted else "")
        except RecordsError as error:
            raise Refusal(ErrorCode.INVALID_RECORD, str(error)) from None


def _check_times(info: BatchInfo, log: PartitionLog) -> None:
    """Whether a batch is neither too old nor from the future, by its first and its newest record.

    Errors: Refusal with INVALID_TIMESTAMP. Source: LogValidator#validateTimestamp (KIP-937).
    """
    config, now = log.config, log.clock()
    if config.is_append_time or info.max_timestamp == -1:
        return
    first, last = now - config.timestamp_before_max_ms, now + config.timestamp_after_max_ms
    if info.base_timestamp < first or info.max_timestamp > last:
        text = (
            f"timestamps from {info.base_timestamp} to {info.max_timestamp} are not within [{first}, {last}]"
        )
        raise Refusal(ErrorCode.INVALID_TIMESTAMP, text)
