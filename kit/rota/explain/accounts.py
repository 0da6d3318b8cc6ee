"""Events to rebalances: a fold that hands each rebalance on when it has ended.

What is kept is a `Group` for each group that is alive, not for each line; one of which nothing was heard for
an hour, or that is Dead, is dropped. Every source tells another part: a broker's log when a rebalance was
prepared and why, clients' logs and frames who joined when and which partitions were without a consumer, the
offsets topic who is in which generation. What a source does not tell stays untold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rota.explain.by_client import ByClient
from rota.explain.by_record import ByRecord
from rota.explain.group_state import QUIET, Group, moment
from rota.explain.reasons import trigger_of
from rota.explain.rebalance import Ending, Rebalance
from rota.history import Event, Kind, Source

OLD = 3600.0
"""Seconds without a word of a group, after which it is dropped; how often is looked is a part of that."""

LOOK = 600.0

SETTLING, AFTERWARDS = 30.0, 2.0
"""Seconds after an assignment in which clients still fetch it, and in which anything else is still about
it."""

PATIENCE = 60.0
"""Seconds in which what happens to static members belongs together."""

Handler = Callable[[Group, Event], None]


class Accounts:
    """The fold. finished: is called with each rebalance when it has ended; gone: since when no client of a
    group is connected, None while one is: a rebalance of which clients alone tell takes nobody longer."""

    def __init__(
        self,
        finished: Callable[[Rebalance], None],
        gone: Callable[[str], float | None] = lambda group: None,
    ) -> None:
        self._finished, self._gone = finished, gone
        self._groups: dict[str, Group] = {}
        self._moves: dict[int, Event] = {}
        self._looked: float | None = None
        self.now: float | None = None
        """The latest moment that any event told."""
        self.seen = 0
        """Events about groups."""
        clients, records = ByClient(self.end), ByRecord(self.end)
        self._handlers: dict[Kind, Handler] = {
            Kind.PREPARING: self._preparing,
            Kind.STABILIZED: self._stabilized,
            Kind.ASSIGNMENT: self._assignment,
            Kind.EMPTY: self._empty,
            Kind.DEAD: self._dead,
            Kind.JOINED: self._member,
            Kind.REPLACED: self._member,
            Kind.FAILED: self._member,
            Kind.LEFT: self._member,
            Kind.NOT_REJOINED: self._missing,
            Kind.NOT_SYNCED: self._member,
            Kind.REFUSED: self._sign,
            Kind.APPEND_FAILED: self._sign,
            Kind.LOADED: self._moved,
            Kind.LOADING: self._moved,
            Kind.UNLOADED: self._unloaded,
            **clients.handlers,
            **records.handlers,
        }

    @property
    def alive(self) -> int:
        """How many groups are kept."""
        return len(self._groups)

    def take(self, event: Event) -> None:
        """The next event, by time."""
        if event.at is not None and (self.now is None or event.at > self.now):
            self.now = event.at
        if event.group:
            self._of_group(event)
        elif event.kind in (Kind.LOADING, Kind.LOADED, Kind.UNLOADED, Kind.APPEND_FAILED):
            self._of_coordinator(event)
        if self.now is not None and (self._looked is None or self.now - self._looked > LOOK):
            self._drop_old(self.now)

    def _of_group(self, event: Event) -> None:
        handler = self._handlers.get(event.kind)
        if handler is None:
            return
        self.seen += 1
        group = self._groups.get(event.group)
        if group is None:
            group = self._groups[event.group] = Group(event.group)
        group.told_by.add(event.source)
        one = group.open
        if one is not None and one.assigned is not None and _is_over(one.assigned, event):
            self.end(group, Ending.ASSIGNED, one.assigned)
        if group.before and group.open is None and event.at is not None:
            patience = PATIENCE if _of_the_same(group, event) else 0.0
            if (quiet := group.quiet(event.at, patience)) is not None:
                self._finished(quiet)
        handler(group, event)
        group.seen = moment(event, group.seen)

    def _of_coordinator(self, event: Event) -> None:
        """A partition of the offsets topic moves, or cannot be written."""
        partition = event.data.get("partition")
        if event.kind is Kind.APPEND_FAILED:
            for group in [one for one in self._groups.values() if partition in (None, one.partition)]:
                if group.open is not None:
                    group.open.note(event)
            return
        if not isinstance(partition, int):
            return
        self._moves[partition] = event
        for group in [one for one in self._groups.values() if one.partition == partition]:
            (self._unloaded if event.kind is Kind.UNLOADED else self._moved)(group, event)

    def end(self, group: Group, ending: Ending, at: float | None) -> None:
        """A rebalance has ended."""
        self._finished(group.finished(ending, at))

    def open_ones(self) -> Iterator[Rebalance]:
        """Rebalances that have not ended, as if the source ended now; nothing can be taken after that."""
        for group in list(self._groups.values()):
            if (quiet := group.quiet(None)) is not None:
                yield quiet
            if group.open is not None:
                done = group.open.assigned is not None
                yield group.finished(Ending.ASSIGNED if done else Ending.OPEN, self._until(group, self.now))

    def _until(self, group: Group, now: float | None) -> float | None:
        """Until when a rebalance goes on that has not ended by now."""
        gone = self._gone(group.name) if group.told_by == {Source.FRAMES} else None
        return now if gone is None else gone

    def open_now(self) -> list[tuple[str, Rebalance]]:
        """Groups with a rebalance that has not ended, and that."""
        return [
            (one.name, one.open) for one in self._groups.values() if one.open and one.open.assigned is None
        ]

    def _drop_old(self, now: float) -> None:
        self._looked = now
        old = [name for name, one in self._groups.items() if one.seen is not None and now - one.seen > OLD]
        for name in old:
            group = self._groups.pop(name)
            if (quiet := group.quiet(None)) is not None:
                self._finished(quiet)
            if group.open is not None:
                done = group.open.assigned is not None
                self.end(group, Ending.ASSIGNED if done else Ending.OPEN, self._until(group, now))
        self._moves = {one: event for one, event in self._moves.items() if now - (event.at or now) < OLD}

    # ---- what brokers' logs tell

    def _preparing(self, group: Group, event: Event) -> None:
        one = group.open
        if one is not None and not one.by_broker and one.joined is None:
            one.by_broker = True  # its clients were heard first
            one.note(event)
        else:
            if one is not None:
                done = one.assigned is not None
                self.end(group, Ending.ASSIGNED if done else Ending.OVERTAKEN, moment(event, group.seen))
            one = group.begin(event, by_broker=True)
        one.trigger, one.who = trigger_of(event.reason)
        one.reason = event.reason
        one.from_empty = _from_empty(group, one, event)
        if event.generation is not None:
            group.generation = one.from_generation = event.generation
        if isinstance(partition := event.data.get("partition"), int):
            group.partition = partition
            moved = self._moves.get(partition)
            if moved is not None and _within(moved, event, 60):
                one.moved = True
                one.note(moved)

    def _stabilized(self, group: Group, event: Event) -> None:
        one = group.open
        if one is None or _is_another(one, event):
            if one is not None:
                done = one.assigned is not None
                self.end(group, Ending.ASSIGNED if done else Ending.OVERTAKEN, moment(event, group.seen))
            one = group.begin(event, by_broker=True)
            one.began = None  # the line that says so is missing
            one.from_generation = None if event.generation is None else event.generation - 1
            one.from_empty = one.from_generation == 0
        else:
            one.note(event)
        one.by_broker = True
        one.joined = moment(event, group.seen)
        one.to_generation = event.generation
        if isinstance(members := event.data.get("members"), int):
            one.members_after = members

    def _assignment(self, group: Group, event: Event) -> None:
        one = group.open
        if one is None or (one.by_broker and one.joined is None):
            return  # of a generation that is over, or whose beginning is missing
        if None not in (event.generation, one.to_generation) and event.generation != one.to_generation:
            return
        one.note(event)
        if event.source is not Source.BROKER_LOG:
            return  # its leader has computed it; whether the coordinator took it shows when members fetch it
        one.by_broker = True
        one.assigned = moment(event, group.seen)
        one.joined = one.assigned if one.joined is None else one.joined
        one.to_generation = event.generation if one.to_generation is None else one.to_generation
        if isinstance(members := event.data.get("members"), int):
            one.members_after = members
        if not one.settling:
            self.end(group, Ending.ASSIGNED, one.assigned)

    def _empty(self, group: Group, event: Event) -> None:
        one = group.open
        if event.generation is not None:
            group.generation = event.generation
        if one is None:
            group.members = 0
            return
        one.note(event)
        one.to_generation = event.generation
        self.end(group, Ending.EMPTY, moment(event, group.seen))

    def _dead(self, group: Group, event: Event) -> None:
        if group.open is not None:
            group.open.note(event)
            self.end(group, Ending.EMPTY, moment(event, group.seen))
        self._groups.pop(group.name, None)

    def _member(self, group: Group, event: Event) -> None:
        """Somebody came or went. While assignments are awaited that begins the next rebalance, but for what
        frames tell afterwards: how those went that the leader's list has no more."""
        one = group.open
        ended = one.joined if one is not None and one.by_broker else None
        if one is None or (ended is not None and (event.at is None or event.at >= ended)):
            group.remember(event)
        else:
            one.note(event)
        if event.kind in (Kind.FAILED, Kind.LEFT):
            _gone(group, event)

    def _missing(self, group: Group, event: Event) -> None:
        one = group.open
        if one is None:
            group.remember(event)
            return
        one.note(event)
        one.awaited.add(event.member)

    def _sign(self, group: Group, event: Event) -> None:
        """Something that tells a cause, before or during a rebalance."""
        if group.open is not None:
            group.open.note(event)
        else:
            group.remember(event)

    def _moved(self, group: Group, event: Event) -> None:
        if event.generation is not None and group.generation is None:
            group.generation = event.generation
        if isinstance(members := event.data.get("members"), int):
            group.members = members
        if group.open is not None:
            group.open.moved = True
            group.open.note(event)
        else:
            group.remember(event)

    def _unloaded(self, group: Group, event: Event) -> None:
        one = group.open
        if one is None:
            group.remember(event)
            return
        one.moved = True
        one.note(event)
        if one.by_broker and not one.settling and event.source is Source.BROKER_LOG:
            self.end(group, Ending.UNLOADED, moment(event, group.seen))


