"""The first design: every consumer watches ZooKeeper and decides for itself. Nobody coordinates.

Before 0.9 a consumer registered itself, read who else was there, computed the same assignment as everybody
else, and claimed its partitions as ephemeral nodes. Any change woke all of them.
Source: upstream 0.8 ZookeeperConsumerConnector#ZKRebalancerListener.

Sources conflict about brokers: 0.7 watched `/brokers/ids` always, 0.8 only while no broker was there, and the
topic's partitions instead. The model has both kinds of change, and watches fire for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rota.designs.budget import Charge
from rota.designs.znodes import (
    BackoffOver,
    Children,
    Claim,
    Claimed,
    Note,
    Read,
    Register,
    Release,
    SessionEnded,
    Stirred,
    Unregister,
    Work,
)
from rota.designs.zookeeper import CONNECTOR
from rota.kernel import Message, Outcome, RuleTable, Send, Value, frozen, replace
from rota.kernel.rules import rule

Outcomes = Sequence[Outcome]


class Phase(Enum):
    """Where a consumer stands."""

    NEW = "new"
    READING = "reading"
    CLAIMING = "claiming"
    WAITING = "waiting"
    FETCHING = "fetching"
    GAVE_UP = "gave up"
    GONE = "gone"


RESTING = frozenset({Phase.FETCHING, Phase.GAVE_UP})


@frozen
class Consumer:
    """A consumer.

    wants: what it computed; claimed: how many of these it has asked for in this attempt; refused: whether one
    of them was; notified: a watch has fired since it last read; tries: attempts that are left.
    """

    who: str
    phase: Phase = Phase.NEW
    wants: tuple[int, ...] = ()
    claimed: int = 0
    refused: bool = False
    notified: bool = False
    tries: int = 0

    @property
    def fetches(self) -> frozenset[int]:
        """The partitions that it consumes."""
        return frozenset(self.wants) if self.phase is Phase.FETCHING else frozenset()

    @property
    def finished(self) -> bool:
        """Whether it is not going to do anything before it hears something."""
        return self.phase is Phase.GONE or (self.phase in RESTING and not self.notified)


@rule("watchers.compute", source=CONNECTOR + "rebalance; RangeAssignor", since="0.7, 0.8", decides=True)
def compute(children: Children, who: str) -> tuple[int, ...]:
    """Everybody computes the same of the same children: consecutive partitions in order of consumer ids."""
    ids = sorted(children.ids)
    if who not in ids:
        return ()
    share, extra = divmod(children.partitions, len(ids))
    place = ids.index(who)
    start = place * share + min(place, extra)
    return tuple(range(start, start + share + (place < extra)))


@rule("watchers.stirred", source=CONNECTOR + "ZKRebalancerListener#handleChildChange", since="0.7, 0.8")
def stirred(machine: Watcher, value: Consumer) -> Outcomes:
    """A watch has fired: as soon as no rebalance runs the consumer begins one. It stops to fetch and releases
    what it owns, and has all its tries again.

    A watch that fires during a rebalance leaves a mark, and a further rebalance follows.
    """
    reading = Consumer(machine.who, Phase.READING, tries=machine.retries)
    return (machine.outcome(reading, "has been stirred: it stops to fetch", Release(machine.server)),)


@rule("watchers.computed", source=CONNECTOR + "rebalance", since="0.7, 0.8")
def computed(machine: Watcher, value: Consumer, children: Children) -> Outcomes:
    """What it read decides what it wants."""
    wants = machine.rules["watchers.compute"].function(children, machine.who)
    return (Outcome(replace(value, phase=Phase.CLAIMING, wants=wants)),)


@rule("watchers.claimed", source=CONNECTOR + "reflectPartitionOwnershipDecision", since="0.7, 0.8")
def claimed(machine: Watcher, value: Consumer, answer: Claimed) -> Outcomes:
    """One claim refused spoils the attempt; the other partitions are asked for all the same."""
    return (Outcome(replace(value, claimed=value.claimed + 1, refused=value.refused or not answer.granted)),)


@rule("watchers.finish", source=CONNECTOR + "syncedRebalance: rebalance.max.retries", since="0.7, 0.8")
def finish(machine: Watcher, value: Consumer) -> Outcomes:
    """All claims are answered. If each was granted it fetches. Else everything is given back, and tried again
    after a back-off if a try is left; without one the consumer stays as it is until a watch fires."""
    if not value.refused:
        fetching = replace(value, phase=Phase.FETCHING, claimed=0, tries=0)
        return (machine.outcome(fetching, "fetches", *machine.finished(fetching)),)
    left = replace(value, wants=(), claimed=0, refused=False, tries=value.tries - 1)
    if left.tries:
        waiting = replace(left, phase=Phase.WAITING)
        return (
            machine.outcome(waiting, "gives back and waits", Release(machine.server), Note(Work.WAITING)),
        )
    idle = replace(left, phase=Phase.GAVE_UP)
    return (machine.outcome(idle, "gives back and up", Release(machine.server), *machine.finished(idle)),)


@rule("watchers.session-ended", source=CONNECTOR + "ZKSessionExpireListener#handleNewSession")
def session_ended(machine: Watcher, value: Consumer) -> Outcomes:
    """It hears that its session has ended: it stops to fetch, forgets what it owned and registers anew."""
    return (Outcome(Consumer(machine.who)),)


@dataclass(frozen=True, eq=False)
class Watcher:
    """The machine of one consumer. server: which one it is connected to; retries: attempts at a rebalance
    (`rebalance.max.retries`, 4 by default)."""

    rules: RuleTable
    who: str
    server: int
    retries: int
    role: str = "consumer"

    @property
    def name(self) -> str:
        """`consumer/` and its id."""
        return f"consumer/{self.who}"

    def initial(self) -> Sequence[Value]:
        """It has not registered."""
        return (Consumer(self.who),)

    def actions(self, value: Consumer) -> Outcomes:
        """The next step of its own; leaving."""
        outcomes = list(self._next(value))
        if value.phase not in (Phase.NEW, Phase.GONE):
            leaves = (Send("budget", Charge("leave")), Send("zookeeper", Unregister(self.server)))
            outcomes.append(Outcome(Consumer(self.who, Phase.GONE), leaves, f"{self.who} leaves"))
        return outcomes

    def _next(self, value: Consumer) -> Outcomes:
        if value.phase is Phase.NEW:
            registered = replace(value, phase=Phase.READING, tries=self.retries)
            return (self.outcome(registered, "registers", Register(self.server)),)
        if value.phase is Phase.READING:
            return (self.outcome(value, "reads the children", Read(self.server)),)
        if value.phase is Phase.WAITING:
            again = replace(value, phase=Phase.READING)
            return (self.outcome(again, "tries again", BackoffOver()),)
        if value.phase is Phase.CLAIMING:
            if value.claimed == len(value.wants):
                return self._apply("watchers.finish", value)
            partition = value.wants[value.claimed]
            return (self.outcome(value, f"claims partition {partition}", Claim(self.server, partition)),)
        return self._apply("watchers.stirred", value) if value.phase in RESTING and value.notified else ()

    def receive(self, value: Consumer, sender: str, message: Message) -> Outcomes:
        """An answer or a notification of ZooKeeper."""
        if isinstance(message, Children):
            return self._apply("watchers.computed", value, message)
        if isinstance(message, Claimed):
            return self._apply("watchers.claimed", value, message)
        if isinstance(message, SessionEnded):
            return self._apply("watchers.session-ended", value)
        if isinstance(message, Stirred):
            return (Outcome(replace(value, notified=True)),)
        raise TypeError(f"a consumer does not take {message!r}")

    def _apply(self, slug: str, *inputs: Any) -> Outcomes:
        outcomes = self.rules[slug].function(self, *inputs)
        return tuple(replace(outcome, rules=(slug, *outcome.rules)) for outcome in outcomes)

    def finished(self, value: Consumer) -> tuple[Message, ...]:
        """The report of a consumer that has finished, none otherwise."""
        return (Note(Work.FINISHED),) if value.finished else ()

    def outcome(self, value: Consumer, what: str, *requests: Message) -> Outcome:
        """A step that sends requests to ZooKeeper."""
        return Outcome(value, tuple(Send("zookeeper", each) for each in requests), f"{self.who} {what}")
