"""Tables that are partitioned by day: which files are of the days that are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

DAY = "day="
"""How the name of a folder begins that has what is of one day, as tables are partitioned."""

BESIDE = timedelta(days=1)
"""What is late, or of another time zone, may be in the folder of the day before or after."""


@dataclass(frozen=True)
class Days:
    """From when to when, seconds since 1970; None: without an end."""

    since: float | None = None
    until: float | None = None

    def has(self, path: Path) -> bool:
        """Whether a file or folder is of these days, or of one beside them. The innermost folder
        `day=YYYY-MM-DD` says of which day it is; without one it may be of any."""
        day = _day_of(path)
        if day is None:
            return True
        first = None if self.since is None else _day(self.since) - BESIDE
        last = None if self.until is None else _day(self.until) + BESIDE
        return (first is None or day >= first) and (last is None or day <= last)


EVERY_DAY = Days()


def _day(at: float) -> date:
    return datetime.fromtimestamp(at, UTC).date()


def _day_of(path: Path) -> date | None:
    for folder in (path, *path.absolute().parents):
        if folder.name.startswith(DAY):
            try:
                return date.fromisoformat(folder.name.removeprefix(DAY))
            except ValueError:
                return None
    return None
