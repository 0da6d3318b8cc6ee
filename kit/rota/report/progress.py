"""How far some work is, in the words of every live line: how much of it, how long, what is under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

KNOWN_FROM = 0.05, 5.0
"""The share of the work that must be done, and the seconds that must have passed, before it can be said how
long the rest takes."""


@dataclass(frozen=True)
class Progress:
    """How far a piece of work is.

    verb: whose; done: so many things of `of`, which are called `things`; seconds: since it began; share: of
    the work that is done, left: seconds that the rest takes, None: nobody knows; now: what is under way.
    """

    verb: str
    done: int
    of: int
    things: str
    seconds: float
    share: float | None = None
    left: float | None = None
    now: Sequence[str] = ()

    def line(self) -> str:
        """All of it in one line, what matters most first: a terminal may have no room for the rest."""
        parts = [f"{self.done:,} of {self.of:,} {self.things}"] if self.of > 1 else []
        parts.append(duration(self.seconds))
        left = self.left if self.left is not None else rest(self.share, self.seconds)
        parts += [f"about {duration(left)} left"] if left is not None and left >= 1 else []
        under_way = f"; {', '.join(self.now)}" if self.now else ""
        return f"{self.verb}: {', '.join(parts)}{under_way}"


def rest(share: float | None, seconds: float) -> float | None:
    """Seconds that the rest takes if it goes on as until now; None where that is not to be said yet."""
    least, waited = KNOWN_FROM
    if share is None or share < least or seconds < waited:
        return None
    return seconds * (1 - share) / share


def duration(seconds: float) -> str:
    """Seconds in words: below a minute as such, below an hour in minutes and seconds, else in hours."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
