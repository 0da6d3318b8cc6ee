"""The assignors that a broker has: range, and uniform in its two forms.

Where Kafka goes through members and topics in the order of their hashes, here it is that of their ids.
Source: upstream's RangeAssignor, UniformHomogeneousAssignmentBuilder and
UniformHeterogeneousAssignmentBuilder (module group-coordinator).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from uuid import UUID

from rota.coordinator.consumer.records import Place

ROUNDS = 16
"""How often the heterogeneous form goes through all topics to balance them, at most."""


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """What an assignor is told: subscribed topics that there are, by member; the target so far; all topics.

    `instances`: instance ids of static members, by member id. `homogeneous`: all members subscribe alike.
    """

    topics: Mapping[str, frozenset[UUID]]
    targets: Mapping[str, frozenset[Place]]
    partitions: Mapping[UUID, int]
    homogeneous: bool
    instances: Mapping[str, str] = field(default_factory=dict)


Targets = dict[str, frozenset[Place]]


def range_assignor(given: Subscriptions) -> Targets:
    """Each topic by itself: a run of its partitions for each subscriber, the first ones get one more.

    Static members come first, in order of their instance ids. Nothing is kept where it was.
    """
    order = sorted(given.topics, key=lambda each: _range_order(given, each))
    found: dict[str, set[Place]] = {member_id: set() for member_id in order}
    for topic_id, count in given.partitions.items():
        subscribers = [member_id for member_id in order if topic_id in given.topics[member_id]]
        quota, more = divmod(count, len(subscribers)) if subscribers else (0, 0)
        begin = 0
        for number, member_id in enumerate(subscribers):
            end = begin + quota + (number < more)
            found[member_id] |= {(topic_id, index) for index in range(begin, end)}
            begin = end
    return {member_id: frozenset(places) for member_id, places in found.items()}


def _range_order(given: Subscriptions, member_id: str) -> tuple[bool, str]:
    instance_id = given.instances.get(member_id)
    return instance_id is None, member_id if instance_id is None else instance_id


def uniform_assignor(given: Subscriptions) -> Targets:
    """As many partitions for each as can be, and as few moves as that takes."""
    if not given.topics:
        return {}
    return _homogeneous(given) if given.homogeneous else _heterogeneous(given)


def _homogeneous(given: Subscriptions) -> Targets:
    """Each member keeps what it has up to its quota; what is left over goes to those below theirs.

    A member that does not need one more than the least hands that back, as long as enough others come after
    it that may have it: who has one more already is to keep it (KAFKA-18688).
    """
    order = sorted(given.topics)
    assigned = {place for places in given.targets.values() for place in places}
    everything = [
        (topic_id, index) for topic_id in sorted(given.partitions) for index in _indexes(given, topic_id)
    ]
    free = [place for place in everything if place not in assigned]
    least, extra = divmod(len(everything), len(order))
    kept: dict[str, list[Place]] = {}
    unfilled: list[tuple[str, int]] = []
    for number, member_id in enumerate(order):
        has_extra = extra > 0
        extra -= has_extra
        quota = least + has_extra
        kept[member_id], given_up = _kept(given, member_id, quota)
        free += given_up
        missing = quota - len(kept[member_id])
        if missing and has_extra and extra + 1 <= len(order) - number - 1:
            extra += 1
            missing -= 1
        if missing:
            unfilled.append((member_id, missing))
    taken = iter(free)
    for member_id, missing in unfilled:
        kept[member_id] += [next(taken) for _ in range(missing)]
    return {member_id: frozenset(places) for member_id, places in kept.items()}


def _kept(given: Subscriptions, member_id: str, quota: int) -> tuple[list[Place], list[Place]]:
    """What a member keeps of its part of the target, topic by topic, and what it gives up."""
    there = sorted(
        (topic_id, index)
        for topic_id, index in given.targets.get(member_id, ())
        if topic_id in given.topics[member_id] and index < given.partitions[topic_id]
    )
    return there[:quota], there[quota:]


def _indexes(given: Subscriptions, topic_id: UUID) -> range:
    return range(given.partitions[topic_id])


def _heterogeneous(given: Subscriptions) -> Targets:
    """What is still subscribed stays, the rest goes to the least loaded; then the most loaded give up."""
    members = sorted(given.topics)
    subscribers = {
        topic_id: [each for each in members if topic_id in given.topics[each]]
        for topic_id in given.partitions
    }
    order = sorted(
        (topic_id for topic_id, each in subscribers.items() if each),
        key=lambda topic_id: (
            -given.partitions[topic_id] / len(subscribers[topic_id]),
            len(subscribers[topic_id]),
            topic_id,
        ),
    )
    sharing = _Sharing({member_id: set(_kept(given, member_id, 2**31)[0]) for member_id in members})
    for topic_id in order:
        sharing.spread(topic_id, given.partitions[topic_id], subscribers[topic_id])
    shared = [topic_id for topic_id in order if len(subscribers[topic_id]) > 1]
    last = None
    for topic_id in shared * ROUNDS:
        if topic_id == last:
            break
        if sharing.balance(topic_id, subscribers[topic_id]) or last is None:
            last = topic_id
    return {member_id: frozenset(places) for member_id, places in sharing.has.items()}


Turns = Iterator[tuple[int, str]]
"""Whose turn it is, each with the load at which it is."""


@dataclass(slots=True)
class _Sharing:
    """What each member has while it is being decided."""

    has: dict[str, set[Place]]

    def spread(self, topic_id: UUID, count: int, subscribers: list[str]) -> None:
        """A topic's free partitions, each to the least loaded; of equal ones to who is next in line."""
        taken = {place for each in subscribers for place in self.has[each]}
        takers = self._takers(sorted(subscribers, key=self._load))
        for index in range(count):
            if (topic_id, index) not in taken:
                self.has[next(takers)[1]].add((topic_id, index))

    def balance(self, topic_id: UUID, subscribers: list[str]) -> bool:
        """Move a topic's partitions from the most to the least loaded, until one more would not help.

        Only what a member had before can be taken from it, the greatest numbers first.
        """
        line = sorted(subscribers, key=self._load)
        if self._load(line[-1]) - self._load(line[0]) <= 1:
            return False
        spare = {each: sorted(self._of(each, topic_id)) for each in line}
        takers, moved = self._takers(line), False
        for most, giver in self._givers(line, spare):
            place = spare[giver].pop()
            least, taker = next(takers)
            if most - least <= 1:
                break
            self.has[giver].remove(place)
            self.has[taker].add(place)
            moved = True
        return moved

    def _takers(self, line: list[str]) -> Turns:
        """From the front of the line: all of the least load, then these and those with one more, and on."""
        least, end = self._load(line[0]), 0
        while True:
            while end < len(line) and self._load(line[end]) == least:
                end += 1
            for at in range(end):
                yield least, line[at]
            least += 1

    def _givers(self, line: list[str], spare: Mapping[str, list[Place]]) -> Turns:
        """The same from its end, but for those with nothing to spare, who change places with the last."""
        most, start, end, at = 0, len(line), len(line), -1
        while True:
            if at < start:
                most = self._load(line[start - 1]) if start > 0 and end <= start else most - 1
                while start > 0 and self._load(line[start - 1]) == most:
                    start -= 1
                at = end - 1
            if at < 0:
                return
            if spare[line[at]]:
                yield most, line[at]
            else:
                end -= 1
                line[at], line[end] = line[end], line[at]
            at -= 1

    def _load(self, member_id: str) -> int:
        return len(self.has[member_id])

    def _of(self, member_id: str, topic_id: UUID) -> list[Place]:
        return [place for place in self.has[member_id] if place[0] == topic_id]


Assignor = Callable[[Subscriptions], Targets]

ASSIGNORS: Mapping[str, Assignor] = MappingProxyType({"range": range_assignor, "uniform": uniform_assignor})
"""The assignors by the names that members ask for."""
