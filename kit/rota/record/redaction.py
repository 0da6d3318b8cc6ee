"""What names anybody, hashed with the salt of a run: equal stays equal, and nothing can be guessed."""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from typing import Any
from uuid import UUID

PUBLIC = frozenset({
    "",
    # Kinds of groups, their states, and assignors that clients come with.
    "consumer", "connect", "classic", "share", "streams",
    "Stable", "Empty", "Dead", "PreparingRebalance", "CompletingRebalance", "Assigning",
    "Reconciling", "NotReady",
    "range", "roundrobin", "sticky", "cooperative-sticky", "stream", "sessioned", "default", "compatible",
    # Topics of brokers, features of brokers, clients.
    "__consumer_offsets", "__transaction_state",
    "metadata.version", "kraft.version", "transaction.version", "group.version", "share.version",
    "streams.version", "eligible.leader.replicas.version",
    "apache-kafka-java", "kafka-python", "librdkafka", "confluent-kafka-python",
    # Reasons that clients give in words of their own.
    "the consumer is being closed", "the consumer unsubscribed from all topics",
    "consumer poll timeout has expired.",
})  # fmt: skip
"""Texts that stay as they are, for they tell of the protocol and not of who speaks it."""

_VERSION = re.compile(r"\d{1,4}(\.\d{1,4}){1,3}")
_MOST_KNOWN = 100_000


class Redactor:
    """Hides every text, id and all bytes of a body, the same each time. salt: of the run, kept nowhere."""

    def __init__(self, salt: bytes | None = None) -> None:
        self._salt = salt or os.urandom(32)
        self._known: dict[str, str] = {}

    def text(self, text: str) -> str:
        """A text, or what stands for it."""
        if text in PUBLIC:
            return text
        if (known := self._known.get(text)) is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[text] = f"h-{self._digest(text.encode('utf-8', 'surrogatepass'), 8).hex()}"
        return known

    def data(self, data: bytes) -> bytes:
        """What stands for bytes; nothing for nothing."""
        return self._digest(data, 16) if data else b""

    def body(self, body: dict[str, Any]) -> dict[str, Any]:
        """A body as clients and brokers could have sent it; tagged fields that nobody knows are left out."""
        return {name: self._field(name, value) for name, value in body.items() if name != "_tags"}

    def _field(self, name: str, value: Any) -> Any:
        if name == "client_software_version" and isinstance(value, str) and _VERSION.fullmatch(value):
            return value
        return self._value(value)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.data(value)
        if isinstance(value, list):
            return [self._value(one) for one in value]
        if isinstance(value, dict):
            return self.body(value)
        if isinstance(value, UUID):
            return value if value.int == 0 else UUID(bytes=self._digest(value.bytes, 16))
        return value

    def _digest(self, data: bytes, size: int) -> bytes:
        return blake2b(data, digest_size=size, key=self._salt).digest()
