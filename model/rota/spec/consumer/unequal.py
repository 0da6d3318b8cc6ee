"""What `uniform` makes of members that do not all subscribe to the same topics.

Source: upstream UniformHeterogeneousAssignmentBuilder of Apache Kafka 4.4.0 (package
org.apache.kafka.coordinator.group.assignor). Three parts: what is still subscribed to stays; what is free
goes to the least loaded; then, topic by topic, the most loaded give to the least loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rota.kernel import FrozenMap
from rota.spec.consumer.context import Asked, Assignment
from rota.spec.consumer.state import Partition

ROUNDS = 16
"""How often all topics are gone through at most."""


def unequal(asked: Asked, members: Sequence[str], topics: Sequence[str]) -> Assignment:
    """The outcome where members and topics are gone through in these orders.

    members: for Kafka in the order of hashes; of those that are equally loaded the first comes first. topics:
    for Kafka in the order of ids; it counts among those with as many subscribers and partitions.
    """
    sharing = _Sharing(asked, members)
    each = sorted(filter(sharing.line_of, topics), key=sharing.rank)
    for topic in each:
        sharing.hand_out(topic)
    _balance(sharing, [topic for topic in each if len(sharing.line_of(topic)) > 1])
    return FrozenMap((name, frozenset(some)) for name, some in sharing.has.items())


def tied(asked: Asked) -> Iterator[Sequence[str]]:
    """The topics in groups of those whose order among each other counts."""
    sharing = _Sharing(asked, list(asked.topics))
    groups: dict[tuple[float, int], list[str]] = {}
    for topic in filter(sharing.line_of, asked.partitions):
        groups.setdefault(sharing.rank(topic), []).append(topic)
    yield from groups.values()


def _balance(sharing: _Sharing, topics: Sequence[str]) -> None:
    """Go through the topics until nothing was moved since the one that is looked at was last."""
    last = -1
    for _ in range(ROUNDS):
        for place, topic in enumerate(topics):
            if place == last:
                return
            if sharing.even_out(topic) or last < 0:
                last = place


class _Sharing:
    """What each member has while that is decided."""

    def __init__(self, asked: Asked, members: Sequence[str]) -> None:
        self._asked, self._members = asked, members
        self.has: dict[str, set[Partition]] = {
            name: {
                one
                for one in asked.target.get(name, frozenset())
                if one.topic in asked.topics[name] and one.index < asked.partitions.get(one.topic, 0)
            }
            for name in members
        }

    def line_of(self, topic: str) -> list[str]:
        """Who subscribes to it, the least loaded first."""
        subscribers = [name for name in self._members if topic in self._asked.topics[name]]
        return sorted(subscribers, key=self._load)

    def rank(self, topic: str) -> tuple[float, int]:
        """Where a topic stands: first what has most partitions a subscriber, then what few subscribe to."""
        many = len(self.line_of(topic))
        return -self._asked.partitions[topic] / many, many

    def hand_out(self, topic: str) -> None:
        """Give a topic's free partitions, each to who is the least loaded then."""
        line = _Line.of(self, topic)
        taken = {one for name in line.names for one in self.has[name]}
        for index in range(self._asked.partitions[topic]):
            if Partition(topic, index) not in taken:
                self.has[line.least()].add(Partition(topic, index))

    def even_out(self, topic: str) -> bool:
        """Move a topic's partitions, last ones first, from the most to the least loaded; whether it did."""
        line, moved = _Line.of(self, topic), False
        if line.spread <= 1:
            return False
        spare = {name: sorted(one for one in self.has[name] if one.topic == topic) for name in line.names}
        while not line.is_even:
            most = line.most()
            if most is None:
                break
            if not spare[most]:
                line.pass_over()
                continue
            one, least = spare[most].pop(), line.least()
            if line.is_even:
                break
            self.has[most].remove(one)
            self.has[least].add(one)
            moved = True
        return moved

    def _load(self, name: str) -> int:
        return len(self.has[name])


@dataclass
class _Line:
    """Subscribers of a topic by load, taken from both ends: who is at a level has its turn, then the next.

    Source: upstream UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer. low, high: the levels;
    low_end, high_start, high_end: whom they reach in `names`; next_low, next_high: whose turn it is.
    """

    names: list[str]
    has: Mapping[str, set[Partition]]
    low: int = field(init=False)
    high: int = field(init=False)
    low_end: int = 0
    next_low: int = 0
    high_start: int = field(init=False)
    high_end: int = field(init=False)
    next_high: int = field(init=False)

    def __post_init__(self) -> None:
        self.low, self.high = self._at(0) - 1, self._at(-1) + 1
        self.high_start = self.high_end = len(self.names)
        self.next_high = len(self.names) - 1

    @classmethod
    def of(cls, sharing: _Sharing, topic: str) -> _Line:
        """That of a topic."""
        return cls(sharing.line_of(topic), sharing.has)

    def _at(self, place: int) -> int:
        return len(self.has[self.names[place]])

    @property
    def spread(self) -> int:
        """How much more the most loaded has than the least loaded, at the beginning."""
        return self._at(-1) - self._at(0)

    @property
    def is_even(self) -> bool:
        """Whether the levels have met."""
        return self.high - self.low <= 1

    def least(self) -> str:
        """Who is to get one."""
        if self.next_low >= self.low_end:
            self.low += 1
            while self.low_end < len(self.names) and self._at(self.low_end) == self.low:
                self.low_end += 1
            self.next_low = 0
        self.next_low += 1
        return self.names[self.next_low - 1]

    def most(self) -> str | None:
        """Who is to give one; None if nobody is left."""
        if self.next_high < self.high_start:
            passed_over = self.high_end <= self.high_start and self.high_start > 0
            self.high = self._at(self.high_start - 1) if passed_over else self.high - 1
            while self.high_start > 0 and self._at(self.high_start - 1) == self.high:
                self.high_start -= 1
            self.next_high = self.high_end - 1
        if self.next_high < 0:
            return None
        self.next_high -= 1
        return self.names[self.next_high + 1]

    def pass_over(self) -> None:
        """Whoever was the most loaded has nothing of this topic: others of its level come next."""
        place, end = self.next_high + 1, self.high_end - 1
        self.names[place], self.names[end] = self.names[end], self.names[place]
        self.high_end -= 1
