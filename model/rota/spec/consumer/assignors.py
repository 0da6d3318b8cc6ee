"""Assignors, as pure functions: `range`, `uniform` (see `unequal` too), and every complete target.

Source: upstream RangeAssignor, UniformHomogeneousAssignmentBuilder (package
org.apache.kafka.coordinator.group.assignor).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, permutations, product

from rota.kernel import FrozenMap
from rota.spec.consumer.context import Asked, Assignment, Assignor
from rota.spec.consumer.state import Partition
from rota.spec.consumer.unequal import tied, unequal

MOST_ORDERS = 5
"""Up to how many members all their orders are tried."""


def legal(asked: Asked, given: Assignment) -> bool:
    """Whether a target gives existing partitions of topics that members subscribe to, none of them twice."""
    each = [one for name in given for one in given[name]]
    return len(set(each)) == len(each) and all(
        one.topic in asked.topics.get(name, frozenset()) and 0 <= one.index < asked.partitions[one.topic]
        for name in given
        for one in given[name]
    )


def by_range(asked: Asked) -> tuple[Assignment, ...]:
    """Of each topic every subscriber gets a run of partitions, in the order of ids; nothing is kept.

    Left out: static members, who come first, by their instances.
    """
    given: dict[str, set[Partition]] = {name: set() for name in asked.topics}
    for topic, size in asked.partitions.items():
        names = [name for name in sorted(asked.topics) if topic in asked.topics[name]]
        share, more = divmod(size, len(names))
        start = 0
        for place, name in enumerate(names):
            end = start + share + (place < more)
            given[name] |= {Partition(topic, index) for index in range(start, end)}
            start = end
    return (_frozen(given),)


def uniform(asked: Asked, members: Sequence[str], topics: Sequence[str]) -> Assignment:
    """Everybody gets as many partitions as the others, or one more, and keeps what it has up to that.

    members, topics: in the order in which they are gone through, which for Kafka is that of hashes. All
    members subscribe to the same topics.
    """
    everything = [Partition(topic, index) for topic in topics for index in range(asked.partitions[topic])]
    targeted = {one for some in asked.target.values() for one in some}
    free = [one for one in everything if one not in targeted]
    share, extra = divmod(len(everything), len(members))
    given: dict[str, set[Partition]] = {name: set() for name in members}
    unfilled: list[tuple[str, int]] = []
    for place, name in enumerate(members):
        quota = share + (extra > 0)
        kept, rest = _kept(asked, name, topics, quota)
        given[name] |= set(kept)
        free += rest
        left = quota - len(kept)
        if left and _hands_back(extra, len(members) - place - 1):
            left -= 1
        elif extra:
            extra -= 1
        if left:
            unfilled.append((name, left))
    for name, left in unfilled:
        given[name] |= set(free[:left])
        del free[:left]
    return _frozen(given)


def _hands_back(extra: int, others: int) -> bool:
    """Whether a member may do without one more than the share: so many of those that follow can have it."""
    return 0 < extra <= others


def _kept(
    asked: Asked, name: str, topics: Sequence[str], quota: int
) -> tuple[list[Partition], list[Partition]]:
    """What a member keeps of its target, and what it gives away, which is no more than is above its quota."""
    kept: list[Partition] = []
    rest: list[Partition] = []
    for topic in topics:
        size = asked.partitions[topic]
        own = sorted(one for one in asked.target[name] if one.topic == topic and one.index < size)
        fits = own[: quota - len(kept)]
        kept += fits
        rest += own[len(fits) :]
    return kept, rest


def complete(asked: Asked) -> Iterator[Assignment]:
    """Every target that gives each partition to one of those who subscribe to its topic."""
    places = [Partition(topic, index) for topic, size in asked.partitions.items() for index in range(size)]
    takers = [[name for name in asked.topics if one.topic in asked.topics[name]] for one in places]
    for names in product(*takers):
        given: dict[str, set[Partition]] = {name: set() for name in asked.topics}
        for one, name in zip(places, names, strict=True):
            given[name].add(one)
        yield _frozen(given)


def by_uniform(asked: Asked) -> Iterable[Assignment]:
    """What `uniform` gives in any order of members and topics; of many unequal members, `complete`."""
    members, topics = list(asked.topics), list(asked.partitions)
    if len(members) > MOST_ORDERS and asked.uniform_names:
        raise ValueError(f"uniform: {len(members)} members have too many orders; name one")
    if len(members) > MOST_ORDERS:
        yield from complete(asked)
    elif asked.uniform_names:
        for some, each in product(permutations(members), permutations(topics)):
            yield uniform(asked, some, each)
    else:
        orders = [*product(*map(permutations, tied(asked)))]
        for some, groups in product(permutations(members), orders):
            yield unequal(asked, some, [*chain(*groups)])


def _frozen(given: Mapping[str, set[Partition]]) -> Assignment:
    return FrozenMap((name, frozenset(some)) for name, some in given.items())


ASSIGNORS: Mapping[str, Assignor] = {"uniform": by_uniform, "range": by_range}
"""The assignors of Kafka's own, by name."""
