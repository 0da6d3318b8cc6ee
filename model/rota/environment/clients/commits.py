"""What a client commits and where it reads on: one number, for partition 0.

One partition stands for all of them: offsets of several partitions have nothing to do with one another. A
record is read, and its offset committed, in one move, so the number is the offset that was committed last.
"""

from __future__ import annotations

from rota.environment.clients.assignment import TOPIC
from rota.environment.clients.state import Client, Phase
from rota.environment.clients.subscription import Subscription
from rota.kernel import replace
from rota.spec import Call
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetFetchReply,
    OffsetFetchRequest,
    TopicPartitions,
)

PARTITION = 0

STABLE_SINCE = 7
"""The OffsetFetch version from which clients ask for stable offsets only (KIP-447)."""


def commits(subscription: Subscription, value: Client, phase: Phase) -> Client:
    """A client with a commit of its position on the wire, in the phase in which it waits for the answer."""
    return replace(value, phase=phase, outbox=_commit(subscription, value))


def fetches(subscription: Subscription, value: Client) -> Client:
    """A client with a request for its offsets on the wire."""
    return replace(value, phase=Phase.FETCHING, outbox=_fetch(subscription))


def must_fetch(subscription: Subscription, value: Client) -> bool:
    """Whether it consumes the partition without knowing where to read on."""
    return subscription.offsets and value.position < 0 and PARTITION in value.partitions


def fetched(value: Client, reply: OffsetFetchReply) -> Client:
    """It reads on where somebody has committed, else from the beginning."""
    offsets = [line.committed_offset for topic in reply.topics for line in topic.partitions]
    return replace(value, phase=Phase.STABLE, position=max(0, *offsets))


def settled(value: Client) -> Client:
    """Who does not consume the partition has no position in it."""
    return value if PARTITION in value.partitions else replace(value, position=-1)


def _commit(subscription: Subscription, value: Client) -> Call:
    line = OffsetCommitPartition(PARTITION, value.position)
    request = OffsetCommitRequest(
        group_id=subscription.group_id,
        topics=(OffsetCommitTopic(TOPIC, (line,)),),
        generation_id_or_member_epoch=value.generation_id,
        member_id=value.member_id,
        group_instance_id=subscription.group_instance_id,
    )
    return subscription.call(request, subscription.speaks.offset_commit)


def _fetch(subscription: Subscription) -> Call:
    version = subscription.speaks.offset_fetch
    topics = (TopicPartitions(TOPIC, (PARTITION,)),)
    request = OffsetFetchRequest(subscription.group_id, topics, require_stable=version >= STABLE_SINCE)
    return subscription.call(request, version)
