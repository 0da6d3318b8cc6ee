"""The time of a line: in one of the common formats, wherever it stands, or in the one that is given."""

from __future__ import annotations

import re
import time
from calendar import timegm
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from rota.reading.errors import ReadingError

_CLOCK = r"(?P<clock>\d\d:\d\d):(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
_ZONE = r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\w:]))?"

_FORMATS = tuple(
    re.compile(text)
    for text in (
        rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d)[T ]{_CLOCK}{_ZONE}",
        rf"(?P<year>\d{{4}})/(?P<month>\d\d)/(?P<day>\d\d) {_CLOCK}{_ZONE}",
        rf"(?P<day>\d\d)[ /-](?P<name>[A-Z][a-z][a-z])[ /-](?P<year>\d{{4}})[ :]{_CLOCK}{_ZONE}",
        rf"(?P<day>\d\d)\.(?P<month>\d\d)\.(?P<year>\d{{4}}) {_CLOCK}{_ZONE}",
        rf"(?P<name>[A-Z][a-z][a-z]) +(?P<day>\d\d?)(?P<year>) {_CLOCK}",
        rf"(?P<year>\d{{4}})(?P<month>\d\d)(?P<day>\d\d)[T -]?{_CLOCK}{_ZONE}",
    )
)
_EPOCH = re.compile(r"(?<![\d.])(?P<whole>1\d{9})(?:\.(?P<fraction>\d{1,9})|(?P<milli>\d{3}))(?!\d)")

_NAMES = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"

_MONTHS = {name: f"{place:02}" for place, name in enumerate(_NAMES.split(), start=1)}

_DIRECTIVES = {
    "Y": r"\d{4}",
    "y": r"\d\d",
    "m": r"\d\d?",
    "d": r" ?\d\d?",
    "e": r" ?\d\d?",
    "H": r"\d\d?",
    "I": r"\d\d?",
    "M": r"\d\d",
    "S": r"\d\d",
    "f": r"(?P<fraction>\d{1,9})",
    "b": r"\w+",
    "B": r"\w+",
    "a": r"\w+",
    "A": r"\w+",
    "p": r"\w+",
    "j": r"\d{3}",
    "z": r"(?:Z|[+-]\d\d:?\d\d)",
    "Z": r"\w+",
    "%": "%",
}

_A_DAY = 86400


class Times:
    """Finds times in lines of one source.

    zone: of those that do not say theirs, None: the machine's; given: a format in strptime's words, None: the
    common ones; written: when the source was written last, for times without a year.
    """

    def __init__(
        self, zone: tzinfo | None = None, given: str | None = None, written: float | None = None
    ) -> None:
        self._zone = zone
        self._written = time.time() if written is None else written
        self._minutes: dict[tuple[str, ...], float] = {}
        self._given = None if given is None else _parser(given, self._at)

    def find(self, text: str) -> float | None:
        """Seconds since 1970 of the time in a text, None where there is none.

        A time that says its zone goes before one that does not: kubectl and docker put it before the line.
        """
        if self._given is not None:
            return self._given(text)
        for pattern in _FORMATS:
            if (found := pattern.search(text)) is not None:
                values = found.groupdict()
                if values.get("zone") is None:
                    for later in pattern.finditer(text, found.end()):
                        if later["zone"] is not None if "zone" in values else False:
                            values = later.groupdict()
                            break
                return self._of(values)
        found = _EPOCH.search(text)
        if found is None:
            return None
        return int(found["whole"]) + float(f"0.{found['fraction'] or found['milli']}")

    def _of(self, values: Mapping[str, str | None]) -> float | None:
        """The time of a format's parts. Minutes are remembered: lines of one stand together."""
        month = values.get("month") or _MONTHS.get(values.get("name") or "")
        year, day, clock = values["year"] or "", values["day"] or "", values["clock"] or ""
        if month is None:
            return None
        zone = values.get("zone") or ""
        key = (year, month, day, clock, zone)
        minute = self._minutes.get(key)
        if minute is None:
            try:
                minute = self._minute(year, int(month), int(day), clock, _zone(zone))
            except (ValueError, OverflowError):
                return None
            if len(self._minutes) > 1000:
                self._minutes.clear()
            self._minutes[key] = minute
        return minute + int(values["second"] or 0) + float(f"0.{values['fraction'] or 0}")

    def _minute(self, year: str, month: int, day: int, clock: str, zone: tzinfo | None) -> float:
        hour, minute = (int(one) for one in clock.split(":"))
        if year:
            return self._at(datetime(int(year), month, day, hour, minute), zone)
        latest = datetime.fromtimestamp(self._written + _A_DAY, UTC).year
        # The 29th of February is not in every year.
        for assumed in range(latest, latest - 8, -1):
            try:
                at = self._at(datetime(assumed, month, day, hour, minute), zone)
            except ValueError:
                continue
            if at <= self._written + _A_DAY:
                return at
        raise ValueError("no year has such a day")

    def _at(self, moment: datetime, zone: tzinfo | None = None) -> float:
        zone = zone or moment.tzinfo or self._zone
        if zone is UTC:
            return float(timegm(moment.timetuple())) + moment.microsecond / 1e6
        return moment.replace(tzinfo=zone).timestamp()


def _zone(text: str) -> tzinfo | None:
    if not text:
        return None
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _parser(given: str, at: Callable[[datetime], float]) -> Callable[[str], float | None]:
    """What finds times in a format of strptime. Errors: ReadingError."""
    parts = re.split(r"%(.)", given)
    unknown = [f"%{one}" for one in parts[1::2] if one not in _DIRECTIVES]
    if unknown or len(parts) == 1:
        what = f"{unknown[0]} is unknown in it" if unknown else "it has no directives"
        raise ReadingError(
            f"the time format {given!r} is not read: {what}; write one as %d/%m/%Y %H:%M:%S,%f"
        )
    texts = [re.escape(part) if place % 2 == 0 else _DIRECTIVES[part] for place, part in enumerate(parts)]
    try:
        pattern = re.compile("".join(texts))
    except re.error:
        raise ReadingError(f"the time format {given!r} has %f twice; once is enough") from None

    def find(text: str) -> float | None:
        found = pattern.search(text)
        if found is None:
            return None
        time = found[0]
        if found.groupdict().get("fraction"):
            start, end = (place - found.start() for place in found.span("fraction"))
            time = time[:start] + time[start:end][:6] + time[end:]
        try:
            # strptime knows microseconds at most, and %d for what others write as %e.
            return at(datetime.strptime(time.strip(), given.replace("%e", "%d")))
        except ValueError:
            return None

    return find
