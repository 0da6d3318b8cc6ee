"""States of the judge taken apart, so that equal parts are one object and to compare is to look which it is.

What is not a moment, the group with the names of its timers and the ids that were handed out, is a `Core`.
Moments stand beside it as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rota.linearise.asked import OLDER
from rota.linearise.looks import Looks
from rota.linearise.paths import Path, States
from rota.linearise.states import State
from rota.linearise.steps import Rules
from rota.linearise.times import FOREVER, Span
from rota.spec import Group, GroupRecord, Profile, Timer

REQUEST, LOG, TIMER = "request", "log", "timer"
"""What may happen: a request is taken, the log answers, a timer is due."""

WHOEVER_ASKS = -1
"""The number of a request that is answered at once: what is learned of it holds for the next one like it."""


def can_be_quick(profile: Profile, looking: Looks | None) -> bool:
    """Whether states of this coordinator have nothing that is not kept here: looks for what has expired, and
    what the older coordinator's races leave behind."""
    return looking is None and profile.name not in OLDER


class Shared:
    """A value, and the only one like it: whoever has two compares which object they are. value: it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Due(Shared):
    """When timers are due, in order: earliest, latest, earliest. first, last: the least of either."""

    __slots__ = ("first", "last")

    def __init__(self, value: tuple[float, ...]) -> None:
        super().__init__(value)
        self.first = min(value[::2], default=FOREVER)
        self.last = min(value[1::2], default=FOREVER)


class Line(Shared):
    """What waits for the log: a tuple of (item, record), and since when (as of `Due`).

    first: of the former, where no offsets are among the first two; else None.
    """

    __slots__ = ("first",)

    def __init__(self, value: tuple[Any, ...], first: Shared | None) -> None:
        super().__init__(value)
        self.first = first


class Core:
    """What a state is without its moments, and the only one like it.

    timers: that are armed, in order; ids, stored, looked: as of `State`; waits: whether a request waits in
    it; outcomes: input → what comes of it; commits: shape of a commit → the same (`rota.linearise.learned`);
    hashed: itself, for those who count (`rota.linearise.pairs`).
    """

    __slots__ = (
        "commits",
        "group",
        "hashed",
        "ids",
        "looked",
        "name",
        "outcomes",
        "stored",
        "timers",
        "waits",
    )

    def __init__(self, state: State, timers: tuple[Timer, ...]) -> None:
        self.group: Group | None = state.group
        self.timers = timers
        self.ids, self.stored, self.looked = state.ids, state.stored, state.looked
        self.name = state.name
        members = () if state.group is None else state.group.members.values()
        self.waits = any(one.awaiting_join or one.awaiting_sync for one in members)
        self.outcomes: dict[Shared, tuple[Outcome, ...] | None] = {}
        self.commits: dict[Shared, Any] = {}
        self.hashed: Any = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a step does to a core.

    core: the next one; armed: for each of its timers the place among those before it (an int), or its delay
    in seconds (a float), None for one that may be due at any time; replies: number of the request and
    answer; appended: to the line; veils: whether readers may not see the group until now; rules: of the spec;
    keeps: whether the timers are those before it, all of them.
    """

    core: Core
    armed: tuple[int | float | None, ...]
    replies: tuple[tuple[int, Shared], ...]
    appended: tuple[GroupRecord | None, ...]
    veils: bool
    rules: Rules
    keeps: bool


Owing = tuple[int, Shared, float]
"""An answer that was given and not seen yet: number of the request, answer, when at the latest."""

Packed = tuple[Core, Shared, Line, Due, Shared, Shared, float, float]
"""A state: core, offsets, line, when its timers are due, pending in order, owed by number (`Owing`), low,
veiled."""


class QuickStates(Mapping[State, Path | None]):
    """States that are taken apart, each with a path to it. As a mapping it puts them together."""

    def __init__(self, packed: dict[Packed, Path | None], whole: Callable[[Packed], State]) -> None:
        self.packed, self._whole = packed, whole

    @cached_property
    def whole(self) -> States:
        """The states, put together."""
        return {self._whole(state): path for state, path in self.packed.items()}

    def __getitem__(self, state: State) -> Path | None:
        return self.whole[state]

    def __iter__(self) -> Iterator[State]:
        return iter(self.whole)

    def __len__(self) -> int:
        return len(self.packed)

    def values(self) -> ValuesView[Path | None]:
        """The paths, for which no state is put together."""
        return self.packed.values()


How = tuple[float, float, str, int]
"""How a step comes: when at the earliest; seconds out of time; what happens, and the number of the request or
the place of the timer."""

Next = tuple[Packed, Rules, float, float, str, int]
"""What may be next: a state; by which rules; how."""


def spans_of(numbers: Sequence[float]) -> Iterable[Span]:
    return map(Span, numbers[::2], numbers[1::2])
