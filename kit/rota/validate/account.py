"""What became of every event: judged, undecided, not checked, or quarantined; and what was found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from rota.validate.said import Said

MOST_NAMED = 1_000
"""Histories that are named as undecided, and violations that are kept; of more the number alone."""


class Unaccounted(Exception):
    """Of some events nobody says what became of them, or it is said twice: a defect of this program."""

    @classmethod
    def unless(cls, read: int, told: int, of: str = "") -> None:
        """Errors: Unaccounted, unless of as many events it is told as there are. of: whose they are."""
        if read != told:
            raise cls(f"of {read:,} events{of} {told:,} are accounted for")


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


NOTHING: Mapping[str, int] = MappingProxyType({})


def history_of(cluster: str, group: str) -> str:
    """What a group's history is called."""
    return f"{cluster}/{group}" if cluster else group


@dataclass(slots=True)
class Standing:
    """What became of one history: its events; rules of its violations, and causes of what is undecided, with
    how many there are."""

    judged: int = 0
    quarantined: int = 0
    not_checked: int = 0
    rules: Mapping[str, int] = field(default_factory=lambda: NOTHING)
    causes: Mapping[str, int] = field(default_factory=lambda: NOTHING)

    def violates(self, rule: str) -> None:
        """A violation."""
        self.rules = {**self.rules, rule: self.rules.get(rule, 0) + 1}

    def gives_up(self, cause: str, events: int) -> None:
        """So many events are undecided."""
        self.causes = {**self.causes, cause: self.causes.get(cause, 0) + events}

    @property
    def verdict(self) -> str:
        """As that of an account."""
        return verdict_of(len(self.rules), bool(self.causes), self.judged)

    def as_row(self, cluster: str, group: str) -> dict[str, Any]:
        """As tables have it."""
        return {
            "cluster": cluster,
            "group": group,
            "verdict": self.verdict,
            "judged": self.judged,
            "quarantined": self.quarantined,
            "not_checked": self.not_checked,
            "undecided": sum(self.causes.values()),
            "violations": sum(self.rules.values()),
            "rules": dict(sorted(self.rules.items())),
            "causes": dict(sorted(self.causes.items())),
        }


def verdict_of(violations: int, undecided: bool, judged: int) -> str:
    """`violated`, `undecided` or `holds`: nothing judged is undecided. undecided: whether anything is, as
    where a stretch is lost before an event of it was."""
    if violations:
        return "violated"
    return "undecided" if undecided or not judged else "holds"


@dataclass
class Account:
    """Events by what became of them, as a whole and of each history.

    histories: groups of which something was judged; judged; not_checked: (what, source) → events;
    undecided: (history, cause) → events; quarantined; violations, the first of them; found: how many there
    were; late: (history, what was late, seconds) and was forgiven; assumed: what was taken for granted;
    standings: by cluster and group, that of the group "" for events of none; cluster: whose groups are told,
    "" where nobody has named it.
    """

    histories: Set[str] = field(default_factory=set)
    groups: Set[str] = field(default_factory=set)
    judged: int = 0
    quarantined: int = 0
    not_checked: Counter[tuple[str, str]] = field(default_factory=Counter)
    undecided: Counter[tuple[str, str]] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)
    found: int = 0
    late: dict[tuple[str, str], float] = field(default_factory=dict)
    assumed: dict[str, str] = field(default_factory=dict)
    reached: set[tuple[str, str]] = field(default_factory=set)
    standings: dict[tuple[str, str], Standing] = field(default_factory=dict)
    cluster: str = ""

    def of(self, group: str) -> Standing:
        """What became of one history."""
        standing = self.standings.get((self.cluster, group))
        if standing is None:
            standing = self.standings[self.cluster, group] = Standing()
            self.groups |= {group} - {""}
        return standing

    @property
    def events(self) -> int:
        """All that were counted."""
        return self.judged + self.quarantined + self.not_checked.total() + self.undecided.total()

    def judge(self, group: str, events: int) -> None:
        """So many events of a group were judged."""
        if events:
            self.histories |= {group}
            self.judged += events
            self.of(group).judged += events

    def leave(self, what: str, source: str, events: int, group: str = "") -> None:
        """So many events were not checked, and why. group: "" of events of none."""
        if events:
            self.not_checked[what, source] += events
            self.of(group).not_checked += events

    def quarantine(self, group: str, events: int = 1) -> None:
        """So many events of a group could not be read."""
        if events:
            self.quarantined += events
            self.of(group).quarantined += events

    def give_up(self, group: str, cause: str, events: int) -> None:
        """So many events of a group could have been judged and were not."""
        self.of(group).gives_up(cause, events)
        self._undecided(group, cause, events)

    def _undecided(self, group: str, cause: str, events: int) -> None:
        if len(self.undecided) >= MOST_NAMED and (group, cause) not in self.undecided:
            group = "others"
        self.undecided[group, cause] += events

    def pardon(self, what: str, source: str, events: int, group: str) -> None:
        """So many events of a group that were judged cannot be judged after all."""
        self.judged -= events
        self.of(group).judged -= events
        self.leave(what, source, events, group)

    def violate(self, violation: Violation) -> None:
        """Something that the spec does not allow."""
        self.found += 1
        self.histories |= {violation.history}
        self.of(violation.history).violates(violation.rule)
        if len(self.violations) < MOST_NAMED:
            self.violations.append(violation)

    def forgive(self, group: str, what: str, seconds: float) -> None:
        """Something was late, and no violation for that."""
        if (group, what) in self.late or len(self.late) < MOST_NAMED:
            self.late[group, what] = max(seconds, self.late.get((group, what), 0.0))

    def add(self, other: Account) -> None:
        """What became of another cluster's events. Its histories are called by its name as well."""
        named = partial(history_of, other.cluster)
        self.histories |= set(map(named, other.histories))
        self.groups |= set(map(named, other.groups))
        self.judged, self.quarantined = self.judged + other.judged, self.quarantined + other.quarantined
        self.not_checked += other.not_checked
        for (group, cause), events in other.undecided.items():
            self._undecided(named(group), cause, events)
        left = other.violations[: MOST_NAMED - len(self.violations)]
        self.violations += [replace(one, history=named(one.history)) for one in left]
        self.found += other.found
        self.late |= {(named(group), what): seconds for (group, what), seconds in other.late.items()}
        self.reached |= other.reached
        self.standings |= other.standings

    def verdicts(self) -> Iterator[str]:
        """The standing of each history as a line of JSON, by cluster and group."""
        for (cluster, group), standing in sorted(self.standings.items(), key=lambda one: one[0]):
            if group:
                yield json.dumps(standing.as_row(cluster, group))

    @property
    def verdict(self) -> str:
        """`violated`, `undecided` or `holds`: nothing judged is undecided."""
        return verdict_of(self.found, bool(self.undecided), self.judged)

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
