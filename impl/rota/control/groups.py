"""Groups with everything that the coordinator knows of them, as JSON."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from rota.coordinator import Group, Member, TimerId, TimerKind
from rota.coordinator.consumer.group import ConsumerGroup
from rota.coordinator.consumer.records import Place, by_topic
from rota.server.controls import Controls
from rota.wire import WireError
from rota.wire.consumer import decode_assignment, decode_subscription

Json = dict[str, Any]

_OF_GROUPS: tuple[TimerKind, ...] = ("initial_join", "join", "sync")
_OF_MEMBERS: tuple[TimerKind, ...] = ("session", "new_member", "consumer_session", "consumer_rebalance")


def described(controls: Controls, group_id: str | None = None) -> list[Json]:
    """Every group, or that of an id as far as there is one, in the order in which they were made."""
    core = controls.groups_served.core
    found = [_classic(controls, group) for group in core.groups.values()]
    found += [_consumer(controls, group) for group in core.consumer_groups.values()]
    return [group for group in found if group_id in (None, group["group_id"])]


def _classic(controls: Controls, group: Group) -> Json:
    return {
        "group_id": group.group_id,
        "type": "classic",
        "coordinator": controls.placement.of_group(group.group_id),
        "state": group.state.value,
        "state_since_ms": group.state_since_ms,
        "generation": group.generation_id,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol_name,
        "leader": group.leader,
        "members": [_member(controls, group, each) for each in group.members_by_id()],
        "pending_members": [
            {"member_id": each, "timers_ms": _left(controls, group.group_id, each, ("pending",))}
            for each in sorted(group.pending_members)
        ],
        "pending_sync_members": sorted(group.pending_sync_members),
        "timers_ms": _left(controls, group.group_id, "", _OF_GROUPS),
        **_offsets(controls, group.group_id),
    }


def _member(controls: Controls, group: Group, member: Member) -> Json:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "session_timeout_ms": member.session_timeout_ms,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "protocols": [
            {"name": each.name, "metadata": _base64(each.metadata), "topics": _topics(each.metadata)}
            for each in member.protocols
        ],
        "assignment": _base64(member.assignment),
        "partitions": _partitions(member.assignment),
        "awaits": _awaited(group, member.member_id),
        "timers_ms": _left(controls, group.group_id, member.member_id, _OF_MEMBERS),
    }


def _awaited(group: Group, member_id: str) -> str | None:
    """The request of a member that is parked."""
    if member_id in group.parked_joins:
        return "JoinGroup"
    return "SyncGroup" if member_id in group.parked_syncs else None


def _consumer(controls: Controls, group: ConsumerGroup) -> Json:
    return {
        "group_id": group.group_id,
        "type": "consumer",
        "coordinator": controls.placement.of_group(group.group_id),
        "state": group.state.value,
        "epoch": group.epoch.epoch,
        "target_epoch": group.target_epoch.epoch,
        "assignor": group.wished_assignor,
        "members": [_consumer_member(controls, group, each) for each in sorted(group.members)],
        **_offsets(controls, group.group_id),
    }


def _consumer_member(controls: Controls, group: ConsumerGroup, member_id: str) -> Json:
    told, current = group.members[member_id], group.current_of(member_id)
    return {
        "member_id": member_id,
        "group_instance_id": told.instance_id,
        "client_id": told.client_id,
        "client_host": told.client_host,
        "rack_id": told.rack_id,
        "rebalance_timeout_ms": told.rebalance_timeout_ms,
        "topics": list(told.topics),
        "topic_regex": told.regex or None,
        "server_assignor": told.server_assignor,
        "epoch": current.epoch,
        "previous_epoch": current.previous_epoch,
        "state": current.state.name.capitalize(),
        "partitions": _places(controls, current.assigned),
        "pending_revocation": _places(controls, current.pending_revocation),
        "target": _places(controls, dict.fromkeys(group.targets.get(member_id, ()), 0)),
        "timers_ms": _left(controls, group.group_id, member_id, _OF_MEMBERS),
    }


def _places(controls: Controls, places: Mapping[Place, int]) -> list[Json]:
    return [
        {"topic": controls.topic_name(topic_id), "partition": index}
        for topic_id, indexes in by_topic(places)
        for index in indexes
    ]


def _left(controls: Controls, group_id: str, member_id: str, kinds: tuple[TimerKind, ...]) -> dict[str, int]:
    """Timers that are armed, by kind, and how many milliseconds are left."""
    found = {kind: controls.groups_served.left_ms(TimerId(kind, group_id, member_id)) for kind in kinds}
    return {str(kind): left for kind, left in found.items() if left is not None}


def _offsets(controls: Controls, group_id: str) -> Json:
    stored = controls.stored
    return {
        "offsets": [
            {
                "topic": each.topic,
                "partition": each.partition_index,
                "offset": each.committed_offset,
                "leader_epoch": each.committed_leader_epoch,
                "metadata": each.metadata,
                "commit_timestamp_ms": each.commit_timestamp_ms,
            }
            for each in stored.committed(group_id)
        ],
        "pending_offsets": [
            {
                "producer_id": producer_id,
                "topic": each.topic,
                "partition": each.partition_index,
                "offset": each.committed_offset,
            }
            for producer_id, each in stored.pending(group_id)
        ],
    }


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


def _topics(metadata: bytes) -> list[str] | None:
    """The topics of a consumer's subscription; None if it is none."""
    try:
        return [str(name) for name in decode_subscription(metadata).body["topics"]]
    except WireError:
        return None


def _partitions(assignment: bytes) -> list[Json] | None:
    """The partitions of a consumer's assignment, in order; None if it is none."""
    try:
        assigned = decode_assignment(assignment).body["assigned_partitions"]
    except WireError:
        return None
    found = sorted((each["topic"], index) for each in assigned for index in each["partitions"])
    return [{"topic": topic, "partition": index} for topic, index in found]
