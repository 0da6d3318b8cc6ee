"""The second design: only a coordinator watches ZooKeeper; it computes assignments and answers members.

Designed between 0.8 and 0.9. Members ask any broker where the coordinator is, send it heartbeats, and learn
from the answers that a rebalance has begun or that the coordinator has moved. JoinGroup returns the
assignment, which the coordinator has computed and written to ZooKeeper.
Source: Kafka wiki, Kafka 0.9 Consumer Rewrite Design; Kafka Detailed Consumer Coordinator Design.

Left out: a coordinator that has lost its group and does not know (here it answers NotCoordinatorForGroup at
once), and lag in what a new coordinator reads (it syncs before). Mutants show what either would break.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rota.designs.budget import Charge
from rota.designs.requests import (
    Answered,
    ConsumerMetadata,
    Coordinator,
    Error,
    Heartbeat,
    Joined,
    JoinGroup,
    TakenForDead,
)
from rota.kernel import FrozenMap, Message, Outcome, RuleTable, Send, Value, frozen, replace
from rota.kernel.rules import rule

Outcomes = Sequence[Outcome]
Assignment = FrozenMap[str, tuple[int, ...]]
WIKI = "Kafka wiki, Kafka 0.9 Consumer Rewrite Design: "
BROKERS = 2


@frozen
class StoredGroup:
    """What the coordinator has written to ZooKeeper: the generation, and who owns which partitions."""

    generation: int = 0
    assignment: Assignment = field(default_factory=FrozenMap)


@frozen
class MemoryGroup:
    """What the coordinator has in memory. joined: members whose JoinGroup is parked; answering: those whose
    JoinGroup is about to be answered; preparing: whether it waits for members to join."""

    members: frozenset[str] = frozenset()
    joined: frozenset[str] = frozenset()
    answering: frozenset[str] = frozenset()
    preparing: bool = False


@frozen
class Cluster:
    """The brokers and their ZooKeeper. leads: the broker that coordinates the group, None while it moves;
    last: the one that did before; notified: a watch of the coordinator has fired and is not handled."""

    partitions: int
    leads: int | None = 0
    last: int = 0
    notified: bool = False
    group: MemoryGroup = field(default_factory=MemoryGroup)
    kept: StoredGroup = field(default_factory=StoredGroup)


@rule("server-side.lookup", source=WIKI + "ConsumerMetadataRequest")
def lookup(machine: Brokers, cluster: Cluster, who: str) -> Outcomes:
    """Every broker knows who coordinates. While nobody does a member asks again, which is left out."""
    if cluster.leads is None:
        return ()
    return (Outcome(cluster, (machine.to(who, Coordinator(cluster.leads)),)),)


@rule("server-side.join", source=WIKI + "JoinGroupRequest")
def join(machine: Brokers, cluster: Cluster, who: str) -> Outcomes:
    """A JoinGroup begins a rebalance, or is part of the one that runs; it is answered when that ends."""
    group = cluster.group
    parked = replace(
        group,
        members=group.members | {who},
        joined=group.joined | {who},
        answering=group.answering - {who},
        preparing=True,
    )
    return (Outcome(replace(cluster, group=parked)),)


@rule("server-side.heartbeat", source=WIKI + "HeartbeatRequest: IllegalGeneration")
def heartbeat(machine: Brokers, cluster: Cluster, who: str, generation: int) -> Outcomes:
    """During a rebalance the answer is IllegalGeneration: the generation is over, the member has to join."""
    if who not in cluster.group.members:
        error = Error.UNKNOWN_CONSUMER
    elif cluster.group.preparing or generation != cluster.kept.generation:
        error = Error.ILLEGAL_GENERATION
    else:
        error = Error.NONE
    return (Outcome(cluster, (machine.to(who, Answered(error)),)),)


@rule("server-side.not-coordinator", source=WIKI + "NotCoordinatorForGroup")
def not_coordinator(machine: Brokers, cluster: Cluster, who: str) -> Outcomes:
    """A broker that does not coordinate the group answers NotCoordinatorForGroup, whatever the request."""
    return (Outcome(cluster, (machine.to(who, Answered(Error.NOT_COORDINATOR_FOR_GROUP)),)),)


@rule("server-side.barrier", source=WIKI + "the coordinator waits for all consumers to join", decides=True)
def barrier(group: MemoryGroup) -> bool:
    """A rebalance ends when every member has joined; one that does not join expires."""
    return group.preparing and group.joined == group.members


@rule("server-side.assign", source="upstream RangeAssignor, RoundRobinAssignor", decides=True)
def assign(cluster: Cluster, strategy: str, wishes: FrozenMap[str, str]) -> Assignment:
    """By the strategy that the server is configured with, whatever members ask for."""
    ids = sorted(cluster.group.members)
    return FrozenMap((who, dealt(strategy, ids.index(who), len(ids), cluster.partitions)) for who in ids)


@rule("server-side.complete", source=WIKI + "the new generation and owners are written to ZooKeeper")
def complete(machine: Brokers, cluster: Cluster) -> Outcomes:
    """All have joined: the coordinator assigns, writes the next generation to ZooKeeper, and then answers."""
    group = cluster.group
    assignment = machine.rules["server-side.assign"].function(cluster, machine.strategy, machine.wishes)
    kept = StoredGroup(cluster.kept.generation + 1, assignment)
    return (Outcome(replace(cluster, group=MemoryGroup(group.members, answering=group.joined), kept=kept)),)


@rule("server-side.answer", source=WIKI + "JoinGroupResponse")
def answer(machine: Brokers, cluster: Cluster, who: str) -> Outcomes:
    """A JoinGroup is answered with the generation and the member's own partitions."""
    kept, group = cluster.kept, cluster.group
    assert cluster.leads is not None
    joined = Joined(kept.generation, kept.assignment[who], machine.strategy, cluster.leads)
    answered = replace(cluster, group=replace(group, answering=group.answering - {who}))
    return (Outcome(answered, (machine.to(who, joined),)),)


