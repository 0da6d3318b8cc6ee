"""What is kept of a group while events come: the rebalance that is open, and what the next one will need."""

from __future__ import annotations

from dataclasses import dataclass, field

from rota.explain.reasons import STATIC_BACK, UNTOLD
from rota.explain.rebalance import KEPT, Ending, Rebalance
from rota.history import Event, Kind, Source

FATAL = ("FENCED", "MAX_SIZE", "MAX SIZE", "MAXIMUM SIZE")
"""Words of errors after which a client does not come back."""

NEAR = 1.5
"""Seconds before a rebalance began, within which what happened to a member began it: logs tell whole
seconds."""

QUIET = (Kind.REPLACED, Kind.REFUSED)
"""What happens to static members, be there a rebalance or not."""

MOVES = (Kind.LOADING, Kind.LOADED, Kind.UNLOADED)
"""What shows that the coordinator is another one now."""

EARLIER = 15.0
"""The same for what clients tell, whose clocks are others: a client that polls late says so before it
leaves."""


def moment(event: Event, otherwise: float | None) -> float | None:
    """When it was, or the last moment that was told before."""
    return otherwise if event.at is None else event.at


@dataclass(slots=True)
class Group:
    """A group. members: how many it has, None where that was not told; before: what happened since the last
    rebalance ended, with the moment; lost: partition → since when nobody has it; clients: client → the
    partitions that it has; partition: of the offsets topic; told_by: the sources that told of it; roster: its
    members with their instance ids."""

    name: str
    generation: int | None = None
    members: int | None = None
    protocol: str = ""
    partition: int | None = None
    longest_ms: int | None = None
    seen: float | None = None
    open: Rebalance | None = None
    before: list[Event] = field(default_factory=list)
    sessions: dict[str, int] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    settling: set[str] = field(default_factory=set)
    lost: dict[str, float] = field(default_factory=dict)
    clients: dict[str, set[str]] = field(default_factory=dict)
    told_by: set[Source] = field(default_factory=set)
    roster: dict[str, str] | None = None

    def remember(self, event: Event) -> None:
        """Something that may belong to the rebalance that comes."""
        self.before.append(event)
        if len(self.before) > KEPT:
            del self.before[0]

    def recent(self, at: float | None) -> list[Event]:
        """What was remembered and is near enough to `at`; nothing is remembered then."""
        found = [one for one in self.before if near(one, at)]
        self.before.clear()
        return found

    def quiet(self, at: float | None, patience: float = 0.0) -> Rebalance | None:
        """What happened to static members and to who was refused, not near to `at`, and made no rebalance;
        None: nothing.

        patience: seconds in which more may come that belongs to it.
        """
        found = [one for one in self.before if one.kind in QUIET and not (at and near(one, at))]
        back = [one for one in found if one.kind is Kind.REPLACED]
        if not back and not any(refused_for_good(one) for one in found):
            return None
        if at is not None and found[0].at is not None and at - found[0].at < patience:
            return None
        self.before = [one for one in self.before if one not in found]
        return Rebalance(
            group=self.name,
            trigger=STATIC_BACK if back else UNTOLD,
            who=(back or found)[0].member or (back or found)[0].instance,
            began=found[0].at,
            ended=found[0].at,
            ending=Ending.QUIET,
            from_generation=self.generation,
            to_generation=self.generation,
            members_before=self.members,
            members_after=self.members,
            sources={one.source for one in found},
            events=found,
        )

    def begin(self, event: Event, by_broker: bool) -> Rebalance:
        """A rebalance begins."""
        began = Rebalance(
            self.name,
            began=moment(event, self.seen),
            by_broker=by_broker,
            from_generation=event.generation
            if by_broker and event.generation is not None
            else self.generation,
            members_before=self.members,
            settling=set(self.settling),
        )
        for one in self.recent(began.began):
            began.note(one)
            began.moved = began.moved or one.kind in MOVES
        began.note(event)
        self.open = began
        return began

    def finished(self, ending: Ending, at: float | None) -> Rebalance:
        """The open rebalance as it is to be told, which is not open any more."""
        one = self.open
        assert one is not None
        self.open = None
        one.end(ending, at)
        if ending is Ending.EMPTY:
            self.members = 0
        elif one.members_after is not None:
            self.members = one.members_after
        if one.to_generation is not None:
            self.generation = one.to_generation
        one.protocol, one.longest_ms = self.protocol, self.longest_ms
        named = {event.member for event in one.events}
        one.sessions = {member: self.sessions[member] for member in named if member in self.sessions}
        return one


def refused_for_good(event: Event) -> bool:
    """Whether a client was refused in a way that ends it: fenced, or one too many."""
    return event.kind is Kind.REFUSED and any(words in event.reason.upper() for words in FATAL)


def near(event: Event, at: float | None) -> bool:
    """Whether an event is near enough before a moment to belong to what happened then."""
    if event.at is None or at is None:
        return True
    room = NEAR if event.source is Source.BROKER_LOG and event.kind is not Kind.REFUSED else EARLIER
    return at - event.at <= room
