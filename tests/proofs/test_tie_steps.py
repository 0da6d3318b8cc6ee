"""The formulas of the core and the rules of the spec make the same steps, and planted bugs are noticed."""

from __future__ import annotations

import pytest

from harness.steps_of_worlds import (
    asked,
    by_slug,
    corpus,
    disagreements,
    entries,
    survives,
    unnoticed,
)
from rota.mutants import FOUND_BY_DIALOGUES, MUTANTS
from rota.proofs.core.coverage import COVERED, MOVES, WORDS
from rota.proofs.core.logic import Point
from rota.proofs.refinement.abstraction import abstract_state, with_past
from rota.proofs.refinement.backward import BEGIN, beyond
from rota.proofs.refinement.compare import ELSEWHERE, Judge
from rota.proofs.refinement.forward import CONTINUED
from rota.proofs.refinement.inputs import ANSWERS, LEAVES
from rota.proofs.refinement.mutants import blind, mistakes
from rota.scopes import load
from rota.spec import RULES, Group, GroupState

TIMERS = "a timer is armed, stopped or of another length: timers may be due at any time"
ERRORS = "another error is told, or none: only answers without an error are in the formulas"

UNSEEN = {
    "pending-without-timer": TIMERS,
    "newcomer-without-timer": TIMERS,
    "no-sync-timer": TIMERS,
    "heartbeat-stops-session": TIMERS,
    "returned-id-still-expires": TIMERS,
    "session-outlives-member": TIMERS,
    "extension-without-timer": TIMERS,
    "replacement-without-session": TIMERS,
    "absent-members-wait-for-ever": TIMERS,
    "one-session-for-all": TIMERS,
    "former-timeouts-hold": TIMERS,
    "unknown-join-dropped": ERRORS,
    "fenced-join-is-unknown": ERRORS,
    "fenced-sync-is-unknown": ERRORS,
    "fenced-heartbeat-is-unknown": ERRORS,
    "parked-join-forgotten": ERRORS,
    "new-member-expires-silently": ERRORS,
    "failed-append-unanswered": ERRORS,
    "replaced-join-forgotten": ERRORS,
    "failed-replacement-unanswered": ERRORS,
    "syncs-answered-twice": "what was told stays told: that it is told twice says nothing more",
}
"""Mutants of covered rules that change nothing in an abstract state, and why not."""

LATER = "what it forgets is done once more later in the same step"
NEVER = "in no group that is reached is there anything to forget"
POINT = "its guard is nothing but the place within a step"

SAME = {
    "join.new-member forgets held": "a dynamic newcomer holds no instance; what admits is shared with others",
    "join.pending-member forgets held": "the same",
    "join.new-member forgets pending": NEVER,
    "join.new-member forgets syncing": NEVER,
    "static.new-member forgets pending": NEVER,
    "static.new-member forgets syncing": NEVER,
    "join.pending-member forgets syncing": NEVER,
    "join.complete-phase forgets is_new": NEVER,
    "join.complete-phase forgets syncing": NEVER,
    "join.empty empties member": NEVER,
    "leave.remove-member forgets owes": LATER,
    "leave.remove-member forgets syncing": LATER,
    "persistence.assignment-failed forgets assigned": LATER,
    "persistence.assignment-failed forgets syncing": LATER,
    "static.replaced forgets syncing": LATER,
    "leave.batch.begins looks at nothing": POINT,
    "leave.batch.ends looks at nothing": POINT,
}
"""Mistakes in formulas that make no other step, and why not."""

OF_COVERED = {
    name: one
    for name, one in {**MUTANTS, **FOUND_BY_DIALOGUES}.items()
    if one.slug in COVERED or one.slug in WORDS
}


@pytest.fixture(scope="module")
def taken():
    """What tiny worlds take, and what a few of their groups are asked."""
    return corpus(2)


@pytest.fixture(scope="module")
def table(taken):
    return by_slug(taken)


@pytest.fixture(scope="module")
def judge():
    return Judge()


def test_each_rule_has_a_place_in_a_step():
    continued = {move for moves in CONTINUED.values() for move in moves}
    answers = {move for moves in ANSWERS.values() for move in moves}
    batch = {move for move in MOVES if move.slug == "leave.batch"}
    assert {*BEGIN, *continued, *answers, *LEAVES, *batch} == set(MOVES)
    assert {*CONTINUED, Point.RESTING, Point.BATCH} == set(Point)


def test_both_make_the_same_steps(taken, judge):
    assert [str(one) for one in disagreements(judge, taken)] == []
    assert {slug for slug in COVERED if not judge.fired.get(slug)} == set()
    assert set(judge.open) <= set(ELSEWHERE)


@pytest.mark.parametrize("name", ["barrier-ignores-pending", "list-for-everybody", "leader-not-replaced"])
def test_a_mutant_makes_another_step(name, table, judge):
    one = OF_COVERED[name]
    assert survives(one.slug, RULES[one.slug].function, table, judge)
    assert not survives(one.slug, one.function, table, judge)


def test_every_rule_has_a_mutant_and_what_is_unseen_is_one():
    assert {one.slug for one in OF_COVERED.values()} == {*COVERED, *WORDS}
    assert set(UNSEEN) <= set(OF_COVERED)


@pytest.mark.parametrize("name", ["no-sync-timer", "fenced-sync-is-unknown", "syncs-answered-twice"])
def test_timers_errors_and_repetition_are_left_out(name, table, judge):
    assert survives(OF_COVERED[name].slug, OF_COVERED[name].function, table, judge)


MISTAKES = {one.name: one for one in mistakes()}


@pytest.mark.parametrize(
    "name",
    [
        "join.next-generation forgets led",
        "leave.remove-member forgets held",
        "sync.stable empties member",
        "sync.illegal-generation looks at nothing",
        "static.replaced-in-stable: vote not asked",
        "sync.leader-assigns: lines for anybody",
    ],
)
def test_a_mistake_in_a_formula_is_noticed(name, table):
    assert not unnoticed(MISTAKES[name], table)


@pytest.mark.parametrize("name", ["leave.remove-member forgets owes", "join.new-member forgets held"])
def test_some_mistakes_make_no_other_step(name, table):
    assert unnoticed(MISTAKES[name], table)
    assert set(SAME) <= set(MISTAKES)


def test_with_any_arguments_formulas_lead_where_the_spec_does():
    spec, group = next(
        (spec, one)
        for spec, one, _ in entries(load("tiny").configuration("core"), "kafka-4.x", "reference")
        if one and one.state is GroupState.EMPTY and one.pending
    )
    number, rest = beyond(spec, group)
    assert number > 10
    assert rest == frozenset()
    early = next(move for move in MOVES if move.name == "timers.join-timeout")
    _, rest = beyond(spec, group, {early.name: blind(early).effect})
    assert {slug for one in rest for slug, _ in one.slugs} >= {"timers.join-timeout"}


def test_a_group_that_is_not_there_looks_like_one_just_made():
    assert with_past(abstract_state(None, 0)) == abstract_state(Group(), 0)


def test_groups_of_one_abstract_state_are_asked_once(taken):
    some = taken[:400]
    assert len(list(asked(some + some))) == len(list(asked(some)))
