"""Every test of upstream's classic coordinators is mirrored by a row, or named with why it is not."""

from __future__ import annotations

from collections import Counter

import pytest

from checklist.checklist_outside import OUTSIDE
from checklist.checklist_words import Row
from checklist.rows_admin import ADMIN
from checklist.rows_hosting import ASKED_ABOUT, HOSTING, MOVING
from checklist.rows_joining import JOINING, REQUESTS
from checklist.rows_offsets import OFFSETS
from checklist.rows_size import SIZE
from checklist.rows_static import STATIC
from checklist.rows_staying import REJOINING, STAYING, SYNCING
from harness.thinned import some
from rota.mutants import FOUND_BY_DIALOGUES
from rota.mutants.core import core_bugs, planted
from rota.mutants.mutant import CHECKLIST

ROWS = (
    *(*REQUESTS, *JOINING, *REJOINING, *SYNCING, *STAYING, *STATIC, *SIZE),
    *(*HOSTING, *MOVING, *ASKED_ABOUT, *OFFSETS, *ADMIN),
)

MIRRORED = [name for row in ROWS for name in row.mirrors]
ELSEWHERE = [name for names in OUTSIDE.values() for name in names]

PLAYED = [(row, profile) for row in ROWS for profile in row.profiles]
NAMES = [f"{row.mirrors[0].partition('#')[2]}-{profile}" for row, profile in PLAYED]


@pytest.mark.parametrize(("row", "profile"), PLAYED, ids=NAMES)
def test_the_spec_and_the_coordinator_do_what_upstream_establishes(row, profile):
    row.play(profile)


def test_every_test_of_upstream_is_counted_once():
    assert [name for name, times in Counter(MIRRORED + ELSEWHERE).items() if times > 1] == []
    assert (len(MIRRORED), len(ELSEWHERE)) == (164, 18)


def noticed(row: Row, profile: str, *, beside: bool) -> bool:
    """Whether a row is not as it should be."""
    try:
        row.play(profile, beside=beside)
    except Exception:
        return True
    return False


SHOWN = (
    "absent-leader-leads",
    "absent-members-stay",
    "absent-members-wait-for-ever",
    "absent-static-members-dropped",
    "any-generation-is-well",
    "anybody-commits-while-completing",
    "asked-before-it-has-read",
    "barrier-counts-one",
    "barrier-ignores-pending",
    "change-begins-nothing",
    "change-without-rebalance",
    "changed-vote-unnoticed",
    "commit-makes-the-group",
    "commit-never-answered",
    "emptiness-is-no-generation",
    "expired-member-is-well",
    "extension-without-timer",
    "failed-append-unanswered",
    "failed-creation-unanswered",
    "failed-replacement-unanswered",
    "fenced-heartbeat-is-unknown",
    "fenced-member-commits",
    "follower-answered-at-once",
    "former-id-leads",
    "generation-announced-early",
    "generation-stands-still",
    "heartbeat-stops-session",
    "id-stays-pending",
    "initial-timer-lost",
    "instance-not-compared",
    "join-timer-lost",
    "last-expiry-unnoticed",
    "last-join-unnoticed",
    "leader-rejoins-its-generation",
    "loaded-without-members",
    "loaded-without-sessions",
    "looked-up-when-gone",
    "lookup-makes-members",
    "new-member-expires-silently",
    "no-initial-delay",
    "no-rebalance-timeout",
    "no-sync-timer",
    "old-heartbeat-counts",
    "only-members-read",
    "parked-join-forgotten",
    "pending-expiry-unnoticed",
    "pending-without-timer",
    "reads-nothing",
    "rebalance-kept-secret",
    "removed-group-is-back",
    "replaced-join-forgotten",
    "replaced-under-the-leaders-eyes",
    "replacement-opens-nothing",
    "restart-always-rebalances",
    "restart-is-a-newcomer",
    "restart-not-recorded",
    "restarted-leader-without-list",
    "returned-id-still-expires",
    "session-outlives-member",
    "session-takes-parked",
    "session-without-rebalance",
    "shares-swapped",
    "size-unchecked",
    "stable-before-stored",
    "static-newcomer-shakes-hands",
    "stored-group-begins-anew",
    "stranger-commits",
    "sync-timeout-forgives",
    "syncs-answered-twice",
    "syncs-stay-parked",
    "unknown-join-dropped",
    "waiting-members-given-up",
    "wrong-broker-is-silent",
)
"""Mutants of the spec that a row notices."""


@pytest.mark.parametrize("mutant", some(SHOWN))
def test_a_mutant_of_the_spec_is_noticed(mutant, plant_in_spec):
    """On the spec alone: the coordinator beside it would complain first."""
    plant_in_spec(mutant)
    assert any(noticed(row, profile, beside=False) for row, profile in PLAYED)


@pytest.mark.parametrize(
    "name", ["batch-all-or-nothing", "new-member-waits-for-ever", "expired-leader-leads"]
)
def test_a_bug_of_the_coordinator_is_noticed(name):
    """The coordinator beside the spec is held to the same rows."""
    with planted(core_bugs()[name]):
        assert any(noticed(row, profile, beside=True) for row, profile in PLAYED)


FOUND_HERE = {name: one for name, one in FOUND_BY_DIALOGUES.items() if one.configuration == CHECKLIST}


@pytest.mark.parametrize("mutant", FOUND_HERE)
def test_what_no_property_sees_is_noticed_by_its_row(mutant, plant_in_spec):
    plant_in_spec(mutant)
    by = FOUND_HERE[mutant].killer
    rows = [pair for pair in PLAYED if by in [name.partition("#")[2] for name in pair[0].mirrors]]
    assert rows
    for row, profile in rows:
        with pytest.raises(AssertionError):
            row.play(profile, beside=False)
