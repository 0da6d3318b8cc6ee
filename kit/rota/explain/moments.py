"""Moments as people type them: a date, a time of today, or how long ago."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

AGO = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

FORMS = "write 2026-11-23T03:00, 2026-11-23T03:00+02:00, 03:00 (today), or 90m (ago; s, m, h or d)"


def moment(text: str, now: datetime, zone: tzinfo = UTC) -> float:
    """Seconds since 1970. zone: of what names none. Errors: ValueError, in words that name the remedy."""
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
