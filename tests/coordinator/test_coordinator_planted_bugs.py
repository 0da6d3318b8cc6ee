"""The dialogues bite: each bug planted here makes the dialogue that is named beside it fail."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rota.coordinator import (
    Group,
    GroupState,
    heartbeat,
    join,
    leave,
    persistence,
    rebalance,
    session_timers,
    sync,
    timers,
    voting,
)


@dataclass(frozen=True)
class Bug:
    """What is wrong, where (owner and attribute), what stands there instead, the dialogue that notices."""

    what: str
    owner: Any
    attribute: str
    instead: Any
    dialogue: str
    arguments: dict = field(default_factory=dict)


def early_generation(original: Callable) -> Callable:
    def start(step, group):
        group.generation_id -= 1
        original(step, group)

    return start


def silent_removal(step, group, member):
    group.parked_joins.take(member.member_id)
    group.remove(member)


def complete_whenever_all_joined(step, group):
    if group.state is GroupState.PREPARING_REBALANCE and group.all_members_joined:
        rebalance.complete_join(step, group)


def owe_without_timer(step, group):
    group.pending_sync_members = set(group.members)


def new_member_on_its_session(step, group, member):
    session_timers.restart_session(step, group, member)


def complete_at_the_first_delay(step, group, member_id):
    group.join_timer = None
    rebalance.complete_join(step, group)


BUGS = [
    Bug(
        "the barrier ignores handed-out ids",
        Group,
        "all_members_joined",
        property(lambda group: len(group.parked_joins) == len(group.members)),
        "joining::test_a_handed_out_id_holds_up_the_barrier_until_it_expires",
    ),
    Bug(
        "the generation is not raised",
        rebalance,
        "_start_generation",
        early_generation(rebalance._start_generation),
        "joining::test_first_consumer_alone_becomes_leader_of_generation_one",
    ),
    Bug(
        "a leader that is gone stays leader",
        voting,
        "elect_joined_leader",
        lambda group, choices: None,
        "rejoining::test_who_does_not_rejoin_is_dropped_and_a_newcomer_leads",
    ),
    Bug(
        "a session's end removes a parked member",
        timers,
        "expires",
        lambda group, member: True,
        "rejoining::test_a_member_parked_in_join_outlives_its_session",
    ),
    Bug(
        "a new member that is parked never expires",
        timers,
        "expires",
        lambda group, member: not group.awaits_answer(member.member_id),
        "joining::test_a_new_member_is_not_expired_by_its_session_but_after_five_minutes",
    ),
    Bug(
        "a new member is on its session timer at once",
        join,
        "start_new_member_timer",
        new_member_on_its_session,
        "joining::test_a_new_member_is_not_expired_by_its_session_but_after_five_minutes",
    ),
    Bug(
        "the sync timer is never armed",
        rebalance,
        "start_sync_timer",
        owe_without_timer,
        "syncing::test_nobody_syncs_though_all_heartbeat",
    ),
    Bug(
        "a member stays pending after its SyncGroup",
        sync,
        "remove_pending_sync",
        lambda step, group, member_id: None,
        "syncing::test_the_sync_timer_is_the_longest_rebalance_timeout_and_ends_with_the_last_sync",
    ),
    Bug(
        "the log's answer does not look at the generation",
        persistence,
        "_still_awaited",
        lambda group, entry: group.state is GroupState.COMPLETING_REBALANCE,
        "syncing::test_an_answer_about_an_old_generation_changes_nothing_in_the_next",
        {"error": 0},
    ),
    Bug(
        "the log's answer does not look at the state",
        persistence,
        "_still_awaited",
        lambda group, entry: group.generation_id == entry.generation_id,
        "syncing::test_a_member_joins_while_the_store_is_in_flight",
        {"error": 0},
    ),
    Bug(
        "the log's errors are passed on untranslated",
        persistence,
        "response_error",
        lambda error: error,
        "syncing::test_storing_the_assignment_fails",
        {"append_error": 7, "error": 15},
    ),
    Bug(
        "parked SyncGroups are left alone when a rebalance starts",
        rebalance,
        "reset_assignments",
        lambda step, group, error: None,
        "rejoining::test_changed_metadata_while_completing_starts_a_rebalance",
    ),
    Bug(
        "a JoinGroup may end the initial delay",
        rebalance,
        "try_complete_join",
        complete_whenever_all_joined,
        "joining::test_several_consumers_within_the_delay_share_one_generation_and_the_first_leads",
    ),
    Bug(
        "a LeaveGroup may end the initial delay",
        leave,
        "try_complete_join",
        complete_whenever_all_joined,
        "staying::test_leaving_never_completes_the_initial_join_phase",
    ),
    Bug(
        "the initial delay is never extended",
        timers,
        "FIRE",
        {**timers.FIRE, "initial_join": complete_at_the_first_delay},
        "initial_delay::test_newcomers_extend_the_delay_up_to_the_rebalance_timeout",
    ),
    Bug(
        "a phase lasts as long as the shortest rebalance timeout",
        Group,
        "max_rebalance_timeout_ms",
        property(lambda group: min(each.rebalance_timeout_ms for each in group.members.values())),
        "rejoining::test_the_last_expected_join_never_comes",
    ),
    Bug(
        "a parked JoinGroup of a leaving member is forgotten",
        leave,
        "drop_member",
        silent_removal,
        "staying::test_a_parked_join_of_a_leaving_member_is_answered_without_an_id",
    ),
    Bug(
        "a heartbeat does not extend the session",
        heartbeat,
        "restart_session",
        lambda step, group, member: None,
        "staying::test_heartbeat_extends_the_session_in_every_state_with_members",
        {"state": "Stable", "error": 0},
    ),
    Bug(
        "the vote takes the first common name",
        voting,
        "select_protocol",
        lambda group, choices: min(voting.candidate_protocols(group)),
        "rejoining::test_each_votes_for_its_first_common_protocol_and_most_votes_win",
        {"lists": [("range", "sticky"), ("sticky", "range"), ("sticky", "range")], "winner": "sticky"},
    ),
    Bug(
        "an id's end completes a join phase that is not running",
        timers,
        "_complete_if_all_joined",
        lambda step, group: rebalance.complete_join(step, group) if group.all_members_joined else None,
        "joining::test_an_id_that_is_not_used_in_an_empty_group_changes_nothing",
    ),
    Bug(
        "a member that goes goes on counting as a supporter",
        Group,
        "_withdraw_support",
        lambda group, member: None,
        "rejoining::test_members_that_left_have_no_vote",
    ),
]


def dialogue(name: str) -> Callable:
    """A test function of a neighbouring file, by "file::function"."""
    file, function = name.split("::")
    path = Path(__file__).with_name(f"test_coordinator_{file}.py")
    spec = importlib.util.spec_from_file_location(f"dialogues_{file}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.what.replace(" ", "-"))
def test_a_planted_bug_is_noticed(world, monkeypatch, bug):
    monkeypatch.setattr(bug.owner, bug.attribute, bug.instead)
    with pytest.raises(AssertionError):
        dialogue(bug.dialogue)(world, **bug.arguments)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.what.replace(" ", "-"))
def test_the_dialogue_passes_without_the_bug(world, bug):
    dialogue(bug.dialogue)(world, **bug.arguments)
