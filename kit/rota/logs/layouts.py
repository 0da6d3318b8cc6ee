"""Where the message stands in a line: behind what log4j, journald, docker or kubectl put there; in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
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

_LOGGER = re.compile(r" \([\w$]+(?:\.[\w$]+)+\)\s*\Z")

_MESSAGES = ("message", "msg", "MESSAGE", "log", "@message", "textPayload", "line", "body")
_TIMES = ("@timestamp", "timestamp", "time", "ts", "asctime", "date", "datetime", "@t")


class Found(NamedTuple):
    """A message, what stands before it, and its time as JSON tells it."""

    message: str
    before: str = ""
    at: str | float | None = None


def bare(message: str) -> str:
    """A message without the logger's name that Kafka's layout has behind it."""
    if message.endswith(")") and (found := _LOGGER.search(message, max(0, len(message) - 200))):
        return message[: found.start()]
    return message.rstrip()


def of_json(text: str) -> Found | None:
    """The message in a line of JSON, whatever stands before that; None where it is none."""
    start = text.find('{"')
    if start < 0 or not text.rstrip().endswith("}"):
        return None
    try:
        values = json.loads(text[start:])
    except ValueError:
        return None
    message = next((one for key in _MESSAGES if isinstance(one := values.get(key), str)), None)
    if message is None and isinstance(values.get("MESSAGE"), list):  # journald writes bytes so
        message = bytes(values["MESSAGE"]).decode("utf-8", "backslashreplace")
    return None if message is None else Found(message, text[:start], _time(values))


def _time(values: Mapping[str, Any]) -> str | float | None:
    instant = values.get("instant")
    try:
        if isinstance(instant, dict):
            return float(instant["epochSecond"]) + float(instant.get("nanoOfSecond", 0)) / 1e9
        for key, unit in (("__REALTIME_TIMESTAMP", 1e6), ("timeMillis", 1e3)):
            if key in values:
                return float(values[key]) / unit
    except (KeyError, TypeError, ValueError):
        return None
    at = next((values[key] for key in _TIMES if key in values), None)
    if isinstance(at, str):
        return at
    if isinstance(at, int | float) and not isinstance(at, bool):
        return at / 1e3 if at > 1e11 else float(at)
    return None


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
