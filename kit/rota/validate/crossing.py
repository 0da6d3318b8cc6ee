"""Sources of one incident beside each other: what they say of one generation must agree.

Clocks are compared where two sources tell of the same generations: the middle of the differences is the skew.
A group that was removed begins again with generation 1, so of two moments that are further apart than the
others nothing is said.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from rota.history import Event, Kind, Source
from rota.validate.account import Account, Violation

MOST_GROUPS, MOST_GENERATIONS, MOST_DIFFERENCES = 10_000, 64, 1_000
APART, FAR = 10.0, 3_600.0
"""Seconds by which moments of a generation may differ beside the skew; and by which clocks may."""


SEVERAL = "several"
"""The source of what only several sources together tell."""

GENERATIONS = (Kind.STABILIZED, Kind.ASSIGNMENT, Kind.GROUP_STORED, Kind.RESPONSE)
"""Kinds of events that may tell of a generation."""


def may_tell_of_a_generation(event: Event) -> bool:
    """Whether an event may: of what is answered that to JoinGroup alone, which names the members."""
    if event.kind is Kind.RESPONSE:
        return event.data.get("api") == "JoinGroup"
    return event.kind in GENERATIONS


@dataclass
class _Generation:
    """What one source tells of a generation. names: of the members, by instance id where they have one."""

    at: float | None
    origin: str
    number: int | None = None
    leader: str = ""
    names: frozenset[str] | None = None


@dataclass(frozen=True)
class Comparison:
    """What two sources tell of one generation, beside each other.

    one, other: sources, in the order of their names; difference: seconds by which the one tells it later;
    what: the two in words; violation: what they do not agree on, if it is the same moment.
    """

    one: str
    other: str
    difference: float
    what: str
    violation: Violation | None = None


class Generations:
    """What sources tell of the generations of groups."""

    def __init__(self) -> None:
        self._groups: OrderedDict[str, OrderedDict[int, dict[str, _Generation]]] = OrderedDict()

    def take(self, event: Event) -> Iterator[Comparison]:
        """What an event is to be compared with, if it tells of a generation."""
        told = _told(event)
        if told is None or not event.group or event.generation is None:
            return
        generations = self._groups.setdefault(event.group, OrderedDict())
        self._groups.move_to_end(event.group)
        if len(self._groups) > MOST_GROUPS:
            self._groups.popitem(last=False)
        sources = generations.setdefault(event.generation, {})
        if len(generations) > MOST_GENERATIONS:
            generations.popitem(last=False)
        source = event.source.value
        before = sources.get(source)
        sources[source] = told if before is None else _merged(before, told)
        for other, theirs in sources.items():
            if other != source and (found := _compared(event, source, sources[source], other, theirs)):
                yield found


class Crossing:
    """Takes comparisons in the order of time, and says how clocks differ. compared: how often."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._differences: dict[tuple[str, str], list[float]] = {}
        self.compared: Counter[str] = Counter()

    def take(self, comparison: Comparison) -> None:
        """The next one, if it is about the same moment."""
        known = self._differences.setdefault((comparison.one, comparison.other), [])
        known.append(comparison.difference)
        del known[:-MOST_DIFFERENCES]
        if abs(comparison.difference - median(known)) > APART:
            return
        self.compared[comparison.what] += 1
        if comparison.violation is not None:
            self._account.violate(comparison.violation)

    @property
    def skews(self) -> Mapping[str, float]:
        """Pairs of sources → seconds by which the first one's clock is ahead."""
        return {
            f"{one} before {other}": round(median(values), 3)
            for (one, other), values in self._differences.items()
        }


def _compared(
    event: Event, source: str, ours: _Generation, other: str, theirs: _Generation
) -> Comparison | None:
    """What two sources tell, unless their moments are too far apart to be of one generation."""
    if ours.at is None or theirs.at is None:
        return None
    (one, first), (two, second) = sorted(((source, ours.at), (other, theirs.at)))
    if abs(first - second) > FAR:
        return None
    violation = None
    if (why := _disagreement(source, ours, other, theirs)) is not None:
        rule, words = why
        told = f"of generation {event.generation} {words}"
        lines = (theirs.origin, ours.origin)
        violation = Violation(event.group, rule, told, ours.origin, lines, SEVERAL, at=ours.at)
    return Comparison(one, two, first - second, f"{source} and {other}", violation)


def _merged(before: _Generation, told: _Generation) -> _Generation:
    number = before.number if told.number is None else told.number
    names = before.names if told.names is None else told.names
    return _Generation(told.at or before.at, told.origin, number, told.leader or before.leader, names)


def _told(event: Event) -> _Generation | None:
    """What an event says of its generation."""
    at, data = event.at, event.data
    if event.kind is Kind.STABILIZED:
        return _Generation(at, event.origin, data.get("members"))
    if event.kind is Kind.ASSIGNMENT:
        return _Generation(at, event.origin, data.get("members"), event.member)
    if event.kind is Kind.GROUP_STORED and data.get("members"):
        names = frozenset(one.get("instance") or one.get("member", "") for one in data["members"])
        return _Generation(
            at, event.origin, len(data["members"]), _name(event.member, data["members"]), names
        )
    if event.kind is Kind.RESPONSE and event.source is Source.FRAMES and data.get("api") == "JoinGroup":
        return _of_a_list(event, data.get("fields") or {})
    return None


def _of_a_list(event: Event, fields: Mapping[str, Any]) -> _Generation | None:
    members = fields.get("members")
    if fields.get("error_code") != 0 or not members:
        return None
    own = [{"member": one.get("member_id", ""), "instance": one.get("group_instance_id")} for one in members]
    names = frozenset(one["instance"] or one["member"] for one in own)
    return _Generation(event.at, event.origin, len(own), _name(fields.get("leader", ""), own), names)


def _name(member: str, members: Sequence[Mapping[str, Any]]) -> str:
    """What a member is known by: "" for a static one, whose id is another one after each restart."""
    static = any(one.get("instance") and one.get("member") == member for one in members)
    return "" if static else member


def _disagreement(source: str, ours: _Generation, other: str, theirs: _Generation) -> tuple[str, str] | None:
    if None not in (ours.names, theirs.names) and ours.names != theirs.names:
        return "sync.as-stored", f"{source} names other members than {other}"
    if None not in (ours.number, theirs.number) and ours.number != theirs.number:
        words = f"{source} tells {ours.number} members, and {other} {theirs.number}"
        return "join.list-is-the-membership", words
    both_named = ours.names is not None or theirs.names is not None
    if both_named and ours.leader and theirs.leader and ours.leader != theirs.leader:
        known = (ours.names or frozenset()) | (theirs.names or frozenset())
        if {ours.leader, theirs.leader} <= known:
            return "sync.as-stored", f"{source} says that {ours.leader} leads, and {other} {theirs.leader}"
    return None
