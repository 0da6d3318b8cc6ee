"""Kafka's error codes as far as the transaction coordinator gives them."""

from __future__ import annotations

from enum import IntEnum


class ErrorCode(IntEnum):
    """The codes of org.apache.kafka.common.protocol.Errors that are used here, by their names there."""

    NONE = 0
    COORDINATOR_NOT_AVAILABLE = 15
    INVALID_REQUEST = 42
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    PRODUCER_FENCED = 90
    TRANSACTIONAL_ID_NOT_FOUND = 105
    TRANSACTION_ABORTABLE = 120
