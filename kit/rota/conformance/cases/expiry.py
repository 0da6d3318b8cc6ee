"""What expires: offsets whose commit said for how long (OffsetCommit versions 2 to 4), and unused groups."""

from __future__ import annotations

from collections.abc import Callable

from rota.conformance.dialogues.broker_settings import RETENTION, RETENTION_CHECK
from rota.conformance.dialogues.dialogue import Dialogue, Member
from rota.conformance.dialogues.failures import SetupFailed
from rota.conformance.dialogues.registry import KILLED, after, case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.administration import describe
from rota.conformance.steps.group_formation import all_leave, stable
from rota.conformance.steps.membership import pending_member
from rota.conformance.steps.offsets import (
    TOPIC,
    commit,
    expect_each,
    expect_fetched,
    fetched,
    in_topic,
    subscriber,
    topic,
)
from rota.conformance.steps.restarts import restart
from rota.conformance.steps.version_ranges import COMMIT, DESCRIBE, FETCH

EXPIRY = "KAFKA-4682 (KIP-211); OffsetMetadataManager.cleanupExpiredOffsets; OffsetExpirationConditionImpl"
_REMOVED = "GroupCoordinatorShard.cleanupGroupMetadata; GroupMetadataManager.maybeDeleteGroup"
SOON = {RETENTION_CHECK: 1000}
LIMITED = {**COMMIT, **FETCH, "OffsetCommit": (2, 4)}
AT_ONCE = 1
"""Milliseconds for which a commit is to be kept: it is too old at the next look."""

_TRIES = 5
"""A broker that looks every second comes between two steps now and then, not always."""

LOOKS = 3.0
"""Seconds in which a broker that looks every second has looked at least twice."""


def until(d: Dialogue, holds: Callable[[], bool]) -> bool:
    since = d.transcript.elapsed()
    while d.transcript.elapsed() - since < LOOKS:
        if holds():
            return True
        d.wait(0.4)
    return holds()


def expect_gone(d: Dialogue) -> None:
    no_longer_seen = until(d, lambda: bool(fetched(d)["committed_offset"] == -1))
    d.require(no_longer_seen, "no offset after some seconds", "the offset is still there")


def _state(d: Dialogue) -> str:
    group = describe(d)["groups"].only()
    return str(group["group_state"])


def _expect_removed(d: Dialogue) -> None:
    """The broker removes the group when it looks next."""
    d.require(until(d, lambda: _state(d) == "Dead"), "the state Dead", "the group is still there")


def settle(d: Dialogue, a: Member) -> None:
    """A Stable group of one; anew where the broker removes it, Empty as it is, between handshake and join."""
    for left in reversed(range(_TRIES)):
        try:
            stable(d, a)
            return
        except SetupFailed as failed:
            if not left or "UNKNOWN_MEMBER_ID" not in failed.actual:
                raise


def _with_offset(d: Dialogue, a: Member, retention_time_ms: int = -1) -> None:
    topic(d)
    settle(d, a)
    with d.reaching("an offset that is stored"):
        expect_each(d, commit(a, retention_time_ms=retention_time_ms), "NONE")


@case(
    "expiry.offsets-expired.own-retention",
    "An offset of an Empty group whose commit names a retention is removed when that is over.",
    EXPIRY,
    level=Level.SHOULD,
    needs=LIMITED,
    settings=SOON,
    seconds=3.0,
)
def own_retention(d: Dialogue) -> None:
    a = d.member("a")
    _with_offset(d, a, AT_ONCE)
    all_leave(d, a)
    expect_gone(d)


@case(
    "expiry.group-unused.with-its-last-offset",
    "A group that nobody is in goes with its last offset: when that is gone the group is, too.",
    f"{EXPIRY}; {_REMOVED}",
    level=Level.INFO,
    needs={**LIMITED, **DESCRIBE},
    settings=SOON,
    seconds=3.0,
)
def goes_with_its_last_offset(d: Dialogue) -> None:
    a = d.member("a")
    _with_offset(d, a, AT_ONCE)
    all_leave(d, a)
    expect_gone(d)
    state = _state(d)
    d.require(state == "Dead", "the state Dead, as soon as the offset is gone", state)


