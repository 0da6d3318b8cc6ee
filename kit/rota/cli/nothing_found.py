"""What was read where nothing was found that was asked for: which groups there are, and at which times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rota.cli.errors import nearly
from rota.explain.moments import clock, zone_shown
from rota.history import Event

MOST_NAMES = 1000
"""Groups of which the names are kept, for whoever has misspelt one."""


@dataclass
class Met:
    """names: of groups; first, last: when the first and the last event was, in seconds since 1970."""

    names: set[str] = field(default_factory=set)
    first: float | None = None
    last: float | None = None

    def take(self, event: Event) -> None:
        """The next event."""
        if event.group and len(self.names) < MOST_NAMES:
            self.names.add(event.group)
        if event.at is not None:
            self.first = event.at if self.first is None else min(self.first, event.at)
            self.last = event.at if self.last is None else max(self.last, event.at)

    def without(self, asked: Sequence[str], read: str) -> str:
        """None of the groups that were asked for was met, in words; empty: one was, or all were asked for.

        read: what was read, in words.
        """
        missed = [name for name in asked if name]
        if not missed or not self.names or not self.names.isdisjoint(missed):
            return ""
        some = ", ".join(sorted(self.names)[:5])
        return f"nothing about {', '.join(missed)} in {read}; {nearly(missed[0], self.names)}there are {some}"

    def at_other_times(self, since: float | None, until: float | None, read: str) -> str:
        """All was before or after what was asked for, in words; empty: it was not, or no time was told."""
        if self.first is None or self.last is None:
            return ""
        if not ((since is not None and self.last < since) or (until is not None and self.first > until)):
            return ""
        told = f"from {clock(self.first, day=True)} to {clock(self.last, day=True)} ({zone_shown()})"
        return f"nothing of the time that was asked for in {read} {told}; change --since or --until"