@rule("server-side.dead", source=WIKI + "failure detection by heartbeats")
def dead(machine: Brokers, cluster: Cluster, who: str) -> Outcomes:
    """No heartbeat for too long: the member is taken for dead, and the others have to join again.

    None are expected while its JoinGroup is parked or about to be answered.
    """
    group = cluster.group
    members = group.members - {who}
    left = MemoryGroup(members, group.joined, group.answering, preparing=bool(members))
    return (Outcome(replace(cluster, group=left)),)


@rule("server-side.metadata-changed", source=WIKI + "the coordinator watches topics and partitions")
def metadata_changed(machine: Brokers, cluster: Cluster) -> Outcomes:
    """The coordinator's watch fires: it begins a rebalance. Nobody else is notified."""
    group = replace(cluster.group, preparing=bool(cluster.group.members))
    return (Outcome(replace(cluster, notified=False, group=group)),)


@rule("server-side.lose", source=WIKI + "coordinator fail-over")
def lose(machine: Brokers, cluster: Cluster) -> Outcomes:
    """The coordinator loses the group and all that it had in memory; who has a parked request hears of it."""
    parked = sorted(cluster.group.joined | cluster.group.answering)
    sends = tuple(machine.to(who, Answered(Error.NOT_COORDINATOR_FOR_GROUP)) for who in parked)
    assert cluster.leads is not None
    return (
        Outcome(replace(cluster, leads=None, last=cluster.leads, notified=False, group=MemoryGroup()), sends),
    )


@rule("server-side.take-over", source=WIKI + "coordinator fail-over: state is read from ZooKeeper")
def take_over(machine: Brokers, cluster: Cluster) -> Outcomes:
    """Another broker takes the group over and reads from ZooKeeper who owns what, in which generation.

    Members go on as they were, unless the partitions have changed meanwhile.
    """
    assigned = sum(len(owned) for owned in cluster.kept.assignment.values())
    members = frozenset(cluster.kept.assignment)
    group = MemoryGroup(members, preparing=bool(members) and assigned != cluster.partitions)
    return (Outcome(replace(cluster, leads=(cluster.last + 1) % BROKERS, group=group)),)


def dealt(strategy: str, place: int, members: int, partitions: int) -> tuple[int, ...]:
    """What the member at a place gets: consecutive partitions (range), or every so many (roundrobin)."""
    if strategy == "roundrobin":
        return tuple(range(place, partitions, members))
    share, extra = divmod(partitions, members)
    start = place * share + min(place, extra)
    return tuple(range(start, start + share + (place < extra)))


@dataclass(frozen=True, eq=False)
class Brokers:
    """The machine. partitions: at first; strategy: the server's; wishes: member -> what it asks for."""

    rules: RuleTable
    partitions: int
    strategy: str
    wishes: FrozenMap[str, str]
    name: str = "brokers"
    role: str = "coordinator"

    def initial(self) -> Sequence[Value]:
        """A coordinator without members."""
        return (Cluster(self.partitions),)

    def actions(self, value: Cluster) -> Outcomes:
        """The coordinator's own actions, and what happens to it."""
        more = replace(value, partitions=value.partitions + 1, notified=value.leads is not None)
        outcomes = [Outcome(more, (Send("budget", Charge("partitions")),), "a partition appears")]
        if value.leads is None:
            return [*outcomes, *self.apply("server-side.take-over", value, label="another broker takes over")]
        if value.notified:
            outcomes += self.apply("server-side.metadata-changed", value, label="the coordinator is notified")
        if self.rules["server-side.barrier"].function(value.group):
            outcomes += self.apply("server-side.complete", value, label="the coordinator assigns")
        for who in sorted(value.group.answering):
            outcomes += self.apply("server-side.answer", value, who, label=f"{who} is answered")
        for who in sorted(value.group.members - value.group.joined - value.group.answering):
            for outcome in self.apply("server-side.dead", value, who, label=f"{who} is taken for dead"):
                outcomes.append(_charged(outcome, Send(f"member/{who}", TakenForDead())))
                outcomes.append(_charged(outcome, Send("budget", Charge("expire"))))
        (lost,) = self.apply("server-side.lose", value, label="the coordinator loses the group")
        return [*outcomes, _charged(lost, Send("budget", Charge("move")))]

    def receive(self, value: Cluster, sender: str, message: Message) -> Outcomes:
        """A member's request."""
        who = sender.removeprefix("member/")
        if isinstance(message, ConsumerMetadata):
            return self.apply("server-side.lookup", value, who)
        assert isinstance(message, JoinGroup | Heartbeat)
        if message.broker != value.leads:
            return self.apply("server-side.not-coordinator", value, who)
        if isinstance(message, JoinGroup):
            return self.apply("server-side.join", value, who)
        return self.apply("server-side.heartbeat", value, who, message.generation)

    def apply(self, slug: str, *inputs: Any, label: str = "") -> Outcomes:
        """The outcomes of a rule, marked with its slug."""
        outcomes = self.rules[slug].function(self, *inputs)
        return tuple(replace(outcome, rules=(slug, *outcome.rules), label=label) for outcome in outcomes)

    @staticmethod
    def to(who: str, message: Message) -> Send:
        """A message to a member."""
        return Send(f"member/{who}", message)


def _charged(outcome: Outcome, first: Send) -> Outcome:
    return replace(outcome, sends=(first, *outcome.sends))
