"""What can go wrong with bytes on the wire."""

from __future__ import annotations


class WireError(ValueError):
    """A message that cannot be written or read; the text names the message, the field and the reason."""


class UnsupportedVersion(WireError):
    """A request for an API or a version of it that the tables do not have.

    `api_key` and `version` are what was asked for; `correlation_id` is that of the request that was read,
    or None where nothing was read.
    """

    def __init__(self, message: str, api_key: int, version: int, correlation_id: int | None = None) -> None:
        super().__init__(message)
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
