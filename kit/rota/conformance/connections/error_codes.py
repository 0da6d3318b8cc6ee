"""Kafka's error codes as dialogues show them: names for codes, and codes behind names."""

from __future__ import annotations

import re

from rota.wire.error_codes import ERROR_CODES

_NAMES = {code: name for name, code in ERROR_CODES.items()}

_NAMED = re.compile(rf"\b(?:{'|'.join(name for name in ERROR_CODES if name != 'NONE')})\b(?! \()")
"""A name that no number follows yet."""

NOT_READY = frozenset(
    ERROR_CODES[name]
    for name in ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
)
"""Codes that say: the coordinator of this group is not there yet, ask again."""

LATER = NOT_READY | {ERROR_CODES["CONCURRENT_TRANSACTIONS"]}
"""Codes after which a producer asks its transactions' coordinator again."""


def error_name(code: object) -> str:
    """The name of an error code; a code outside the table reads `error 1234`."""
    return _NAMES.get(code, f"error {code}") if isinstance(code, int) else f"error {code!r}"


def with_codes(text: str) -> str:
    """The text with the number on the wire behind each name of an error; NONE is clear without."""
    return _NAMED.sub(lambda found: f"{found[0]} ({ERROR_CODES[found[0]]})", text)
