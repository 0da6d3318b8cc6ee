"""Where the message stands in a line: behind what log4j, journald, docker or kubectl put there; in JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rota.reading.errors import ReadingError

TAG = re.compile(
    r"\[(?:(?P<coordinator>GroupCoordinator|GroupMetadataManager)(?P<broker>[^\]]*)"
    r"|Consumer (?:instanceId=(?P<instance>.*?), )?clientId=(?P<client>.*?), groupId=(?P<group>.*?))\]:? "
)
"""What Kafka puts before its sentences about groups: the broker, or the client."""

LIBRDKAFKA = re.compile(
    r"(?:%\d\|(?P<at>\d+\.\d+)\|(?P<mark>[A-Z_]+)\|(?P<handle>[^|]*)\| "
    r"|(?P<mark2>[A-Z_]+) \[(?P<handle2>[^\]]*)\] )?\[thrd:.*?\]: (?P<rest>.*)",
    re.DOTALL,
)
"""A line as librdkafka prints it, or as its logger in Python does."""

LEVEL = re.compile(r"\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b\]?:? +(?P<message>.*)", re.DOTALL)

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""What makes a terminal write in colours."""

_LOGGER = re.compile(r" \([\w$]+(?:\.[\w$]+)+(?::\d+)?\)(?: \[[^\[\]]*\])?[\s\"]*\Z")
"""The logger's name, as Kafka Connect writes it with the number of a line; behind it the thread, as Strimzi
writes it, or the end of a text in a table of comma-separated values."""

_WHOLE = re.compile(r"\{\"|^\s*\[\s*[\[{]")
"""Where JSON begins that may have messages in it."""

_MESSAGES = ("message", "msg", "MESSAGE", "log", "@message", "textPayload", "line", "body", "_raw")
_TIMES = ("@timestamp", "timestamp", "time", "ts", "asctime", "date", "datetime", "@t", "_time")


_PART_OF_JSON = re.compile(rf"\s*\"(?:{'|'.join(_MESSAGES)})\"\s*:\s*(\"(?:[^\"\\]|\\.)*\"),?\s*")
"""A message by itself on a line of JSON that is written over several."""


class Found(NamedTuple):
    """A message, what stands before it, and its time as JSON tells it."""

    message: str
    before: str = ""
    at: str | float | None = None


def tag(text: str) -> re.Match[str] | None:
    """What Kafka puts before its sentence: the last mark, for a layout may have the class's name too."""
    found = TAG.search(text)
    while found is not None and (further := TAG.match(text, found.end())) is not None:
        found = further
    return found


def bare(message: str) -> str:
    """A message without the logger's name that Kafka's layout has behind it."""
    if message.endswith((")", '"', "]")) and (found := _LOGGER.search(message, max(0, len(message) - 200))):
        return message[: found.start()]
    return message.rstrip()


def of_json(text: str) -> list[Found]:
    """The messages in a line of JSON, whatever stands before that; none where it is none.

    A whole answer of a store of logs may be a line, or each of its texts one.
    """
    if '"' not in text:
        return []
    whole = _WHOLE.search(text)
    if whole is None or not text.rstrip().endswith(("}", "]")):
        part = _PART_OF_JSON.fullmatch(text)
        return [] if part is None else [Found(json.loads(part[1], strict=False))]
    try:
        values = json.loads(text[whole.start() :])
    except (ValueError, RecursionError):
        return []
    return [found._replace(before=text[: whole.start()]) for found in _messages(values)]


def _messages(values: Any) -> Iterator[Found]:
    """Every message in a value of JSON, in order, with its time where that stands beside it or around it."""
    left: list[tuple[Any, str | float | None]] = [(values, None)]
    while left:
        one, around = left.pop()
        if isinstance(one, dict):
            at = _time(one)
            at = around if at is None else at
            message = _message(one)
            if message is not None:
                yield Found(message, at=at)
            else:
                left += ((value, at) for value in reversed(one.values()))
        elif isinstance(one, list):
            if len(one) == 2 and all(isinstance(text, str) for text in one) and one[0].isdecimal():
                yield Found(one[1], at=_seconds(one[0]))  # as Loki answers
            else:
                left += ((value, around) for value in reversed(one))


def _message(values: Mapping[str, Any]) -> str | None:
    message = next((one for key in _MESSAGES if isinstance(one := values.get(key), str)), None)
    if message is None and isinstance(values.get("MESSAGE"), list):  # journald writes bytes so
        try:
            return bytes(values["MESSAGE"]).decode("utf-8", "backslashreplace")
        except (TypeError, ValueError):
            return None
    return message


def _time(values: Mapping[str, Any]) -> str | float | None:
    at = next((values[key] for key in _TIMES if key in values), None)
    if isinstance(at, str):
        return at
    instant = values.get("instant")
    try:
        if isinstance(instant, dict):
            at = float(instant["epochSecond"]) + float(instant.get("nanoOfSecond", 0)) / 1e9
        elif "__REALTIME_TIMESTAMP" in values:
            at = float(values["__REALTIME_TIMESTAMP"]) / 1e6
        else:
            return _seconds(values.get("timeMillis", at))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return at if math.isfinite(at) else None


def _seconds(at: Any) -> float | None:
    """Seconds of a number of seconds, or of thousandths, millionths or billionths of them."""
    try:
        number = float(at)
    except (TypeError, ValueError, OverflowError):
        return None
    parts = next((10**power for power in (9, 6, 3) if number > 10 ** (power + 8)), 1)
    return number / parts if math.isfinite(number) else None


_CONVERSION = re.compile(r"%(?:-?\d*(?:\.-?\d+)?)([A-Za-z]+|%)(?:\{[^}]*\})*")
_MEANINGS = {
    **dict.fromkeys(("d", "date"), r"(?P<time>.*?)"),
    **dict.fromkeys(("m", "msg", "message"), r"(?P<message>.*)"),
    **dict.fromkeys(("p", "level"), r"\s*\w+\s*"),
    **dict.fromkeys(("c", "logger", "C", "class"), r"[\w.$\s-]*?"),
    **dict.fromkeys(("n", "ex", "throwable", "xEx", "rEx"), ""),
    "%": "%",
}


def layout(pattern: str) -> re.Pattern[str]:
    """A regular expression for a pattern of log4j. Errors: ReadingError."""
    parts, end = [], 0
    for found in _CONVERSION.finditer(pattern):
        parts.append(re.escape(pattern[end : found.start()]))
        parts.append(_MEANINGS.get(found[1], r".*?"))
        end = found.end()
    parts.append(re.escape(pattern[end:]))
    try:
        made = re.compile("".join(parts).rstrip() + r"\s*\Z", re.DOTALL)
    except re.error:
        raise ReadingError(
            f"the layout {pattern!r} has a time or a message twice; give log4j's, as [%d] %p %m (%c)%n"
        ) from None
    if "message" not in made.groupindex:
        raise ReadingError(f"the layout {pattern!r} has no %m; give log4j's, as [%d] %p %m (%c)%n")
    return made
