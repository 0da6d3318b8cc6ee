"""The coordinator's part of the consumer protocol where no broker is needed: the log refuses, or is read."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rota.coordinator import (
    Append,
    Arm,
    CoordinatorConfig,
    Effects,
    ErrorCode,
    GroupCoordinator,
    LeaveGroup,
    MemberIdentity,
    OffsetCommit,
    OffsetCommitPartition,
    OffsetCommitTopic,
    OffsetDelete,
    OffsetDeleteTopic,
    OffsetFetch,
    OffsetFetchGroup,
    TimerId,
)
from rota.coordinator.consumer.messages import ConsumerGroupHeartbeat, TopicPartitions
from rota.coordinator.consumer.records import ConsumerBatch, Entry

T = UUID(int=1)
SESSION = "consumer_session"
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


class OneTopic:
    """A cluster with the topic t."""

    def __init__(self, partitions: int = 2) -> None:
        self.partitions = partitions
        self.version = 1

    def id_of(self, name: str) -> UUID | None:
        return T if name == "t" else None

    def name_of(self, topic_id: UUID) -> str | None:
        return "t" if topic_id == T else None

    def partition_count(self, name: str) -> int:
        return self.partitions if name == "t" else 0


class Clock:
    """The time stands still."""

    def now_ms(self) -> int:
        return 1_000_000

    def new_member_id(self, prefix: str) -> str:
        return f"{prefix}-1"

    def protocol(self, tied: tuple[str, ...]) -> str:
        return tied[0]

    def leader(self, candidates: tuple[str, ...]) -> str:
        return candidates[0]


def coordinator(**settings: Any) -> GroupCoordinator:
    found = GroupCoordinator(CoordinatorConfig(group_consumer_assignment_interval_ms=0, **settings), Clock())
    found.see_topics(OneTopic())
    return found


def beat(core: GroupCoordinator, member: str, epoch: int, **more: Any) -> Effects:
    if epoch == 0:
        more = {
            "rebalance_timeout_ms": 5000,
            "subscribed_topic_names": ("t",),
            "topic_partitions": (),
            **more,
        }
    return core.consumer_group_heartbeat(
        ConsumerGroupHeartbeat(more.pop("group_id", "g"), member, epoch, **more),
        1,
        "client",
        "/host",
        f"{member}@{epoch}",
    )


def append_of(effects: Effects) -> Append:
    (append,) = effects.appends
    return append


def stored(core: GroupCoordinator, effects: Effects, error_code: int = 0) -> Effects:
    return core.appended(append_of(effects).append_id, error_code)


def told(effects: Effects) -> list[tuple[object, int, int]]:
    return [(token, reply.error_code, reply.member_epoch) for token, reply in effects.replies]  # type: ignore[union-attr]


def settled(core: GroupCoordinator, effects: Effects, entries: list[Entry] | None = None) -> Effects:
    """The log takes what there is to take; its records are added to `entries`."""
    if not effects.appends:
        return effects
    record = append_of(effects).record
    assert isinstance(record, ConsumerBatch)
    if entries is not None:
        entries += record.entries
    return stored(core, effects)


def seen(core: GroupCoordinator) -> Any:
    """All that a description says, but for the order."""
    ((_, reply),) = core.consumer_group_describe(["g"], 1, None).replies
    return reply


def test_an_answer_waits_for_the_log() -> None:
    core = coordinator()
    effects = beat(core, "m1", 0)
    assert not effects.replies
    assert told(stored(core, effects)) == [("m1@0", ErrorCode.NONE, 2)]


def test_who_asks_meanwhile_is_answered_behind_it_from_what_there_is() -> None:
    core = coordinator()
    first = beat(core, "m1", 0)
    second = beat(core, "m1", 2)
    assert not second.replies
    assert not second.appends
    assert told(stored(core, first)) == [("m1@0", ErrorCode.NONE, 2), ("m1@2", ErrorCode.NONE, 2)]


def test_a_group_whose_first_records_are_refused_was_never_there() -> None:
    core = coordinator()
    effects = stored(core, beat(core, "m1", 0), ErrorCode.KAFKA_STORAGE_ERROR)
    assert told(effects) == [("m1@0", ErrorCode.NOT_COORDINATOR, 0)]
    assert core.group_ids == ()
    assert told(settled(core, beat(core, "m1", 0))) == [("m1@0", ErrorCode.NONE, 2)]


def test_what_the_log_refuses_is_taken_back_with_all_that_was_built_upon_it() -> None:
    core = coordinator()
    settled(core, beat(core, "m1", 0))
    before = seen(core)
    second = beat(core, "m2", 0)
    asked = beat(core, "m1", 2)
    assert seen(core) != before
    assert told(stored(core, second, ErrorCode.MESSAGE_TOO_LARGE)) == [
        ("m2@0", ErrorCode.UNKNOWN_SERVER_ERROR, 0)
    ]
    assert seen(core) == before
    after = stored(core, asked)
    assert told(after) == [("m1@2", ErrorCode.UNKNOWN_SERVER_ERROR, 0)]
    assert seen(core) == before
    (mended,) = after.appends
    assert isinstance(mended.record, ConsumerBatch)
    assert [key.kind for key, _ in mended.record.entries] == ["current of"]
    assert dict(mended.record.entries) == {
        key: core.consumer_groups["g"].get(key) for key, _ in mended.record.entries
    }


def test_a_time_out_takes_nothing_back() -> None:
    core = coordinator()
    effects = stored(core, beat(core, "m1", 0), ErrorCode.REQUEST_TIMED_OUT)
    assert told(effects) == [("m1@0", ErrorCode.COORDINATOR_NOT_AVAILABLE, 0)]
    assert set(core.consumer_groups["g"].members) == {"m1"}


def test_who_was_not_removed_since_the_log_refused_is_looked_after_again() -> None:
    core = coordinator()
    settled(core, beat(core, "m1", 0))
    timer = TimerId(SESSION, "g", "m1")
    effects = stored(core, core.fire(timer), ErrorCode.KAFKA_STORAGE_ERROR)
    assert set(core.consumer_groups["g"].members) == {"m1"}
    assert effects.timers == (Arm(timer, 500),)


def handed_over(core: GroupCoordinator, entries: list[Entry]) -> None:
    """m1 was told to give up one of two partitions, which m2 waits for."""
    for member, epoch in (("m1", 0), ("m2", 0), ("m1", 2)):
        settled(core, beat(core, member, epoch), entries)


def test_the_log_has_all_that_there_is_to_know() -> None:
    core, entries = coordinator(), []
    handed_over(core, entries)
    again = coordinator()
    effects = again.load("g", None, entries=dict(entries).items())
    assert seen(again) == seen(core)
    assert set(effects.timers) == {
        Arm(TimerId(SESSION, "g", "m1"), 45_000),
        Arm(TimerId(SESSION, "g", "m2"), 45_000),
        Arm(TimerId("consumer_rebalance", "g", "m1"), 5_000),
    }
    owned = (TopicPartitions(T, (0,)),)
    for one in (core, again):
        assert told(settled(one, beat(one, "m1", 2, topic_partitions=owned))) == [("m1@2", 0, 3)]
        assert told(settled(one, beat(one, "m2", 3))) == [("m2@3", 0, 3)]
    assert seen(again) == seen(core)


class OfOne:
    """The group g has times of its own."""

    def __init__(self, **times: int) -> None:
        self.config = CoordinatorConfig(
            **{f"group_consumer_{name}_ms": value for name, value in times.items()},  # type: ignore[arg-type]
            group_consumer_min_session_timeout_ms=1,
            group_consumer_min_heartbeat_interval_ms=1,
        )

    def config_of(self, group_id: str) -> CoordinatorConfig | None:
        return self.config if group_id == "g" else None


def test_what_a_group_has_for_itself_counts_with_the_next_heartbeat() -> None:
    """And for no other group; what is armed goes on as it was armed."""
    core = coordinator()
    for group in ("g", "h"):
        settled(core, beat(core, "m1", 0, group_id=group))
    core.see_group_configs(OfOne(session_timeout=9000, heartbeat_interval=700))
    for group, session, interval in (("g", 9000, 700), ("h", 45_000, 5000)):
        effects = beat(core, "m1", 2, group_id=group)
        assert effects.timers == (Arm(TimerId(SESSION, group, "m1"), session),)
        ((_, reply),) = settled(core, effects).replies
        assert reply.heartbeat_interval_ms == interval  # type: ignore[union-attr]


def test_a_groups_own_interval_between_targets_counts_at_the_next_attempt() -> None:
    core = coordinator()
    core.see_group_configs(OfOne(assignment_interval=15_000))
    for member, group in (("m1", "g"), ("m2", "g"), ("m1", "h"), ("m2", "h")):
        settled(core, beat(core, member, 0, group_id=group))
    assert {name: one.target_epoch.epoch for name, one in core.consumer_groups.items()} == {"g": 2, "h": 3}
    core.see_group_configs(OfOne(assignment_interval=0))
    settled(core, beat(core, "m1", 2))
    assert core.consumer_groups["g"].target_epoch.epoch == 3


def test_a_loaded_groups_members_have_its_own_session() -> None:
    core, entries = coordinator(), []
    settled(core, beat(core, "m1", 0), entries)
    again = coordinator()
    again.see_group_configs(OfOne(session_timeout=9000))
    effects = again.load("g", None, entries=dict(entries).items())
    assert effects.timers == (Arm(TimerId(SESSION, "g", "m1"), 9000),)


def test_the_order_in_which_keys_are_read_does_not_matter() -> None:
    core, entries = coordinator(), []
    handed_over(core, entries)
    again = coordinator()
    again.load("g", None, entries=[*dict(entries).items()][::-1])
    assert seen(again) == seen(core)


def test_members_together_and_unknown_ones() -> None:
    core = coordinator()
    for member in ("m1", "m2"):
        settled(core, beat(core, member, 0))
    leaving = tuple(MemberIdentity(each) for each in ("m1", "m9", "m1"))
    effects = stored(core, core.leave_group(LeaveGroup("g", leaving), 5, "leave"))
    ((_, reply),) = effects.replies
    assert [each.error_code for each in reply.members] == [0, ErrorCode.UNKNOWN_MEMBER_ID, 0]  # type: ignore[union-attr]
    assert set(core.consumer_groups["g"].members) == {"m2"}


def test_offsets_expire_when_nobody_subscribes_and_the_group_goes_with_the_last() -> None:
    core = coordinator(offsets_retention_minutes=1)
    settled(core, beat(core, "m1", 0))
    commit = OffsetCommit("g", (OffsetCommitTopic("t", (OffsetCommitPartition(0, 7),)),), 2, "m1")
    effects = core.offset_commit(commit, 9, "commit", 0)
    core.appended(append_of(effects).append_id)
    assert not core.clean(60_000, lambda metadata: ()).appends
    settled(core, beat(core, "m1", -1))
    assert not core.clean(59_999, lambda metadata: ()).appends
    for append in core.clean(60_000, lambda metadata: ()).appends:
        core.appended(append.append_id)
    assert core.group_ids == ()


def test_a_member_may_not_fill_the_memory() -> None:
    core = coordinator(group_members_max_bytes=10_000)
    names = tuple(f"topic-{number}" for number in range(200))
    effects = beat(core, "m1", 0, subscribed_topic_names=names)
    assert told(effects) == [("m1@0", ErrorCode.GROUP_MAX_SIZE_REACHED, 0)]
    assert core.group_ids == ()


def test_who_leaves_all_topics_is_written_anew_though_there_is_nothing_to_give_up() -> None:
    core = GroupCoordinator(CoordinatorConfig(group_consumer_assignment_interval_ms=15_000), Clock())
    core.see_topics(OneTopic())
    settled(core, beat(core, "m1", 0))
    settled(core, beat(core, "m2", 0))

    def epochs() -> tuple[int, int, int]:
        current = core.consumer_groups["g"].current["m2"]
        return current.epoch, current.previous_epoch, int(current.state)

    settled(core, beat(core, "m2", 2, subscribed_topic_names=("t", "u")))
    assert epochs() == (2, 0, 0)
    settled(core, beat(core, "m2", 2, subscribed_topic_names=()))
    assert epochs() == (2, 2, 0)


def test_static_members_and_regular_expressions_are_refused() -> None:
    for more in ({"instance_id": "i"}, {"subscribed_topic_regex": "t.*"}):
        effects = beat(coordinator(), "m1", 0, **more)
        assert told(effects) == [("m1@0", ErrorCode.INVALID_REQUEST, 0)]


def test_a_refusal_does_not_wait_for_what_it_rests_on() -> None:
    core = coordinator()
    beat(core, "m1", 0)
    assert told(beat(core, "m1", 9)) == [("m1@9", ErrorCode.FENCED_MEMBER_EPOCH, 0)]
    assert told(beat(core, "m9", -1)) == [("m9@-1", ErrorCode.UNKNOWN_MEMBER_ID, 0)]


def test_that_a_group_has_members_or_a_topic_subscribers_waits_for_the_log() -> None:
    core = coordinator()
    effects = beat(core, "m1", 0)
    deletion = OffsetDelete("g", (OffsetDeleteTopic("t", (0,)),))
    assert not core.delete_groups(["g"], 2, "delete").replies
    assert not core.offset_delete(deletion, 0, "offsets", lambda metadata: ()).replies
    (_, (first, deleted), (second, offsets)) = stored(core, effects).replies
    assert (first, second) == ("delete", "offsets")
    assert deleted.results[0].error_code == ErrorCode.NON_EMPTY_GROUP  # type: ignore[union-attr]
    (line,) = offsets.topics[0].partitions  # type: ignore[union-attr]
    assert line.error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC


def test_of_several_groups_to_delete_each_has_its_own_answer() -> None:
    core = coordinator()
    settled(core, beat(core, "m1", 0))
    settled(core, beat(core, "m1", -1))
    settled(core, beat(core, "m1", 0, group_id="h"))
    effects = core.delete_groups(["g", "h", "i"], 2, "delete")
    ((_, reply),) = stored(core, effects).replies
    assert [(each.group_id, each.error_code) for each in reply.results] == [  # type: ignore[union-attr]
        ("g", ErrorCode.NONE),
        ("h", ErrorCode.NON_EMPTY_GROUP),
        ("i", ErrorCode.GROUP_ID_NOT_FOUND),
    ]


def fetched(core: GroupCoordinator, group_id: str, member_epoch: int) -> int:
    """The error that is told to who fetches all offsets of a group at an epoch and names no member."""
    asked = OffsetFetchGroup(group_id, None, None, member_epoch)
    ((_, reply),) = core.offset_fetch(OffsetFetch((asked,)), 9, "fetch").replies
    return reply.groups[0].error_code  # type: ignore[union-attr]


def test_who_reads_offsets_sees_a_group_until_the_log_has_its_end() -> None:
    """Its offsets are there as long, and are nobody's who has to be a member."""
    for error, left in ((ErrorCode.NONE, ErrorCode.NONE), (ErrorCode.NOT_COORDINATOR, UNKNOWN)):
        core = coordinator()
        settled(core, beat(core, "m1", 0))
        settled(core, beat(core, "m1", -1))
        effects = core.delete_groups(["g"], 2, "delete")
        assert (fetched(core, "g", 0), fetched(core, "g", -1)) == (UNKNOWN, ErrorCode.NONE)
        stored(core, effects, error)
        assert fetched(core, "g", 0) == left


