"""Names of rotated files: which belong together, and which of them is older."""

from __future__ import annotations

import re
from typing import NamedTuple

_PACKED = re.compile(r"\.(?:gz|bz2|xz|lzma)$")
_NUMBER = re.compile(r"(?P<base>.*\D)\.(?P<number>\d{1,5})")
_DATE = re.compile(
    r"[-._]?(?<!\d)(?:(?P<year>\d{4})-?(?P<month>\d\d)-?(?P<day>\d\d)|"
    r"(?P<month2>\d\d)-(?P<day2>\d\d)-(?P<year2>\d{4}))"
    r"(?P<time>(?:[-_T.]?\d\d){0,3})(?!\d)(?:[-.](?P<index>\d{1,5})(?!\d))?"
)


class Age(NamedTuple):
    """The smaller, the older. turn: 0 dated, 1 numbered, 2 the one that is written."""

    turn: int
    date: str = ""
    number: int = 0


def rotated(name: str) -> tuple[str, Age]:
    """The name that all files of a rotation share, and the age of this one. name: without a folder."""
    bare = _PACKED.sub("", name)
    if found := _DATE.search(bare):
        year, month, day = (found[one] or found[f"{one}2"] for one in ("year", "month", "day"))
        date = f"{year}{month}{day}{re.sub(r'[^0-9]', '', found['time'])}"
        return bare[: found.start()] + bare[found.end() :], Age(0, date, int(found["index"] or 0))
    if found := _NUMBER.fullmatch(bare):
        return found["base"], Age(1, number=-int(found["number"]))
    return bare, Age(2)
