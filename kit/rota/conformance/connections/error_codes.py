"""Kafka's error codes of the group protocol, by their names in the protocol guide."""

from __future__ import annotations

ERROR_CODES: dict[str, int] = {
    "UNKNOWN_SERVER_ERROR": -1,
    "NONE": 0,
    "CORRUPT_MESSAGE": 2,
    "UNKNOWN_TOPIC_OR_PARTITION": 3,
    "NOT_LEADER_OR_FOLLOWER": 6,
    "REQUEST_TIMED_OUT": 7,
    "OFFSET_METADATA_TOO_LARGE": 12,
    "COORDINATOR_LOAD_IN_PROGRESS": 14,
    "COORDINATOR_NOT_AVAILABLE": 15,
    "NOT_COORDINATOR": 16,
    "ILLEGAL_GENERATION": 22,
    "INCONSISTENT_GROUP_PROTOCOL": 23,
    "INVALID_GROUP_ID": 24,
    "UNKNOWN_MEMBER_ID": 25,
    "INVALID_SESSION_TIMEOUT": 26,
    "REBALANCE_IN_PROGRESS": 27,
    "GROUP_AUTHORIZATION_FAILED": 30,
    "UNSUPPORTED_VERSION": 35,
    "INVALID_PARTITIONS": 37,
    "INVALID_REQUEST": 42,
    "NON_EMPTY_GROUP": 68,
    "GROUP_ID_NOT_FOUND": 69,
    "MEMBER_ID_REQUIRED": 79,
    "GROUP_MAX_SIZE_REACHED": 81,
    "FENCED_INSTANCE_ID": 82,
    "GROUP_SUBSCRIBED_TO_TOPIC": 86,
    "UNKNOWN_TOPIC_ID": 100,
}
"""Error name -> code, source: the error table of the Kafka protocol guide (the part a group client meets)."""

_NAMES = {code: name for name, code in ERROR_CODES.items()}

NOT_READY = frozenset(
    ERROR_CODES[name]
    for name in ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
)
"""Codes that say: the coordinator of this group is not there yet, ask again."""


def error_name(code: object) -> str:
    """The name of an error code; a code outside the table reads `error 1234`."""
    return _NAMES.get(code, f"error {code}") if isinstance(code, int) else f"error {code!r}"
