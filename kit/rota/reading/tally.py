"""What reading met, beside the events: for those who tell how much was read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

MOST_REASONS = 100
OTHER = "other reasons"


@dataclass
class Quarantined:
    """Something that could not be read, for one reason. first: where it was met first."""

    first: str
    number: int = 1


@dataclass
class Tally:
    """How much was read. Kept while `read` is followed; whole when that has ended.

    sources: what was read → the name of its reader; events: all of them; unread: those among them of the
    kind UNREAD, unknown: those of logs among these; untimed: events of logs whose time was not found;
    quarantined: reason → where and how often, also_told: so much of it is an event as well; skipped: files in
    folders that no reader knows; twice: kind of source → events that were told
    before, where that is looked for; other_days: folders of days that were not asked for.
    """

    sources: dict[str, str] = field(default_factory=dict)
    events: int = 0
    unread: int = 0
    unknown: int = 0
    untimed: Quarantined | None = None
    quarantined: dict[str, Quarantined] = field(default_factory=dict)
    also_told: int = 0
    skipped: list[str] = field(default_factory=list)
    twice: Counter[str] = field(default_factory=Counter)
    other_days: int = 0

    def quarantine(self, origin: str, reason: str, also_told: bool = False) -> None:
        """Something at `origin` could not be read. also_told: it is an event as well."""
        self.also_told += also_told
        if reason not in self.quarantined and len(self.quarantined) >= MOST_REASONS:
            reason = OTHER
        if (known := self.quarantined.get(reason)) is not None:
            known.number += 1
        else:
            self.quarantined[reason] = Quarantined(origin)

    def without_time(self, origin: str) -> None:
        """A line at `origin` tells something, and when that was is not known."""
        if self.untimed is None:
            self.untimed = Quarantined(origin)
        else:
            self.untimed.number += 1

    @property
    def broken(self) -> int:
        """How much was quarantined."""
        return sum(one.number for one in self.quarantined.values())
