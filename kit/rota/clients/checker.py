"""What must hold over every history of a group, whichever clients and server took part.

Each record is seen exactly once by the owner of its partition in a generation; who takes a partition over
goes on at the committed offset; nothing is seen twice but what was not committed when its owner was lost;
nothing is lost. No partition has two owners, and those who share a group agree on the generation.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rota.clients.history import Event, Partition, Place


@dataclass(frozen=True)
class Rules:
    """What differs between scenarios.

    commit_on_revoke: whoever gives a partition up has committed all that it saw. from_start: a partition
    without a committed offset is read from offset 0, else from anywhere. complete: all that was produced has
    to be seen by somebody. errors: a pattern for those that clients may report.
    """

    commit_on_revoke: bool = True
    from_start: bool = True
    complete: bool = True
    errors: str = "(?!)"


@dataclass
class Holding:
    """A partition in a member's hands. next: the offset to be seen next, None for any; stale: it has been
    given to another while its holder was frozen."""

    next: int | None
    sought: bool = False
    stale: bool = False


@dataclass(frozen=True)
class View:
    """What a member looks like at one moment, by its callbacks and by its library."""

    generation: int
    held: frozenset[Partition]
    library_owns: frozenset[Partition]


@dataclass
class Known:
    """What is known of a member."""

    held: dict[Partition, Holding] = field(default_factory=dict)
    views: dict[float, View] = field(default_factory=dict)
    topics: frozenset[str] = frozenset()
    pattern: str | None = None
    generation: int = -1
    frozen: bool = False


def violations(events: Iterable[Event], rules: Rules | None = None) -> list[str]:
    """Everything that is wrong with a history, in the order of time; empty if nothing is."""
    checker = Checker(sorted(events, key=lambda event: event.t), rules or Rules())
    return list(checker.run())


class Checker:
    """Goes through a history once."""

    def __init__(self, events: list[Event], rules: Rules) -> None:
        self._events = events
        self._rules = rules
        self._produced = {event.place: event.more["value"] for event in events if event.kind == "produced"}
        self._members: dict[str, Known] = defaultdict(Known)
        self._owners: dict[tuple[int, Partition], str] = {}
        self._processes: dict[str, str] = {}
        self._committed: dict[Partition, int] = {}
        self._seen: dict[Place, str] = {}
        self._again: set[Place] = set()

    def run(self) -> Iterator[str]:
        start = self._events[0].t if self._events else 0.0
        for event in self._events:
            check = getattr(self, f"_on_{event.kind}", None)
            for problem in (*self._membership(event), *(check(event) if check is not None else ())):
                yield f"{event.t - start:.3f} {event.who}: {problem}"
        if self._rules.complete:
            for (topic, index), offset in sorted(set(self._produced) - set(self._seen)):
                yield f"the record {topic}/{index}@{offset} was seen by nobody"

    def _membership(self, event: Event) -> Iterator[str]:
        """Generations do not go back while a member keeps its id, and an id belongs to one process."""
        if event.generation < 0:
            return
        known = self._members[event.who]
        if event.generation < known.generation:
            yield f"the generation went back from {known.generation} to {event.generation}"
        known.generation = event.generation
        if self._processes.setdefault(event.member_id, event.who) != event.who:
            yield f"has the member id of {self._processes[event.member_id]}"

    def _own(self, event: Event, partition: Partition) -> Iterator[str]:
        if event.generation < 0:
            return
        owner = self._owners.setdefault((event.generation, partition), event.who)
        if owner != event.who:
            yield f"{_name(partition)} belongs to {owner} in generation {event.generation}"

    def _on_subscribe(self, event: Event) -> Iterator[str]:
        known = self._members[event.who]
        known.topics, known.pattern = frozenset(event.more["topics"].split()), event.more["pattern"]
        yield from ()

    def _on_assigned(self, event: Event) -> Iterator[str]:
        known, start = self._members[event.who], 0 if self._rules.from_start else None
        for partition in sorted(event.partitions):
            if not event.more.get("manual") and not _subscribed(known, partition[0]):
                yield f"is given {_name(partition)}, whose topic it has not subscribed to"
            yield from self._own(event, partition)
            for name, other in self._members.items():
                if partition in other.held and not other.frozen:
                    yield f"is given {_name(partition)}, which {name} still holds"
                elif partition in other.held:
                    other.held[partition].stale = True
                    self._uncommitted(partition)
            known.held[partition] = Holding(self._committed.get(partition, start))

    def _on_replaces(self, event: Event) -> Iterator[str]:
        """A static member came back: what the process before it owned in a generation, it owns."""
        for what, owner in self._owners.items():
            if owner == event.more["of"]:
                self._owners[what] = event.who
        yield from ()

    def _on_revoked(self, event: Event) -> Iterator[str]:
        held = self._members[event.who].held
        for partition in sorted(event.partitions):
            yield from self._own(event, partition)
            if partition not in held:
                yield f"gives up {_name(partition)}, which it does not hold"
            elif not self._rules.commit_on_revoke:
                self._uncommitted(partition)
            held.pop(partition, None)

    def _on_lost(self, event: Event) -> Iterator[str]:
        yield from self._gone(event.who, event.partitions)
        self._members[event.who].generation = -1

    def _on_killed(self, event: Event) -> Iterator[str]:
        yield from self._gone(event.who, tuple(self._members[event.who].held))

    _on_closed = _on_killed

    def _gone(self, who: str, partitions: Iterable[Partition]) -> Iterator[str]:
        """Partitions leave their holder's hands without a commit: what was not committed may come again."""
        held = self._members[who].held
        for partition in sorted(partitions):
            if partition not in held:
                yield f"loses {_name(partition)}, which it does not hold"
            elif not held.pop(partition).stale:
                self._uncommitted(partition)

    def _uncommitted(self, partition: Partition) -> None:
        committed = self._committed.get(partition, 0)
        self._again |= {place for place in self._seen if place[0] == partition and place[1] >= committed}

    def _on_frozen(self, event: Event) -> Iterator[str]:
        self._members[event.who].frozen = True
        yield from ()

    def _on_record(self, event: Event) -> Iterator[str]:
        partition, offset = event.place
        place = f"{_name(partition)}@{offset}"
        holding = self._members[event.who].held.get(partition)
        if event.place not in self._produced:
            yield f"sees {place}, which nobody has produced"
        elif event.more["value"] != self._produced[event.place]:
            yield f"sees {event.more['value']!r} at {place}, not {self._produced[event.place]!r}"
        yield from self._own(event, partition)
        if holding is None:
            yield f"sees {place} without holding the partition"
            return
        if holding.next not in (None, offset):
            yield f"sees {place} where offset {holding.next} is next"
        holding.next = offset + 1
        if holding.stale:
            return
        if event.place in self._seen and event.place not in self._again:
            yield f"sees {place}, which {self._seen[event.place]} has seen and not lost"
        self._again.discard(event.place)
        self._seen[event.place] = event.who

    def _on_sought(self, event: Event) -> Iterator[str]:
        partition, offset = event.place
        holding = self._members[event.who].held.get(partition)
        if holding is None:
            yield f"seeks in {_name(partition)} without holding it"
            return
        holding.next, holding.sought = offset, True
        self._again |= {place for place in self._seen if place[0] == partition and place[1] >= offset}

    def _on_committed(self, event: Event) -> Iterator[str]:
        held = self._members[event.who].held
        for partition, offset in sorted(event.more["offsets"].items()):
            holding = held.get(partition)
            if holding is None or holding.stale:
                yield f"could commit {_name(partition)}@{offset} without holding the partition"
                continue
            if offset < self._committed.get(partition, 0) and not holding.sought:
                yield f"commits {_name(partition)}@{offset} behind {self._committed[partition]}"
            self._committed[partition] = offset

    def _on_fetched(self, event: Event) -> Iterator[str]:
        for partition, offset in sorted(event.more["offsets"].items()):
            if offset != self._committed.get(partition):
                yield f"is told {_name(partition)}@{offset}, committed is {self._committed.get(partition)}"

    def _on_view(self, event: Event) -> Iterator[str]:
        known = self._members[event.who]
        known.views[event.t] = View(event.generation, frozenset(known.held), event.more["library_owns"])
        for partition in sorted(event.more["owned"]):
            yield from self._own(event, partition)

    def _on_stable(self, event: Event) -> Iterator[str]:
        """All agree, each at its last look: one generation, each partition in exactly one member's hands."""
        views = {name: self._members[name].views[t] for name, t in event.more["views"].items()}
        if len({view.generation for view in views.values()}) != 1:
            told = ", ".join(f"{name} in {view.generation}" for name, view in views.items())
            yield f"the group is stable, but {told}"
        for partition in sorted(event.partitions):
            holders = [name for name, view in views.items() if partition in view.held]
            if len(holders) != 1:
                told = ", ".join(holders) or "nobody"
                yield f"the group is stable, but {_name(partition)} is held by {told}"
        for name, view in views.items():
            if view.library_owns != view.held:
                yield f"the group is stable, but {name}'s library does not own what it was given"

    def _on_error(self, event: Event) -> Iterator[str]:
        if not re.search(self._rules.errors, event.more["error"]):
            yield f"error in {event.more['what']}: {event.more['error']}"
        elif event.more["what"].startswith("commit"):
            for partition in self._members[event.who].held:
                self._uncommitted(partition)


def _subscribed(known: Known, topic: str) -> bool:
    return topic in known.topics or (known.pattern is not None and bool(re.match(known.pattern, topic)))


def _name(partition: Partition) -> str:
    return f"{partition[0]}/{partition[1]}"
