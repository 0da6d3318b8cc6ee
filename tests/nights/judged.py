"""What `rota explain` names as the cause of a night, source by source, beside the cause that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from nights.night import Left, Night
from rota.explain.as_json import as_json
from rota.explain.worst import Explainer, Wanted
from rota.reading import ReadingError, Tally, read


class Verdict(StrEnum):
    """What an account is worth."""

    RIGHT = "right"
    NOT_VISIBLE = "not visible"
    WRONG = "WRONG"
    FAILED = "FAILED"


@dataclass(frozen=True)
class Judged:
    """A night from one source: the causes that were named of the time of the incident."""

    night: str
    source: str
    verdict: Verdict
    named: tuple[str, ...]
    first: str = ""


def judged(night: Night, left: Left) -> list[Judged]:
    """Each source by itself, then all together."""
    together = {"all": tuple(path for paths in left.sources.values() for path in paths)}
    return [_judged(night, left, name, paths) for name, paths in (left.sources | together).items()]


def _judged(night: Night, left: Left, source: str, paths: tuple[Path, ...]) -> Judged:
    try:
        account = explained(left.group, paths)
    except ReadingError as error:
        return Judged(night.name, source, Verdict.FAILED, (), str(error))
    incidents = [one for one in account["incidents"] if _within(one, left)]
    named = tuple(dict.fromkeys(one["cause"] for one in incidents))
    first = incidents[0]["sentence"] if incidents else ""
    return Judged(night.name, source, verdict(night, named), named, first)


def verdict(night: Night, named: tuple[str, ...]) -> Verdict:
    """Right if the cause is named; wrong if one is named that it was not."""
    if set(named) - night.cause - night.less:
        return Verdict.WRONG
    return Verdict.RIGHT if set(named) & night.cause else Verdict.NOT_VISIBLE


def explained(group: str, paths: tuple[Path, ...]) -> Mapping[str, Any]:
    """What `rota explain --json --most=100` prints of a group; without its start, of which there would be
    hundreds. Errors: ReadingError."""
    explainer, tally = Explainer(Wanted(frozenset({group})), 100), Tally()
    for event in read([str(path) for path in paths], tally=tally):
        explainer.take(event)
    return as_json(explainer.done(), tally)


def _within(incident: Mapping[str, Any], left: Left) -> bool:
    """Whether it goes on when the incident has begun; what tells no time is taken as if."""
    ended = incident["ended"]
    return ended is None or ended >= left.began


def table(found: list[Judged]) -> str:
    """Nights by sources, then how many of each verdict."""
    sources = list(dict.fromkeys(one.source for one in found))
    by_place = {(one.night, one.source): one for one in found}
    rows = [["night", *sources]]
    for name in dict.fromkeys(one.night for one in found):
        rows.append([name, *(_cell(by_place.get((name, source))) for source in sources)])
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    counts = ", ".join(f"{sum(one.verdict is each for one in found)} {each.value}" for each in Verdict)
    return "\n".join([*(line.rstrip() for line in lines), counts])


def _cell(one: Judged | None) -> str:
    if one is None:
        return "-"
    named = "+".join(one.named) or "nothing"
    return one.verdict.value if one.verdict is Verdict.RIGHT else f"{one.verdict.value}: {named}"
