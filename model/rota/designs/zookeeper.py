"""ZooKeeper as the consumers of the first design see it: one order of all writes, servers that lag behind.

The first server leads and applies a write at once. The others apply it later, so their clients read stale
data and are notified late. A client sees its own writes: a server that passes a write on has applied it, and
all before it, when it answers. Source: ZooKeeper, consistency guarantees (one order of updates, a single
system image for each client, no simultaneously consistent view across clients), watches, ephemeral nodes.

Simplified: consumer ids, brokers and partitions are one thing to read and to watch; a request and its answer
are one step. Offsets (`/consumers/<group>/offsets`) are left out: nothing is decided by them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rota.designs.budget import Charge
from rota.designs.znodes import (
    BackoffOver,
    Children,
    Claim,
    Claimed,
    Nodes,
    Note,
    Read,
    Register,
    Release,
    Request,
    Server,
    SessionEnded,
    Stirred,
    Unregister,
    Work,
)
from rota.kernel import FrozenMap, Message, Outcome, RuleTable, Send, Value, replace
from rota.kernel.rules import rule

Outcomes = Sequence[Outcome]
CONNECTOR = "upstream 0.8 ZookeeperConsumerConnector#"


@rule("watchers.register", source=CONNECTOR + "registerConsumerInZK", since="0.7, 0.8")
def register(tree: ZooKeeper, nodes: Nodes, who: str, request: Register) -> Outcomes:
    """A consumer's ephemeral node appears among the children."""
    children = replace(nodes.children, ids=nodes.children.ids | {who})
    return (tree.written(nodes.noted(who, Work.BUSY), children),)


@rule("watchers.unregister", source="ZooKeeper, sessions and ephemeral nodes", since="0.7, 0.8")
def unregister(tree: ZooKeeper, nodes: Nodes, who: str) -> Outcomes:
    """With its session all ephemeral nodes of a consumer go, its own and those that say what it owns.

    Its watches go too. The model takes them off every server at once: nobody would hear them.
    """
    children = replace(nodes.children, ids=nodes.children.ids - {who})
    unwatched = (replace(server, watching=server.watching - {who}) for server in nodes.servers)
    left = replace(nodes.released(who).noted(who, Work.FINISHED), servers=tuple(unwatched))
    return (tree.written(left, children),)


@rule("watchers.read", source="ZooKeeper, reads: each server answers from what it has", since="0.7, 0.8")
def read(tree: ZooKeeper, nodes: Nodes, who: str, request: Read) -> Outcomes:
    """A consumer reads what its own server has applied, and is put among those who watch it there."""
    server = nodes.servers[request.server]
    watched = nodes.with_server(request.server, replace(server, watching=server.watching | {who}))
    return (Outcome(watched, (tree.to(who, server.applied),)),)


@rule("watchers.claim", source=CONNECTOR + "reflectPartitionOwnershipDecision", since="0.7, 0.8")
def claim(tree: ZooKeeper, nodes: Nodes, who: str, request: Claim) -> Outcomes:
    """An ephemeral owner node is created where there is none; a second claim is refused."""
    granted = request.partition not in nodes.owners
    after = replace(nodes, owners=nodes.owners.set(request.partition, who)) if granted else nodes
    return (Outcome(after, (tree.to(who, Claimed(granted)),)),)


@rule("watchers.release", source=CONNECTOR + "releasePartitionOwnership", since="0.7, 0.8")
def release(tree: ZooKeeper, nodes: Nodes, who: str, request: Release) -> Outcomes:
    """A consumer deletes its owner nodes."""
    return (Outcome(nodes.released(who)),)


@rule("watchers.notify", source="ZooKeeper, watches: one-time triggers of the client's server")
def notify(tree: ZooKeeper, nodes: Nodes, position: int) -> Outcomes:
    """A server applies the next write. Every watch on it fires, once; who wants more has to read again."""
    server = nodes.servers[position]
    after = nodes.with_server(position, Server(server.behind[0], server.behind[1:]))
    sends = tuple(tree.to(who, Stirred()) for who in sorted(server.watching))
    return (Outcome(replace(after, busy=nodes.busy | (server.watching - nodes.waiting)), sends),)


@rule("watchers.backoff", source="upstream 0.8 ConsumerConfig: rebalance.backoff.ms", since="0.7, 0.8")
def backoff(tree: ZooKeeper, nodes: Nodes, who: str) -> Outcomes:
    """A back-off ends. The model has no clock: a setting says what a back-off outlasts.

    nothing: it may end at any moment; work: not before the others have finished; lag: nor before all servers
    have caught up (its default upstream is zookeeper.sync.time.ms, how far a server may be behind).
    """
    too_early = tree.outlasts != "nothing" and bool(nodes.busy)
    too_early = too_early or (tree.outlasts == "lag" and nodes.lagging)
    return () if too_early else (Outcome(nodes.noted(who, Work.BUSY)),)


WRITES = {
    Register: "watchers.register",
    Claim: "watchers.claim",
    Release: "watchers.release",
}


