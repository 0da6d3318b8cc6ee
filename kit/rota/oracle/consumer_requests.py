"""A request as both sides get it: one call of the core, one of the spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from uuid import UUID

from rota import coordinator as core
from rota.coordinator.consumer.messages import ConsumerGroupHeartbeat, TopicPartitions
from rota.kernel import FrozenMap
from rota.oracle import consumer_inputs as happens
from rota.oracle.consumer_log import OFFSET
from rota.oracle.consumer_translate import name_of, topic_id
from rota.spec.consumer import messages as spec
from rota.spec.consumer.group import AnyGroup, ConsumerGroup, Current
from rota.spec.consumer.state import Partition, partitions

GROUP_ID = "g"
CLIENT, HOST = "c", "/h"
FOREIGN = Partition("99", 0)
"""A partition of a topic that never was."""

PROTOCOLS = (core.JoinGroupProtocol("range", b"m"),)

Send = Callable[[core.GroupCoordinator, str], core.Effects]
"""Asks the core; the text is the address of the answer."""


@dataclass
class Cluster:
    """The topics that there are, as the core looks at them."""

    topics: dict[str, tuple[int, int]] = field(default_factory=dict)
    version: int = 0

    def change(self, one: happens.TopicIs) -> None:
        """A topic comes, changes or goes."""
        self.version += 1
        if one.partitions:
            self.topics[one.topic] = (one.number, one.partitions)
        else:
            self.topics.pop(one.topic, None)

    def id_of(self, name: str) -> UUID | None:
        """The id of a topic."""
        return topic_id(self.topics[name][0]) if name in self.topics else None

    def name_of(self, given: UUID) -> str | None:
        """The topic of this id."""
        return next((name for name, (number, _) in self.topics.items() if number == given.int), None)

    def partition_count(self, name: str) -> int:
        """How many partitions it has."""
        return self.topics[name][1] if name in self.topics else 0

    def known(self) -> spec.Topics:
        """What the spec is told."""
        return FrozenMap(
            {
                name: spec.Topic(name_of(topic_id(number)), size)
                for name, (number, size) in self.topics.items()
            }
        )


@dataclass(frozen=True)
class Asked:
    """A request for both sides. commits: the name and index of the partition whose offset it commits."""

    send: Send
    request: spec.Request
    version: int = 1
    fresh_id: str = ""
    commits: tuple[str, int] | None = None


def current_of(group: AnyGroup | None, member_id: str | None) -> Current:
    """What a member has by the spec."""
    now = group.current if isinstance(group, ConsumerGroup) else {}
    return now.get(member_id or "", Current())


def _epoch(one: happens.Beat | happens.Commit | happens.Fetch, group: AnyGroup | None) -> int:
    now = current_of(group, one.member_id)
    base = {"current": now.epoch, "previous": now.previous_epoch, "none": -1}.get(one.since, 0)
    return base + one.ahead


def _owned(word: str | None, now: Current) -> frozenset[Partition] | None:
    assigned = partitions(now.assigned)
    return {
        "assigned": assigned,
        "held": now.owned,
        "part": assigned | frozenset(sorted(partitions(now.pending))[:1]),
        "one": frozenset(sorted(assigned)[:1]),
        "nothing": frozenset(),
        "foreign": frozenset({FOREIGN}),
    }.get(word or "")


def _as_topics(some: Iterable[Partition]) -> tuple[TopicPartitions, ...]:
    found: dict[str, list[int]] = {}
    for one in sorted(some):
        found.setdefault(one.topic, []).append(one.index)
    return tuple(TopicPartitions(topic_id(int(name)), tuple(indexes)) for name, indexes in found.items())


def asked(one: happens.Input, group: AnyGroup | None, cluster: Cluster, serial: int) -> Asked | None:
    """What both sides are asked, given the group by the spec; None where that is not possible or not theirs.

    Parameters: serial, makes the id of a member that has none.
    """
    match one:
        case happens.Beat():
            return _beat(one, group, serial)
        case happens.Leave():
            return _leave(one, group)
        case happens.Classic():
            return _classic(one, group)
        case happens.Commit():
            return _commit(one, group, cluster)
        case happens.Fetch():
            return _fetch(one, group)
        case happens.DeleteOffsets() if isinstance(group, ConsumerGroup):
            deleted = core.OffsetDelete(GROUP_ID, (core.OffsetDeleteTopic(one.topic, (0, 1, 2)),))
            return Asked(
                lambda it, to: it.offset_delete(deleted, 0, to, lambda metadata: ()),
                spec.OffsetDeleteRequest(GROUP_ID, one.topic),
                0,
            )
        case happens.DeleteGroup() if group is None or isinstance(group, ConsumerGroup):
            return Asked(
                lambda it, to: it.delete_groups([GROUP_ID], 2, to), spec.DeleteGroupsRequest(GROUP_ID)
            )
        case happens.Describe():
            return describe(one.group_id)
        case happens.ListGroups():
            return listing(one.states, one.types, group)
    return None


def describe(group_id: str = GROUP_ID) -> Asked:
    """ConsumerGroupDescribe."""
    return Asked(
        lambda it, to: it.consumer_group_describe([group_id], 1, to),
        spec.ConsumerGroupDescribeRequest(group_id),
    )


def listing(states: tuple[str, ...], types: tuple[str, ...], group: AnyGroup | None) -> Asked | None:
    """ListGroups; a classic group with members is told by the other protocol."""
    if group is not None and not isinstance(group, ConsumerGroup) and not group.empty:
        return None
    return Asked(
        lambda it, to: it.list_groups(core.ListGroups(states, types), 5, to, [GROUP_ID]),
        spec.ListGroupsRequest(
            GROUP_ID,
            frozenset(each.lower() for each in states),
            frozenset(each.lower() for each in types),
        ),
    )


def _beat(one: happens.Beat, group: AnyGroup | None, serial: int) -> Asked:
    owned = _owned(one.owned, current_of(group, one.member_id))
    epoch = _epoch(one, group)
    request = ConsumerGroupHeartbeat(
        one.group_id,
        one.member_id,
        epoch,
        one.instance_id,
        one.rack_id,
        one.timeout_ms,
        one.names,
        one.regex,
        one.assignor,
        None if owned is None else _as_topics(owned),
    )
    return Asked(
        lambda it, to: it.consumer_group_heartbeat(request, one.version, CLIENT, HOST, to),
        spec.ConsumerGroupHeartbeatRequest(
            one.group_id,
            one.member_id,
            epoch,
            one.instance_id,
            one.rack_id,
            one.timeout_ms,
            None if one.names is None else frozenset(one.names),
            one.regex,
            one.assignor,
            owned,
        ),
        one.version,
        f"n{serial}",
    )


def _leave(one: happens.Leave, group: AnyGroup | None) -> Asked | None:
    if group is not None and not isinstance(group, ConsumerGroup):
        return None
    request = core.LeaveGroup(GROUP_ID, tuple(map(core.MemberIdentity, one.member_ids)))
    return Asked(
        lambda it, to: it.leave_group(request, 5, to), spec.LeaveGroupRequest(GROUP_ID, one.member_ids)
    )


def _classic(one: happens.Classic, group: AnyGroup | None) -> Asked | None:
    """An empty group gives way to who joins, and of a classic one the other protocol tells."""
    if group is not None and not isinstance(group, ConsumerGroup):
        return None
    if one.api == "DescribeGroups":
        return Asked(
            lambda it, to: it.describe_groups([GROUP_ID], one.version, to),
            spec.DescribeGroupsRequest(GROUP_ID),
            one.version,
        )
    if one.api == "JoinGroup" and (group is None or not group.members):
        return None
    return Asked(_CLASSIC[one.api], spec.ClassicRequest(GROUP_ID, one.api), one.version)


JOIN = core.JoinGroup(GROUP_ID, 10_000, 10_000, "", None, "consumer", PROTOCOLS)

_CLASSIC: dict[str, Send] = {
    "JoinGroup": lambda it, to: it.join_group(JOIN, 3, CLIENT, HOST, to),
    "SyncGroup": lambda it, to: it.sync_group(core.SyncGroup(GROUP_ID, 1, "m1"), 3, to),
    "Heartbeat": lambda it, to: it.heartbeat(core.Heartbeat(GROUP_ID, 1, "m1"), 3, to),
}


def _commit(one: happens.Commit, group: AnyGroup | None, cluster: Cluster) -> Asked | None:
    """To a topic that there is; commits to classic groups with members are the other protocol's."""
    if one.topic not in cluster.topics or (
        group is not None and not isinstance(group, ConsumerGroup) and not group.empty
    ):
        return None
    epoch, number = _epoch(one, group), cluster.topics[one.topic][0]
    if group is not None and not isinstance(group, ConsumerGroup) and epoch >= 0:
        return None
    partition = core.OffsetCommitPartition(one.index, OFFSET)
    lines = (core.OffsetCommitTopic(one.topic, (partition,)),)
    request = core.OffsetCommit(GROUP_ID, lines, epoch, one.member_id)
    return Asked(
        lambda it, to: it.offset_commit(request, one.version, to, 0),
        spec.OffsetCommitRequest(GROUP_ID, one.member_id, epoch, (Partition(str(number), one.index),)),
        one.version,
        commits=(one.topic, one.index),
    )


def _fetch(one: happens.Fetch, group: AnyGroup | None) -> Asked:
    epoch = _epoch(one, group)
    line = core.OffsetFetchGroup(GROUP_ID, None, one.member_id, epoch)
    return Asked(
        lambda it, to: it.offset_fetch(core.OffsetFetch((line,)), 9, to),
        spec.OffsetFetchRequest(GROUP_ID, one.member_id, epoch),
        9,
    )


def committed(it: core.GroupCoordinator) -> frozenset[tuple[str, int]]:
    """The partitions of which the core has an offset, by an OffsetFetch of all."""
    effects = it.offset_fetch(core.OffsetFetch((core.OffsetFetchGroup(GROUP_ID, None),)), 9, "view")
    ((_, reply),) = effects.replies
    topics = reply.groups[0].topics if isinstance(reply, core.OffsetFetchReply) else ()
    return frozenset((topic.name, each.partition_index) for topic in topics for each in topic.partitions)
