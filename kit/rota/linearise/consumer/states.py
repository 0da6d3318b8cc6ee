"""A state that a coordinator of a group by the consumer protocol may be in, as far as a judge has to know it.

Where an assignor may have named several targets, they are one state: `targets` are all that are possible, and
`group` has one of them. A member's own target is told apart when it takes a step towards it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rota.kernel import FrozenMap, frozen, replace
from rota.linearise.looks import Look
from rota.linearise.states import Owed
from rota.linearise.times import NEVER, Span
from rota.oracle.consumer_spec import state_of
from rota.spec.consumer.context import Assignment
from rota.spec.consumer.group import AnyGroup, ConsumerGroup
from rota.spec.consumer.messages import Topics
from rota.spec.consumer.state import Partition
from rota.spec.consumer.step import Timer

Offsets = FrozenMap[tuple[str, int], object]
"""Topic and index → what is committed, or `Unsure`."""

Targets = frozenset[Assignment]
"""All that an assignor may have named; none where the group's own is the only one."""


@frozen
class View:
    """What readers see: the group, its targets and the offsets as the log has them."""

    group: AnyGroup | None = None
    targets: Targets = frozenset()
    offsets: Offsets = FrozenMap()


@frozen
class Before:
    """What the log has until a batch is stored. number: of the request that waits for it, -1 for none; since:
    when it was appended.
    """

    view: View
    number: int
    since: Span


@frozen
class Change:
    """A topic was changed, and the coordinator has not seen it yet. partitions: none: it is gone."""

    name: str
    topic_id: str
    partitions: int


@frozen
class ConsumerState:
    """What a coordinator has at some moment, and what is on the way.

    now: in memory; behind: batches that the log may not have yet, oldest first; topics: that it sees; coming:
    changes of topics that it has not seen, each with the timer of its number; made: when the present target
    was computed, None if never. The others are as of `rota.linearise.states.State`.
    """

    now: View = View()
    armed: FrozenMap[Timer, Span] = FrozenMap()
    pending: frozenset[int] = frozenset()
    owed: FrozenMap[int, Owed] = FrozenMap()
    behind: tuple[Before, ...] = ()
    topics: Topics = FrozenMap()
    coming: tuple[Change, ...] = ()
    made: Span | None = None
    ids: frozenset[str] = frozenset()
    low: float = NEVER
    looked: bool = False
    look: Look | None = None
    line: tuple[()] = ()

    @property
    def group(self) -> AnyGroup | None:
        """The group in memory."""
        return self.now.group

    @property
    def name(self) -> str:
        """The group's state, "absent" without a group."""
        return state_of(self.now.group)

    @property
    def due(self) -> Iterator[Span]:
        """When that is due which time alone brings about."""
        yield from self.armed.values()

    def passed_over(self, before: float) -> frozenset[tuple[str, str]]:
        """As of a classic group: no rule of this protocol leaves what has expired."""
        return frozenset()


def own_target(view: View, member_id: str) -> Iterator[View]:
    """The same, with one target of this member: one for each that is possible."""
    if not view.targets or not isinstance(view.group, ConsumerGroup):
        yield view
        return
    found: dict[frozenset[Partition], set[Assignment]] = {}
    for one in view.targets:
        found.setdefault(one.get(member_id, frozenset()), set()).add(one)
    for mine in sorted(found, key=sorted):
        yield with_targets(view, found[mine])


def with_targets(view: View, targets: Collection[Assignment]) -> View:
    """The same, with these as its possible targets."""
    assert isinstance(view.group, ConsumerGroup)
    first = min(targets, key=_order)
    several = frozenset(targets) if len(targets) > 1 else frozenset()
    return replace(view, group=replace(view.group, targets=first), targets=several)


def each_target(view: View) -> Iterator[View]:
    """The same with every target that is possible, one by one."""
    if not view.targets:
        yield view
        return
    for one in sorted(view.targets, key=_order):
        yield with_targets(view, [one])


def without_members(targets: Targets, members: Collection[str]) -> set[Assignment]:
    """Targets of those who are still there."""
    return {FrozenMap((name, some) for name, some in one.items() if name in members) for one in targets}


def _order(one: Assignment) -> list[tuple[str, list[Partition]]]:
    return sorted((name, sorted(some)) for name, some in one.items())
