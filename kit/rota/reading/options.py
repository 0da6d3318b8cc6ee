"""What people can say about their sources where these do not say it themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from rota.conformance.connections.security import PLAINTEXT, Security
from rota.reading.days import EVERY_DAY, Days
from rota.reading.errors import ReadingError

_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")


@dataclass(frozen=True)
class ReadOptions:
    """How sources are read.

    format: the name of a reader, None: it is found; time_format: of a log's lines, in strptime's words, None:
    it is found among the common ones; time_zone: of times that do not say theirs, None: the machine's;
    layout: a log's, as a pattern of log4j (`[%d] %p %m (%c)%n`), None: it is found; skews: source → seconds
    that its clock is ahead, sources by path, file name or folder name; follow: wait for what will be
    written at the end of the last file; idle: is called while nothing is, True: that was the end; ports: of
    brokers, in captures, none: every connection is looked at; security: how a broker is spoken to that is
    read from; unordered: events lie in any order, some of them twice; days: only files of these, where a
    folder `day=YYYY-MM-DD` above them says of which they are.
    """

    format: str | None = None
    time_format: str | None = None
    time_zone: tzinfo | None = None
    layout: str | None = None
    skews: Mapping[str, float] = field(default_factory=dict)
    follow: bool = False
    idle: Callable[[], bool] | None = None
    ports: frozenset[int] = frozenset()
    security: Security = PLAINTEXT
    unordered: bool = False
    days: Days = EVERY_DAY


def time_zone(text: str) -> tzinfo:
    """A zone as people write it: `UTC`, `+02:00`, `Europe/Berlin`. Errors: ReadingError."""
    if text.upper() in ("UTC", "Z"):
        return UTC
    if offset := _OFFSET.fullmatch(text):
        sign = -1 if offset[1] == "-" else 1
        return timezone(sign * timedelta(hours=int(offset[2]), minutes=int(offset[3])))
    try:
        return ZoneInfo(text)
    except (ValueError, OSError, LookupError):
        raise ReadingError(
            f"no time zone is called {text!r}; write one as UTC, +02:00 or Europe/Berlin"
        ) from None
