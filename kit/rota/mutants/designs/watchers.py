"""Planted bugs in the first design, on top of those that it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rota.designs import watchers as consumers
from rota.designs import zookeeper
from rota.designs.watchers import Consumer, Watcher
from rota.designs.znodes import Children, Claim, Claimed, Nodes, Note, Read, Register, Release, Work
from rota.designs.zookeeper import ZooKeeper
from rota.kernel import Outcome
from rota.mutants.mutant import bug

Outcomes = Sequence[Outcome]


@bug("watchers.register", dies_in="one-server", by="watchers.owns-its-share")
def registers_unseen(tree: ZooKeeper, nodes: Nodes, who: str, request: Register) -> Outcomes:
    """Nobody is notified of a new consumer."""
    children = replace(nodes.children, ids=nodes.children.ids | {who})
    servers = tuple(replace(server, applied=children) for server in nodes.servers)
    return (Outcome(replace(nodes.noted(who, Work.BUSY), children=children, servers=servers)),)


@bug("watchers.unregister", dies_in="leave", by="watchers.owns-its-share")
def leaves_owner_nodes_behind(tree: ZooKeeper, nodes: Nodes, who: str) -> Outcomes:
    """What a consumer owned is not ephemeral."""
    (outcome,) = zookeeper.unregister(tree, nodes, who)
    assert isinstance(outcome.value, Nodes)
    return (replace(outcome, value=replace(outcome.value, owners=nodes.owners)),)


@bug("watchers.read", dies_in="one-server", by="watchers.owns-its-share")
def reads_without_watching(tree: ZooKeeper, nodes: Nodes, who: str, request: Read) -> Outcomes:
    """A read sets no watch."""
    return (Outcome(nodes, (tree.to(who, nodes.servers[request.server].applied),)),)


@bug("watchers.claim", dies_in="one-server", by="watchers.no-double-fetch")
def grants_every_claim(tree: ZooKeeper, nodes: Nodes, who: str, request: Claim) -> Outcomes:
    """A second claim replaces the first one."""
    taken = replace(nodes, owners=nodes.owners.set(request.partition, who))
    return (Outcome(taken, (tree.to(who, Claimed(True)),)),)


@bug("watchers.release", dies_in="one-server", by="watchers.owns-its-share")
def releases_nothing(tree: ZooKeeper, nodes: Nodes, who: str, request: Release) -> Outcomes:
    """Owner nodes stay until their session ends."""
    return (Outcome(nodes),)


@bug("watchers.notify", dies_in="partitions", by="watchers.no-gap")
def notifies_one(tree: ZooKeeper, nodes: Nodes, position: int) -> Outcomes:
    """Only the last of those who watch is notified."""
    server = nodes.servers[position]
    heard = sorted(server.watching)[-1:]
    kept = replace(server, watching=frozenset(heard))
    return zookeeper.notify(tree, nodes.with_server(position, kept), position)


@bug("watchers.backoff", dies_in="one-server", by="deadlock")
def waits_for_ever(tree: ZooKeeper, nodes: Nodes, who: str) -> Outcomes:
    """A back-off never ends."""
    return ()


@bug("watchers.compute", dies_in="partitions", by="watchers.no-gap")
def forgets_the_remainder(children: Children, who: str) -> tuple[int, ...]:
    """Partitions that cannot be shared evenly are nobody's."""
    ids = sorted(children.ids)
    share = children.partitions // len(ids)
    return tuple(range(ids.index(who) * share, (ids.index(who) + 1) * share))


@bug("watchers.stirred", dies_in="one-server", by="watchers.no-double-fetch")
def fetches_on(machine: Watcher, value: Consumer) -> Outcomes:
    """A consumer releases what it owns and goes on to fetch it."""
    (outcome,) = consumers.stirred(machine, value)
    return (replace(outcome, value=replace(value, notified=False)),)


@bug("watchers.computed", dies_in="one-server", by="watchers.no-gap")
def wants_one(machine: Watcher, value: Consumer, children: Children) -> Outcomes:
    """A consumer claims the first of its partitions only."""
    (outcome,) = consumers.computed(machine, value, children)
    assert isinstance(outcome.value, Consumer)
    return (replace(outcome, value=replace(outcome.value, wants=outcome.value.wants[:1])),)


@bug("watchers.claimed", dies_in="one-server", by="watchers.no-double-fetch")
def ignores_a_refusal(machine: Watcher, value: Consumer, answer: Claimed) -> Outcomes:
    """A consumer fetches what it was refused."""
    return (Outcome(replace(value, claimed=value.claimed + 1)),)


@bug("watchers.finish", dies_in="partitions", by="watchers.owns-its-share")
def gives_nothing_back(machine: Watcher, value: Consumer) -> Outcomes:
    """A consumer that was refused one partition keeps the others while it waits."""
    (outcome,) = consumers.finish(machine, value)
    kept = tuple(send for send in outcome.sends if isinstance(send.message, Note))
    return (replace(outcome, sends=kept) if value.refused else outcome,)


@bug("watchers.session-ended", dies_in="session-end-heard", by="watchers.owns-its-share")
def ignores_the_end_of_its_session(machine: Watcher, value: Consumer) -> Outcomes:
    """A consumer whose session has ended goes on."""
    return (Outcome(value),)