def test_what_was_made_since_a_group_was_to_be_removed_goes_when_the_log_refuses() -> None:
    """Also the classic group whose place a member took: a group is of one protocol."""
    core = coordinator()
    settled(core, beat(core, "m1", 0))
    settled(core, beat(core, "m1", -1))
    deletion = core.delete_groups(["g"], 2, "delete")
    commit = OffsetCommit("g", (OffsetCommitTopic("t", (OffsetCommitPartition(0, 7),)),))
    core.offset_commit(commit, 9, "commit", 0)
    beat(core, "m2", 0)
    stored(core, deletion, ErrorCode.NOT_COORDINATOR)
    assert core.group_ids == ("g",)
    assert seen(core).groups[0].group_state == "Empty"
    assert not core.groups


def test_a_timer_left_behind_by_what_the_log_refused_does_nothing_to_a_classic_group() -> None:
    core = coordinator()
    commit = OffsetCommit("g", (OffsetCommitTopic("t", (OffsetCommitPartition(0, 7),)),))
    core.appended(append_of(core.offset_commit(commit, 9, "commit", 0)).append_id)
    stored(core, beat(core, "m1", 0), ErrorCode.KAFKA_STORAGE_ERROR)
    assert core.group_ids == ("g",)
    assert core.fire(TimerId(SESSION, "g", "m1")) == Effects()
    assert core.group_ids == ("g",)


def test_of_two_assignors_with_as_many_wishes_it_is_uniform_as_in_a_broker() -> None:
    for wishes in (("range", "uniform"), ("uniform", "range")):
        core = coordinator()
        for number, wish in enumerate(wishes):
            settled(core, beat(core, f"m{number}", 0, server_assignor=wish))
        assert seen(core).groups[0].assignor_name == "uniform"