@case(
    "expiry.offsets-expired.all-at-once",
    "Offsets that are too old go together, when the broker looks next.",
    EXPIRY,
    level=Level.INFO,
    needs=LIMITED,
    settings=SOON,
    seconds=3.0,
)
def all_at_once(d: Dialogue) -> None:
    """A third one is kept, so that the group is, too."""
    a, other, third = d.member("a"), f"{TOPIC}-other", f"{TOPIC}-third"
    topic(d, TOPIC, other, third)
    settle(d, a)
    with d.reaching("three offsets that are stored"):
        expect_each(d, commit(a, topics=[in_topic(third)]), "NONE")
        both = [in_topic(TOPIC), in_topic(other)]
        expect_each(d, commit(a, topics=both, retention_time_ms=AT_ONCE), "NONE")
    all_leave(d, a)
    expect_gone(d)
    left = fetched(d, topic_name=other)["committed_offset"]
    d.require(left == -1, "no offset of the other topic", f"the offset {left}")


@after(
    "expiry.group-removed.kept",
    "a group that was removed since nobody needed it is not back.",
    _REMOVED,
    KILLED,
    needs={**LIMITED, **DESCRIBE},
    settings=SOON,
)
def stays_removed(d: Dialogue) -> None:
    a = d.member("a")
    _with_offset(d, a, AT_ONCE)
    all_leave(d, a)
    _expect_removed(d)
    restart(d)
    state = _state(d)
    d.require(state == "Dead", "the state Dead", state)


@case(
    "expiry.expired.not-before",
    "An offset whose commit names no retention is kept for that of the broker.",
    EXPIRY,
    needs=LIMITED,
    settings=SOON,
    seconds=4.0,
)
def not_before(d: Dialogue) -> None:
    a = d.member("a")
    _with_offset(d, a)
    all_leave(d, a)
    d.wait(LOOKS)
    expect_fetched(d, 7)


@case(
    "expiry.simple-group.own-retention",
    "The offset of a simple consumer expires after its retention, and its group is removed with it.",
    f"{EXPIRY}; {_REMOVED}",
    level=Level.SHOULD,
    needs={**LIMITED, "DescribeGroups": (0, 5)},
    settings=SOON,
    seconds=3.0,
)
def simple_group(d: Dialogue) -> None:
    topic(d)
    simple = {"generation_id_or_member_epoch": -1, "member_id": "", "retention_time_ms": AT_ONCE}
    with d.reaching("an offset that is stored"):
        expect_each(d, commit(d.member("a"), 7, "", **simple), "NONE")
    expect_gone(d)
    _expect_removed(d)


@case(
    "expiry.subscribed-group.keeps-subscribed",
    "Under members the offsets of topics that they subscribe to are kept; those of other topics expire.",
    EXPIRY,
    needs=LIMITED,
    settings=SOON,
    seconds=4.0,
)
def keeps_subscribed(d: Dialogue) -> None:
    other = f"{TOPIC}-other"
    topic(d, TOPIC, other)
    a = subscriber(d, "a")
    settle(d, a)
    both = [in_topic(TOPIC), in_topic(other)]
    with d.reaching("offsets that are stored"):
        expect_each(d, commit(a, topics=both, retention_time_ms=AT_ONCE), "NONE")
    no_longer_seen = until(d, lambda: bool(fetched(d, topic_name=other)["committed_offset"] == -1))
    d.require(no_longer_seen, "no offset of the other topic after some seconds", "the offset is still there")
    expect_fetched(d, 7)


@case(
    "expiry.nothing-expires.rebalancing",
    "While the members join nothing expires.",
    EXPIRY,
    needs=LIMITED,
    settings=SOON,
    seconds=4.0,
)
def rebalancing(d: Dialogue) -> None:
    topic(d)
    a = d.member("a")
    settle(d, a)
    with d.reaching("a rebalance"):
        d.member("b").enter().silent(0.4)
        expect_each(d, commit(a, retention_time_ms=AT_ONCE), "NONE")
    d.wait(LOOKS)
    expect_fetched(d, 7)


@case(
    "expiry.nothing-expires.other-type",
    "No offset expires under members that are no consumers: their subscriptions are not known.",
    EXPIRY,
    needs=LIMITED,
    settings=SOON,
    seconds=4.0,
)
def other_type(d: Dialogue) -> None:
    _with_offset(d, d.member("a", protocol_type="connect"), AT_ONCE)
    d.wait(LOOKS)
    expect_fetched(d, 7)


@case(
    "expiry.group-unused.removed",
    "An Empty group without offsets is removed when the broker looks next, however short it has been Empty.",
    _REMOVED,
    level=Level.INFO,
    needs={"DescribeGroups": (0, 5)},
    settings=SOON,
    seconds=3.0,
)
def group_unused(d: Dialogue) -> None:
    a = d.member("a")
    settle(d, a)
    all_leave(d, a)
    _expect_removed(d)


