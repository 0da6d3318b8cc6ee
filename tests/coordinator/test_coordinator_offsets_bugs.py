"""The dialogues about offsets bite: each bug planted here makes the dialogue that is named beside it fail."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from rota.coordinator import (
    GroupState,
    OffsetCommitReply,
    OffsetFetchTopic,
    offsets,
    persistence,
)

DIALOGUES = Path(__file__).with_name("test_coordinator_offsets.py")
COMMIT_ERROR = offsets.commit_error
COMMIT = offsets.offset_commit
FETCH = offsets.offset_fetch
WRITE = offsets.write
RECORD = offsets._record
GROUP_REPLY = offsets._group_reply


def answered(instead, when):
    """The place of commit_error, and one with another answer where a condition on group and request holds."""

    def commit_error(group, request, version):
        found = COMMIT_ERROR(group, request, version)
        return instead if group is not None and when(group, request, found) else found

    return offsets, "commit_error", commit_error


def without_session(step, store, group, request, *rest):
    COMMIT(step, store, group, replace(request, member_id=""), *rest)


def session_after_storing(step, store, group, request, *rest):
    """A commit of which nothing is stored is no sign of life."""
    limit = step.config.offset_metadata_max_bytes
    partitions = [each for topic in request.topics for each in topic.partitions]
    if all(offsets.metadata_error(each, limit) for each in partitions):
        request = replace(request, member_id="")
    COMMIT(step, store, group, request, *rest)


def visible_at_once(step, store, group, request, *rest):
    COMMIT(step, store, group, request, *rest)
    for append in step.effects().appends:
        for record in append.record.records:
            store.apply(append.group_id, record)


def answered_at_once(step, store, group, request, parked, timestamp_ms):
    COMMIT(step, store, group, request, parked, timestamp_ms)
    step.reply(parked, OffsetCommitReply.to(request, lambda each: 0))


def everyone_for_himself(step, store):
    """Answers take effect in their own order."""
    for partition, line in tuple(store.deferred._lines.items()):
        for entry in [each for each in line if each.error_code is not None]:
            line.remove(entry)
            entry.effect(step.reply, entry.error_code)
        if not line:
            del store.deferred._lines[partition]


def first_of_a_batch_wins(store, group_id, record, *_):
    partitions = store.committed.setdefault(group_id, {}).setdefault(record.topic, {})
    partitions.setdefault(record.partition_index, record)


def stable(value):
    """offset_fetch as if every request said this about stability."""
    return lambda step, store, request, *rest: FETCH(
        step, store, replace(request, require_stable=value), *rest
    )


def failures_hold_up_the_line(step, store):
    line = store.deferred._lines.get(0)
    while line and line[0].error_code == 0:
        store.deferred.next_event().effect(step.reply, 0)


def stores_in_spite_of_failure(step, store, group_id, records, parked, reply):
    WRITE(step, store, group_id, records, parked, reply)
    entry = store.deferred._lines[0][-1]
    effect = entry.effect

    def store_first(reply_to, error_code):
        for record in records:
            store.apply(group_id, record)
        effect(reply_to, error_code)

    entry.effect = store_first


def only_what_was_to_be_stored_fails(reply, error_code):
    """Partitions with too much metadata keep their own error."""
    topics = (
        replace(
            topic,
            partitions=tuple(
                replace(each, error_code=each.error_code or error_code) for each in topic.partitions
            ),
        )
        for topic in reply.topics
    )
    return OffsetCommitReply(tuple(topics))


def counted(length):
    """metadata_error with another way to measure."""
    return lambda each, limit: 12 if length(each.committed_metadata or "") > limit else 0


def one_bad_partition_spoils_all(step, store, group, request, parked, timestamp_ms):
    limit = step.config.offset_metadata_max_bytes
    partitions = [each for topic in request.topics for each in topic.partitions]
    worst = max(offsets.metadata_error(each, limit) for each in partitions)
    if worst:
        step.reply(parked, OffsetCommitReply.to(request, lambda _: worst))
    else:
        COMMIT(step, store, group, request, parked, timestamp_ms)


def unsorted(store, asked, stable):
    if asked.topics is None:
        names = store.committed.get(asked.group_id, {})
        topics = tuple(OffsetFetchTopic(name, tuple(names[name])) for name in names)
        asked = replace(asked, topics=topics)
    return GROUP_REPLY(store, asked, stable)


BUGS = {
    "an outsider is refused by an empty group": (
        answered(25, lambda group, request, _: request.member_id not in group.members),
        ("while_nobody_is_in_the_group_anybody_may_commit_without_a_generation",),
    ),
    "an outsider is let into any group": (
        answered(0, lambda _, request, __: request.generation_id_or_member_epoch < 0),
        ("in_a_stable_group_only_members_commit_and_only_in_its_generation",),
    ),
    "an empty group takes any generation": (
        answered(0, lambda group, *_: group.state is GroupState.EMPTY),
        ("nobody_may_commit_with_a_generation_while_nobody_is_in_the_group",),
    ),
    "the generation is not looked at": (
        answered(0, lambda _, __, found: found == 22),
        ("in_a_stable_group_only_members_commit_and_only_in_its_generation",),
    ),
    "a negative generation is any": (
        answered(0, lambda _, request, found: found == 22 and request.generation_id_or_member_epoch < 0),
        ("in_a_stable_group_only_members_commit_and_only_in_its_generation",),
    ),
    "the generation is looked at before the member": (
        answered(
            22, lambda group, request, found: found == 25 and request.generation_id_or_member_epoch == -1
        ),
        ("in_a_stable_group_only_members_commit_and_only_in_its_generation",),
    ),
    "handed-out ids are members": (
        answered(0, lambda group, request, _: request.member_id in group.pending_members),
        ("in_a_stable_group_only_members_commit_and_only_in_its_generation",),
    ),
    "members that owe a sync may commit": (
        answered(0, lambda _, __, found: found == 27),
        ("members_that_owe_a_sync_are_told_that_a_rebalance_is_going_on",),
    ),
    "the state is looked at before the member": (
        answered(27, lambda group, *_: group.state is GroupState.COMPLETING_REBALANCE),
        ("members_that_owe_a_sync_are_told_that_a_rebalance_is_going_on",),
    ),
    "a rebalance shuts the old generation out": (
        answered(27, lambda group, *_: group.state is GroupState.PREPARING_REBALANCE),
        ("the_old_generation_commits_until_the_next_one_begins",),
    ),
    "the first join phase takes no commits": (
        answered(25, lambda group, *_: group.is_initial_join),
        ("a_new_member_in_the_first_join_phase_may_commit_in_generation_zero",),
    ),
    "a dead group is an empty one": (
        answered(0, lambda group, *_: group.state is GroupState.DEAD),
        ("a_dead_group_does_not_take_offsets",),
    ),
    "old versions are told plainly": (
        (offsets, "GROUP_ID_NOT_FOUND_SINCE", 8),
        ("a_generation_of_a_group_that_does_not_exist", 8, 22),
    ),
    "new versions are not told plainly": (
        (offsets, "GROUP_ID_NOT_FOUND_SINCE", 10),
        ("a_generation_of_a_group_that_does_not_exist", 9, 69),
    ),
    "a commit is no sign of life": (
        (offsets, "offset_commit", without_session),
        ("a_commit_is_a_sign_of_life_from_its_member",),
    ),
    "a commit of nothing is no sign of life": (
        (offsets, "offset_commit", session_after_storing),
        ("a_commit_is_a_sign_of_life_from_its_member",),
    ),
    "offsets are seen before the log has them": (
        (offsets, "offset_commit", visible_at_once),
        ("the_answer_comes_with_the_logs_and_not_before_it_is_anything_seen",),
    ),
    "the answer does not wait": (
        (offsets, "offset_commit", answered_at_once),
        ("the_answer_comes_with_the_logs_and_not_before_it_is_anything_seen",),
    ),
    "answers take effect as they come": (
        (offsets, "complete_deferred", everyone_for_himself),
        ("answers_take_effect_in_the_order_of_the_log",),
    ),
    "the first of a batch wins": (
        (offsets.OffsetStore, "apply", first_of_a_batch_wins),
        ("the_last_entry_of_a_batch_counts",),
    ),
    "the log's errors are passed on untranslated": (
        (persistence, "response_error", lambda error: error),
        ("the_log_refuses", 7, 15),
    ),
    "what failed is stored": (
        (offsets, "write", stores_in_spite_of_failure),
        ("the_log_refuses", 29, 29),
    ),
    "a failure is not everybody's": (
        (OffsetCommitReply, "failed", only_what_was_to_be_stored_fails),
        ("the_log_refuses", 29, 29),
    ),
    "metadata is measured in characters": (
        (offsets, "metadata_error", counted(len)),
        ("metadata_that_is_too_long_keeps_out_its_partition_alone",),
    ),
    "metadata is measured in bytes": (
        (offsets, "metadata_error", counted(lambda text: len(text.encode("utf-8", "surrogatepass")))),
        ("metadata_that_is_too_long_keeps_out_its_partition_alone",),
    ),
    "one bad partition spoils all": (
        (offsets, "offset_commit", one_bad_partition_spoils_all),
        ("metadata_that_is_too_long_keeps_out_its_partition_alone",),
    ),
    "a retention of nothing is none": (
        (
            *(offsets, "_record"),
            lambda request, *rest: RECORD(
                replace(request, retention_time_ms=request.retention_time_ms or -1), *rest
            ),
        ),
        ("a_retention_is_written_down",),
    ),
    "the time is not the server's": (
        (offsets, "_record", lambda request, topic, each, _: RECORD(request, topic, each, 0)),
        ("a_consumer_outside_of_groups_commits_and_makes_an_empty_group",),
    ),
    "offsets never go backwards": (
        (
            *(offsets, "_record"),
            lambda request, topic, each, at: replace(
                RECORD(request, topic, each, at), committed_offset=max(each.committed_offset, 3)
            ),
        ),
        ("a_group_that_a_commit_has_made_is_joined_like_any_other",),
    ),
    "all offsets come as they lie": (
        (offsets, "_group_reply", unsorted),
        ("no_topics_are_all_topics",),
    ),
    "nothing is ever waited for": (
        (offsets, "offset_fetch", stable(False)),
        ("stable_offsets_wait_for_what_is_under_way", 0),
    ),
    "everybody waits": (
        (offsets, "offset_fetch", stable(True)),
        ("stable_offsets_wait_for_what_is_under_way", 0),
    ),
    "a failure holds up the line": (
        (offsets, "complete_deferred", failures_hold_up_the_line),
        ("stable_offsets_wait_for_what_is_under_way", 19),
    ),
}


def play(world, name, *arguments):
    """Run a dialogue of the neighbouring file."""
    spec = importlib.util.spec_from_file_location("dialogues_offsets", DIALOGUES)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    getattr(module, f"test_{name}")(world, *arguments)


@pytest.mark.parametrize(("place", "dialogue"), BUGS.values(), ids=[name.replace(" ", "-") for name in BUGS])
def test_a_planted_bug_is_noticed(world, monkeypatch, place, dialogue):
    monkeypatch.setattr(*place)
    with pytest.raises(AssertionError):
        play(world, *dialogue)


@pytest.mark.parametrize(
    "dialogue", dict.fromkeys(each for _, each in BUGS.values()), ids=lambda each: each[0]
)
def test_the_dialogue_passes_without_the_bug(world, dialogue):
    play(world, *dialogue)
