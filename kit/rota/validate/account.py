"""What became of every event: judged, undecided, not checked, or quarantined; and what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rota.validate.said import Said

MOST_NAMED = 1_000
"""Histories that are named as undecided, and violations that are kept; of more the number alone."""


@dataclass(frozen=True)
class Violation:
    """Something that the spec does not allow.

    history: the group; rule: a slug; why: in words; line: where it shows; lines: all that it rests on, by
    where they stand; source: what kind told it; nearest: what was possible instead; states: how many states
    remained before it; said: until then; at: seconds since 1970; asked: what is answered wrongly, in words;
    expected, came: where the answer differs from the nearest one, in words.
    """

    history: str
    rule: str
    why: str
    line: str
    lines: tuple[str, ...] = ()
    source: str = "frames"
    nearest: tuple[str, ...] = ()
    states: int = 0
    said: Said = field(default=Said(), repr=False)
    at: float | None = None
    asked: str = ""
    expected: str = ""
    came: str = ""

    @property
    def dialogue(self) -> tuple[str, ...]:
        """What was said, a line each."""
        return self.said.text

    def as_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "history": self.history,
            "rule": self.rule,
            "line": self.line,
            "why": self.why,
            "lines": list(self.lines),
            "source": self.source,
            "nearest": list(self.nearest),
            "states": self.states,
            "dialogue": list(self.dialogue),
            "at": self.at,
            "asked": self.asked,
            "expected": self.expected,
            "came": self.came,
        }


@dataclass
class Account:
    """Events by what became of them.

    histories: groups of which something was judged; judged; not_checked: (what, source) → events;
    undecided: (history, cause) → events; quarantined; violations, the first of them; found: how many there
    were; late: (history, what was late, seconds) and was forgiven; assumed: what was taken for granted.
    """

    histories: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    judged: int = 0
    quarantined: int = 0
    not_checked: Counter[tuple[str, str]] = field(default_factory=Counter)
    undecided: Counter[tuple[str, str]] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)
    found: int = 0
    late: dict[tuple[str, str], float] = field(default_factory=dict)
    assumed: dict[str, str] = field(default_factory=dict)
    reached: set[tuple[str, str]] = field(default_factory=set)

    @property
    def events(self) -> int:
        """All that were counted."""
        return self.judged + self.quarantined + self.not_checked.total() + self.undecided.total()

    def judge(self, group: str, events: int) -> None:
        """So many events of a group were judged."""
        if events:
            self.histories.add(group)
            self.judged += events

    def leave(self, what: str, source: str, events: int) -> None:
        """So many events were not checked, and why."""
        if events:
            self.not_checked[what, source] += events

    def give_up(self, group: str, cause: str, events: int) -> None:
        """So many events of a group could have been judged and were not."""
        if len(self.undecided) >= MOST_NAMED and (group, cause) not in self.undecided:
            group = "others"
        self.undecided[group, cause] += events

    def pardon(self, what: str, source: str) -> None:
        """An event that was judged cannot be judged after all."""
        self.judged -= 1
        self.not_checked[what, source] += 1

    def violate(self, violation: Violation) -> None:
        """Something that the spec does not allow."""
        self.found += 1
        if len(self.violations) < MOST_NAMED:
            self.violations.append(violation)

    def forgive(self, group: str, what: str, seconds: float) -> None:
        """Something was late, and no violation for that."""
        if (group, what) in self.late or len(self.late) < MOST_NAMED:
            self.late[group, what] = max(seconds, self.late.get((group, what), 0.0))

    @property
    def verdict(self) -> str:
        """`violated`, `undecided` or `holds`: nothing judged is undecided."""
        if self.found:
            return "violated"
        return "undecided" if self.undecided or not self.judged else "holds"

    def as_json(self) -> Mapping[str, Any]:
        """As JSON has it."""
        return {
            "histories": len(self.histories),
            "groups": len(self.groups),
            "events": self.events,
            "judged": self.judged,
            "quarantined": self.quarantined,
            "not_checked": [
                {"what": what, "source": source, "events": number}
                for (what, source), number in self.not_checked.most_common()
            ],
            "undecided": [
                {"history": group, "cause": cause, "events": number}
                for (group, cause), number in self.undecided.most_common()
            ],
            "violations": [one.as_json() for one in self.violations],
            "found": self.found,
            "late": [
                {"history": group, "what": what, "seconds": round(seconds, 3)}
                for (group, what), seconds in self.late.items()
            ],
            "assumed": self.assumed,
        }
