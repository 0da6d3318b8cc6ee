"""What properties of the consumer protocol see of the coordinator and of a client."""

from __future__ import annotations

from operator import attrgetter

from rota.environment.consumer.coordinator import Coordinator
from rota.environment.consumer.messages import Partitions
from rota.kernel import FrozenMap, View, frozen
from rota.spec.consumer.group import ConsumerGroup


@frozen
class Records:
    """What the coordinator has, of each member by its id.

    owned: assigned, or told to give up and not given up; epochs: of members; pending: batches on their way;
    whole: whether each partition of a topic that somebody subscribes to has an owner.
    """

    epoch: int = 0
    target_epoch: int = 0
    owned: FrozenMap[str, Partitions] = FrozenMap()
    targets: FrozenMap[str, Partitions] = FrozenMap()
    epochs: FrozenMap[str, int] = FrozenMap()
    pending: int = 0
    whole: bool = False


def unwatched(one: Coordinator) -> frozenset[str]:
    """The members that no timer would remove."""
    group = one.shard.group
    members = group.members if isinstance(group, ConsumerGroup) else {}
    return frozenset(members) - {name for _, name in one.armed}


def records(one: Coordinator) -> Records:
    """The records in memory."""
    group = one.shard.group
    if not isinstance(group, ConsumerGroup):
        return Records(pending=len(one.shard.batches))
    wanted = frozenset[str]().union(*(one.subscribed_topic_names for one in group.members.values()))
    return Records(
        group.epoch,
        group.target_epoch,
        FrozenMap((name, now.owned) for name, now in group.current.items()),
        FrozenMap((name, group.targets.get(name, frozenset())) for name in group.members),
        FrozenMap((name, now.epoch) for name, now in group.current.items()),
        len(one.shard.batches),
        group.owners.keys() == {place for place in one.places if place.topic in wanted},
    )


RECORDS = View("coordinator", records)
GROUP = View("coordinator", attrgetter("shard.group"))
CLIENT = View("client", lambda client: client)
UNWATCHED = View("coordinator", unwatched)