@dataclass(frozen=True, eq=False)
class ZooKeeper:
    """The machine.

    Parameters: rules, the table; partitions, at first; connected, consumer -> its server; outlasts, what
    back-offs do, see `backoff`; prompt, whether a consumer hears at once that its session has ended.
    """

    rules: RuleTable
    partitions: int
    connected: FrozenMap[str, int]
    outlasts: str
    prompt: bool
    name: str = "zookeeper"
    role: str = "zookeeper"

    def initial(self) -> Sequence[Value]:
        """Nobody is registered."""
        children = Children(partitions=self.partitions)
        servers = 1 + max(self.connected.values())
        return (Nodes(children, tuple(Server(children) for _ in range(servers))),)

    def actions(self, value: Nodes) -> Outcomes:
        """Servers catch up; sessions end although their consumers live, who then hear of it; brokers and
        partitions come."""
        outcomes: list[Outcome] = []
        for position, server in enumerate(value.servers):
            if server.behind:
                outcomes += self.apply(
                    "watchers.notify", value, position, label=f"server {position} catches up"
                )
        for who in sorted(value.children.ids):
            (outcome,) = self.apply("watchers.unregister", value, who, label=f"the session of {who} ends")
            outcomes.append(_charged("expire", self._session_ended(outcome, who)))
        for who in sorted(value.ended):
            heard = replace(value, ended=value.ended - {who})
            outcomes.append(
                Outcome(heard, (self.to(who, SessionEnded()),), f"{who} hears that its session ended")
            )
        children = value.children
        more = replace(children, partitions=children.partitions + 1)
        outcomes.append(
            _charged("partitions", replace(self.written(value, more), label="a partition appears"))
        )
        broker = replace(children, brokers=children.brokers + 1)
        outcomes.append(_charged("broker", replace(self.written(value, broker), label="a broker comes")))
        return outcomes

    def _session_ended(self, outcome: Outcome, who: str) -> Outcome:
        """A consumer hears of the end of its session at once, or later."""
        if self.prompt:
            return replace(outcome, sends=(*outcome.sends, self.to(who, SessionEnded())))
        assert isinstance(outcome.value, Nodes)
        return replace(outcome, value=replace(outcome.value, ended=outcome.value.ended | {who}))

    def receive(self, value: Nodes, sender: str, message: Message) -> Outcomes:
        """What a consumer asks. One whose session is over must hear of that first: it is refused."""
        who = sender.removeprefix("consumer/")
        if isinstance(message, Note):
            return (Outcome(value.noted(who, message.work)),)
        if isinstance(message, BackoffOver):
            return self.apply("watchers.backoff", value, who)
        assert isinstance(message, Request)
        if who in value.ended:
            return ()
        if isinstance(message, Read):
            return self.apply("watchers.read", value, who, message)
        if isinstance(message, Unregister):
            return self.synced(value, message.server, lambda now: self.apply("watchers.unregister", now, who))
        slug = WRITES[type(message)]
        return self.synced(value, message.server, lambda now: self.apply(slug, now, who, message))

    def synced(self, nodes: Nodes, position: int, then: Callable[[Nodes], Outcomes]) -> Outcomes:
        """A write through a server: it has applied that write and all before it when it answers.

        A client hears of its watches that fire before it hears the answer, as ZooKeeper promises.
        """
        before, earlier = self._caught_up(nodes, position)
        outcomes: list[Outcome] = []
        for outcome in then(before):
            assert isinstance(outcome.value, Nodes)
            after, later = self._caught_up(outcome.value, position)
            sends, rules = (
                earlier.sends + outcome.sends + later.sends,
                earlier.rules + outcome.rules + later.rules,
            )
            outcomes.append(replace(outcome, value=after, sends=sends, rules=rules))
        return outcomes

    def _caught_up(self, nodes: Nodes, position: int) -> tuple[Nodes, Outcome]:
        """A server that has applied every write; the outcome holds the notifications that it sent."""
        notices = Outcome(nodes)
        while nodes.servers[position].behind:
            (outcome,) = self.apply("watchers.notify", nodes, position)
            assert isinstance(outcome.value, Nodes)
            nodes, notices = (
                outcome.value,
                Outcome(nodes, notices.sends + outcome.sends, rules=notices.rules + outcome.rules),
            )
        return nodes, notices

    def written(self, nodes: Nodes, children: Children) -> Outcome:
        """The leader takes a write to the children and applies it; the other servers are one more behind."""
        behind = (replace(server, behind=(*server.behind, children)) for server in nodes.servers)
        after, notices = self._caught_up(replace(nodes, children=children, servers=tuple(behind)), 0)
        return replace(notices, value=after)

    def apply(self, slug: str, *inputs: Any, label: str = "") -> Outcomes:
        """The outcomes of a rule, marked with its slug."""
        outcomes = self.rules[slug].function(self, *inputs)
        return tuple(replace(outcome, rules=(slug, *outcome.rules), label=label) for outcome in outcomes)

    @staticmethod
    def to(who: str, message: Message) -> Send:
        """A message to a consumer."""
        return Send(f"consumer/{who}", message)


def _charged(kind: str, outcome: Outcome) -> Outcome:
    return replace(outcome, sends=(Send("budget", Charge(kind)), *outcome.sends))