@case(
    "expiry.group-removed.generation-1",
    "Who joins a group that was removed begins with generation 1.",
    _REMOVED,
    level=Level.INFO,
    needs={"DescribeGroups": (0, 5)},
    settings=SOON,
    seconds=3.0,
)
def begins_anew(d: Dialogue) -> None:
    a = d.member("a")
    settle(d, a)
    all_leave(d, a)
    with d.reaching("a group that was removed"):
        _expect_removed(d)
    b = d.member("b")
    settle(d, b)
    d.require(b.generation_id == 1, "generation 1", f"generation {b.generation_id}")


@case(
    "expiry.group-removed.handed-out-id",
    "An id that was handed out does not hold its group: it is removed, and the id is UNKNOWN_MEMBER_ID.",
    f"KIP-394; {_REMOVED}",
    level=Level.INFO,
    needs={"JoinGroup": (4, 9), "DescribeGroups": (0, 5)},
    settings=SOON,
    seconds=3.0,
)
def handed_out_id(d: Dialogue) -> None:
    a = pending_member(d, "a")
    with d.reaching("a group that was removed"):
        _expect_removed(d)
    d.expect(a.join(within=2.0), error="UNKNOWN_MEMBER_ID")


@case(
    "expiry.group-unused.not-with-members",
    "A group with members stays, though it has no offsets.",
    _REMOVED,
    needs=DESCRIBE,
    settings=SOON,
    seconds=4.0,
)
def group_in_use(d: Dialogue) -> None:
    a = d.member("a")
    settle(d, a)
    d.wait(LOOKS)
    d.expect(a.heartbeat(), error="NONE")


@case(
    "expiry.group-unused.not-while-rebalancing",
    "A group stays whose members join or await their assignments, though it has no offsets.",
    _REMOVED,
    settings=SOON,
    seconds=7.0,
)
def group_rebalancing(d: Dialogue) -> None:
    a, b = d.member("a", session_timeout_ms=30_000), d.member("b", session_timeout_ms=30_000)
    settle(d, a)
    joining = b.enter()
    joining.silent(LOOKS)
    d.expect(a.join(), error="NONE", leader=a.member_id)
    d.expect(joining.answer(), error="NONE")
    d.wait(LOOKS)
    d.expect(a.heartbeat(), error="NONE")
    d.expect(a.sync({}), error="NONE")


@case(
    "expiry.expired.each-for-itself",
    "When one offset of an Empty group expires, the others stay, and the group with them.",
    EXPIRY,
    needs={**LIMITED, **DESCRIBE},
    settings=SOON,
    seconds=7.0,
)
def each_for_itself(d: Dialogue) -> None:
    other = f"{TOPIC}-other"
    topic(d, TOPIC, other)
    a = d.member("a")
    settle(d, a)
    with d.reaching("offsets that are stored"):
        expect_each(d, commit(a, topics=[in_topic(TOPIC)]), "NONE")
        expect_each(d, commit(a, topics=[in_topic(other)], retention_time_ms=AT_ONCE), "NONE")
    all_leave(d, a)
    no_longer_seen = until(d, lambda: bool(fetched(d, topic_name=other)["committed_offset"] == -1))
    with d.reaching("an offset that has expired", "expiry.offsets-expired"):
        d.require(no_longer_seen, "no offset of the other topic after some seconds", "it is still there")
    d.wait(LOOKS)
    expect_fetched(d, 7)
    state = _state(d)
    d.require(state == "Empty", "the state Empty", state)


@case(
    "expiry.expired.own-retention-not-over",
    "An offset whose commit names a retention is kept until that is over.",
    EXPIRY,
    needs=LIMITED,
    settings=SOON,
    seconds=4.0,
)
def own_retention_not_over(d: Dialogue) -> None:
    a = d.member("a")
    _with_offset(d, a, 60_000)
    all_leave(d, a)
    d.wait(LOOKS)
    expect_fetched(d, 7)


@case(
    "expiry.empty-group.since-last-member",
    "The retention of a group that became Empty counts from when its last member left, not from the commit.",
    EXPIRY,
    needs={**COMMIT, **FETCH},
    settings={**SOON, RETENTION: 1},
    seconds=110.0,
)
def since_last_member(d: Dialogue) -> None:
    a = subscriber(d, "a")
    _with_offset(d, a)
    committed = d.transcript.elapsed()
    while d.transcript.elapsed() - committed < 35:
        d.wait(2.0)
        d.expect(a.heartbeat(), error="NONE")
    all_leave(d, a)
    left = d.transcript.elapsed()
    d.wait(committed + 75 - d.transcript.elapsed())
    expect_fetched(d, 7)
    d.wait(left + 62 - d.transcript.elapsed())
    expect_gone(d)
