"""Bodies of messages as JSON has them."""

from __future__ import annotations

from base64 import b64encode
from typing import Any


def plain(value: Any) -> Any:
    """A decoded body with JSON values only: bytes as `{"base64": text}`, ids as text, tags by number."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, bytes):
        return {"base64": text_of(value)}
    return str(value)


def text_of(data: bytes) -> str:
    """Bytes in base64."""
    return b64encode(data).decode("ascii")
