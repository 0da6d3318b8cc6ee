"""What a group knows of the topics that it subscribes to. Subscriptions are names, assignments ids."""

from __future__ import annotations

from rota.kernel.rules import rule
from rota.spec.consumer.context import ConsumerSpec
from rota.spec.consumer.group import ConsumerGroup, Metadata, MetadataHash
from rota.spec.consumer.messages import Topics


@rule("topics.hash", source="upstream ModernGroup#computeMetadataHash", decides=True)
def known(spec: ConsumerSpec, group: ConsumerGroup, topics: Topics) -> MetadataHash:
    """Name, id and size of each subscribed topic that exists.

    A topic that comes, grows, goes or is made anew changes it, and a name without a topic does not count.

    Left out: racks of partitions, which no assignor of Kafka's own looks at.
    """
    names = {name for one in group.members.values() for name in one.subscribed_topic_names}
    found = [(name, topics[name]) for name in sorted(names) if name in topics]
    return tuple((name, one.topic_id, one.partitions) for name, one in found)


@rule("topics.subscribed", source="upstream TopicIds", decides=True)
def subscribed(spec: ConsumerSpec, member: Metadata, topics: Topics) -> frozenset[str]:
    """The ids of the existing topics that a member subscribes to."""
    return frozenset(topics[name].topic_id for name in member.subscribed_topic_names if name in topics)
