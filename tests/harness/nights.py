"""Nights of groups as events, written by hand: what a broker's log tells, second by second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rota.explain.accounts import Accounts
from rota.explain.diagnosis import Diagnosis
from rota.explain.rebalance import Rebalance
from rota.explain.worst import Explained, Explainer, Wanted
from rota.history import Event, Kind, Source

START = 1_700_000_000.0

CLOSED = "client reason: the consumer is being closed"
LATE = "client reason: consumer poll timeout has expired."
NOT_GIVEN = "client reason: not provided"


def uuid(number: int) -> str:
    """The end of a member id."""
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def member(name: str, number: int = 0) -> str:
    """A member id as a broker makes it: of a client id, or an instance id."""
    return f"{name}-{uuid(number)}"


class Night:
    """What a source tells of one group; each call is a line, at a second of the night."""

    def __init__(self, group: str = "orders", source: Source = Source.BROKER_LOG) -> None:
        self.group, self.source, self.events = group, source, list[Event]()

    def say(self, at: float, kind: Kind, who: str = "", **further: Any) -> Night:
        """A line."""
        place = "server.log" if self.source is Source.BROKER_LOG else f"{self.source.value}.log"
        origin = further.pop("origin", f"{place}:{len(self.events) + 1}")
        group = further.pop("group", self.group)
        source = further.pop("source", self.source)
        self.events.append(Event(START + at, source, origin, kind, group, who, **further))
        return self

    def prepare(self, at: float, generation: int, reason: str, state: str = "Stable", **data: Any) -> Night:
        """A rebalance is prepared."""
        return self.say(at, Kind.PREPARING, generation=generation, state=state, reason=reason, data=data)

    def settle(self, at: float, generation: int, members: int, assigned: float = 0.05) -> Night:
        """The join phase ends, and a moment later there is an assignment."""
        self.say(at, Kind.STABILIZED, generation=generation, data={"members": members})
        return self.say(
            at + assigned, Kind.ASSIGNMENT, "leader", generation=generation, data={"members": members}
        )

    def come(
        self, at: float, who: str, generation: int, members: int, took: float = 1.0, state: str = "Stable"
    ) -> Night:
        """A newcomer joins, and the group rebalances for it."""
        self.say(at, Kind.JOINED, who, state=state)
        self.prepare(
            at, generation, f"Adding new member {who} with group instance id None; {NOT_GIVEN}", state
        )
        return self.settle(at + took, generation + 1, members)

    def leave(
        self, at: float, who: str, generation: int, members: int, reason: str = CLOSED, took: float = 1.0
    ) -> Night:
        """A member leaves, and the group rebalances for it."""
        self.say(at, Kind.LEFT, who, reason=reason)
        self.prepare(at, generation, f"explicit `LeaveGroup` request for ({who}) members.")
        return self.settle(at + took, generation + 1, members)

    def fail(
        self, at: float, who: str, generation: int, members: int, took: float = 1.0, instance: str = ""
    ) -> Night:
        """The session of a member runs out, and the group rebalances for it."""
        self.say(at, Kind.FAILED, who, instance=instance)
        self.prepare(at, generation, f"removing member {who} on heartbeat expiration.")
        return self.settle(at + took, generation + 1, members)

    def replace(self, at: float, old: str, new: str, instance: str) -> Night:
        """A static member comes back into the generation that goes on."""
        return self.say(at, Kind.REPLACED, new, instance=instance, state="Stable", data={"old_member": old})


def rebalances(night: Night) -> list[Rebalance]:
    """All of a night, those that go on last."""
    found: list[Rebalance] = []
    accounts = Accounts(found.append)
    for event in night.events:
        accounts.take(event)
    return [*found, *accounts.open_ones()]


def explained(events: Iterable[Event], most: int = 100, **wanted: Any) -> Explained:
    """The account of events."""
    explainer = Explainer(Wanted(**wanted), most)
    for event in events:
        explainer.take(event)
    return explainer.done()


def told(night: Night) -> Diagnosis:
    """The one incident of a night."""
    (one,) = explained(night.events).incidents
    return one


def causes(night: Night) -> list[str]:
    """The causes of a night, in order of time."""
    return [one.cause.name for one in explained(night.events).incidents]


def day_of_log(groups: int, every: float) -> Iterator[Event]:
    """A broker's log of many groups, one after the other: each begins, loses its member and goes."""
    for number in range(groups):
        night = Night(f"group-{number}")
        night.come(number * every, member("c", number), 0, 1, took=0.1, state="Empty")
        night.fail(number * every + 1, member("c", number), 1, 1, took=0.1)
        yield from night.events
