"""What happened in a scenario, by all processes, in the order of time; and waiting for more of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Partition = tuple[str, int]
Place = tuple[Partition, int]

PATIENCE = 40.0
"""Seconds that a wait lasts at most. Scenarios take a fraction; a loaded machine may need longer."""


@dataclass(frozen=True)
class Event:
    """One thing that happened.

    t: seconds on the machine's monotonic clock, by the process that saw it. who: a member's name, or "test".
    kind: as in `consumer_process`; from the test itself: produced, killed, frozen, thawed, ended, subscribe,
    stable, replaces, notice. more: the rest, partitions as (topic, index).
    """

    t: float
    who: str
    kind: str
    generation: int = -1
    member_id: str = ""
    more: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(who: str, line: dict[str, Any]) -> Event:
        """From an event line of a consumer process."""
        fields = dict(line)
        taken = (fields.pop("t"), who, fields.pop("event"), fields.pop("generation"), fields.pop("member_id"))
        for name in ("partitions", "owned", "library_owns"):
            if name in fields:
                fields[name] = frozenset((topic, index) for topic, index in fields[name])
        if "offsets" in fields:
            fields["offsets"] = {(topic, index): offset for topic, index, offset in fields["offsets"]}
        if "partition" in fields:
            fields["partition"] = tuple(fields["partition"])
        return Event(*taken, fields)

    @property
    def partitions(self) -> frozenset[Partition]:
        """Those that it is about."""
        about: frozenset[Partition] = self.more["partitions"]
        return about

    @property
    def place(self) -> Place:
        """Of a record: where it stands."""
        return self.more["partition"], self.more["offset"]


class TimedOut(AssertionError):
    """What was waited for did not happen; the text shows what did."""


class History:
    """Events as they come in, from any thread."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._events: list[Event] = []
        self._more = threading.Condition()

    def add(self, event: Event) -> None:
        """Something more has happened."""
        with self._more:
            self._events.append(event)
            self._more.notify_all()

    def note(self, who: str, kind: str, **more: Any) -> None:
        """An event of this moment, seen by the test itself."""
        self.add(Event(time.monotonic(), who, kind, more=more))

    def events(self) -> list[Event]:
        """All so far in the order of time."""
        with self._more:
            return sorted(self._events, key=lambda event: event.t)

    def of(self, who: str, *kinds: str) -> list[Event]:
        """Those of one member, of these kinds, in the order of time."""
        return [event for event in self.events() if event.who == who and event.kind in kinds]

    def wait(self, what: str, happened: Callable[[], bool], patience: float | None = None) -> None:
        """Until `happened`, asked again after every event. Errors: TimedOut with the history."""
        patience = self._patience if patience is None else patience
        deadline = time.monotonic() + patience
        with self._more:
            while not happened():
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimedOut(f"waited {patience:g} s in vain until {what}\n{told(self._events)}")
                self._more.wait(left)


def told(events: Iterable[Event]) -> str:
    """The history as text, one line an event, records of one poll in one line."""
    ordered = sorted(events, key=lambda event: event.t)
    start = ordered[0].t if ordered else 0.0
    lines: list[str] = []
    for event in ordered:
        head = f"{event.t - start:8.3f} {event.who:<8} {event.kind:<9} g{event.generation:<3}"
        line = f"{head} {_brief(event)}".rstrip()
        same = lines and event.kind in ("record", "produced") and lines[-1][9:33] == line[9:33]
        if same and len(lines[-1]) < 160:
            lines[-1] += f", {_brief(event)}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _brief(event: Event) -> str:
    if event.kind in ("record", "produced"):
        (topic, index), offset = event.place
        return f"{topic}/{index}@{offset}"
    return " ".join(f"{name}={_short(value)}" for name, value in event.more.items())


def _short(value: Any) -> str:
    if isinstance(value, frozenset | set):
        return "{" + " ".join(f"{topic}/{index}" for topic, index in sorted(value)) + "}"
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return " ".join(value)
    if isinstance(value, dict):
        pairs = (f"{topic}/{index}@{offset}" for (topic, index), offset in sorted(value.items()))
        return "{" + " ".join(pairs) + "}"
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return str(value)
