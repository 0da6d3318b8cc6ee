"""The dialogues about deletion and description bite: each bug planted here makes one of them fail."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from rota.coordinator import ErrorCode, Group, admin, offsets

DIALOGUES = Path(__file__).with_name("test_coordinator_offsets_admin.py")
SUBSCRIBED = offsets.is_subscribed
DELETE_ERROR = offsets.delete_error
DELETE_OFFSETS = offsets.offset_delete
DELETE = admin.remove_group
DESCRIBED = admin._described


def of_members_now(group, topics_of):
    if group.subscriptions is None:
        return SUBSCRIBED(group, topics_of)
    now = tuple(each.metadata("range") for each in group.members.values())
    return SUBSCRIBED(replace(group, subscriptions=now), topics_of)


def keeps_handed_out_ids(step, store, groups, group_id, answered):
    kept = set(groups[group_id].pending_members)
    groups[group_id].pending_members.clear()
    DELETE(step, store, groups, group_id, answered)
    groups[group_id] = Group(group_id, pending_members=kept)


def keeps_offsets(step, store, groups, group_id, answered):
    kept = {name: dict(indexes) for name, indexes in store.committed.get(group_id, {}).items()}
    DELETE(step, store, groups, group_id, answered)
    entry = store.deferred._lines[0][-1]
    effect = entry.effect
    entry.effect = lambda *answer: (effect(*answer), store.committed.update({group_id: kept}))


def takes_offsets_at_once(step, store, groups, group_id, answered):
    DELETE(step, store, groups, group_id, answered)
    store.committed.pop(group_id, None)


def never_comes_back(step, store, groups, group_id, answered):
    DELETE(step, store, groups, group_id, answered)
    entry = store.deferred._lines[0][-1]
    effect = entry.effect
    entry.effect = lambda reply_to, error: (
        effect(reply_to, error),
        error and groups.pop(group_id),
    )


def replies_at_once(deletion, reply_to):
    reply_to(deletion.parked, admin.DeleteGroupsReply(()))


def metadata_always(group_id, group):
    found = DESCRIBED(group_id, group)
    if group is None or not group.protocol_name:
        return found
    listed = group.members
    members = (
        replace(each, member_metadata=listed[each.member_id].metadata("range")) for each in found.members
    )
    return replace(found, members=tuple(members))


def tombstones_for_all(step, store, group, request, parked, topics_of):
    store.get, get = (lambda *_: True), store.get
    DELETE_OFFSETS(step, store, group, request, parked, topics_of)
    store.get = get


def tombstones_for_what_is_seen(step, store, group, request, parked, topics_of):
    deferred, store.deferred = store.deferred, type(store.deferred)()
    DELETE_OFFSETS(step, store, group, request, parked, topics_of)
    while (entry := store.deferred.next_event()) is not None:
        deferred.add(entry)
    store.deferred = deferred


BUGS = {
    "the generation's subscriptions are the members'": (
        (offsets, "is_subscribed", of_members_now),
        "consumers_keep_the_offsets_of_topics_that_their_generation_subscribes_to",
    ),
    "nothing is subscribed to before the first generation": (
        (offsets, "is_subscribed", lambda group, _: lambda topic: topic in (group.subscriptions or ())),
        "consumers_keep_the_offsets_of_topics_that_their_generation_subscribes_to",
    ),
    "who cannot be read subscribes to nothing": (
        (offsets, "is_subscribed", lambda group, of: SUBSCRIBED(group, lambda data: of(data) or ())),
        "a_member_that_cannot_be_read_may_subscribe_to_anything",
    ),
    "every member is a consumer": (
        (offsets, "CONSUMER", "connect"),
        "who_is_no_consumer_keeps_all_its_offsets_while_it_lives",
    ),
    "the empty group id is deleted from": (
        (
            *(offsets, "delete_error"),
            lambda group, request: DELETE_ERROR(group, replace(request, group_id="g")),
        ),
        "offsets_of_no_group",
    ),
    "tombstones are written for what is not there": (
        (offsets, "offset_delete", tombstones_for_all),
        "offsets_of_nobody_are_deleted",
    ),
    "commits under way survive": (
        (offsets, "offset_delete", tombstones_for_what_is_seen),
        "a_deletion_waits_for_the_log_and_stands_behind_commits_under_way",
    ),
    "a failure is nobody's": (
        (offsets.OffsetDeleteReply, "failed", lambda reply, _: reply),
        "a_deletion_that_the_log_refuses",
    ),
    "metadata is always described": (
        (admin, "_described", metadata_always),
        "a_group_is_described_through_its_life",
    ),
    "old versions know the error": (
        (admin.DescribeGroupsReply, "for_version", lambda reply, _: reply),
        "a_group_that_does_not_exist_is_described_as_dead",
    ),
    "filters are taken literally": (
        (
            *(admin, "list_groups"),
            lambda groups, request: admin.ListGroupsReply(
                tuple(
                    admin.ListedGroup(each.group_id, each.protocol_type or "", each.state)
                    for each in groups.values()
                    if each.state in request.states_filter or not request.states_filter
                )
            ),
        ),
        "groups_are_listed_by_state_and_type",
    ),
    "groups with members are deleted": (
        (admin, "deletion_error", lambda group: 0 if group else ErrorCode.GROUP_ID_NOT_FOUND),
        "groups_are_deleted_while_nobody_is_in_them",
    ),
    "offsets outlive their group": (
        (admin, "remove_group", keeps_offsets),
        "groups_are_deleted_while_nobody_is_in_them",
    ),
    "ids that were handed out stay": (
        (admin, "remove_group", keeps_handed_out_ids),
        "ids_that_were_handed_out_go_with_the_group",
    ),
    "offsets go before the log has answered": (
        (admin, "remove_group", takes_offsets_at_once),
        "a_group_comes_back_if_the_log_refuses_its_deletion",
    ),
    "a group never comes back": (
        (admin, "remove_group", never_comes_back),
        "a_group_comes_back_if_the_log_refuses_its_deletion",
    ),
    "the answer waits for nothing": (
        (admin.Deletion, "reply_if_done", replies_at_once),
        "a_deleted_group_is_gone_before_its_offsets_and_does_not_take_later_ones_along",
    ),
    "records of a deleted group are remembered": (
        (admin.Step, "forget", lambda step, group_id: None),
        "an_assignment_under_way_is_not_that_of_a_later_group",
    ),
}


def play(world, name):
    """Run a dialogue of the neighbouring file."""
    spec = importlib.util.spec_from_file_location("dialogues_admin", DIALOGUES)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    getattr(module, f"test_{name}")(world)


@pytest.mark.parametrize(("place", "dialogue"), BUGS.values(), ids=[name.replace(" ", "-") for name in BUGS])
def test_a_planted_bug_is_noticed(world, monkeypatch, place, dialogue):
    monkeypatch.setattr(*place)
    with pytest.raises(AssertionError):
        play(world, dialogue)


@pytest.mark.parametrize("dialogue", dict.fromkeys(each for _, each in BUGS.values()))
def test_the_dialogue_passes_without_the_bug(world, dialogue):
    play(world, dialogue)
