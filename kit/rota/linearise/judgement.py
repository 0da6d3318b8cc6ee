"""What a judge is allowed, and what it says in the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from msgspec import Struct

from rota.linearise.history import Event
from rota.linearise.words import in_words


class UndecidedError(Exception):
    """A cap is reached. The message says which."""


class Verdict(Enum):
    """CONSISTENT: the spec allows an order; VIOLATED: none; UNDECIDED: nobody can say, which is no pass."""

    CONSISTENT = "consistent"
    VIOLATED = "violated"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Limits:
    """How far a judge goes, and what it forgives. Seconds.

    requests: how many may be under way at once whose order is not known; states: how many at once; past
    either it is undecided. grace: beside the watcher's own lateness, what a coordinator may take to begin
    with a request, to store a record, to notice that a timer is due, and to send an answer; early: how much
    too soon a timer may be, for clocks that count whole milliseconds; relaxed: how much out of time something
    may be to be told as late or early, and not as an answer that cannot be; grain: moments are told apart in
    steps of this size, earlier ones rounded down and later ones up, so that orders of what was almost at once
    lead to the same state. narrow: whether, past `requests` or `states`, fewer orders are looked at (the
    oldest requests first) before it is undecided: one that explains what was seen is enough, and only where
    none of the fewer does nobody can say. kept: how many events are kept to be judged again with more
    patience; what lies further back is forgotten. forgives: seconds by which a coordinator may be late
    without a violation; `Judge.late` has what was. prompt: whether each answer is held to the moment at which
    it comes, and not only what is still missing when all is quiet.
    """

    requests: int = 6
    states: int = 2_000
    grace: float = 0.1
    early: float = 0.01
    relaxed: float = 60.0
    grain: float = 0.05
    narrow: bool = False
    kept: int = 5_000
    forgives: float = 0.0
    prompt: bool = False


@dataclass(frozen=True)
class OutOfTime:
    """Something that came at a time at which it may not come.

    kind: "timer.session" and the like, "request", "log" or "answer"; what: in words, as "timer session of
    m1", "" where several may have been; seconds: how much too late at least, or, of what nobody can name,
    at most; below 0: too early.
    """

    kind: str
    what: str
    seconds: float

    def __str__(self) -> str:
        if self.kind == "answer":
            return f"{self.what} has not come; it is late by {self.seconds:.3f} s at least"
        when = "late" if self.seconds >= 0 else "early"
        return f"{self.what} is {when} by {abs(self.seconds):.3f} s"


ALONE = "this very answer, in no order with what else was said"
"""What an answer is that was possible by itself, where others were not that were seen."""


@dataclass(frozen=True)
class Nearest:
    """An answer that was possible, by which rules. differs: field → (what was possible, what was seen)."""

    rules: tuple[str, ...]
    state: str
    differs: tuple[tuple[str, Any, Any], ...]

    def __str__(self) -> str:
        told = ", ".join(
            f"{name} {in_words(wanted)}, not {in_words(seen)}" for name, wanted, seen in self.differs
        )
        by = f" by {', '.join(self.rules)}" if self.rules else ""
        return f"{told or ALONE}{by} (group {self.state})"


class Moment(Struct, frozen=True):
    """One thing that the coordinator did, in an order that explains a history.

    at: seconds, the earliest; what: in words; rules: slugs; state: of the group before it.
    """

    at: float
    what: str
    rules: tuple[str, ...]
    state: str

    def as_json(self) -> dict[str, Any]:
        """The moment as JSON has it."""
        return {"at": self.at, "what": self.what, "rules": list(self.rules), "state": self.state}


@dataclass(frozen=True)
class Judgement:
    """The end of a judge's work.

    at: the event at which no state was left (violated) or the judge gave up (undecided); why: in words;
    nearest: the answers that were possible then, nearest first; late: what came too late or too early,
    where the history has an order but for that; states: the most there were at once; moments: an order that
    explains what was seen, up to `at`, as far back as it is kept; earlier: what was `reached` before that.
    """

    verdict: Verdict
    at: Event | None = None
    why: str = ""
    nearest: tuple[Nearest, ...] = ()
    late: tuple[OutOfTime, ...] = ()
    states: int = 0
    moments: tuple[Moment, ...] = field(default=(), repr=False)
    earlier: frozenset[tuple[str, str]] = field(default=frozenset(), repr=False)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules behind the nearest answer."""
        return self.nearest[0].rules if self.nearest else ()

    @property
    def reached(self) -> frozenset[tuple[str, str]]:
        """(rule, state of the group before it) along the order that explains the history."""
        return self.earlier | {(slug, moment.state) for moment in self.moments for slug in moment.rules}

    def as_json(self) -> dict[str, Any]:
        """The judgement as JSON has it."""
        return {
            "verdict": self.verdict.value,
            "at": None if self.at is None else self.at.at,
            "event": None if self.at is None else repr(self.at),
            "why": self.why,
            "nearest": [str(one) for one in self.nearest],
            "rules": list(self.rules),
            "late": [{"kind": one.kind, "what": one.what, "seconds": one.seconds} for one in self.late],
            "states": self.states,
            "moments": [one.as_json() for one in self.moments],
        }
