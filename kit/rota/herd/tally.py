"""What a transition costs, counted by the messages and rules in it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from rota.designs.requests import Answered, ConsumerMetadata, Error, Heartbeat, JoinGroup
from rota.designs.znodes import Children, Request, Stirred
from rota.environment.messages import Deliver
from rota.kernel import LocalStep, Transition
from rota.spec import HeartbeatReply
from rota.spec.vocabulary import ErrorCode


@dataclass(frozen=True)
class Tally:
    """Numbers of one change.

    watches: notifications by ZooKeeper; told: heartbeats whose answer says that there is a rebalance;
    requests: of members, to ZooKeeper or to brokers, without heartbeats whose answer changes nothing; nodes:
    znodes that they read for it; rebalances: how often an assignment was computed.
    """

    watches: int = 0
    told: int = 0
    requests: int = 0
    nodes: int = 0
    rebalances: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, name) + getattr(other, name) for name in COUNTS))


COUNTS = tuple(one.name for one in fields(Tally))

COMPUTED = frozenset({"watchers.computed", "server-side.complete", "join.complete-phase"})
"""Rules that fire once per assignment: each consumer's own, the coordinator's, that of one generation."""

REQUESTS = (Request, ConsumerMetadata, JoinGroup, Heartbeat, Deliver)


def tally(transition: Transition) -> Tally:
    """What a transition adds."""
    total = Tally(rebalances=sum(slug in COMPUTED for slug in transition.rules))
    for local_step in transition.local_steps:
        total += _of(local_step)
    return total


def _of(local_step: LocalStep) -> Tally:
    message = local_step.message
    if isinstance(message, Stirred):
        return Tally(watches=1)
    if isinstance(message, Children):
        # the list of ids, and what the node of each says (upstream ZkUtils#getConsumersPerTopic)
        return Tally(nodes=1 + len(message.ids))
    if isinstance(message, REQUESTS):
        return Tally(requests=1)
    if isinstance(message, Answered):
        return Tally(told=int(message.error is Error.ILLEGAL_GENERATION))
    if isinstance(message, HeartbeatReply):
        return Tally(told=int(message.error_code is ErrorCode.REBALANCE_IN_PROGRESS))
    return Tally()
