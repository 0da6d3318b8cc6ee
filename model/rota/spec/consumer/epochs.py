"""The three counters: which epochs of a request are accepted, and what raises the group's."""

from __future__ import annotations

from rota.kernel.rules import rule
from rota.spec.consumer.context import GMM, ConsumerSpec, beat, refused
from rota.spec.consumer.group import AnyGroup, ConsumerGroup, Current, Metadata, MetadataHash
from rota.spec.consumer.messages import JOIN_EPOCH, Call
from rota.spec.consumer.state import partitions
from rota.spec.consumer.step import Steps
from rota.spec.consumer.vocabulary import ErrorCode

SOURCE = GMM + "throwIfConsumerGroupMemberEpochIsInvalid"


def _member(group: AnyGroup | None, call: Call) -> Current:
    """The member that heartbeats, as it was before."""
    now = group.current if isinstance(group, ConsumerGroup) else {}
    return now.get(beat(call).member_id, Current())


@rule("epochs.ahead", source=SOURCE)
def ahead(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """An epoch that the member has never had is fenced; it stays in the group with what it has."""
    epoch = beat(call).member_epoch
    if epoch == JOIN_EPOCH or epoch <= _member(group, call).epoch:
        return ()
    return refused(group, call, ErrorCode.FENCED_MEMBER_EPOCH)


@rule("epochs.behind", source=SOURCE)
def behind(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """An older epoch is fenced, unless an answer may have been lost.

    That is where it is the previous one and all that the member says to own is assigned to it.

    Left out: a topic that a member lists with no partitions, which upstream takes for one not assigned. No
    client lists one.
    """
    request, member = beat(call), _member(group, call)
    owned = request.topic_partitions
    lost = owned is not None and owned <= partitions(member.assigned)
    if request.member_epoch == JOIN_EPOCH or request.member_epoch >= member.epoch:
        return ()
    if request.member_epoch == member.previous_epoch and lost:
        return ()
    return refused(group, call, ErrorCode.FENCED_MEMBER_EPOCH)


@rule("epochs.subscription-changed", source=GMM + "hasMemberSubscriptionChanged", decides=True)
def subscription_changed(spec: ConsumerSpec, old: Metadata, new: Metadata) -> bool:
    """A subscription is a set of names: their order and number are no change, and joining without any."""
    return old.subscribed_topic_names != new.subscribed_topic_names


@rule("epochs.raised", source=GMM + "consumerGroupHeartbeat", decides=True)
def raised(
    spec: ConsumerSpec,
    before: ConsumerGroup,
    after: ConsumerGroup,
    known: MetadataHash,
    subscription_changed: bool,
) -> bool:
    """The group's epoch rises by one when something asks for a new target.

    That is a changed subscription, another assignor by the members' wishes, or topics that are not those of
    the last time. Rack, rebalance timeout and what a member owns do not.

    Left out: where as many wish for one assignor as for another, upstream compares two orders of hash tables,
    and heartbeats that change nothing may raise the epoch (seen on 4.4.0).
    """
    wished, wish = (spec.ask("target.preferred-assignor", one) for one in (before, after))
    return subscription_changed or wished != wish or known != before.metadata_hash
