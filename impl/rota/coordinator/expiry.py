"""What is cleaned away from time to time: offsets that nobody has needed for long, groups without any use.

Source: Kafka's Java coordinator, GroupCoordinatorShard#cleanupGroupMetadata,
OffsetMetadataManager#cleanupExpiredOffsets, ClassicGroup#offsetExpirationCondition,
OffsetExpirationConditionImpl; KIP-211.
"""

from collections.abc import Iterable, Iterator

from rota.coordinator import admin, offsets
from rota.coordinator.group import CONSUMER, Group, GroupState
from rota.coordinator.offset_messages import OffsetRecord, OffsetTombstone
from rota.coordinator.offset_store import OffsetStore
from rota.coordinator.step import Step

MINUTE_MS = 60_000


def clean(
    step: Step,
    store: OffsetStore,
    groups: dict[str, Group],
    now_ms: int,
    topics_of: offsets.TopicsOf,
    group_ids: Iterable[str] | None = None,
) -> None:
    """Expire offsets, and remove every Empty group that has none left; `now_ms` is the wall clock's.

    Of all groups, or only of those that `group_ids` names and that there are.

    A group without offsets is removed however short a time ago it became Empty, but not while transactions
    have some pending. While appends of a group's offsets are not answered nothing is done to it: some may be
    new. There will be another cleaning.
    """
    for group_id in tuple(groups if group_ids is None else group_ids):
        group = groups.get(group_id)
        if group is None or group_id in store.appended:
            continue
        left, expired = _kept_and_expired(step, store, group, now_ms, topics_of)
        if expired:
            offsets.remove(step, store, group_id, tuple(expired))
        if not left and group.state is GroupState.EMPTY and not store.has_pending(group_id):
            admin.remove_group(step, store, groups, group_id, lambda reply_to, error_code: None)


def _kept_and_expired(
    step: Step, store: OffsetStore, group: Group, now_ms: int, topics_of: offsets.TopicsOf
) -> tuple[list[OffsetRecord], list[OffsetTombstone]]:
    """The offsets that stay, and tombstones for those that have expired."""
    left: list[OffsetRecord] = []
    expired: list[OffsetTombstone] = []
    retention_ms = step.config.offsets_retention_minutes * MINUTE_MS
    eligible = expires(group)
    subscribed = offsets.is_subscribed(group, topics_of) if eligible else lambda topic: True
    for record in _records(store, group.group_id):
        pending = store.is_pending(group.group_id, record.topic, record.partition_index)
        if not (pending or subscribed(record.topic)) and is_expired(group, record, now_ms, retention_ms):
            expired.append(OffsetTombstone(record.topic, record.partition_index))
        else:
            left.append(record)
    return left, expired


def expires(group: Group) -> bool:
    """Whether any offset of the group can expire: nobody is in it, or it is known what its members read.

    That is only so while it is Stable, and of consumers.
    """
    if group.protocol_type is None or group.state is GroupState.EMPTY:
        return True
    return group.state is GroupState.STABLE and group.protocol_type == CONSUMER


def is_expired(group: Group, record: OffsetRecord, now_ms: int, retention_ms: int) -> bool:
    """Whether nobody has needed an offset for the retention time, or for the one that its commit asked for.

    In a group that has had members the time counts from when it became Empty, if that is known, otherwise
    from the commit.
    """
    if record.expire_timestamp_ms != -1:
        return now_ms >= record.expire_timestamp_ms
    managed = group.protocol_type is not None and group.state is GroupState.EMPTY
    since = group.state_since_ms if managed else -1
    return now_ms - (record.commit_timestamp_ms if since == -1 else since) >= retention_ms


def _records(store: OffsetStore, group_id: str) -> Iterator[OffsetRecord]:
    for partitions in store.committed.get(group_id, {}).values():
        yield from partitions.values()
