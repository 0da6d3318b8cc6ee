"""What a log cannot do, by Kafka's error codes, and what it refuses to read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum


class LogErrorCode(IntEnum):
    """The codes of org.apache.kafka.common.protocol.Errors that a log gives, by their names there."""

    CORRUPT_MESSAGE = 2
    MESSAGE_TOO_LARGE = 10
    RECORD_LIST_TOO_LARGE = 18
    KAFKA_STORAGE_ERROR = 56


class LogError(Exception):
    """What was asked of the log was not done; `error_code` is Kafka's, the text one line."""

    def __init__(self, error_code: LogErrorCode, message: str) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.message = message


class DamagedLog(Exception):
    """Files that are not as they were once synced: opening them would lose or invent something unsaid.

    `path` is the file, `position` the byte in it from which on it cannot be trusted, `offset` the first one
    that cannot be read. The text names them, what is wrong, and the way out.
    """

    def __init__(self, path: str, position: int, offset: int, wrong: str, remedy: str) -> None:
        super().__init__(f"{path}: at byte {position} (offset {offset}): {wrong}. {remedy}")
        self.path = path
        self.position = position
        self.offset = offset
        self.wrong = wrong
        self.remedy = remedy


@contextmanager
def told_as_storage_error(doing: str) -> Iterator[None]:
    """Within it an OSError becomes a LogError with KAFKA_STORAGE_ERROR that names the cause."""
    try:
        yield
    except OSError as error:
        text = f"{doing}: {error.strerror or error}"
        raise LogError(LogErrorCode.KAFKA_STORAGE_ERROR, text) from error