def _of_the_same(group: Group, event: Event) -> bool:
    """Whether an event may be about static members as those before it were, and begins no rebalance."""
    if event.kind is Kind.GROUP_STORED:
        return event.generation == group.generation
    return event.kind in QUIET


def _from_empty(group: Group, one: Rebalance, event: Event) -> bool:
    """Whether nobody was there when a rebalance was prepared. Kafka names the state after that, which is
    never Empty; but a group that was just formed has generation 0, and lines before name the state too."""
    came_to = {before.state for before in one.events if before.kind is Kind.JOINED}
    return event.generation == 0 or group.members == 0 or "Empty" in {event.state, *came_to}


def _gone(group: Group, event: Event) -> None:
    """Partitions of somebody who went have nobody from then on, and nobody waits for it."""
    group.settling.discard(event.member)
    if group.open is not None:
        group.open.settling.discard(event.member)
    for key in (event.member, event.client):
        for partition in group.clients.pop(key, ()) if key else ():
            if event.at is not None:
                group.lost.setdefault(partition, event.at)


def _is_another(one: Rebalance, event: Event) -> bool:
    """Whether a join phase that a broker says to be over is not that of the rebalance that is open. A client
    may have said it earlier, within the same thousandth of a second or by a clock that is a little ahead.
    """
    if one.joined is None:
        return False
    return one.assigned is not None or one.to_generation not in (None, event.generation)


def _is_over(assigned: float, event: Event) -> bool:
    """Whether an event is not about a rebalance any more that a broker told to be over."""
    room = SETTLING if event.kind in (Kind.SYNCED, Kind.WAS_JOINED, Kind.REVOKED) else AFTERWARDS
    return event.at is not None and event.at - assigned > room


def _within(one: Event, other: Event, seconds: float) -> bool:
    return one.at is None or other.at is None or abs(other.at - one.at) <= seconds
