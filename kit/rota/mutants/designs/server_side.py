"""Planted bugs in the second design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rota.designs import served as members
from rota.designs import server_side
from rota.designs.requests import Answered, Coordinator, Error, Joined
from rota.designs.served import Member, Served
from rota.designs.server_side import Assignment, Brokers, Cluster, MemoryGroup, StoredGroup
from rota.kernel import FrozenMap, Outcome
from rota.mutants.mutant import bug

Outcomes = Sequence[Outcome]


@bug("server-side.lookup", dies_in="move", by="server-side.can_survive_a_move")
def names_the_first_coordinator(machine: Brokers, cluster: Cluster, who: str) -> Outcomes:
    """Brokers never learn that the group has moved."""
    return (Outcome(cluster, (machine.to(who, Coordinator(0)),)),)


@bug("server-side.join", dies_in="two", by="deadlock")
def parks_and_forgets(machine: Brokers, cluster: Cluster, who: str) -> Outcomes:
    """A JoinGroup is parked and begins no rebalance while the group has members."""
    (outcome,) = server_side.join(machine, cluster, who)
    assert isinstance(outcome.value, Cluster)
    quiet = replace(outcome.value.group, preparing=cluster.group.preparing or not cluster.group.members)
    return (replace(outcome, value=replace(outcome.value, group=quiet)),)


@bug("server-side.heartbeat", dies_in="two", by="deadlock")
def tells_nobody(machine: Brokers, cluster: Cluster, who: str, generation: int) -> Outcomes:
    """Heartbeats do not tell of a rebalance."""
    return (Outcome(cluster, (machine.to(who, Answered(Error.NONE)),)),)


@bug("server-side.heartbeat", dies_in="expire", by="deadlock")
def knows_everybody(machine: Brokers, cluster: Cluster, who: str, generation: int) -> Outcomes:
    """A member that was taken for dead is answered None instead of UnknownConsumer."""
    if who not in cluster.group.members:
        return (Outcome(cluster, (machine.to(who, Answered(Error.NONE)),)),)
    return server_side.heartbeat(machine, cluster, who, generation)


@bug("server-side.not-coordinator", dies_in="move", by="deadlock")
def old_coordinator_goes_on(machine: Brokers, cluster: Cluster, who: str) -> Outcomes:
    """A broker that has lost the group answers as if it had it."""
    return (Outcome(cluster, (machine.to(who, Answered(Error.NONE)),)),)


@bug("server-side.barrier", dies_in="leave", by="server-side.no-double-fetch")
def does_not_wait(group: MemoryGroup) -> bool:
    """A rebalance ends as soon as anybody has joined."""
    return group.preparing and bool(group.joined)


@bug("server-side.assign", dies_in="wishes", by="server-side.one-owner")
def by_wishes(cluster: Cluster, strategy: str, wishes: FrozenMap[str, str]) -> Assignment:
    """Every member gets what its own strategy would give it."""
    ids = sorted(cluster.group.members)
    return FrozenMap(
        (who, server_side.dealt(wishes[who], place, len(ids), cluster.partitions))
        for place, who in enumerate(ids)
    )


@bug("server-side.assign", dies_in="two", by="server-side.no-gap")
def drops_the_last_partition(cluster: Cluster, strategy: str, wishes: FrozenMap[str, str]) -> Assignment:
    """One partition is nobody's."""
    return server_side.assign(replace(cluster, partitions=cluster.partitions - 1), strategy, wishes)


@bug("server-side.complete", dies_in="expire", by="server-side.believes-what-was-assigned")
def same_generation(machine: Brokers, cluster: Cluster) -> Outcomes:
    """Every rebalance ends in generation 1."""
    first = replace(cluster, kept=replace(cluster.kept, generation=0))
    return server_side.complete(machine, first)


