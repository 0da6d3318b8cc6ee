"""What was on the wire in a dialogue: each frame field by field, and its bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rota.conformance.connections.null_tolerant import read_answer
from rota.conformance.dialogues.transcript import Line
from rota.conformance.results import CaseResult
from rota.report.dialogue_story import with_short_names
from rota.wire import WireError, decode_request

ROW = 16
"""Bytes on a line."""

INDENT = " " * 13
"""Below the text of a message."""

Key = tuple[str, int]
"""Who asked and the correlation id: what an answer has in common with its request."""


def told_with_bytes(result: CaseResult) -> Iterator[str]:
    """The dialogue line by line, below each message its fields and its bytes."""
    asked: dict[Key, list[tuple[str, int]]] = {}
    for number, line in enumerate(with_short_names(result)):
        if number and line.data:
            yield ""
        yield f"{line.at_ms:8.0f} ms  {line.who} {line.mark} {line.text}".rstrip()
        if line.data:
            yield from (f"{INDENT}{field}" for field in _fields(line, asked))
            yield from (f"{INDENT}{row}" for row in dumped(line.data))
            if line.size > len(line.data):
                yield f"{INDENT}the first {len(line.data):,} of {line.size:,} bytes"


def dumped(data: bytes) -> Iterator[str]:
    """Bytes as they are usually shown: where they are, in hexadecimal digits, and as ASCII."""
    for start in range(0, len(data), ROW):
        row = data[start : start + ROW]
        shown = "".join(chr(one) if 32 <= one < 127 else "." for one in row)
        yield f"{start:04x}  {row.hex(' '):<{3 * ROW - 1}}  {shown}"


def _fields(line: Line, asked: dict[Key, list[tuple[str, int]]]) -> Iterator[str]:
    """The fields of a frame; what it asks is noted, for only who knows the question can read the answer."""
    whole = line.size == len(line.data) > 8
    try:
        if whole and line.mark == "→":
            request = decode_request(line.data[4:], trailing=True)
            asked.setdefault((line.who, request.correlation_id), []).append(
                (request.api.name, request.version)
            )
            yield f"{request.api.name} v{request.version}, correlation id {request.correlation_id}"
            yield from shown(request.body)
        elif whole:
            (number,) = struct.unpack(">i", line.data[4:8])
            questions = asked.get((line.who, number), [])
            name, version = next((one for one in questions if line.text.startswith(one[0])), questions[0])
            questions.remove((name, version))
            _, body, _ = read_answer(name, version, line.data[4:])
            yield f"{name} v{version}, correlation id {number}"
            yield from shown(body)
    except WireError as trouble:
        yield f"cannot be read: {trouble}"
    except IndexError:
        yield "cannot be read: nobody asked for it"


def shown(body: Mapping[str, Any], indent: str = "  ") -> Iterator[str]:
    """The fields of a message, those of its parts further to the right."""
    for name, value in body.items():
        parts = value if isinstance(value, list) and value and isinstance(value[0], dict) else None
        if isinstance(value, dict) and value:
            parts = [value]
        if parts is None:
            yield f"{indent}{name}: {_word(value)}"
            continue
        yield f"{indent}{name}:"
        for part in parts:
            inner = list(shown(part, indent + "  "))
            yield f"{indent}- {inner[0].strip()}" if inner else f"{indent}-"
            yield from inner[1:]


def _word(value: Any) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes {value.hex()}" if value else "0 bytes"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(_word(one) for one in value)}]"
    return json.dumps(value, ensure_ascii=False, default=str)
