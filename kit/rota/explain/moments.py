"""Moments as people type them, a date, a time of today, or how long ago, and as they are shown."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo

AGO = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

FORMS = "write 2026-11-23T03:00, 2026-11-23T03:00+02:00, 03:00 (today), or 90m (ago; s, m, h or d)"


_SHOWN: ContextVar[tzinfo | None] = ContextVar("shown", default=UTC)


@contextmanager
def shown_in(zone: tzinfo | None) -> Iterator[None]:
    """Moments are shown in this zone, None: the machine's.

    It is that in which times of logs are read, so that an account can be held beside its log.
    """
    token = _SHOWN.set(zone)
    try:
        yield
    finally:
        _SHOWN.reset(token)


def clock(at: float | None, day: bool = False) -> str:
    """A moment as it is shown; day: with its date."""
    if at is None:
        return "at an untold time"
    form = "%Y-%m-%d %H:%M:%S" if day else "%H:%M:%S"
    return datetime.fromtimestamp(at, _SHOWN.get()).strftime(form)


def zone_shown() -> str:
    """The zone's name."""
    if (zone := _SHOWN.get()) is not None:
        return str(zone)
    names = "/".join(dict.fromkeys(time.tzname if time.daylight else time.tzname[:1]))
    return "UTC" if names == "UTC" else f"{names}, this machine's zone"


def moment(text: str, now: datetime, zone: tzinfo | None = UTC) -> float:
    """Seconds since 1970. zone: of what names none, None: the machine's.

    Errors: ValueError, in words that name the remedy.
    """
    given = text.strip()
    if ago := AGO.fullmatch(given):
        return now.timestamp() - float(ago[1]) * UNITS[ago[2]]
    if re.fullmatch(r"\d{1,2}:\d\d(:\d\d)?", given):
        given = f"{now.astimezone(zone):%Y-%m-%d}T{given:0>5}"
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        raise ValueError(f"{text!r} is no moment; {FORMS}") from None
    return (found if found.tzinfo else found.replace(tzinfo=zone)).timestamp()
