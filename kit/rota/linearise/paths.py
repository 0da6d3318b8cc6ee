"""How states were reached, what may happen next, and what time is forgiven on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec import Struct

from rota.linearise.judgement import Moment, OutOfTime
from rota.linearise.states import State
from rota.linearise.steps import Taken
from rota.linearise.times import FOREVER
from rota.linearise.words import timer_in_words

LOOK, LOOK_IN_WORDS = "look", "what has expired is looked for"


class Path(Struct, frozen=True, eq=False):
    """How a state was reached: the last moment, and what came before. late: what came out of time there."""

    before: Path | None
    moment: Moment
    late: OutOfTime | None = None

    def all(self) -> list[Path]:
        """From the beginning."""
        found: list[Path] = []
        path: Path | None = self
        while path is not None:
            found.append(path)
            path = path.before
        return found[::-1]


States = dict[State, Path | None]


@dataclass(frozen=True)
class Patience:
    """What time is forgiven in a run. Seconds.

    slack: too late; early: too soon; told, told_early: what of that is no news; looks: whether what has
    expired may have been looked for, once.
    """

    slack: float
    early: float
    told: float
    told_early: float
    looks: bool = False

    def too_late(self, low: float, latest: float) -> float:
        """By how many seconds something is late that happens no earlier than this."""
        return max(0.0, low - latest - self.told) if latest < FOREVER else 0.0

    def overdue(self, state: State, at: float) -> OutOfTime | None:
        """What time should have brought about longest ago, where something else happens."""
        late = ((self.too_late(at, span.latest), timer) for timer, span in state.armed.items())
        seconds, timer = max(late, default=(0.0, None))
        look = 0.0 if state.look is None or state.look.passes else self.too_late(at, state.look.due.latest)
        if look > seconds:
            return OutOfTime(LOOK, LOOK_IN_WORDS, look)
        if timer is None or not seconds:
            return None
        return OutOfTime(f"timer.{timer.name}", timer_in_words(timer), seconds)


@dataclass(frozen=True)
class Enabled:
    """What may happen: its kind, in words, at the earliest, to what it leads, and how far out of time."""

    kind: str
    what: str
    low: float
    taken: Iterator[Taken]
    out: float


def with_overdue(last: Path | None, overdue: Mapping[str, float], at: float, state: str) -> Path | None:
    """A path on which answers are missing at a moment that must have come.

    overdue: request in words → seconds since when; state: of the group.
    """
    for about, late in overdue.items():
        moment = Moment(at, f"{about} is not answered yet", (), state)
        last = Path(last, moment, OutOfTime("answer", f"the answer to {about}", late))
    return last