@bug("server-side.answer", dies_in="two", by="server-side.believes-what-was-assigned")
def same_answer_for_all(machine: Brokers, cluster: Cluster, who: str) -> Outcomes:
    """Every JoinGroup is answered with the first member's partitions."""
    (outcome,) = server_side.answer(machine, cluster, who)
    (send,) = outcome.sends
    assert isinstance(send.message, Joined)
    first = cluster.kept.assignment[min(cluster.kept.assignment)]
    return (replace(outcome, sends=(machine.to(who, replace(send.message, partitions=first)),)),)


@bug("server-side.answer", dies_in="wishes", by="server-side.one-strategy")
def says_what_was_asked(machine: Brokers, cluster: Cluster, who: str) -> Outcomes:
    """A JoinGroup is answered with the strategy that the member asked for, whichever was used."""
    (outcome,) = server_side.answer(machine, cluster, who)
    (send,) = outcome.sends
    assert isinstance(send.message, Joined)
    answer = replace(send.message, strategy=machine.wishes[who])
    return (replace(outcome, sends=(machine.to(who, answer),)),)


@bug("server-side.dead", dies_in="leave", by="server-side.no-gap")
def buries_without_a_rebalance(machine: Brokers, cluster: Cluster, who: str) -> Outcomes:
    """Nobody gets what a dead member had."""
    group = cluster.group
    return (Outcome(replace(cluster, group=replace(group, members=group.members - {who}))),)


@bug("server-side.metadata-changed", dies_in="partitions", by="server-side.no-gap")
def ignores_new_partitions(machine: Brokers, cluster: Cluster) -> Outcomes:
    """The coordinator's watch fires and it does nothing."""
    return (Outcome(replace(cluster, notified=False)),)


@bug("server-side.lose", dies_in="move", by="deadlock")
def leaves_parked_requests(machine: Brokers, cluster: Cluster) -> Outcomes:
    """Parked JoinGroups are never answered when the coordinator loses the group."""
    (outcome,) = server_side.lose(machine, cluster)
    return (replace(outcome, sends=()),)


@bug("server-side.take-over", dies_in="move", by="server-side.generations-grow")
def begins_anew(machine: Brokers, cluster: Cluster) -> Outcomes:
    """The new coordinator does not read what is kept in ZooKeeper."""
    return server_side.take_over(machine, replace(cluster, kept=StoredGroup()))


@bug("server-side.take-over", dies_in="move-partitions", by="server-side.no-gap")
def takes_over_old_partitions(machine: Brokers, cluster: Cluster) -> Outcomes:
    """The new coordinator does not look whether partitions came while nobody watched."""
    (outcome,) = server_side.take_over(machine, cluster)
    assert isinstance(outcome.value, Cluster)
    return (replace(outcome, value=replace(outcome.value, group=MemoryGroup(outcome.value.group.members))),)


@bug("server-side.found", dies_in="move", by="server-side.can_survive_a_move")
def forgets_its_generation(machine: Served, value: Member, message: Coordinator) -> Outcomes:
    """A member that has found the next coordinator joins anew."""
    return (Outcome(Member(value.who, value.wish, message.broker)),)


@bug("server-side.served", dies_in="two", by="server-side.believes-what-was-assigned")
def helps_itself(machine: Served, value: Member, message: Joined) -> Outcomes:
    """A member fetches the first partition besides those that it is assigned."""
    return members.served(machine, value, replace(message, partitions=(0, *message.partitions)))


@bug("server-side.rejoin", dies_in="two", by="server-side.no-double-fetch")
def fetches_while_joining(machine: Served, value: Member) -> Outcomes:
    """A member goes on to fetch while it joins."""
    return (Outcome(Member(value.who, value.wish, value.knows, partitions=value.partitions)),)


@bug("server-side.look-again", dies_in="move", by="deadlock")
def waits_for_the_old_coordinator(machine: Served, value: Member) -> Outcomes:
    """A member whose JoinGroup is refused goes on waiting for an answer."""
    return (Outcome(replace(value, knows=None)),)
