"""Offsets that nobody has needed for the retention time, and groups that nobody needs any more.

Time is an input. Whoever holds the group and its offsets asks from time to time (upstream: every ten minutes,
the Scala coordinator also at its start): the group says what may go, the offsets what does.
"""

from __future__ import annotations

from rota.kernel.rules import rule
from rota.spec.admin import removed
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.classic.vocabulary import GroupState
from rota.spec.context import Spec, only
from rota.spec.offset_delete import CONSUMER, subscribed
from rota.spec.offset_state import (
    NO_PRODUCER,
    Committed,
    Expire,
    GroupForgotten,
    OffsetBatch,
    Offsets,
    OffsetStep,
    OffsetSteps,
    OffsetTombstone,
    RetentionCheck,
)

CHECK_HANDLER = (
    "expiry.simple-group",
    "expiry.empty-group",
    "expiry.subscribed-group",
    "expiry.nothing-expires",
)
EXPIRE_HANDLER = ("expiry.group-unused", "expiry.offsets-expired")
REMOVE_HANDLER = ("expiry.group-removed",)

CONDITION = "KIP-211; upstream ClassicGroup#offsetExpirationCondition"
CLEANUP = "upstream OffsetMetadataManager#cleanupExpiredOffsets; GroupMetadata#removeExpiredOffsets (3.x)"


@rule("expiry.simple-group", source=CONDITION)
def simple_group(spec: Spec, group: Group, check: RetentionCheck) -> Steps:
    """A group without a protocol type only stores offsets: each expires by its own commit.

    Left out: why it has none, be it that nobody ever joined or that a fail-over has found offsets alone.
    Both are Empty groups, and their offsets expire alike.
    """
    if group.protocol_type is not None:
        return ()
    removable = group.state is GroupState.EMPTY
    return only(Step(group).tell_offsets(Expire(check.now_ms, None, removable=removable)))


@rule("expiry.empty-group", source=CONDITION)
def empty_group(spec: Spec, group: Group, check: RetentionCheck) -> Steps:
    """Nobody is in the group: the retention counts from when the last one left.

    Where that is not known, it counts from each commit.

    Left out: how the time is known, by a timestamp that the group keeps at each change of state and that
    old records lack. It is handed in (`RetentionCheck.since_ms`).
    """
    if group.state is not GroupState.EMPTY:
        return ()
    return only(Step(group).tell_offsets(Expire(check.now_ms, check.since_ms, removable=True)))


@rule("expiry.subscribed-group", source=CONDITION + "; KIP-496, KAFKA-13636")
def subscribed_group(spec: Spec, group: Group, check: RetentionCheck) -> Steps:
    """In a Stable group of consumers the offsets of topics that nobody is subscribed to expire.

    Nothing is left out: as upstream the rule reads the subscriptions of when the generation began, so one
    that a static restart brought since does not count yet.
    """
    if not spec.profile.unsubscribed_expire or group.state is not GroupState.STABLE:
        return ()
    topics = subscribed(spec, group)
    if group.protocol_type != CONSUMER or topics is None:
        return ()
    return only(Step(group).tell_offsets(Expire(check.now_ms, None, subscribed=topics)))


@rule("expiry.nothing-expires", source=CONDITION)
def nothing_expires(spec: Spec, group: Group, check: RetentionCheck) -> Steps:
    """While a group rebalances, and where it is not known what its members consume, nothing expires.

    Nothing is left out: this is the empty result of ClassicGroup#offsetExpirationCondition, which also
    covers groups of other protocol types than consumers with members in them.
    """
    return only(Step(group))


@rule("expiry.expired", source="upstream OffsetExpirationConditionImpl", decides=True)
def expired(value: Committed, now_ms: int, base_ms: int | None, retention_ms: int) -> bool:
    """Whether an offset is too old: at its own expiry if it has one, else after the retention.

    Parameters: base_ms, from when the retention counts, None: from the commit.

    Left out: offsets.retention.minutes is a setting in minutes. `BrokerConfig.offsets_retention_ms` has
    it converted, which upstream does in 64 bits, so that it cannot overflow.
    """
    if value.expire_timestamp_ms is not None:
        return now_ms >= value.expire_timestamp_ms
    return now_ms - (value.commit_timestamp_ms if base_ms is None else base_ms) >= retention_ms


def _old(spec: Spec, offsets: Offsets, expire: Expire) -> tuple[tuple[str, int], ...]:
    """The partitions whose offsets expire: none for which a commit is in flight, since that would go, too."""
    retention_ms = spec.config.offsets_retention_ms
    return tuple(
        (topic, index)
        for (topic, index), value in offsets.committed.items()
        if topic not in expire.subscribed
        and not (spec.profile.open_transaction_keeps_offset and offsets.is_pending(topic, index))
        and (topic, index, NO_PRODUCER) not in offsets.appended
        and spec.ask("expiry.expired", value, expire.now_ms, expire.base_ms, retention_ms)
    )


@rule("expiry.group-unused", source=CLEANUP + "; GroupMetadataManager#maybeDeleteGroup")
def group_unused(spec: Spec, offsets: Offsets, expire: Expire) -> OffsetSteps:
    """Nobody is in the group and none of its offsets is left: it may go with those that expire now.

    At once: a group without any offset goes at the next look, however short it has been Empty. Open
    transactions hold it. (Before 4.0 was released the Java coordinator let it go where it had no other
    offset; 4.0.2 and 4.4.0 keep it, as their jars and running brokers say.)

    Left out: when the look is (offsets.retention.check.interval.ms, and the Scala coordinator's first one
    at its start). The budget `retention` allows one at any time.
    """
    left = set(offsets.committed) - set(_old(spec, offsets, expire))
    writing = {key[:2] for key in offsets.appended if key[2] == NO_PRODUCER}
    if not expire.removable or left or writing:
        return ()
    if offsets.pending or offsets.appended:
        return ()
    return (OffsetStep(offsets, removes_group=True),)


@rule("expiry.offsets-expired", source=CLEANUP)
def offsets_expired(spec: Spec, offsets: Offsets, expire: Expire) -> OffsetSteps:
    """What is too old goes, when the log has its tombstones; the Scala coordinator does not wait for them.

    Left out: the metric of expired offsets, and that the Java coordinator writes the tombstones of all
    groups of a partition as one batch. Those of another group are stored or lost with these and change
    nothing here.
    """
    tombstones = tuple(OffsetTombstone(*key, expired=True) for key in _old(spec, offsets, expire))
    if not tombstones:
        return (OffsetStep(offsets),)
    return spec.offsets_begin(offsets, OffsetBatch(tombstones))


@rule("expiry.group-removed", source="upstream GroupMetadataManager#maybeDeleteGroup")
def group_removed(spec: Spec, group: Group) -> Steps:
    """The Empty group is removed with a tombstone; who joins later begins with generation 1.

    The Scala coordinator writes none for a group of generation 0, of which it has written no record
    either.

    Left out: that difference. A tombstone for a group without a record takes nothing away that a
    fail-over could load, so the model writes one for either coordinator.
    """
    return only(removed(group, GroupForgotten(expired=True)))
