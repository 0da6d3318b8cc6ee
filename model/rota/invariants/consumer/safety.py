"""What must be so in every state: by the coordinator's records, and by what clients use."""

from __future__ import annotations

from functools import partial

from rota.environment.consumer.coordinator import Coordinator
from rota.environment.consumer.state import ALIVE, Consumer, Phase
from rota.invariants.consumer.views import CLIENT, GROUP, RECORDS, Records
from rota.kernel import Kind, Property, View
from rota.spec.consumer.group import ConsumerGroup
from rota.spec.consumer.messages import JOIN_EPOCH
from rota.spec.consumer.state import MemberState
from rota.spec.consumer.state import partitions as held
from rota.spec.consumer.vocabulary import GroupState

KIP = "KIP-848"


def believes(records: Records, client: Consumer) -> bool:
    """Whether a client believes to be in a group that it is in."""
    return client.phase in ALIVE and client.epoch > 0 and client.member_id in records.epochs


def has_applied(client: Consumer) -> bool:
    """Whether a client has read its answers and applied all of them, which one that closes does not."""
    applied = client.applying is None and not client.newer and client.quiet and not client.adrift
    return client.phase is Phase.MEMBER and applied


def _knows_where_it_is(records: Records, client: Consumer) -> bool:
    up_to_date = believes(records, client) and client.epoch == records.epochs[client.member_id]
    return up_to_date and has_applied(client)


def uses_its_own(records: Records, client: Consumer) -> bool:
    """By the coordinator's records."""
    return client.uses <= records.owned[client.member_id]


def _at_one_epoch(one: Consumer, other: Consumer) -> bool:
    here = one.epoch == other.epoch > 0
    return here and all(has_applied(each) and each.uses for each in (one, other))


def apart(one: Consumer, other: Consumer) -> bool:
    """Whether they use nothing in common."""
    return not one.uses & other.uses


def _is_at_target(records: Records, client: Consumer) -> bool:
    return _knows_where_it_is(records, client) and client.epoch == records.target_epoch


def nothing_of_others(records: Records, client: Consumer) -> bool:
    """Whether a client uses nothing that the target gives to another."""
    others = (some for name, some in records.targets.items() if name != client.member_id)
    return not any(client.uses & some for some in others)


def _expected(client: Consumer) -> bool:
    return not client.wrong


def _led(group: object) -> list[tuple[frozenset[object], frozenset[object]]]:
    """(What is assigned, the target) of each Stable member at the target's epoch."""
    if not isinstance(group, ConsumerGroup):
        return []
    return [
        (frozenset(held(now.assigned)), _of_its_topics(group, name))
        for name, now in group.current.items()
        if now.state is MemberState.STABLE and now.epoch == group.target_epoch
    ]


def _of_its_topics(group: ConsumerGroup, name: str) -> frozenset[object]:
    """The target of a member, without what it has unsubscribed from since."""
    topics = group.members[name].subscribed_topic_names if name in group.members else frozenset()
    return frozenset(one for one in group.targets.get(name, frozenset()) if one.topic in topics)


def _some_led(group: object) -> bool:
    return bool(_led(group))


def _has_its_target(group: object) -> bool:
    return all(assigned == target for assigned, target in _led(group))


def _is_stable(one: Coordinator) -> bool:
    group = one.shard.group
    if not isinstance(group, ConsumerGroup) or group.state is not GroupState.STABLE:
        return False
    return sum(size for _, _, size in group.metadata_hash) == len(one.places)


def _all_owned(one: Coordinator) -> bool:
    group = one.shard.group
    return isinstance(group, ConsumerGroup) and group.owners.keys() == one.places


def _caused(most: int, records: Records) -> bool:
    return records.epoch <= most


def _is_not_in_it(client: Consumer) -> bool:
    return client.phase in (Phase.JOINING, Phase.LOSING) and client.request is not None


def _joins_with_nothing(client: Consumer) -> bool:
    return client.request is not None and client.request.member_epoch == JOIN_EPOCH and not client.uses


def _has_been_told(client: Consumer) -> bool:
    applied = client.applying is None and not client.newer
    return client.phase is Phase.MEMBER and applied and client.target is not None


def _uses_what_it_was_told(client: Consumer) -> bool:
    return client.uses == client.target


WHOLE = View("coordinator", lambda one: one)

SAFETY = (
    Property(
        "consumer.used-is-held",
        Kind.SAFETY,
        "What a member uses that has applied all its answers is its own by the coordinator's records.",
        (RECORDS, CLIENT),
        uses_its_own,
        given=_knows_where_it_is,
        source=KIP,
        rules=("membership.led", "epochs.behind"),
    ),
    Property(
        "consumer.one-user-of-an-epoch",
        Kind.SAFETY,
        "Two clients at one epoch that have applied what they were told use nothing in common.",
        (CLIENT, CLIENT),
        apart,
        given=_at_one_epoch,
        source=KIP,
        rules=("membership.led", "timers.rebalance", "timers.session"),
    ),
    Property(
        "consumer.at-target-nothing-of-others",
        Kind.SAFETY,
        "A member at the target's epoch that has applied it uses nothing that the target gives to another.",
        (RECORDS, CLIENT),
        nothing_of_others,
        given=_is_at_target,
        source=KIP,
        rules=("membership.led",),
    ),
    Property(
        "consumer.answers-expected",
        Kind.SAFETY,
        "No client gets an answer that Kafka's own consumer has no reaction to but to end.",
        (CLIENT,),
        _expected,
        source="upstream AbstractHeartbeatRequestManager#onErrorResponse",
        rules=("membership.unknown-group", "membership.full", "leave.unknown-member"),
    ),
    Property(
        "consumer.led-has-its-target",
        Kind.SAFETY,
        "A Stable member at the target's epoch has of its target what it subscribes to, no more, no less.",
        (GROUP,),
        _has_its_target,
        given=_some_led,
        source=KIP,
        rules=("membership.led", "target.written"),
    ),
    Property(
        "consumer.stable-is-total",
        Kind.SAFETY,
        "In a group in state Stable that knows its topic's size every partition has an owner.",
        (WHOLE,),
        _all_owned,
        given=_is_stable,
        source=KIP,
        rules=("target.asked", "topics.hash", "epochs.raised"),
    ),
    Property(
        "consumer.joins-with-nothing",
        Kind.SAFETY,
        "A client that is not in the group sends nothing but a join, and uses nothing when it does.",
        (CLIENT,),
        _joins_with_nothing,
        given=_is_not_in_it,
        source="KIP-848; upstream AbstractMembershipManager#shouldSkipHeartbeat, #transitionToJoining",
        rules=("membership.first-with-partitions",),
    ),
    Property(
        "consumer.uses-what-it-was-told",
        Kind.SAFETY,
        "A member that has applied all that it was told uses that, no less and no more.",
        (CLIENT,),
        _uses_what_it_was_told,
        given=_has_been_told,
        source="upstream AbstractMembershipManager#maybeReconcile",
        rules=("membership.told",),
    ),
)


def caused(most: int) -> Property:
    """The bound of epochs. most: one more than what may ask for a new target."""
    return Property(
        "consumer.epochs-have-causes",
        Kind.SAFETY,
        "The group's epoch is at most one more than joins, removals and changes of the topic.",
        (RECORDS,),
        partial(_caused, most),
        source="upstream GroupMetadataManager#consumerGroupHeartbeat",
        rules=("epochs.raised", "leave.removal"),
    )
