"""The dialogues of static members, of the size limit and of groups' records bite: a bug for each, planted."""

import importlib.util
import inspect
from pathlib import Path

import pytest

from rota.mutants.core import core_bugs, planted


def loaded(file):
    """A neighbouring file of dialogues as a module."""
    path = Path(__file__).with_name(f"test_coordinator_{file}.py")
    spec = importlib.util.spec_from_file_location(f"bitten_{file}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FILES = [loaded(file) for file in ("static", "size", "records")]

NOTICED_BY = {
    "unheld-instance-id-passes": "checks_of_a_heartbeat_are_in_order",
    "static-newcomer-shakes-hands": "a_new_static_member_rebalances_a_stable_group",
    "handed-out-id-made-static": "a_handed_out_id_with_an_instance_id_trips_the_broker_and_stays_good",
    "old-join-not-fenced": "a_restart_in_the_first_phase_is_no_newcomer_and_not_new",
    "session-of-the-request": "a_followers_restart_in_stable_is_answered_when_the_log_has_it",
    "lead-stays-behind": "a_leader_is_told_to_skip_the_assignment",
    "restart-extends-the-delay": "a_restart_in_the_first_phase_is_no_newcomer_and_not_new",
    "restart-stays-new": "a_restarted_new_member_cannot_expire_while_it_is_parked",
    "restart-spares-a-running-sync": "a_restart_while_completing_rebalances_and_fences_the_old_sync",
    "restart-rebalances": "a_followers_restart_in_stable_is_answered_when_the_log_has_it",
    "restart-loses-the-assignment": "a_followers_restart_in_stable_is_answered_when_the_log_has_it",
    "restart-ignores-the-vote": "a_restart_that_changes_the_vote_rebalances",
    "leader-assigns-again": "a_leader_is_told_to_skip_the_assignment",
    "old-leader-told-in-v9": "a_leader_is_told_to_skip_the_assignment",
    "list-while-preparing": "a_leader_whose_record_is_stored_during_the_next_phase_waits_for_its_end",
    "failed-restart-keeps-its-id": "a_restart_is_undone_in_the_next_phase_too",
    "absent-members-alone": "nobody_joins_but_static_members_are_left_so_the_phase_goes_on",
    "phase-without-end": "nobody_joins_but_static_members_are_left_so_the_phase_goes_on",
    "absent-static-members-dropped": "an_absent_static_member_stays_and_is_listed_and_owes_its_sync",
    "absent-members-session-runs-on": "an_absent_static_member_stays_and_is_listed_and_owes_its_sync",
    "absent-leader-leads": "an_absent_leader_loses_its_place_to_one_that_waits",
    "limit-counts-members-while-preparing": "newcomers_push_out_who_has_not_rejoined",
    "refused-member-stays": "newcomers_push_out_who_has_not_rejoined",
    "restart-has-its-place": "who_waits_may_ask_again_and_a_restart_needs_a_place",
    "instance-id-after-generation": "checks_of_a_heartbeat_are_in_order",
    "failed-creation-stays": "an_id_from_a_creation_that_failed_is_unknown",
    "failed-creation-takes-generations": "a_group_that_has_had_a_generation_stays",
    "leaving-answered-at-once": "leaving_is_answered_though_the_group_is_deleted_meanwhile",
    "loaded-members-new": "a_group_with_members_is_loaded_stable_with_fresh_sessions",
    "loaded-sessions-not-armed": "a_group_with_members_is_loaded_stable_with_fresh_sessions",
    "loaded-whatever-its-size": "a_group_above_the_limit_rebalances_when_it_is_loaded",
    "unloaded-without-a-word": "who_waits_is_told_that_this_is_not_the_coordinator",
}
"""Bug of the coordinator → the dialogue that notices it."""

NOTICED = (AssertionError, KeyError, ValueError, StopIteration, RuntimeError)
"""A dialogue goes wrong, or the coordinator does."""


def dialogue(name):
    """The test function of that name, as a function of its world."""
    function = next(found for file in FILES if (found := getattr(file, f"test_{name}", None)))

    def play(world):
        (fixture,) = inspect.signature(function).parameters
        if fixture == "pair":
            world = type(world)(group_max_size=2)
        elif fixture == "slow":
            world.hold_log = world.hold_creations = True
        function(world)

    return play


@pytest.mark.parametrize("name", NOTICED_BY)
def test_a_planted_bug_is_noticed(world, name):
    with planted(core_bugs()[name]), pytest.raises(NOTICED):
        dialogue(NOTICED_BY[name])(world)


@pytest.mark.parametrize("name", sorted(set(NOTICED_BY.values())))
def test_the_dialogue_passes_without_the_bug(world, name):
    dialogue(name)(world)
